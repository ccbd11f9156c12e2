"""Ways to ask for something that stands in German, Dutch, Swedish, French, Spanish, Portuguese, Italian and Russian.

Fewer than in English, and only plain ones: who asks otherwise is found by recall.
"""

from typing import NamedTuple

from wmem.rules.standing.table import Table, TableRow

_STEM_LETTERS = 3  # of a word, by which it is known in a pattern


class _Phrases(NamedTuple):
    """The phrases of a language; each is a regular expression, except the words that are looked up."""

    lead: str
    asked: str
    joint: str
    question: str
    scope: str
    scoped: str
    """What is asked for beside the scope."""
    answer: str
    into: str
    languages: str
    form: str
    always: str
    unwanted: str
    no: str
    names: str
    remember: str
    prefer: str
    when: str
    forget: str
    again: str
    back: str
    """Ways to go back to LANGUAGE, or to another."""
    may: str
    """What says that something is allowed, before what is unwanted otherwise."""
    fine: str
    """The same, behind it."""
    omit: str
    """What says the contrary in such a clause."""
    all: str
    last: str
    words: str
    adverbs: str = "(?!)"
    """Words that say in which language."""
    one_thing: str = "(?!)"
    """What one is asked to explain, write or translate in a language this time only."""


def _to_table(phrases: _Phrases) -> Table:
    language = rf"(?:{phrases.languages})\b"
    words = f"{phrases.words} {phrases.languages.replace('|', ' ')}".split()
    scope, end = rf"(?:{phrases.scope})", r"\W{0,3}$"
    within = rf"(?:(?:{phrases.into}) {language}|(?:{phrases.adverbs})\b)"
    language = rf"(?:{phrases.languages}|{phrases.adverbs})\b"
    other = rf"(?!(?:{phrases.one_thing})\b)"

    def row(rule: str, pattern: str, *, anywhere: bool = False, ends: bool = False) -> TableRow:
        wanted = [word for word in words if word.rpartition("'")[2][:_STEM_LETTERS] in pattern]
        return TableRow(rule, " ".join(wanted), pattern, anywhere=anywhere, ends=ends)

    return Table(
        lead=rf"\W{{0,12}}(?:(?:{phrases.lead}|{scope}|(?P<asked>{phrases.asked}))(?=\W)[,:!.]? ?){{0,5}}",
        joint=rf"[;:] |,? (?=(?:{phrases.joint}) )| [-–—] ",
        question=rf"[,;] (?:{phrases.question})\b",
        remark=rf"[,;] (?:{phrases.question}|{phrases.joint})\b",
        list_heading=rf"{scope}",
        rows=(
            row("take back all", rf"(?:{phrases.all})"),
            row("take back last", rf"(?:{phrases.last}){end}"),
            row("language", rf"(?:{phrases.back.replace('LANGUAGE', language)})(?={end}|[,.;!])"),
            row(
                "take back prohibition",
                rf"(?:{phrases.may})(?!.{{0,60}}\b(?:{phrases.omit})\b)(?: [\w'’]{{1,14}}){{0,4}}? ?(?P<topic>{phrases.unwanted})\b",
            ),
            row("take back prohibition", rf"(?P<topic>{phrases.unwanted}) (?:{phrases.fine})\b"),
            row("take back", rf"(?:{phrases.forget}|{phrases.again})"),
            row("when I", rf"(?:{phrases.when})"),
            row(
                "language",
                rf"(?:(?:{phrases.answer})(?: {other}\w{{1,12}}){{0,4}}? {within}"
                rf"|(?:{other}\w{{2,12}} ){{0,3}}?{within} (?:{phrases.answer}))",
            ),
            row("form", rf"(?:{phrases.form})"),
            row("do not", rf"(?:{phrases.no})(?: [\w'’]{{1,14}}){{0,3}}? ?(?:{phrases.unwanted})\b", ends=True),
            row("always", rf"(?:{phrases.always})"),
            row("names", rf"(?:{phrases.names})"),
            row("remember", rf"(?:{phrases.remember})"),
            row(
                "from now on",
                rf"\b(?:{scope}[,:]? (?:{phrases.scoped})\b|(?:{phrases.scoped})\b.{{0,120}} {scope}{end})",
                anywhere=True,
            ),
            row("prefer", rf"\b(?:{phrases.prefer})", anywhere=True),
        ),
    )


