"""Ways to say in English what is so, and what has changed."""

from wmem.rules.updates.statement import TOPIC, WRITTEN
from wmem.rules.updates.table import StatementRow, StatementTable


def _list(text: str) -> list[str]:
    return text.split()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ADVERB = (
    r"(?:(?:now|currently|just|recently|finally|actually|also|always|usually|still|officially|only|since|then|today"
    r"|nowadays|presently|have|has|had|already|generally|normally|both|all|been|both|am|'m|'ve|'re|'s|mostly|permanently) ){0,4}?"
)
_MANY_ADVERBS = _ADVERB.removesuffix("?")  # before a value: all of them
_NOUNS = r"(?:my|our|your|the|this|[\w.-]{2,24}'s?) (?:[\w#./'&-]{1,24} ){0,6}?[\w#./'&-]{1,24}"
_NAME = r"(?!(?:it|he|she|they|you|that|this|there|what|who|which|here|if|when|as|so|and|but|not)\b)[a-z][\w-]{1,20}"
_ME = r"(?:i|we)(?=[ '])"
_ANY = rf"(?P<who>{_ME}|{_NOUNS}|the user|{_NAME})"
_BE = r"(?:is|are|'s|'re|will be|is going to be|has to be|must be|should be)"
_HAPPENS = (
    r"(?:is|are|'s(?= (?:at|on|in|now|due|for|from|\d))|runs?|goes|go|happens?|takes? place|starts?|begins?|opens?|closes?|ends?|finish(?:es)?|costs?|expires?"
    r"|stands? at|sits? at|will be|lands?|departs?|leaves?|arrives?|weighs?|lasts?|measures?|equals?|meets?|meet|ships?|rotates?|renews?|refreshes|delivers?|charges?"
    r"|holds?|seats?|allows?|requires?|supports?|needs?|attends?|pays?|earns?|plays?|sleeps?)"
)
_PLACED = r"(?:(?:set|scheduled|planned|due|booked|held|fixed|capped|limited|priced|listed) )?"
_VALUE = r"(?P<value>[^;()]{1,60})"
_PLACE_VALUE = r"(?P<value>(?:(?:in|at|on|for|with|to|from|by|as|into|near) )?[^;()]{1,60})"
_BEFORE = r"(?P<before>[\w .:%$€£/'-]{1,30}?)"
_CHANGED = (
    r"(?:moved|changed|switched|shifted|pushed|postponed|rescheduled|raised|lowered|increased|decreased|reduced|cut|bumped"
    r"|updated|extended|adjusted|brought|put|went|gone|grew|grown|risen|rose|dropped|fell|fallen|improved|delayed|set"
    r"|upgraded|downgraded|migrated|converted|ported|transferred|expanded|revised|corrected|amended|slipped|reassigned|handed)"
)
_WAY = r"(?:(?:up|down|back|out|forward|over|on|ahead|across|all) ){0,2}"
_GONE = r"(?:no longer|not anymore|never again)"
_VERB = r"(?P<verb>(?!(?:have|had|would|could|should|might|may|can|must|will|am|was|were|did|do|don't|didn't|think|guess|hope|feel|know|mean|need|want|wish|love|like|hate|enjoy|said|told)\b)[a-z]{2,14}(?<!ed))"
_PREPOSITION = r"(?:in|at|on|for|with|to|from|by|as|into|near)"

