"""Ways to ask in English for something that stands, and to take it back."""

from wmem.rules.standing.table import Table, TableRow


def _any_of(words: str) -> str:
    return rf"(?:{'|'.join(words.split())})\b"


_VERB = _any_of(
    "use give answer reply respond write explain format include add provide show keep make confirm mention cite address "
    "refer speak talk translate start begin end finish put stick avoid ask check tell remind suggest recommend maintain "
    "follow return output present structure summari[sz]e highlight state assume ignore skip limit convert round spell sign "
    "treat warn note wrap quote offer say omit leave correct double-check prioriti[sz]e report list review call reject book "
    "send share store save contact change do be let stay act behave touch commit delete push rely guess apologi[sz]e print "
    "draw comment label describe draft rename overwrite deploy install switch don't"
)
_GERUND = _any_of(
    "using giving answering replying responding writing explaining formatting including adding showing making mentioning "
    "addressing referring speaking talking translating starting beginning ending putting asking telling reminding "
    "suggesting recommending summari[sz]ing assuming saying offering calling sending sharing apologi[sz]ing repeating "
    "lecturing guessing being acting treating complimenting flattering praising rambling"
)
_LANGUAGES = (
    "english french german spanish portuguese italian dutch swedish norwegian danish finnish icelandic russian ukrainian "
    "polish czech slovak hungarian romanian bulgarian greek turkish arabic hebrew persian farsi hindi urdu bengali tamil "
    "telugu punjabi thai vietnamese indonesian malay tagalog filipino korean japanese chinese mandarin cantonese swahili "
    "yoruba igbo hausa afrikaans catalan basque welsh irish latin esperanto croatian serbian slovenian estonian latvian "
    "lithuanian"
)
_LANGUAGE = _any_of(_LANGUAGES)
_ANSWERS = _any_of("answers? reply replies responses? messages? outputs? explanations? sentences paragraphs summaries")
_SCOPE = (
    r"(?:from now on(?:wards?)?|from here on(?: out| in)?|from this point (?:on|forward)|from today on|starting (?:now|today)"
    r"|(?:going|moving) forward|henceforth|for the (?:rest|remainder) of (?:this|the|our) \w{2,20}"
    r"|(?:for|during|throughout) (?:this|the|our) (?:whole|entire) \w{2,20}|for the (?:whole|entire) \w{2,20}"
    r"|(?:until|unless) i (?:say|tell|ask|explicitly|specifically|specify|request)|in (?:the )?future(?:,| (?:answers|replies|responses|messages|chats|conversations|emails)\b)"
    r"|for all (?:future|subsequent|upcoming)|at all times|every (?:single )?time(?: you|\W{1,2}$|,)|each time you"
    r"|(?:in|with|for|to|of|per|after|before) (?:all|every|each|any|future)(?: single| of| your| one| future){0,3} "
    rf"{_ANSWERS}|(?:in|with|for) (?:(?:all|every|each|any|your|all of your|all your) (?:the |your )?(?:following|subsequent|next|upcoming|coming|further)"
    r" (?:answers?|reply|replies|responses?|outputs?|messages?)|(?:the )?(?:following|subsequent) (?:replies|responses|answers))\b)"
)
_STYLE = (
    r"(?:concise|brief|short|direct|blunt|honest|formal|informal|polite|casual|friendly|professional|critical|terse|succinct"
    r"|literal|objective|sarcastic|funny|straightforward|to the point|less (?:formal|wordy|verbose|chatty)"
    r"|more (?:concise|direct|formal|casual|friendly|critical|brief))\b"
)
_SIZE = (
    r"(?:short|brief|concise|shorter|long|longer|detailed|simple|plain|direct|to the point|tight|casual|formal|informal|in\b"
    r"|friendly|professional|under|below|at most|to (?:a|one|two|three|four|five|\d)|as (?:short|brief|concise)|free of)"
)
_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|ten|a single|a few)"
_COUNTED = rf"{_NUMBER}(?: short| brief)? (?:words?|sentences?|lines?|paragraphs?|characters?|bullet points)\b"
_FORM = (
    r"(?:(?:valid |plain |pure |raw |strict )?(?:json|yaml|xml|csv|markdown|html|prose|verse|rhymes?|haikus?)\b"
    rf"|bullet points|bullets|plain text|paragraphs|full sentences|complete sentences|lower ?case|upper ?case|all caps"
    rf"|(?:no more than |at most |fewer than |under |max )?{_COUNTED}"
    r"|(?:very |more )?(?:simple|plain|layman's|lay|easy)(?: \w{2,10})? (?:terms|words|language|english)|the third person)"
)
_UNWANTED = (
    r"(?:emojis?|emoticons?|smileys?|jargon|tables|apolog\w{1,8}|follow-?ups?|follow-?up questions|guess\w{0,4}"
    r"|disclaimers?|bullet ?points?|bullets|bulleted|markdown|headings|headers|preambles?|pleasantries|small ?talk|filler"
    r"|fluff|caveats?|exclamation (?:marks?|points?)|slang|swear\w{0,4}|curs(?:e|ing)|sarcas\w{1,3}|jokes|greetings?"
    r"|lectur\w{1,4}|morali[sz]\w{1,4}|bold|italics|abbreviations|acronyms|flatter\w{0,4}|prais(?:e|ing)|sugar-?coat\w{0,4}"
    r"|hallucinat\w{1,4}|clich[eé]s|passive voice|em.?dash(?:es)?|rhetorical questions|hashtags|buzzwords|spoilers?"
    r"|anglicisms|introductions|intros|conclusions|flowery \w{4,10}|semicolons)\b"
)
_UNWANTED_WORDS = (
    "emoji emojis emoticons smileys jargon tables apologies apologise apologize apologising apologizing apologetic follow-up "
    "follow-ups followups guess guesses guessing disclaimer disclaimers bullet bullets bulleted bulletpoints markdown headings "
    "headers preamble preambles pleasantries small filler fluff caveats exclamation slang swear swearing curse cursing sarcasm "
    "sarcastic jokes greeting greetings lecture lectures lecturing moralise moralising moralize moralizing bold italics "
    "abbreviations acronyms flattery flatter praise praising sugarcoat sugar-coat hallucinate hallucinations cliches clichés "
    "passive dashes em-dashes rhetorical hashtags buzzwords spoilers spoiler anglicisms introductions intros conclusions flowery "
    "semicolons"
)
_SOME = (
    r"(?:(?:use|using|include|including|add|adding|any|the|all|so|many|more|of|your|those|these|that|with|too|much|silly|and"
    r"|or|me|such|unnecessary|long|give|giving|put|putting|write|writing|make|making|ever) ){0,4}"
)
_TALK = (
    r"(?:ask|say|tell|paste|send|share|mention|type|write|post|upload|request|talk|refer|report|describe|greet|thank"
    r"|make (?:an? |any )?(?:mistake|error|typo)s?|get \w{2,12} wrong|give|show|speak|forget|bring up|discuss|start|quote)\b"
)
_RULES = r"(?:rule|instruction|request|restriction|preference|requirement|convention|guideline)s?\b"
_SAID = r"what i (?:said|told you|asked|wrote|wanted)(?: you)?(?: (?:earlier|before|above))?"
_MAY = (
    r"(?:you(?: can|'re allowed to| are allowed to|'re welcome to| are welcome to|'re free to| are free to| may| could)|feel free to|go ahead and"
    r"|it(?:'s| is) (?:ok|okay|fine|alright|all right)(?: now)?(?: for you to| to| if you)|i(?:'m| am) (?:ok|okay|fine) with(?: you)?"
    r"|i don't mind(?: you| if you)?)"
)
_MANNER = (
    r"(?:limits?|cap|ban|rule|restrictions?|format|formatting|style|tone|accent|voice|persona|role-?play"
    r"|mode|thing)"
)
_DROP = r"(?:forget|ignore|disregard|scrap|drop|never ?mind|cancel|undo|lift|revoke|take back|remove)"
_WHENEVER = r"(?:whenever|every time|each time|any ?time)"