GERMAN = _to_table(
    _Phrases(
        lead="bitte|und|aber|also|ok|okay|hallo|hi|danke|außerdem|noch etwas|nur|ich möchte,? dass du|ich will,? dass du|du sollst",
        asked="(?:kannst|könntest|würdest) du|(?:können|könnten|würden) sie",
        joint="und|aber|bitte|also|sondern|denn",
        question="kannst|könntest|können|wie|was|wann|wo|warum|welche|soll|ist|gibt",
        scope="ab jetzt|ab sofort|ab heute|von nun an|von jetzt an|künftig|zukünftig|in zukunft|für den rest (?:des|dieses) \\w{3,12}|in (?:allen|den|all deinen|deinen) (?:folgenden |nächsten |weiteren |künftigen )?antworten",
        scoped="bitte|nur|immer|nie|niemals|keine?|kurz|antworte|schreib|nenn|verwende|benutze|nutze|sprich|gib|sag|duze|sieze|erkläre?|mach|zeig",
        answer="antworte|antworten|antworten sie|schreibe?|schreib mir|schreiben|sprich|sprechen|sprechen sie|rede|reden|erklär|erkläre|übersetze alles",
        into="auf|in|ins",
        languages="deutsch|englisch|französisch|spanisch|italienisch|russisch|polnisch|türkisch|arabisch|niederländisch|schwedisch|portugiesisch|chinesisch|japanisch|deutsche|englische",
        form=(
            r"(?:fass|halte?) dich (?:immer |bitte )?kurz|(?:antworte|schreib|erkläre?)(?: mir| bitte| immer| nur| stets){0,3} (?:kurz|knapp|ausführlich|einfach"
            r"|in (?:einem satz|stichpunkten|ganzen sätzen|\w{2,8} sätzen|einfacher sprache)|ohne fach\w{2,12})\b"
            r"|(?:halte|mach) (?:deine|die|alle) antworten (?:kurz|knapp|kürzer)|deine antworten sollen|(?:kurze|knappe) antworten(?: bitte)?\W{0,3}$"
        ),
        always=(
            r"(?:verwende|benutze|nutze|schreibe?|mach|sag|antworte|erwähne|frag|gib|nenn|zeig|füge?|lösche?|ändere?|schlag|empfiehl|erkläre?)"
            r"(?: mir| mich| bitte){0,2} (?:nie|niemals|immer|stets)\b|frag mich (?:zuerst|vorher|erst)|ohne mich (?:vorher )?zu fragen"
        ),
        unwanted=r"emojis?|smileys?|tabellen?|fachjargon|fachbegriffe|entschuldig\w{0,8}|floskeln|aufzählung(?:en|szeichen)|stichpunkte|anglizismen|ausrufezeichen|rückfragen|warnhinweise|überschriften",
        no="keine|kein|verzichte|hör auf|vermeide?|lass(?: bitte)? die|verwende keine|benutze keine|bitte keine",
        names=r"nenn(?:e|en sie)? mich (?!nicht|einen)\w|ich hei(?:ß|ss)e (?!nicht)\w|mein name ist \w|(?:duze|sieze|duzen sie) mich|sprich mich (?:mit|als)|du kannst mich [\w ]{2,20} nennen",
        remember=r"(?:merke? dir|denk daran|vergiss nicht|behalte?|zur info)[,:]? (?:bitte )?(?:im kopf,? )?(?:dass |: )?(?:ich|meine?|wir|unsere?)\b",
        prefer=r"ich (?:bevorzuge|mag (?:lieber|kurze|keine)|esse (?:keine?|nie)\b|bin (?:veganer\w{0,3}|vegan|vegetarier\w{0,3}|allergisch|laktoseintolerant))",
        when=r"(?:wenn|immer wenn|jedes mal,? wenn|sobald) ich .{0,60}(?:frage|sage|schreibe|schicke|einfüge|bitte|erwähne|poste|teile), (?:dann )?(?:bitte )?(?:antworte|gib|schreib|nenn|zeig|erklär|nutze|verwende|übersetze|korrigiere)",
        forget=r"(?:vergiss|ignoriere),? (?:bitte )?(?:was ich (?:über|zu|zum|zur|von)|das mit|die regel|die anweisung|meine regel|meine bitte)\b",
        again=r"du (?:kannst|darfst) (?:jetzt |nun )?(?:[\w ]{0,30})?wieder\b|du musst (?:jetzt )?(?:[\w ]{0,40})?nicht mehr\b",
        back=r"(?:bitte |jetzt |nun |ab jetzt ){0,2}(?:wieder|zurück|weiter)(?: bitte| jetzt){0,2} (?:auf |in |zu |zum |ins )?LANGUAGE(?: bitte| sprechen| reden| antworten| schreiben){0,2}|(?:auf |in )?LANGUAGE,? (?:bitte |jetzt )?wieder(?: bitte)?|(?:du (?:kannst|darfst)|wir können|lass uns)(?: jetzt| nun| gerne| bitte| mit mir| wieder){0,3} (?:auf |in )?LANGUAGE (?:sprechen|reden|schreiben|antworten|weitermachen)",
        may=r"du (?:kannst|darfst)|sie (?:können|dürfen)|ihr (?:könnt|dürft)",
        fine=r"(?:darfst|kannst) du(?: jetzt| nun| doch| wieder| auch){0,3} (?:verwenden|benutzen|nutzen|machen|einsetzen)|(?:sind|ist)(?: jetzt| nun| wieder| doch| auch| für mich){0,3} (?:ok|okay|erlaubt|in ordnung|willkommen)",
        omit=r"weglassen|lassen|entfernen|löschen|streichen|sparen|vermeiden|auslassen|verzichten|nicht|keine?",
        all=r"(?:vergiss|ignoriere) (?:bitte )?(?:alles,? was ich gesagt|alle (?:meine |bisherigen )?(?:regeln|anweisungen|wünsche))",
        last=r"(?:vergiss|ignoriere) (?:bitte )?(?:diese|die letzte|meine letzte|die) (?:regel|anweisung|bitte)",
        words=(
            "jetzt sofort heute nun künftig zukünftig zukunft rest kurz knapp ausführlich einfach antworten immer nie niemals stets zuerst vorher erst fragen "
            "emojis emoji smileys tabellen tabelle fachjargon fachbegriffe entschuldige entschuldigen entschuldigungen floskeln aufzählungen stichpunkte anglizismen ausrufezeichen "
            "rückfragen warnhinweise überschriften nenn nenne heiße heisse name duze sieze merk merke denk vergiss behalte info bevorzuge mag esse veganer veganerin vegan vegetarier "
            "vegetarierin allergisch wenn sobald ignoriere wieder mehr nennen sprich stichpunkten sätzen"
        ),
        one_thing=r"das|dies\w{0,2}|es|den|die|folgend\w{2,3}|diesen|diese|was",
    )
)

