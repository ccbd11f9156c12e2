"""The lexicon of English."""

from wmem.rules.updates.frames.lexicon import Lexicon, ordinals, verbs, words

ENGLISH = Lexicon(
    verbs=verbs(
        be="is are am",
        live="live lives living reside resides",
        work="work works working",
        do="prefer prefers drive drives",
        add="like likes love loves have has enjoy enjoys hate hates dislike dislikes own owns use uses drink drinks smoke smokes study studies",
        move="moved relocated",
        take="costs takes lasts starts ends expires begins runs rotates seats holds opens closes weighs measures renews",
    ),
    me=words("i we user"),
    mine=words("my our"),
    dropped=words("the this of for user's really just actually do does"),
    some=words("a an"),
    at=words("in at on for with as to from near by"),
    now=words("now currently nowadays instead"),
    leads={
        **dict.fromkeys(
            ("as i said", "as said", "by the way", "btw", "well", "note", "reminder", "fyi", "ok", "yes"), False
        ),
        **dict.fromkeys(
            (
                "actually",
                "correction",
                "update",
                "sorry",
                "scrap that",
                "scratch that",
                "i was wrong",
                "my mistake",
                "no",
            ),
            True,
        ),
    },
    no=words("not never"),
    more=words("longer anymore"),
    but=words("but"),
    naming=words("called named"),
    names=words("name"),
    single=words(
        "favourite favorite password email e-mail phone number address birthday deadline code pin surname hometown birthplace "
        "username nickname timezone size port budget rent salary price age employer meeting appointment status ticket title "
        "language"
    ),
    roles=words(
        "dentist doctor landlord boss manager therapist vet insurer barber bank gym publisher lawyer accountant "
        "hairdresser supervisor lead wife husband fiancé fiancée ceo cto cfo town brand venue building teacher"
    ),
    refused=words(
        "if would could might may should will maybe perhaps whether suppose imagine wish said says thinks thought wrote "
        "asked told was were been used had did before until when who which that because and or also too still both "
        "include includes includes: he she it they his her their its there these those you your what why how where than "
        "another other next last previous old every each one some two three any many most several "
        "friend neighbour neighbor colleague brothers sisters "
        "yesterday today tomorrow sometimes usually often"
    ),
    lower_names=True,
    the=words("the this"),
    plural=words("are"),
    several=words(
        "brother sister sibling son daughter child kid baby cousin uncle aunt nephew niece grandson granddaughter friend colleague coworker teammate neighbour neighbor roommate flatmate relative parent twin classmate acquaintance client customer competitor supplier vendor sponsor investor reviewer contributor author member participant attendee speaker guest student employee user contact dependency tool feature requirement option example topic ingredient hobby interest language nationality citizenship allergy skill goal aim task todo plan-b problem issue bug reason cause risk step thing pet cat dog-breed device gadget book film movie song game restaurant subject strength weakness medication symptom project course class lesson train bus flight tram part idea rule note fact tip wish fear dream advantage founder co-founder speciality specialty dish product invoice stepbrother stepsister stepson stepdaughter half-brother half-sister brother-in-law sister-in-law grandchild godson goddaughter instrument sport medicine drug actor actress genre degree qualification award talent subscription order bill call run workout session payment report recipe meal trip parcel box bag"
    ),
    many=words(
        "ancestor rival maintainer stakeholder mentee pupil lover hero idol ex crush grandfather grandmother grandparent "
        "godparent godmother godfather babysitter trainee intern apprentice subordinate contractor freelancer consultant "
        "candidate applicant prospect referee reference helper volunteer fan follower exam shift interview visit race "
        "match concert vacation holiday conference workshop webinar demo release sprint milestone event party festival "
        "purchase expense deposit withdrawal transfer donation loan debt fine discount gift present offer deal "
        "opportunity account asset share stock novel poem painting article paper blog podcast album playlist series show "
        "episode hit essay post page chapter story photo picture recording score reading measurement attempt round stage "
        "district suburb village island region market branch store shop outlet factory plant warehouse attraction museum "
        "park beach destination stop stopover route landmark bar cafe server node machine endpoint queue channel repo "
        "repository module component library function class method file folder variable column row field commit incident "
        "outage alert warning error label tag keyword alias handle nickname diagnosis condition vaccine vaccination pill "
        "supplement surgery operation injury scar tattoo haircut disease licence license certificate certification "
        "degree subsidiary patent ally enemy opponent character villain ritual habit tradition custom value trait "
        "quality fault virtue need expectation test result dog puppy kitten horse pony rabbit hamster bird fish river lake "
        "mountain bridge street square table watcher follower case cover charger"
    ),
    ordinals=ordinals("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
    head_last=True,
)