_ROWS = (
    # --- something ended
    StatementRow(
        "longer",
        rf"{_ANY} (?:is |are |'s |am |'m |'re |does |do )?no longer (?:{_HAPPENS} )?(?={_PREPOSITION} ){_PLACE_VALUE}",
        attribute="be",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "longer",
        rf"(?:it's |it is |that's )?(?:no longer|not) {_PLACE_VALUE}",
        attribute="be",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "longer",
        rf"(?P<who>{_ME})(?: (?:am|are)|'m|'re) no longer (?:an? )?{_VALUE}",
        attribute="be",
        kind="word",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "anymore longer",
        rf"(?P<who>{_ME})(?: (?:am|are)|'m|'re) not (?:an? )?(?P<value>.{{2,40}}?) (?:anymore|any longer)",
        attribute="be",
        kind="word",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "longer",
        rf"{_ANY} no longer (?P<verb>[a-z]{{2,14}})(?: {_PLACE_VALUE})?",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "anymore longer",
        rf"{_ANY} (?:don't|do not|doesn't|does not) (?P<verb>[a-z]{{2,14}})(?: (?:{_PREPOSITION} )?(?P<value>.{{2,40}}?))? (?:anymore|any longer)",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "anymore longer",
        rf"{_ANY} (?:isn't|is not|aren't|are not|doesn't {_HAPPENS}|does not {_HAPPENS}) (?:{_PREPOSITION} )?(?P<value>.{{2,40}}?) (?:anymore|any longer)",
        attribute="be",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "stopped quit",
        rf"(?P<who>{_ME}) {_ADVERB}(?:stopped|quit) (?P<verb>[a-z]{{2,14}}ing)(?: {_PLACE_VALUE})?",
        kind="word",
        changes=True,
        ends=True,
    ),
    StatementRow(
        "left quit resigned",
        rf"(?P<who>{_ME}|the user|{_NAME}) {_ADVERB}(?:left|quit|resigned from) (?:my (?:job|position|role) at )?{_VALUE}",
        attribute="work",
        kind="word",
        changes=True,
        proper=True,
        ends=True,
    ),
    StatementRow(
        "cancelled canceled sold returned lost gave",
        rf"(?P<who>{_ME}) {_ADVERB}(?:cancelled|canceled|sold|returned|lost|gave (?:away|up)) (?:my|our|the) {_VALUE}",
        attribute="hav",
        kind="word",
        changes=True,
        ends=True,
    ),
    # --- names
    StatementRow(
        "renamed renaming rename",
        rf"(?:i|we|they|he|she) {_ADVERB}(?:renamed|ended up renaming|decided to rename) (?P<who>him|her|it|them|that|(?:my|our|the) [\w-]{{1,20}}(?: [\w-]{{1,20}})?) (?:to |as |into )?(?P<value>[^,;()]{{1,40}})",
        attribute="name",
        kind="name",
        changes=True,
    ),
    StatementRow(
        "renamed rebranded",
        rf"(?P<who>(?:my|our|the) [\w -]{{2,40}}?|it) (?:(?:has|have|'s) been|was|is|got|is being) {_ADVERB}(?:renamed|rebranded) (?:to |as |into )?{_VALUE}",
        attribute="name",
        kind="name",
        changes=True,
    ),
    StatementRow(
        "renamed rebranded called named",
        rf"(?P<before>{_NAME}(?: [\w-]{{2,20}})?) (?:(?:has been|was|got) {_ADVERB}(?:renamed|rebranded)|is now called|is now named) (?:to |as )?{_VALUE}",
        attribute="name",
        kind="name",
        changes=True,
    ),
    StatementRow(
        "changed",
        rf"(?:i|we|they|he|she) {_ADVERB}changed (?:(?P<who>his|her|its|their|(?:my|our|the) [\w -]{{2,30}}'s?) name|the name of (?P<thing>(?:my|our|the) [\w -]{{2,30}}?)) (?:from {_BEFORE} )?to {_VALUE}",
        attribute="name",
        kind="name",
        changes=True,
    ),
    StatementRow(
        "called named",
        rf"(?P<who>{_NOUNS}) (?:is|are|'s) {_ADVERB}(?:called|named) {_VALUE}",
        attribute="name",
        kind="name",
        single=True,
    ),
    StatementRow(
        "named called",
        rf"(?:i|we|they) {_ADVERB}(?:named|called) (?P<who>(?:my|our|the) [\w-]{{2,20}}) (?P<value>[^,;()]{{2,30}})",
        attribute="name",
        kind="name",
        single=True,
        proper=True,
    ),
    StatementRow(
        "call",
        r"(?:you can |just |please |everyone can )?(?P<who>)call me (?!back|later|when|at|on|if|tomorrow|an?\b|the\b)(?P<value>[^,;()]{2,30})",
        attribute="name",
        kind="name",
        changes=True,
        single=True,
        proper=True,
    ),
    StatementRow(
        "name name's",
        rf"(?P<who>(?:my|our|the) (?:[\w -]{{1,30}}'s )?(?:new |full |first |last )?)name(?: is|'s) {_ADVERB}{_VALUE}",
        attribute="name",
        kind="name",
        single=True,
    ),
    StatementRow(
        "name",
        rf"(?:the )?(?:new )?name of (?P<who>(?:my|our|the) [\w -]{{2,30}}?) is {_ADVERB}{_VALUE}",
        attribute="name",
        kind="name",
        single=True,
    ),
    # --- where somebody lives and works
    StatementRow(
        "live lives living based reside resides",
        rf"{_ANY} ?{_ADVERB}(?:(?:am|is|are|'m|'s|'re) {_ADVERB})?(?:live|lives|living|based|reside|resides) (?:in|at|near) {_VALUE}",
        attribute="live",
        kind="word",
        single=True,
        proper=True,
    ),
    StatementRow(
        "moved relocated",
        rf"{_ANY} ?{_ADVERB}(?:moved|relocated) (?:(?:here |away )?from {_BEFORE} )?{_WAY}to {_VALUE}",
        attribute="live",
        kind="word",
        changes=True,
        proper=True,
    ),
    StatementRow(
        "is are located based",
        rf"(?P<who>{_NOUNS}) (?:is|are) {_MANY_ADVERBS}(?:located |based |held |hosted )?in {_VALUE}",
        attribute="live",
        kind="word",
        proper=True,
        weak=True,
    ),
    StatementRow(
        "work works working employed",
        rf"{_ANY} ?{_ADVERB}(?:(?:am|is|are|'m|'s|'re) {_ADVERB})?(?:work|works|working|employed) (?:for|at) {_VALUE}",
        attribute="work",
        kind="word",
        single=True,
        proper=True,
    ),
    StatementRow(
        "started job joined",
        rf"(?P<who>{_ME}|the user|{_NAME}|(?:my|our) [\w -]{{2,20}}?) ?{_ADVERB}(?:started (?:working )?(?:at|for)|(?:started|got|took|accepted) (?:a|my|his|her) (?:new )?(?:job|position|role) (?:at|with)|joined) {_VALUE}",
        attribute="work",
        kind="word",
        changes=True,
        proper=True,
    ),
    StatementRow(
        "work works working",
        rf"{_ANY} ?{_ADVERB}(?:(?:am|is|are|'m|'s|'re) {_ADVERB})?(?:work|works|working|employed) as (?:an? |the )?{_VALUE}",
        attribute="job",
        kind="word",
        single=True,
    ),
    # --- who somebody is
    StatementRow(
        "i'm am turned",
        rf"(?P<who>{_ME})(?:'m| am| {_ADVERB}turned) {_ADVERB}(?P<value>\d{{1,3}})(?: years old| years of age| years young| now)?$",
        attribute="age",
        kind="number",
        single=True,
        weak=True,
    ),
    StatementRow(
        "single married engaged divorced widowed separated",
        rf"(?P<who>{_ME})(?:'m| am| are| got| have gotten|'ve gotten) {_ADVERB}(?P<value>single|married|engaged|divorced|widowed|separated)(?: now| again)?$",
        attribute="status",
        kind="word",
        single=True,
    ),
    # --- changes
    StatementRow(
        "is it's",
        rf"(?P<who>it|that|this)(?:'s| is) (?:now |{_CHANGED} to ){_PLACED}{_PLACE_VALUE}",
        attribute="be",
        changes=True,
        weak=True,
    ),
    StatementRow(
        "moved changed switched shifted pushed postponed rescheduled raised lowered increased decreased reduced cut bumped updated "
        "extended adjusted brought put went gone grew grown risen rose dropped fell fallen improved delayed set upgraded downgraded "
        "migrated converted ported transferred expanded revised corrected amended slipped reassigned handed",
        rf"(?P<who>{_NOUNS}|it) {_ADVERB}(?:(?:was|were|is|are|got|being|has|have) {_ADVERB})?{_CHANGED} {_WAY}(?:from {_BEFORE} )?{_WAY}(?:to|until|till|for) (?:the )?{_VALUE}",
        attribute="be",
        weak=True,
        changes=True,
    ),
    StatementRow(
        "moved changed switched shifted pushed postponed rescheduled raised lowered increased decreased reduced cut bumped updated "
        "extended adjusted brought upgraded downgraded migrated converted ported transferred revised corrected set reset",
        rf"(?:i|we|they|he|she|you|the team|the client|[a-z][\w-]{{1,20}}) {_ADVERB}(?:{_CHANGED}|reset) {_WAY}(?P<who>it|that|this|them|(?:my|our|the) (?:[\w#./'&-]{{1,24}} ){{0,5}}?[\w#./'&-]{{1,24}}) {_WAY}(?:from {_BEFORE} )?{_WAY}(?:to|until|till) (?:the )?{_VALUE}",
        attribute="be",
        weak=True,
        changes=True,
    ),
    StatementRow(
        "switched migrated moved changed converted upgraded downgraded",
        rf"(?:i|we|they|the team|the user) {_ADVERB}(?:switched|migrated|moved|changed|converted|upgraded|downgraded|went) (?:over )?from {_BEFORE} (?:over )?to {_VALUE}",
        kind="word",
        changes=True,
    ),
    StatementRow(
        "make change set bump raise lower move push",
        rf"(?:please |let's |can you |could you )?(?:make|change|set|bump|raise|lower|move|push) (?P<who>that|it|this|(?:my|our|the) (?:[\w#./'&-]{{1,24}} ){{0,5}}?[\w#./'&-]{{1,24}}) {_WAY}(?:from {_BEFORE} )?(?:to |at |on )?{_VALUE}",
        attribute="be",
        kind=WRITTEN,
        weak=True,
        changes=True,
    ),
    StatementRow(
        "changed moved updated rescheduled postponed",
        rf"(?P<who>{_NOUNS}) {_ADVERB}(?:(?:was|were|is|are|got|has|have) {_ADVERB})?(?:changed|moved|updated|rescheduled|postponed)$",
        attribute="be",
        kind=TOPIC,
        changes=True,
    ),
    # --- what is so
    StatementRow(
        "use uses using",
        rf"{_ANY} ?{_ADVERB}(?:use|uses|using) (?P<value>[\w.+#-]{{2,24}}(?: [\w.+#-]{{1,24}}){{0,2}}?) (?:now )?(?:for|as|in) (?:the |our |my )?(?P<thing>[\w -]{{2,30}})",
        attribute="use",
        kind="word",
    ),
    StatementRow(
        "is are 's run runs goes happens happen take takes start starts begin begins open opens close closes end ends finish finishes cost "
        "costs expire expires stand stands sit sits be land lands depart departs leave leaves arrive arrives weigh weighs measures "
        "equals meet meets ships rotates renews refreshes delivers charges holds seats allows requires supports needs attends pays earns plays sleeps",
        rf"(?P<who>{_NOUNS}) ?{_ADVERB}(?P<verb>{_HAPPENS}) {_MANY_ADVERBS}{_PLACED}{_PLACE_VALUE}",
        weak=True,
    ),
    StatementRow(
        "has have contains includes",
        rf"(?P<who>(?:my|our) (?:[\w#./'&-]{{1,24}} ){{0,4}}?[\w#./'&-]{{1,24}}) {_ADVERB}(?:has|have|contains|includes) {_ADVERB}(?P<value>\d[\d,.]{{0,9}}) (?P<thing>[a-z]{{3,20}})(?: now)?",
        attribute="has",
        kind="number",
        single=True,
        weak=True,
    ),
    StatementRow(
        "has have contains includes",
        rf"(?P<who>(?:the|this) (?:[\w#./'&-]{{1,24}} ){{0,4}}?[\w#./'&-]{{1,24}}) {_ADVERB}(?:has|have|contains|includes) {_ADVERB}(?P<value>\d[\d,.]{{0,9}}) (?P<thing>[a-z]{{3,20}})(?: now)?",
        attribute="has",
        kind="number",
        weak=True,
    ),
    StatementRow(
        "live work drive drink use study sleep commute wear teach eat smoke play prefer train rent ship lives works drives drinks uses studys sleeps commutes wears teachs eats smokes plays prefers trains rents ships",
        rf"(?P<who>{_ME}|the user|(?:my|our) [\w-]{{2,20}}) {_ADVERB}(?P<verb>(?:live|work|drive|drink|use|study|sleep|commute|wear|teach|eat|smoke|play|prefer|train|rent|ship)s?)(?!\w)(?: {_ADVERB}{_PLACE_VALUE})?",
        habit=True,
    ),
    StatementRow(
        "take weigh earn pay wake get go run charge spend need takes weighs earns pays wakes gets gos runs charges spends needs",
        rf"(?P<who>{_ME}|the user) {_ADVERB}(?P<verb>(?:take|weigh|earn|pay|wake|get|go|run|charge|spend|need)s?)(?!\w) {_ADVERB}{_PLACE_VALUE}",
        weak=True,
        habit=True,
    ),
    StatementRow(
        "am i'm",
        rf"(?P<who>{_ME})(?:'m| am) {_ADVERB}(?:an? )?(?P<value>[\w-]{{3,20}}(?: (?:to|with|on|in|of) [\w-]{{2,20}})?)$",
        attribute="be",
        kind="word",
        weak=True,
        adds=True,
    ),
    StatementRow(
        "am i'm i've",
        rf"(?P<who>{_ME})(?:'m| am|'ve been) {_ADVERB}(?P<verb>(?!going|getting|being|doing|having|thinking)[a-z]{{2,12}}ing) {_PLACE_VALUE}",
        kind="word",
        adds=True,
        weak=True,
    ),
    StatementRow(
        "on at every",
        rf"(?P<who>{_ME}|the team) {_ADVERB}{_VERB} (?=on |at |every ){_PLACE_VALUE}",
        weak=True,
        habit=True,
    ),
    StatementRow(
        "i'm am",
        rf"(?P<who>{_ME})(?:'m| am) {_ADVERB}(?:on|in|at) (?P<value>[\w -]{{3,30}})$",
        attribute="be",
        kind="word",
        adds=True,
        weak=True,
    ),
    StatementRow(
        "have has",
        rf"(?P<who>{_ME}|the user) (?P<verb>have|has) (?:an? |one ){_VALUE}",
        kind="word",
        adds=True,
        weak=True,
    ),
    # --- what refers to the clause before
    StatementRow(
        "now actually instead correction update meant anymore make it's rather",
        rf"(?:make it |it's |that's |rather |i mean |i meant |now |only )?{_PLACE_VALUE}",
        attribute="be",
        changes=True,
        weak=True,
        refers=True,
    ),
)