DUTCH = _to_table(
    _Phrases(
        lead="graag|alsjeblieft|en|maar|dus|oké|ok|hallo|hoi|bedankt|ook|alleen|ik wil dat je|je moet",
        asked="(?:kun|kan|wil|zou) je",
        joint="en|maar|dus|want|graag|alsjeblieft",
        question="kun|kan|wil|zou|hoe|wat|wanneer|waar|waarom|welke|is",
        scope="vanaf nu|voortaan|van nu af aan|in het vervolg|vanaf vandaag|de rest van dit gesprek|in al (?:je|de) (?:volgende |komende )?antwoorden|in alle (?:volgende |komende )?antwoorden",
        scoped="antwoord|schrijf|gebruik|noem|spreek|geef|zeg|altijd|nooit|geen|alleen|graag|kort|houd|hou",
        answer="antwoord|antwoorden|schrijf|schrijven|spreek|praat|praten|leg alles uit|vertaal alles",
        into="in het|in|naar het",
        languages="nederlands|engels|duits|frans|spaans|italiaans|russisch|pools|turks|zweeds|portugees|chinees|japans",
        form=r"(?:houd|hou|maak) (?:het|je antwoorden|de antwoorden|antwoorden) (?:altijd )?(?:kort|beknopt)|(?:antwoord|schrijf)(?: altijd| graag| alleen){0,2} (?:kort|beknopt|in (?:één zin|hele zinnen|\w{2,6} zinnen|eenvoudige taal))|(?:korte|beknopte) antwoorden(?: graag| alsjeblieft)?\W{0,3}$",
        always=r"(?:gebruik|schrijf|zeg|antwoord|noem|vraag|geef|verwijder|vermeld|wijzig|stel)(?: me| mij)? (?:altijd|nooit)\b|vraag (?:het )?me eerst|zonder (?:het )?me te vragen",
        unwanted=r"emoji'?s?|smileys?|tabellen|jargon|excuses|opsommingen|opsommingstekens|uitroeptekens|verontschuldigingen|disclaimers|vaktermen",
        no="geen|vermijd|stop met|gebruik geen|zonder|laat",
        names=r"noem me (?!niet|een)\w|ik heet \w|mijn naam is \w|spreek me aan met|je mag me [\w ]{2,20} noemen|(?:zeg|tutoyeer) (?:je tegen )?me",
        remember=r"(?:onthoud|vergeet niet|denk eraan|ter info)[,:]? (?:dat |graag )?(?:ik|mijn|we|wij|ons|onze)\b",
        prefer=r"ik (?:geef de voorkeur aan|heb liever|eet geen|ben (?:vegan|veganist|vegetariër|allergisch))",
        when=r"(?:als|wanneer|telkens als|elke keer dat) ik .{0,60}(?:vraag|zeg|stuur|plak|noem|schrijf), (?:dan )?(?:antwoord|geef|schrijf|noem|toon|gebruik|vertaal|leg)",
        forget=r"(?:vergeet|negeer) (?:wat ik (?:over|zei)|de regel|mijn regel|die regel over)\b",
        again=r"je (?:mag|kunt|kan) (?:nu )?(?:[\w' ]{0,30})?weer\b|je hoeft (?:[\w ]{0,40})?niet (?:meer|langer)\b",
        back=r"(?:nu )?(?:weer|terug|verder)(?: graag)? (?:in het |naar het |in )?LANGUAGE(?: graag| alsjeblieft| praten){0,2}|(?:in het )?LANGUAGE weer(?: graag| alsjeblieft)?|(?:je|u) (?:mag|kunt|kan)(?: nu| weer| gerust| met mij){0,3} (?:in het )?LANGUAGE (?:praten|spreken|schrijven|antwoorden)",
        may=r"(?:je|u) (?:mag|kunt|kan)",
        fine=r"(?:mag|kun) je(?: nu| toch| weer| ook){0,3} gebruiken|(?:zijn|is)(?: nu| weer| toch| ook){0,2} (?:ok|oké|toegestaan|prima|welkom)",
        omit=r"weglaten|laten|verwijderen|schrappen|vermijden|overslaan|stoppen|niet|geen",
        all=r"(?:vergeet|negeer) (?:alles wat ik|al mijn (?:regels|instructies)|alle (?:regels|instructies))",
        last=r"(?:vergeet|negeer) (?:die|deze|de laatste|mijn laatste) (?:regel|instructie)",
        words="spreek nu voortaan vervolg vandaag rest altijd nooit eerst vragen emoji emoji's emojis smileys tabellen jargon excuses opsommingen opsommingstekens uitroeptekens verontschuldigingen disclaimers vaktermen noem heet naam onthoud vergeet denk info voorkeur liever eet vegan veganist vegetariër allergisch als wanneer telkens keer negeer weer meer langer kort beknopt korte beknopte zin zinnen antwoorden noemen",
        one_thing=r"dit|dat|deze|de|het|volgende",
    )
)

SWEDISH = _to_table(
    _Phrases(
        lead="snälla|och|men|så|ok|okej|hej|tack|också|bara|endast|jag vill att du|du ska",
        asked="(?:kan|skulle|vill) du",
        joint="och|men|så|snälla|för",
        question="kan|skulle|vill|hur|vad|när|var|varför|vilken|är",
        scope="från och med nu|hädanefter|framöver|i fortsättningen|från och med idag|resten av samtalet|i alla (?:dina |kommande |följande )?svar",
        scoped="svara|skriv|använd|kalla|tala|prata|ge|säg|alltid|aldrig|inga|bara|endast|håll|vill jag ha",
        answer="svara|skriv|tala|prata|förklara|översätt allt",
        into="på|till",
        languages="svenska|engelska|tyska|franska|spanska|italienska|ryska|polska|finska|norska|danska|nederländska|kinesiska|japanska",
        form=r"(?:håll|gör) (?:dina svar|svaren) (?:korta|kortare)|(?:svara|skriv)(?: alltid| bara){0,2} (?:kort|kortfattat|utförligt|i (?:punktform|hela meningar|en mening)|enkelt)\b|(?:korta|kortfattade) svar(?:,? tack)?\W{0,3}$|fatta dig kort",
        always=r"(?:använd|skriv|säg|svara|nämn|fråga|ge|ta bort|ändra|föreslå)(?: mig)? (?:alltid|aldrig)\b|fråga mig först|utan att fråga mig",
        unwanted=r"emojis?|emojier|smileys|tabeller|jargong|ursäkter|punktlistor|utropstecken|facktermer|anglicismer",
        no="inga|undvik|sluta|använd inte|använd inga|utan",
        names=r"kalla mig (?!inte)\w|jag heter \w|mitt namn är \w|du kan kalla mig \w|dua mig",
        remember=r"(?:kom ihåg|glöm inte|tänk på|notera)[,:]? (?:att )?(?:jag|min|mitt|mina|vi|vår)\b",
        prefer=r"jag (?:föredrar|vill hellre|äter inte|är (?:vegan|vegetarian|allergisk))",
        when=r"(?:när|varje gång|om) jag .{0,60}(?:frågar|säger|skickar|klistrar in|nämner|skriver)\b.{0,40}?,? (?:svara|ge|skriv|nämn|visa|använd|översätt|förklara)\b",
        forget=r"(?:glöm|strunta i|ignorera) (?:vad jag sa om|det jag sa om|regeln|min regel)\b",
        again=r"du (?:får|kan) (?:nu )?(?:[\w ]{0,30})?igen\b|du behöver (?:inte|ej) (?:[\w ]{0,40})?(?:längre|mer)\b",
        back=r"(?:tillbaka|åter)(?: nu)? (?:till |på )?LANGUAGE(?: tack)?|(?:på )?LANGUAGE igen|du (?:får|kan)(?: nu| gärna| åter){0,2} (?:prata|tala|svara|skriva)(?: på)? LANGUAGE(?: igen| nu)?",
        may=r"du (?:får|kan)",
        fine=r"(?:får|kan) du(?: nu| ändå| också){0,2} använda|(?:är|går)(?: nu| åter| också){0,2} (?:ok|okej|tillåtna|tillåtet|bra)",
        omit=r"ta bort|utelämna|skippa|undvika|hoppa|sluta|inte|inga",
        all=r"(?:glöm|ignorera) (?:allt jag (?:sagt|sa)|alla (?:mina )?(?:regler|instruktioner))",
        last=r"(?:glöm|ignorera) (?:den|den där|min senaste|den senaste) (?:regeln|instruktionen|regel)",
        words="nu hädanefter framöver fortsättningen idag resten alltid aldrig först fråga emojis emoji emojier smileys tabeller jargong ursäkter punktlistor utropstecken facktermer anglicismer kalla heter namn dua ihåg glöm tänk notera föredrar hellre äter vegan vegetarian allergisk när gång ignorera strunta igen längre mer kort kortfattat utförligt korta kortfattade punktform meningar mening enkelt svar",
        one_thing=r"det|den|detta|denna|följande",
    )
)