_LEAD = (
    r"\W{0,12}(?:(?:please|pls|also|and|but|so|ok|okay|now|then|just|only|hey|hi|hello|btw|by the way|oh|great|thanks|plus"
    r"|thank you|well|actually|again|important|important note|one more thing|another thing|quick thing|reminder|ps|p\.s\."
    r"|first|second|third|finally|lastly|additionally|instead|as a rule|in general|generally|kindly|try to|remember to"
    r"|remember that you|be sure to|make sure(?: you| to| that you)?|i want you to|i'd like you to|i would like you to|because"
    r"|i need you to|i'd prefer (?:it )?if you|i'd appreciate it if you|it would be (?:nice|great|good) if you|i expect you to"
    rf"|you should|you must|you need to|you have to|you are to|you will|let's|let us|{_SCOPE}"
    r"|(?P<asked>(?:can|could|will|would) (?:you|we)(?: please)?))(?=\W)[,:!.]? ?){0,6}"
)

_JOINT = (
    r"[;:] |,? (?=(?:and|but|so|also|please|then|plus|because) )|, (?=(?:just|from now|i prefer|don't|write|keep|forget|ignore|disregard|drop|stop) )"
    r"| [-–—] "  # dashes on purpose
)

_QUESTION = (
    r"(?:[,;] (?:so |and |but |then )?| (?:so|and|but) )"
    r"(?:can|could|how|what|would|should|do|does|did|is|are|which|where|why|will|any)\b"
)
_REMARK = rf"{_QUESTION}|, (?:and|but|so|which) (?:i\b|also\b|it\b|is\b)|, (?:like|as|considering|given|which|because|since|so that) "