ENGLISH = StatementTable(
    lead=(
        r"\W{0,6}(?:(?:hi|hello|hey|ok|okay|well|so|and|but|oh|yes|yeah|no|btw|by the way|fyi|(?:quick |small |one |another )?"
        r"(?:update|correction)|actually|sorry|just so you know|please note(?: that)?|note(?: that)?|please remember(?: that)?"
        r"|remember(?: that)?|good news|bad news|news|i forgot(?: to (?:say|mention|tell you))?(?: that)?|for the record|one more thing"
        r"|(?:it )?turns out(?: that)?|as of (?:today|now|this \w{4,8}|last \w{4,8}|monday|tuesday|wednesday|thursday|friday|next \w{4,8})|from now on"
        r"|since (?:yesterday|last \w{3,9})|last (?:week|month|year|\w{3,6}day|night|spring|summer|autumn|fall|winter)|yesterday|today|this (?:week|month|morning|year)|these days"
        r"|now|unfortunately|luckily|anyway|to correct myself|change of plans?|scratch that|wait|hmm|also|in the meantime|meanwhile"
        r"|it's official|guess what|apparently|thanks|thank you|great|perfect|finally)(?!\w)[,:;.!-]{0,2} ?){0,5}"
    ),
    joint=r"[,;:] (?:and |but |so |because )?| (?:and|but|so|because) (?=(?:i|we|my|our|the|it|it's|now)\b)| [-–—] |[(]",  # dashes
    doubt=(
        r"^(?:if|when|unless|suppose|imagine|let's say|what if|maybe|perhaps|assuming|once|before|after|until)\b"
        r"|\b(?:would|might|could|wish|if i|if we|thinking (?:of|about)|considering|planning to|plan to|want to|wants to"
        r"|hope to|going to move|will move|said|says|told me|asked|heard|dreamed|dreamt|pretend|for example|e\.g|for instance)\b"
    ),
    now=r"\b(?:now|update|correction|actually|as of|from now on|since yesterday|instead|change of plans?|scratch that|these days|nowadays|currently|turns out|sorry|meant|to correct|anymore)\b",
    past=(
        r"\b(?:used to|previous(?:ly)?|former(?:ly)?|back then|at (?:that|the) time|at first|original(?:ly)?|initial(?:ly)?|in the past"
        r"|earlier|old|before|until recently|once|in those days|the first time|ago)\b"
        r"|\b(?:what|where|who|which|when|how (?:much|many|old|long|often|big|far))\b.{0,40}?\b(?:was|were|did|had)\b"
        r"|^(?:was|were|did|had)\b"
    ),
    present=(
        r"\b(?:now|current(?:ly)?|latest|newest|nowadays|these days|at the moment|again\?*$|still)\b"
        r"|\bdid (?:i|we|you|he|she|they|[a-z]+) (?:say|tell|mention|decide|agree|ask|write|note|set|settle|change|move|switch|end up)\b"
        r"|\bhow old\b|\bbefore (?:i|we|you|he|she|they|the|my|our)\b"
    ),
    article="the",
    pronouns=_words("it that this them him her his its their they he she"),
    first_person=_words("i we user"),
    owners=_words("my our"),
    articles=_words("the a an this"),
    others=_words(
        "first second third other another next last previous each every one some two three old older former another's any most many "
        "all few both next's original initial early earlier different similar same best worst biggest only"
    ),
    renewed=_words("new current latest updated revised newest present corrected"),
    one_value=_words(
        "address email phone number password employer major hometown timezone zone database language framework host username nickname "
        "surname favourite favorite colour color currency provider carrier platform title"
    ),
    named=_words(
        "ceo cto cfo coo president mayor director captain coach chair editor principal boss manager landlord doctor dentist wife husband partner girlfriend boyfriend therapist assistant budget deadline rent salary "
        "age weight height size rate limit price quota plan owner branch port version wifi pin birthday job role position car "
        "bike bank insurance pharmacy university team club gym shift locker seat gate lead supervisor"
    ),
    counted=_words("target goal"),
    dated=_words("deadline birthday target goal"),
    exclusive=_words("driv commut sleep prefer study train rent work ship"),
    kin=_words(
        "friend friends son sons daughter daughters brother brothers sister sisters cousin cousins aunt uncle child children kid kids dog "
        "dogs cat cats pet pets colleague colleagues coworker neighbour neighbor teacher doctor nephew niece roommate student client "
        "customer horse fish bird hamster rabbit baby stepbrother stepsister stepson stepdaughter grandson granddaughter grandchild godson "
        "goddaughter member intern trainee employee investor volunteer feature release band book song movie film game show restaurant place school"
    ),
    stops=_words(
        "since with for and but or now because in on at where which who that as these this last again anymore instead from until so then "
        "right today currently if when after before by to via per while every each than though although about during without once a an "
        "any next until till plus yet too also just recently already here there, only"
    ),
    empty=_words(
        "it him her them that not very so really too going here there me you us still no a an the my our your his their this some one "
        "more much many good great fine bad nice ok okay well better best worse sure ready happy sad sorry glad tired sick busy excited "
        "able about just all always never what how why where who important amazing awesome wonderful beautiful fun hard easy "
        "difficult tough like something nothing anything everything someone almost quite pretty part bit lot reason thing way fact kind case time idea point"
    ),
    common=_words(
        "a an the my our your his her their this that it him them me you us home work school college university bed town fear peace tears "
        "place house office hotel apartment flat room city village country countryside suburbs area building floor night nights noon "
        "times once least first last present hand back front another other new old one two three something someone people kids end top"
    ),
    verbs={
        **dict.fromkeys(
            _list(
                "is are 's run runs goes go happens happen start starts begin begins will stands sits lands meets meet ships 're be costs cost "
                "measures equals"
            ),
            "be",
        ),
        "takes place": "be",
        "take place": "be",
        "stands at": "be",
        "sits at": "be",
        "will be": "be",
    },
    days={
        **{
            form: day
            for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
            for form in (day, f"{day}s")
        },
        "mon": "monday",
        "tue": "tuesday",
        "tues": "tuesday",
        "thu": "thursday",
        "thurs": "thursday",
        "fri": "friday",
        "weekdays": "weekdays",
        "weekends": "weekends",
        "weekend": "weekends",
        "tomorrow": "tomorrow",
        "daily": "daily",
        "weekly": "weekly",
        "monthly": "monthly",
        "biweekly": "biweekly",
        "yearly": "yearly",
    },
    months="jan feb mar apr may jun jul aug sep oct nov dec",
    numbers={
        word: str(number)
        for number, word in enumerate(
            _list(
                "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
            )
        )
        if number
    },
    states={
        word: word
        for word in _list(
            "open closed done pending shipped delivered resolved cancelled canceled merged approved rejected blocked fixed broken down "
            "up live deprecated paused active inactive enabled disabled finished complete completed offline online locked unlocked "
            "confirmed postponed available unavailable paid unpaid"
        )
    },
    head_last=True,
    rows=_ROWS,
)