FRENCH = _to_table(
    _Phrases(
        lead="s'il te plaît|s'il vous plaît|stp|svp|et|mais|donc|ok|bonjour|salut|merci|aussi|seulement|je veux que tu|tu dois|j'aimerais que tu",
        asked="(?:peux|pourrais)-tu|tu (?:peux|pourrais)|(?:pouvez|pourriez)-vous|est-ce que tu (?:peux|pourrais)",
        joint="et|mais|donc|car|alors|s'il te plaît",
        question="peux|pouvez|pourrais|est-ce|comment|quel|quelle|quand|où|pourquoi|que|qu'est-ce",
        scope="désormais|dorénavant|à partir de maintenant|à partir d'aujourd'hui|à l'avenir|pour le reste de (?:la|cette) conversation|jusqu'à nouvel ordre|dans (?:toutes |chacune de )?(?:tes|vos|les) (?:prochaines )?réponses",
        scoped="réponds|répondez|écris|écrivez|utilise|utilisez|parle|parlez|donne|appelle|toujours|jamais|pas de|n'utilise|ne (?:mets|dis|fais|réponds|parle|donne)|seulement|sois|fais|dis|tutoie|vouvoie",
        answer="réponds|réponds-moi|répondez|répondez-moi|écris|écrivez|parle|parle-moi|parlez|explique tout|traduis tout|répondre",
        into="en|uniquement en|seulement en",
        languages="français|anglais|allemand|espagnol|italien|russe|polonais|turc|arabe|portugais|néerlandais|suédois|chinois|japonais",
        form=r"(?:réponds|répondez|écris)(?: toujours| moi|-moi| seulement){0,2} (?:brièvement|en (?:une phrase|\w{2,6} phrases|phrases complètes|listes?)|de (?:façon|manière) \w{4,10}|simplement|court)\b|(?:fais|garde) (?:des|tes) réponses (?:courtes|brèves)|(?:des )?réponses (?:courtes|brèves)(?:,? s'il te plaît| stp)?\W{0,3}$|sois (?:toujours )?(?:bref|brève|concis|concise)",
        always=r"(?:utilise|écris|dis|réponds|mentionne|demande|donne|indique|propose|cite|mets|ajoute)(?:-moi| moi)? toujours\b|n(?:e |')[\w' -]{2,24} jamais\b|demande-moi (?:d'abord|avant)|sans me demander",
        unwanted=r"emojis?|émojis?|smileys|tableaux|jargon|excuses|puces|listes à puces|anglicismes|points d'exclamation|titres",
        no=r"pas d(?:e |')|plus d(?:e |')|évite|arrête|n'utilise pas|ne mets pas|sans",
        names=r"appelle-moi \w|appelez-moi \w|je m'appelle \w|mon (?:nom|prénom) est \w|tutoie-moi|vouvoie-moi|tu peux m'appeler \w",
        remember=r"(?:souviens-toi|rappelle-toi|retiens|n'oublie pas|note|pour info)[,:]? (?:que |qu')(?:je|j'|ma|mon|mes|nous|notre|nos)",
        prefer=r"(?:je préfère\b|je ne mange pas|je suis (?:végan|végane|végétarien|végétarienne|allergique|intolérante?))",
        when=r"(?:quand|lorsque|chaque fois que|si) (?:je|j') ?.{0,60}(?:demande|dis|envoie|colle|mentionne|écris|pose)\b.{0,40}, (?:réponds|donne|écris|montre|utilise|traduis|explique|indique|corrige)",
        forget=r"(?:oublie|ignore|laisse tomber) (?:ce que j'ai dit (?:sur|à propos)|la règle|ma règle|mon instruction|la consigne)",
        again=r"tu peux (?:de nouveau|à nouveau|maintenant)\b|tu peux .{2,50} (?:de nouveau|à nouveau)|tu n'as plus besoin|tu n'es plus obligée?|plus besoin de",
        back=r"(?:(?:de|à) nouveau|retour|reviens|revenons|repasse|repassons|retournons|encore)(?: maintenant)? (?:en |à l'|au |à )LANGUAGE|(?:tu peux|vous pouvez|on peut)(?: maintenant| de nouveau| à nouveau){0,2} (?:(?:re)?parler|répondre|écrire|passer|venir|repasser|revenir|continuer) (?:à l'|au |en )?LANGUAGE(?: maintenant| de nouveau| à nouveau){0,2}|en LANGUAGE (?:de|à) nouveau",
        may=r"(?:tu peux|vous pouvez)(?: maintenant| de nouveau| à nouveau| aussi){0,2} (?:utiliser|mettre|ajouter|employer|inclure|réutiliser|remettre|faire)",
        fine=r"sont(?: de nouveau| maintenant| à nouveau){0,2} (?:ok|autorisée?s|permis|permises|les bienvenue?s)",
        omit=r"enlever|supprimer|retirer|éviter|omettre|arrêter|pas|sans|plus",
        all=r"(?:oublie|ignore) (?:tout ce que j'ai dit|toutes (?:mes|les) (?:règles|instructions|consignes))",
        last=r"(?:oublie|ignore) (?:cette|ma dernière|la dernière) (?:règle|instruction|consigne)",
        words="réponses désormais dorénavant maintenant d'aujourd'hui l'avenir conversation ordre brièvement phrase phrases courtes brèves bref brève concis concise simplement court façon manière toujours jamais d'abord avant demander emojis emoji émojis émoji smileys tableaux jargon excuses puces anglicismes d'exclamation titres d'emojis d'émojis d'excuses d'anglicismes appelle-moi appelez-moi m'appelle m'appeler nom prénom tutoie-moi vouvoie-moi souviens-toi rappelle-toi retiens n'oublie note info préfère mange végan végane végétarien végétarienne allergique intolérant quand lorsque chaque oublie ignore laisse nouveau besoin n'as n'es",
    )
)