_ALWAYS = (
    rf"(?<!and )(?<!but )always (?!(?:an?|been|good|here|the|happy|full|up|glad|ready|nice|great|fun|open|in|on|so|has|love|enjoy"
    rf"|believe|thought|wanted|knew|felt|\w{{2,20}}(?:ed|ing|[^s]s))\b)[a-z]|always {_VERB}(?! (?:(?:me|us) (?:smile|feel|laugh|of|happy|proud)|you))"
)

_LIST = (
    r"\b(?:my|these|the following|some|few|our|following|your|follow|obey) "
    rf"(?:\w{{2,12}} ){{0,3}}(?:rule|instruction|guideline|preference|convention|request)s\b|{_SCOPE}"
)

_ROWS = (
    # -- another language, where an earlier one would only be taken back
    TableRow(
        "language",
        _LANGUAGES,
        r"(?:(?:you|we) (?:can|could|may) |feel free to )?"
        rf"(?:(?:(?:switch|change|go|come|get) )?back (?:in)?to {_LANGUAGE}|switch (?:in)?to {_LANGUAGE}"
        rf"|(?:(?:answer|reply|respond|write|speak|talk|continue) )?(?:in )?{_LANGUAGE} again"
        rf"|{_MAY} (?:now )?(?:answer|reply|respond|write|speak|talk|continue|go on)(?: to me)? (?:in )?{_LANGUAGE}(?= (?:now|again|instead)))"
        r"(?:,? (?:now|please|again|from (?:now|here) on|instead)){0,3}(?=\W{0,3}$|[,.;!])",
    ),
    # -- taking back
    TableRow(
        "take back",
        _LANGUAGES,
        rf"(?:you (?:can|may) )?(?:no more|enough(?: with)?(?: the)?|{_DROP}(?: about)?(?: the)?) {_LANGUAGE}(?: thing)?"
        r"(?:,? (?:now|please|for (?:now|today))){0,2}(?=\W{0,3}$|[,.;!])",
    ),
    TableRow(
        "take back all",
        "forget ignore disregard drop scrap cancel lift",
        rf"{_DROP} (?:about )?(?:all|everything|any)(?: of)?(?: (?:my|the|your|these|those|previous|earlier|prior|standing|i"
        rf"|said|told|you|asked|above|other|about)){{0,5}}(?: {_RULES}|\W{{0,3}}$)",
    ),
    TableRow(
        "take back last",
        "forget ignore disregard drop scrap cancel undo lift revoke",
        rf"{_DROP} (?:about )?(?:that|this|the|my) (?:(?:last|previous|earlier|latest) )?{_RULES}"
        r"(?: (?:again|now|please|from now on|i gave you))?\W{0,3}$",
    ),
    TableRow(
        "take back",
        "forget ignore disregard drop scrap nevermind never cancel undo lift revoke remove take",
        rf"{_DROP} (?:about )?(?:{_SAID}|(?:the|my|that|this|those) (?:[\w'-]{{1,20}} ){{0,4}}{_RULES}|about )",
    ),
    TableRow(
        "take back",
        "forget ignore disregard drop scrap nevermind mind lift",
        rf"(?:forget|ignore|disregard|drop|scrap|never ?mind|lift) (?:about )?(?:the|my|that|this|those) (?:[\w'-]{{1,20}} ){{1,3}}{_MANNER}"
        r"(?:,? (?:now|please|again|for now|from now on|i gave you)){0,2}(?=\W{0,3}$|[,;!])",
    ),
    TableRow("take back", "mind", r"i(?:'ve| have)? changed my mind (?:about|on|regarding) "),
    TableRow(
        "take back prohibition",
        _UNWANTED_WORDS,
        rf"{_MAY} (?:(?:now|also|again|of course|start|go back to|return to) ){{0,2}}{_SOME}(?P<topic>{_UNWANTED})",
    ),
    TableRow(
        "take back prohibition",
        _UNWANTED_WORDS,
        rf"{_SOME}(?P<topic>{_UNWANTED}) (?:are|is) (?:(?:now|again|totally|perfectly|also) ){{0,2}}(?:fine|ok|okay|allowed|welcome)"
        r"(?: now| again| after all| with me| by me){0,2}(?=\W{0,3}$|,)",
        hint=rf"{_UNWANTED} (?:are|is) ",
    ),
    TableRow(
        "take back",
        "again fine ok okay allowed welcome",
        r"(?:you (?:can|may|could)|feel free to|it's (?:ok|okay|fine|alright)(?: for you)? to|i'm (?:ok|okay|fine) with"
        r"|[\w ]{3,30} (?:are|is))\b.{0,60}\b(?:again|(?:fine|ok|okay|allowed|welcome)(?: again| now| after all))(?=\W{0,3}$|,)",
        hint=r"\b(?:again|(?:fine|ok|okay|allowed|welcome)(?: again| now| after all))(?! ?\w)",
    ),
    TableRow(
        "take back",
        "longer anymore more stop",
        r"(?:you (?:don't|do not|no longer) (?:have|need) to|there's no need to|no need to|you needn't|you (?:can|may) stop"
        r"|i no longer (?:need|want)|we no longer (?:need|want))\b.{2,80}",
    ),
    # -- asking
    TableRow(
        "ask first",
        "asking checking consent permission approval confirming unsure you're know ask check confirm",
        rf"(?:(?:{_VERB}|never|do not|nothing|no \w{{2,20}}).{{0,100}} (?:without|unless you have|before) "
        r"(?:first |you )?(?:asking me|my (?:explicit )?(?:consent|permission|approval|ok|okay|say-so|confirmation|go-ahead)"
        r"|checking with me|confirming with me)|(?:always )?(?:ask|check with|confirm with) me (?:first|before|for "
        r"(?:permission|confirmation|approval))|ask before|if you(?:'re| are)? (?:not sure|unsure|don't know|do not know"
        r"|uncertain|can't find|cannot find).{0,60}(?:,| then|\bjust) ?(?:please |just |then )?(?:say|tell|ask|admit|don't|do not))",
        hint=r"(?:without|unless you have|before) (?:first |you )?(?:asking me|my |checking with me|confirming with me)|(?:ask|check with"
        r"|confirm with) me (?:first|before|for )|ask before|if you(?:'re| are)? (?:not sure|unsure|don't know|do not know|uncertain"
        r"|can't find|cannot find)",
    ),
    TableRow(
        "when I",
        "when whenever every each anytime mistake mistakes error typo wrong ask say",
        rf"(?:(?:when|{_WHENEVER}|if) (?:i|we) {_TALK}.{{0,80}}[,:]? (?:please |then |always |just |only |you should |you must ){{0,4}}?"
        rf"(?<=[ ,:])(?:{_VERB}|do not|never|i want|i'd like)|{_WHENEVER} you {_VERB}.{{0,80}}, (?:please |always |also )?{_VERB}"
        r"|when (?:replying|answering|responding|explaining|writing to me|talking to me|giving|suggesting|you (?:answer|reply"
        rf"|respond|explain|talk|suggest|recommend|write code|give me|show me)).{{0,60}}, (?:please |always )?(?:{_VERB}|do not|never))",
    ),
    TableRow(
        "when I",
        "when whenever every each anytime",
        rf"(?:always \w{{3,16}}|(?:never |do not )?{_VERB})(?! me know).{{2,120}} (?:(?:when|{_WHENEVER}) (?:i|we) {_TALK}"
        rf"|(?:{_WHENEVER}|when) you (?:answer|reply|respond|mention|explain|suggest|recommend|use|cite|quote|give|show|refer|greet|address))\b",
        hint=rf"(?:when|{_WHENEVER}) (?:(?:i|we) {_TALK}|you (?:answer|reply|respond|mention|explain|suggest|recommend|use|cite|quote|give|show|refer|greet|address))",
    ),
    TableRow(
        "language",
        _LANGUAGES,
        r"(?:always |only |just )?(?:(?:answer|reply|respond|write|speak|talk|chat|communicate|converse|continue|switch|text|explain)"
        r"(?: to me| with me| me| back| everything| all| always| just| strictly| exclusively| only| over| things){0,3}"
        rf" (?:in|to|into) (?:only |plain |simple |brazilian |british |american |standard |formal |easy |traditional |simplified ){{0,4}}?"
        rf"(?<= ){_LANGUAGE}(?: only| please| again| now)?(?=\W{{0,3}}$|,|\.|;|!| from| unless| even| no matter| for th| and | because"
        rf"| since| until| instead| when| at all| throughout| - )|(?:speak|talk)(?: only)? {_LANGUAGE}(?: to me| with me| only| please)"
        rf"|translate everything.{{0,40}} (?:in)?to {_LANGUAGE}|i (?:only (?:speak|understand|read)|(?:don't|do not) (?:speak|understand"
        rf"|read)(?: much| any)?) {_LANGUAGE})",
    ),
    TableRow(
        "always",
        "always",
        _ALWAYS,
        hint=rf"(?=always )(?<!\bi )(?<!'ve )(?<!'re )(?<!'m )(?<!\bit's )(?<!\bthat's )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bis )(?<!\bare )(?<!\bwas )"
        rf"(?<!\bhas )(?<!n't )(?<!i'll )(?:{_ALWAYS})",
    ),
    TableRow(
        "never",
        "never ever must mustn't shouldn't should",
        rf"(?:(?:you )?(?:must |should |may |can |shall |are to |will )?(?:never|not ever|only ever|don't ever) |you (?:must|should|may"
        rf"|shall) (?:not|only) |you (?:mustn't|shouldn't) |do not ever |don't ever )(?:again )?{_VERB}"
        r"(?! (?:up|never|us down|me down|you down|too late))",
    ),
    TableRow(
        "form",
        "json yaml xml csv markdown html prose verse rhyme rhymes haiku haikus bullet bullets text paragraphs sentences lowercase "
        "uppercase case caps words word sentence line lines paragraph characters terms language english person",
        r"(?:(?:answer|reply|respond|speak|talk|explain (?:everything|things|stuff|it all))"
        rf"(?: to me| me| everything| always| just| strictly| only| with){{0,2}} (?:in|with|using) (?:only |just )?{_FORM}(?! (?:about|of|that|for)\b)"
        r"|(?:(?:use|write|give(?: me)?|send(?: me)?|answer (?:in|with)|stick to|limit yourself to|keep (?:it|answers|replies) (?:to|under)) )?"
        rf"(?:no more than|at most|max(?:imum)?(?: of)?|not more than|under|fewer than|less than|within|only|just) {_COUNTED}"
        rf" (?:per|in each|in every|in your|each|every|at a time|for each)(?: {_ANSWERS})?)",
    ),
    TableRow(
        "do not",
        _UNWANTED_WORDS,
        rf"(?:don't|do not|stop|quit|avoid|no more|no|refrain from|cease|skip|leave out|drop|without|i don't want|i hate|i dislike"
        rf"|i can't stand|enough with|lay off|cut)(?: me)? {_SOME}{_UNWANTED}",
        ends=True,
    ),
    TableRow(
        "do not",
        "stop quit",
        rf"(?:stop|quit) (?:always |constantly )?{_GERUND}",
        ends=True,
    ),
    TableRow(
        "do not",
        "don't not avoid cease refrain",
        r"(?:(?:don't|do not) (?:you )?(?:call me|contact me|address me|suggest (?:any|that|me|anything|things|\w{3,20} (?:with|that|to|again))"
        r"|recommend (?:any|me|anything|\w{3,20} (?:with|that))|assume (?:that |i|my)|share my|offer (?:me|to|any)|remind me|ask me"
        r"|(?:end|start|begin|open|close) (?:every|each|your|with)|use (?:the words?|words like|phrases|my|any)|tell me (?:to|that|how i)"
        r"|talk (?:down|to me|about)|repeat (?:yourself|my|the question|what)|reveal|disclose|give me (?:advice|medical|legal|any)"
        r"|switch (?:to|back)|translate (?:my|names|any)|explain (?:every|basic|how|what|unless|the basics)|mention (?:my|it again|that again"
        r"|the word|ai\b)|bring up|be so|treat me|compare me|patroni[sz]e|i want you to|add any|include any|agree with|flatter)"
        r"|avoid (?:using|saying|mentioning|suggesting|recommending|long|technical|complex|complicated)"
        r"|i (?:don't|do not) want (?:you to|to see any|to hear any|any more)|(?:don't|do not) .{2,60} (?:anymore|any more|ever again)\W{0,3}$)",
    ),
    TableRow(
        "answers so",
        "answers replies responses explanations messages everything dates times prices numbers amounts measurements things units "
        "temperatures distances outputs emails paragraphs sentences code answer response reply",
        r"(?:(?:keep|make|give(?: me)?|format|write|structure|phrase|send(?: me)?|limit|cap|present|put|express|quote|show)"
        r"(?: (?:me|all|every|each|any|of|your|the|my|future|very|more|a|code|only)){0,4}? (?:short |brief |concise |shorter |detailed |simple |plain "
        r"|direct |straight |honest ){0,4}?(?<= )(?:answers|replies|responses|messages|explanations|everything|dates|times|prices|numbers|amounts"
        rf"|measurements|things|units|temperatures|distances|outputs|sentences|paragraphs)\b(?: \w{{2,12}}){{0,2}} {_SIZE}"
        r"|(?:all|every|each|your|the) (?:of your |of the |your |future )?(?:answers|replies|responses|explanations|dates|times|prices|amounts|units"
        r"|measurements|temperatures|answer|response|reply) (?:should|must|need to|needs to|has to|have to|are to) (?:be |use |have |start |end "
        r"|include |stay |come |fit |not |never |contain |follow )|(?:i want|i need|i'd like) (?:all|every|your|the)(?: of)?(?: your| the)? "
        rf"(?:answers|replies|responses|explanations|dates|times|prices|amounts|measurements|units) {_SIZE}|(?:give me |i want |i need )?"
        r"(?:short|brief|concise|shorter|detailed|one-line|one-word) (?:answers|replies|responses|explanations)(?: only|,? please|\W{0,3}$))",
    ),
    TableRow(
        "answers so",
        "sign sprinkle end start begin finish preface prefix close open add put include attach append",
        r"(?:sign|end|start|begin|finish|preface|prefix|close|open|add|put|include|append|attach).{0,60} (?:every|each|all|all of)"
        r"(?: of)?(?: (?:your|my|the|single))? (?:answers?|repl(?:y|ies)|responses?|messages? (?:with|you)|\w{3,14} you (?:write|give|send|draft"
        r"|show|make|create))\b",
    ),
    TableRow(
        "answers so",
        "explanation explanations comments",
        r"(?:give|show|send|tell) me (?:only|just|nothing but) the (?:code|answer|facts|result|command|final answer)\b(?=.{0,60}"
        r"(?:no |without |nothing|$))|(?:just|only) the (?:code|answer|facts|command)\b.{0,60}(?:no |without )",
    ),
    TableRow(
        "every",
        "every each",
        rf"for (?:every|each) (?:\w{{2,16}} ){{1,4}}(?:you|i) (?:write|give|suggest|show|make|create|send|recommend|ask|share|name).{{0,40}}, "
        rf"(?:please |also |always )?{_VERB}",
    ),
    TableRow(
        "be so",
        "concise brief short direct blunt honest formal informal polite casual friendly professional critical terse succinct literal "
        "objective sarcastic funny straightforward point wordy verbose chatty",
        rf"(?:be|stay|remain) (?:very |as |always |completely |brutally |totally |a bit |a little |super |really ){{0,4}}?(?<= ){_STYLE}"
        r"(?: and \w{3,16})?(?: with me| in your \w{3,14}| when \w{2,12}ing| as possible| at all times| please){0,4}?\W{0,3}$",
    ),
    TableRow(
        "be so",
        "act behave respond answer reply talk speak write pretend explain address treat now",
        r"(?:(?:act|behave|respond|answer|reply|talk|speak|write|pretend to be)(?: to me| with me| always)?"
        r" (?:as if|as|like)(?: you're| you are|)? (?:an? |my |i'm |i am |we |you |if )"
        r"(?!result|part|list|table|pdf|file|single|string|number|function|json|csv)"
        r"|you are now (?:an? |my |the |called )|explain (?:things|everything|stuff|it all)(?: to me)? (?:like|as if|in simple|simply|step"
        r"|in plain|slowly|in detail|briefly)|explain .{0,20}like i'm|address me (?!to)|treat me (?:like|as)"
        r"|talk to me (?:like|in|as))",
    ),
    TableRow(
        "use so",
        "british american uk us metric imperial celsius fahrenheit 24-hour 12-hour kilometers kilometres plain formal informal "
        "gender-neutral inclusive they/them name first-person emojis emoji throughout everywhere consistently default lowercase",
        r"(?:use|stick to|stick with|switch to|write in|prefer)(?: only| always| the| proper| my| me| a){0,4}? (?:(?<= )(?:british|american|uk|us"
        r"|metric|imperial|celsius|fahrenheit|24-hour|12-hour|kilomet\w{2,4}|plain|formal|informal|gender-neutral|inclusive|they/them"
        r"|(?:first |last |full |nick ?|preferred )?names?\b(?! of| for)|emojis?|lower ?case)"
        r"|.{2,60} (?:throughout|everywhere|consistently|(?:by|as (?:the|a|my)) default))",
    ),
    TableRow(
        "use so",
        "examples projects code answers scripts",
        r"(?:so |and )?(?:use|stick (?:with|to)) .{2,40} (?:in|for) (?:all|every|any)(?: of)?(?: your| my| our| the| future)? "
        r"(?:examples|answers|code examples|snippets|suggestions|scripts)",
    ),
    TableRow(
        "remember",
        "remember mind note forget reference record fyi know later",
        r"(?:(?:remember|keep in mind|bear in mind|make a note|take note|don't forget|do not forget|never forget|note|fyi|just so you know"
        r"|for (?:your|future) reference|for the record|for later)(?: for (?:later|next time|the future|future reference))?[,:]?"
        r"(?: that| this[:,])? (?:i(?! (?:asked|said|told|mentioned|was saying)\b)\b|i'm|i've|my|we(?!'ve discussed| discussed| talked| said)\b|our|us\b"
        r"|all (?:my|our)\b)(?!(?:'m| am)?(?: last| previous| question| earlier| always here| here for| proud| with you)))",
    ),
    TableRow(
        "names",
        "call name names pronouns address refer go name's",
        r"(?:(?:you can |everyone |everybody |people |friends |they )?(?:call|calls|refer to) me (?:as )?(?!an?\b|back|later|when|at\b|on\b|if\b|tomorrow"
        r"|today|tonight|in\b|crazy|maybe|now|asap|before|after|again|up\b|out\b|for\b|to\b|by\b|paranoid|old\b|stupid|dumb|naive|skeptical|and\b|or\b"
        r"|the\b|with\b|about\b|regarding|immediately|once|this\b|next\b|any\b|every\b|instead|directly)\w"
        r"|address me as|my (?:preferred |full |first |nick ?)?name(?:'s| is| will be) (?!not|on\b|in\b|missing|misspelled|wrong|spelled)\w"
        r"|my pronouns are|your (?:new )?name (?:is|will be|shall be)|i go by \w|i'll call you \w|i(?:'m| am) going to call you \w)",
    ),
    TableRow(
        "from now on",
        "now here point forward henceforth rest remainder whole entire until unless future subsequent times every each "
        "answer answers reply replies response responses today",
        rf"(?!(?:{_SCOPE}[,:]? )?(?:i'll|i will|i'm|i am|we'll|we will|we're|he|she|they|it|the \w{{2,20}}|what|when|this|that|there)\b(?! sure))"
        rf"(?=.{{0,300}}\b{_SCOPE})(?=.{{0,300}}\b(?:you|your|please|don't|do not|never|always|let's|i want|i'd like|i need|no|only|{_ANSWERS}|{_VERB}))"
        rf"(?:{_SCOPE}[,:]? )?(?:you|your|please|don't|do not|never|always|let's|i want|i'd like|i need|no|only|all|every|each|"
        rf"{_VERB}|(?:short|brief)\w{{0,3}}|{_SCOPE})",
        hint=rf"\b{_SCOPE}",
    ),
    TableRow(
        "prefer",
        "colour-blind color-blind colourblind colorblind diabetic dyslexic left-handed pescatarian prefer preference preferences rather vegan vegetarian allergic intolerant hate eat fly buy drink answers replies explanations responses jargon emojis bullet tables",
        r"(?:\bi (?:(?:\w{2,12}ly|also|always|much|do) )?prefer\b(?! not to say)|\bmy (?:strong |personal |general )?preferences? (?:is|are|for)\b"
        r"|\bi'd rather you\b|\bi(?:'m| am) (?:a )?(?:strict )?(?:vegan|vegetarian|pescatarian|allergic to|(?:lactose|gluten) intolerant|colou?r-?blind"
        r"|diabetic|dyslexic|left-handed)\b|\bi (?:only|never|don't) (?:eat|fly|buy|drink)\b(?! (?:there|here|before|after|at|much|enough|out|anymore|until|since)\b)|\bi (?:hate|love|like|don't like|can't stand) (?:it when you (?!(?:make|bake|cook|bring|come|visit|play|sing|are|were)\b)"
        r"|(?:short|long|brief|detailed|concise) (?:answers|replies|explanations|responses)|bullet points|emojis|tables|jargon))",
        anywhere=True,
    ),
)

ENGLISH = Table(lead=_LEAD, joint=_JOINT, question=_QUESTION, remark=_REMARK, list_heading=_LIST, rows=_ROWS)