SPANISH = _to_table(
    _Phrases(
        lead="por favor|y|pero|entonces|ok|vale|hola|gracias|también|además|solo|sólo|quiero que|debes|necesito que",
        asked="¿?(?:puedes|podrías|puede|podría)",
        joint="y|pero|así que|porque|por favor",
        question="¿?(?:puedes|podrías|cómo|qué|cuál|cuándo|dónde|por qué|es|hay)",
        scope="a partir de ahora|de ahora en adelante|desde ahora|en adelante|en el futuro|de aquí en adelante|durante el resto de (?:la|esta) conversación|hasta nuevo aviso|en (?:todas )?(?:tus|las|sus) (?:próximas |siguientes )?respuestas",
        scoped="responde|respóndeme|contesta|escribe|usa|utiliza|llámame|habla|háblame|da|dame|siempre|nunca|no (?:uses|utilices|pongas|digas|escribas|hagas|respondas|me)|sin|solo|sólo|sé|di|trátame|quiero|mantén",
        answer="responde|respóndeme|responda|contesta|contéstame|escribe|escríbeme|habla|háblame|traduce todo|explica todo|responder",
        into="en|al|solo en|sólo en|únicamente en",
        languages="español|castellano|inglés|francés|alemán|italiano|ruso|polaco|turco|árabe|portugués|chino|japonés|catalán",
        form=r"(?:responde|contesta|escribe)(?:me| siempre| solo| sólo){0,2} (?:brevemente|en (?:una frase|\w{2,6} frases|frases cortas|viñetas|pocas palabras)|de forma \w{4,10}|con (?:brevedad|frases))\b|(?:mantén|haz|da) (?:tus |las )?respuestas (?:cortas|breves)|respuestas (?:cortas|breves)(?:,? por favor)?\W{0,3}$|sé (?:siempre )?(?:breve|conciso|concisa|directo|directa)\b",
        always=r"(?:usa|utiliza|escribe|di|responde|menciona|pregunta|da|dame|incluye|indica|pon|añade)(?:me)? siempre\b|siempre (?:usa|utiliza|escribe|responde|menciona|incluye|indica|pregunta|di|da|pon)\b|nunca (?:uses|utilices|escribas|digas|respondas|menciones|borres|toques|sugieras|incluyas|hagas)\b|no (?:uses|hagas|escribas|digas|borres|menciones) nunca\b|pregúntame (?:primero|antes)|sin preguntarme",
        unwanted=r"emojis?|emoticonos|tablas|jerga|disculpas|viñetas|anglicismos|signos de exclamación|tecnicismos|listas",
        no="sin|no uses|no utilices|evita|deja de usar|nada de|no pongas|no más",
        names=r"llámame \w|me llamo \w|mi nombre es \w|puedes llamarme \w|tutéame|(?:trátame|háblame)(?: siempre)? de (?:tú|usted)",
        remember=r"(?:recuerda|acuérdate(?: de)?|no olvides|ten en cuenta|toma nota(?: de)?|apunta)[,:]? que (?:yo|soy|mi|mis|tengo|nosotros|nuestr[oa]s?|vivo|trabajo|no|me)\b",
        prefer=r"(?:prefiero\b|no como (?:carne|gluten|pescado|huevos)|soy (?:vegano|vegana|vegetariano|vegetariana|alérgico|alérgica|celíaco|celíaca|intolerante))",
        when=r"(?:cuando|cada vez que|siempre que|si) (?:te |yo |me )?.{0,60}(?:pregunte|pregunto|pida|pido|diga|digo|envíe|mande|pegue|mencione|escriba)\b.{0,40}, (?:responde|da|dame|escribe|muestra|usa|traduce|explica|indica|corrige|incluye)",
        forget=r"(?:olvida|ignora|olvídate de) (?:lo que (?:te )?dije (?:sobre|de|acerca)|la regla|mi regla|la instrucción)",
        again=r"(?:ya )?puedes (?:volver a|[\w ]{2,40} (?:de nuevo|otra vez))|ya no (?:hace falta|es necesario|tienes que|necesito)",
        back=r"(?:vuelve|volvamos|vuelva|regresa|cambia|de vuelta|de nuevo|otra vez)(?: otra vez)? (?:a hablar en |a hablar |al |a |en )LANGUAGE|(?:ya |ahora )?(?:puedes|podemos|puede)(?: ya| ahora){0,2} (?:volver (?:a hablar |a responder |a escribir )?|hablar |responder |escribir |contestar |hablarme |responderme )(?:en |al |a )?LANGUAGE(?: de nuevo| otra vez| ya| ahora){0,2}|en LANGUAGE (?:otra vez|de nuevo)",
        may=r"(?:ya |ahora )?(?:puedes|puede)(?: ya| ahora| también){0,2} (?:usar|utilizar|poner|añadir|incluir|emplear|hacer)",
        fine=r"(?:ya )?(?:están (?:bien|permitid[oa]s)|son bienvenid[oa]s)",
        omit=r"quitar|eliminar|omitir|evitar|dejar|borrar|no|sin",
        all=r"(?:olvida|ignora) (?:todo lo que (?:te )?(?:dije|he dicho)|todas (?:mis|las) (?:reglas|instrucciones))",
        last=r"(?:olvida|ignora) (?:esa|esta|la última|mi última) (?:regla|instrucción|petición)",
        words="háblame respuestas ahora adelante futuro conversación aviso brevemente frase frases viñetas palabras forma brevedad cortas breves breve conciso concisa directo directa siempre nunca primero antes preguntarme pregúntame emojis emoji emoticonos tablas jerga disculpas anglicismos exclamación tecnicismos listas llámame llamo nombre llamarme tutéame trátame recuerda acuérdate olvides cuenta nota apunta prefiero como vegano vegana vegetariano vegetariana alérgico alérgica celíaco celíaca intolerante soy cuando cada vez si olvida olvídate ignora puedes ya",
    )
)

PORTUGUESE = _to_table(
    _Phrases(
        lead="por favor|e|mas|então|ok|olá|oi|obrigado|obrigada|também|só|apenas|quero que|você deve|preciso que",
        asked="(?:você )?(?:pode|poderia|podes|podias)",
        joint="e|mas|então|porque|por favor",
        question="pode|poderia|como|o que|qual|quando|onde|por que|é|há",
        scope="a partir de agora|de agora em diante|daqui para a frente|daqui em diante|daqui pra frente|no futuro|durante o resto d[ae]sta conversa|até segunda ordem|em todas as (?:suas |tuas |próximas )?respostas|nas (?:próximas|suas|tuas) respostas",
        scoped="responda|responde|escreva|escreve|use|usa|utilize|me chame|chame-me|fale|fala|dê|dá|sempre|nunca|não (?:use|utilize|escreva|diga|responda|coloque|faça|me)|sem|só|apenas|seja|sê|diga|mantenha",
        answer="responda|responde|me responda|responda-me|escreva|escreve|fale|fala|traduza tudo|explique tudo|responder",
        into="em|para o|só em|apenas em|somente em",
        languages="português|inglês|francês|alemão|espanhol|italiano|russo|polonês|polaco|turco|árabe|chinês|japonês",
        form=r"(?:responda|responde|escreva)(?: sempre| só| apenas){0,2} (?:brevemente|resumidamente|em (?:uma frase|\w{2,6} frases|frases curtas|tópicos|poucas palavras)|de forma \w{4,10})\b|(?:mantenha|faça|dê) (?:as |suas |as suas )?respostas (?:curtas|breves)|respostas (?:curtas|breves)(?:,? por favor)?\W{0,3}$|seja (?:sempre )?(?:breve|conciso|concisa|direto|direta)\b",
        always=r"(?:use|utilize|escreva|diga|responda|mencione|pergunte|dê|inclua|indique|adicione)(?:-me| me)? sempre\b|sempre (?:use|utilize|escreva|responda|mencione|inclua|indique|pergunte|diga|dê|coloque)\b|nunca (?:use|utilize|escreva|diga|responda|mencione|apague|toque|sugira|inclua|faça)\b|(?:me pergunte|pergunte-me) (?:primeiro|antes)|sem me perguntar",
        unwanted=r"emojis?|tabelas|jargão|jargões|desculpas|tópicos|marcadores|anglicismos|pontos de exclamação|gírias",
        no="sem|não use|não utilize|evite|pare de usar|nada de|não coloque",
        names=r"me chame de \w|chame-me(?: de)? \w|me chamo \w|meu nome é \w|o meu nome é \w|pode me chamar de \w|trate-me por",
        remember=r"(?:lembre-se|lembra-te|não (?:se )?esqueça|tenha em mente|anote|note)(?: de)?[,:]? que (?:eu|sou|meu|minha|tenho|nós|nosso|nossa|moro|trabalho|não)\b",
        prefer=r"(?:(?:eu )?prefiro\b|(?:eu )?não como (?:carne|glúten|peixe)|(?:eu )?sou (?:vegano|vegana|vegetariano|vegetariana|alérgico|alérgica|intolerante))",
        when=r"(?:quando|sempre que|toda vez que|se) eu .{0,60}(?:perguntar|pedir|disser|enviar|mandar|colar|mencionar|escrever)\b.{0,40}, (?:responda|dê|escreva|mostre|use|traduza|explique|indique|corrija|inclua)",
        forget=r"(?:esqueça|ignore|esquece) (?:o que eu (?:disse|falei) (?:sobre|de|acerca)|a regra|minha regra|a minha regra|a instrução)",
        again=r"(?:você |já )?pode (?:voltar a|[\w ]{2,40} (?:de novo|novamente|outra vez))|(?:você )?não precisa mais|já não (?:precisa|é preciso)",
        back=r"(?:volta|volte|voltemos|de volta|de novo|novamente)(?: a falar| a responder)? (?:ao |a |em |para o |pro )LANGUAGE|(?:você |já )?(?:pode|podes|podemos)(?: já| agora){0,2} (?:voltar (?:a falar |a responder |a escrever )?|falar |responder |escrever )(?:em |ao |para o )?LANGUAGE(?: de novo| novamente| agora){0,2}|em LANGUAGE (?:de novo|novamente|outra vez)",
        may=r"(?:você |já )?(?:pode|podes)(?: já| agora| também){0,2} (?:usar|utilizar|colocar|pôr|incluir|botar|fazer)",
        fine=r"(?:são|estão)(?: agora| de novo){0,2} (?:permitid[oa]s|ok|liberad[oa]s)",
        omit=r"tirar|remover|omitir|evitar|deixar|apagar|parar|não|sem",
        all=r"(?:esqueça|ignore) (?:tudo o que eu (?:disse|falei)|todas as (?:minhas )?(?:regras|instruções))",
        last=r"(?:esqueça|ignore) (?:essa|esta|a última|a minha última|minha última) (?:regra|instrução)",
        words="respostas agora diante frente futuro conversa ordem brevemente resumidamente frase frases tópicos palavras forma curtas breves breve conciso concisa direto direta sempre nunca primeiro antes perguntar emojis emoji tabelas jargão jargões desculpas marcadores anglicismos exclamação gírias chame chame-me chamo nome chamar trate-me lembre-se lembra-te esqueça mente anote note prefiro como vegano vegana vegetariano vegetariana alérgico alérgica intolerante sou quando vez se esquece ignore pode precisa",
    )
)

ITALIAN = _to_table(
    _Phrases(
        lead="per favore|per piacere|e|ma|quindi|ok|ciao|grazie|anche|solo|voglio che|devi|vorrei che",
        asked="(?:puoi|potresti|può|potrebbe)",
        joint="e|ma|quindi|perché|per favore",
        question="puoi|potresti|come|cosa|che|quale|quando|dove|perché|è|c'è",
        scope="d'ora in poi|da ora in poi|da adesso in poi|da ora in avanti|in futuro|per il resto (?:della|di questa) conversazione|fino a nuovo ordine|(?:in tutte le|nelle)(?: tue| prossime| sue){0,2} risposte",
        scoped="rispondi|rispondimi|scrivi|usa|utilizza|chiamami|parla|dai|dammi|sempre|mai|non (?:usare|scrivere|dire|rispondere|mettere|darmi)|niente|senza|solo|sii|di'|dammi del",
        answer="rispondi|rispondimi|risponda|scrivi|scrivimi|parla|parlami|traduci tutto|spiega tutto|rispondere",
        into="in|solo in|soltanto in",
        languages="italiano|inglese|francese|tedesco|spagnolo|russo|polacco|turco|arabo|portoghese|cinese|giapponese",
        form=r"(?:rispondi|rispondimi|scrivi)(?: sempre| solo){0,2} (?:brevemente|in (?:una frase|\w{2,6} frasi|frasi brevi|breve|poche parole|elenchi)|in modo \w{4,10})\b|(?:tieni|mantieni|dai) (?:le |le tue )?risposte (?:brevi|corte)|risposte (?:brevi|corte)(?:,? per favore)?\W{0,3}$|sii (?:sempre )?(?:breve|conciso|concisa|diretto|diretta)\b",
        always=r"(?:usa|utilizza|scrivi|di'|rispondi|menziona|chiedi|chiedimi|dammi|indica|includi|aggiungi) sempre\b|non (?:usare|scrivere|dire|rispondere|menzionare|cancellare|suggerire|toccare|fare) mai\b|chiedimi (?:prima|sempre)|senza chiedermi",
        unwanted=r"emoji|faccine|tabelle|gergo|scuse|elenchi puntati|anglicismi|punti esclamativi|tecnicismi",
        no="niente|senza|non usare|evita|smetti di usare|basta con|basta",
        names=r"chiamami \w|mi chiamo \w|il mio nome è \w|puoi chiamarmi \w|dammi del (?:tu|lei)",
        remember=r"(?:ricorda|ricordati|non dimenticare|tieni presente|tieni a mente|annota)[,:]? che (?:io|sono|il mio|la mia|i miei|ho|noi|il nostro|la nostra|vivo|lavoro|non)\b",
        prefer=r"(?:preferisco\b|non mangio (?:carne|glutine|pesce)|sono (?:vegano|vegana|vegetariano|vegetariana|allergico|allergica|celiaco|celiaca|intollerante))",
        when=r"(?:quando|ogni volta che|se) (?:ti )?.{0,60}(?:chiedo|dico|mando|invio|incollo|scrivo|nomino)\b.{0,40}, (?:rispondi|dammi|scrivi|mostra|usa|traduci|spiega|indica|correggi|includi)",
        forget=r"(?:dimentica|ignora|lascia perdere) (?:quello che ho detto (?:su|sul|sull|di|del)|la regola|la mia regola|l'istruzione)",
        again=r"(?:ora )?puoi (?:di nuovo|tornare a|[\w ]{2,40} di nuovo)|non (?:c'è più bisogno|devi più|serve più)",
        back=r"(?:torna|torniamo|di nuovo|passa|ritorna)(?: a parlare)? (?:all'|al |in |a )LANGUAGE|(?:ora |adesso )?(?:puoi|possiamo|può)(?: ora| adesso| di nuovo){0,2} (?:tornare (?:a parlare |a rispondere )?|parlare |rispondere |scrivere )(?:in |all'|al )?LANGUAGE(?: di nuovo| ora| adesso){0,2}|in LANGUAGE di nuovo",
        may=r"(?:ora |adesso )?(?:puoi|può)(?: ora| adesso| anche){0,2} (?:usare|utilizzare|mettere|aggiungere|inserire|fare)",
        fine=r"(?:vanno|sono)(?: di nuovo| ora| adesso){0,2} (?:bene|permess[ie]|ok|ammess[ie])",
        omit=r"togliere|rimuovere|omettere|evitare|eliminare|lasciare|smettere|non|senza",
        all=r"(?:dimentica|ignora) (?:tutto quello che ho detto|tutte le (?:mie )?(?:regole|istruzioni))",
        last=r"(?:dimentica|ignora) (?:questa|quella|l'ultima|la mia ultima) (?:regola|istruzione|richiesta)",
        words="risposte all'italiano all'inglese d'ora ora adesso poi avanti futuro conversazione ordine brevemente frase frasi breve parole elenchi modo brevi corte conciso concisa diretto diretta sempre mai prima chiedermi chiedimi emoji faccine tabelle gergo scuse anglicismi esclamativi tecnicismi puntati chiamami chiamo nome chiamarmi dammi ricorda ricordati dimenticare presente mente annota preferisco mangio vegano vegana vegetariano vegetariana allergico allergica celiaco celiaca intollerante sono quando ogni se dimentica ignora lascia nuovo puoi più",
    )
)

RUSSIAN = _to_table(
    _Phrases(
        lead="пожалуйста|больше|и|но|а|ок|окей|привет|здравствуйте|спасибо|ещё|еще|также|только|я хочу,? чтобы ты|ты должен|ты должна|вы должны",
        asked="(?:можешь|можете|мог бы ты|могли бы вы)(?: ли)?(?: ты| вы)?",
        joint="и|но|а|поэтому|пожалуйста",
        question="можешь|можете|как|что|какой|какая|когда|где|почему|сколько",
        scope="с этого момента|отныне|впредь|с сегодняшнего дня|теперь всегда|в дальнейшем|в будущем|до конца разговора|на будущее|во всех (?:следующих |своих |твоих |дальнейших )?ответах|в следующих ответах",
        scoped="отвечай|отвечайте|пиши|пишите|используй|используйте|говори|называй|называйте|давай|всегда|никогда|не (?:используй|пиши|говори|отвечай|называй|предлагай)|без|только|обращайся|объясняй",
        answer="отвечай|отвечайте|пиши|пишите|говори|говорите|объясняй|переводи всё|переводи все|отвечать",
        into="на|только на",
        adverbs="по-русски|по-английски|по-немецки|по-французски|по-испански|по-итальянски|по-украински|по-польски|по-китайски",
        languages="русском|русскому|английскому|английском|немецком|французском|испанском|итальянском|украинском|польском|турецком|китайском|японском|русский|английский|немецкий|французский",
        form=r"(?:отвечай|отвечайте|пиши|пишите|объясняй)(?: мне| всегда| только| очень){0,3} (?:кратко|коротко|подробно|просто|простыми словами|одним предложением|списком|по пунктам|развёрнуто)|будь (?:кратким|краткой|краток|лаконичен)|(?:короткие|краткие) ответы(?:,? пожалуйста)?\W{0,3}$",
        always=r"(?:всегда|никогда не) (?:отвечай|отвечайте|пиши|пишите|используй|указывай|добавляй|говори|спрашивай|предлагай|удаляй|упоминай|объясняй|проверяй|показывай|трогай|меняй)\b|(?:отвечай|пиши|используй|указывай|добавляй|спрашивай) (?:мне |меня )?всегда\b|(?:сначала|прежде) спрашивай меня|не спросив меня|спрашивай меня (?:сначала|прежде)",
        unwanted=r"эмодзи|смайл\w{1,5}|смайлик\w{1,3}|таблиц\w{0,3}|жаргон\w{0,2}|извинени\w{1,3}|извиняйся|маркированн\w{2,3} списк\w{1,3}|восклицательн\w{2,3} знак\w{1,3}|англицизм\w{1,3}|канцеляризм\w{1,3}",
        no="без|не используй|не используйте|хватит|прекрати|избегай|не ставь|не пиши|не надо",
        names=r"(?:называй|называйте|зови|зовите) меня (?!не)\w|меня зовут \w|моё имя \w|мое имя \w|обращайся ко мне|обращайтесь ко мне|давай на ты|можешь называть меня \w",
        remember=r"(?:запомни|запомните|помни|не забывай|не забудь|учти|имей в виду)[,:]? (?:пожалуйста, )?(?:что )?(?:я|мой|моя|моё|мои|у меня|мне|мы|наш|наша|у нас)\b",
        prefer=r"(?:я предпочитаю|я не ем|я (?:веган|веганка|вегетарианец|вегетарианка)|у меня аллергия|я люблю (?:короткие|краткие) ответы)",
        when=r"(?:когда|каждый раз,? когда|если) я .{0,60}(?:спрашиваю|прошу|говорю|присылаю|пишу|вставляю|упоминаю|спрошу|пришлю)\b.{0,40}, (?:отвечай|давай|пиши|показывай|используй|переводи|объясняй|указывай|исправляй)",
        forget=r"(?:забудь|забудьте|игнорируй) (?:то,? )?(?:что я (?:говорил|говорила|сказал|сказала|просил|просила) (?:про|о|об|насчёт|насчет)|про правило|правило|моё правило|мою просьбу)\b",
        again=r"(?:можешь|можно|можете) (?:снова|опять)\b|(?:больше не (?:нужно|надо))\b|можешь [\w ]{2,30} снова",
        back=r"(?:снова|опять|обратно|вернись|вернёмся|вернемся)(?: снова| опять)? (?:на |к )?LANGUAGE|давай(?: снова| опять| теперь)? (?:на )?LANGUAGE|(?:можешь|можете|можно)(?: снова| опять| теперь){0,2} (?:говорить|отвечать|писать|общаться) (?:на )?LANGUAGE(?: снова| опять| теперь)?|(?:на )?LANGUAGE (?:снова|опять)",
        may=r"(?:можешь|можете|можно)(?: снова| опять| теперь){0,2} (?:использовать|ставить|писать|добавлять|вставлять|делать)",
        fine=r"(?:снова |теперь |опять )?(?:можно|разрешены|разрешаю)",
        omit=r"убрать|убирать|удалить|опустить|избегать|перестать|не|без",
        all=r"(?:забудь|игнорируй) (?:всё|все),? (?:что я (?:говорил|говорила|сказал|сказала|просил|просила)|мои (?:правила|инструкции|просьбы))",
        last=r"(?:забудь|игнорируй) (?:это|последнее|моё последнее|про это) (?:правило|указание)",
        words="ответах русскому английскому по-русски по-английски по-немецки по-французски по-испански по-итальянски по-украински по-польски по-китайски момента отныне впредь дня теперь дальнейшем будущем конца будущее кратко коротко подробно просто простыми предложением списком пунктам развёрнуто кратким краткой краток лаконичен короткие краткие всегда никогда сначала прежде спросив эмодзи смайлы смайлов смайлики смайликов таблиц таблицы жаргон жаргона извинений извинения извиняться извиняйся списков списки знаков знаки англицизмов канцеляризмов называй называйте зови зовите зовут имя обращайся обращайтесь ты называть запомни запомните помни забывай забудь забудьте учти виду предпочитаю ем веган веганка вегетарианец вегетарианка аллергия люблю когда если раз игнорируй снова опять больше",
    )
)
