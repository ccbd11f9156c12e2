"""Stop words by language, and detection of a text's language from its script and stop words.

Detection is a pure function of the text. It chooses stop words and a stemmer; a wrong guess
costs a little recall and never a match of equal words.
"""

import struct
from collections.abc import Iterable

# Function words only: a question and its answer share them by chance. Some also without accents, as people type.
_STOP_WORD_LISTS = {
    "english": (
        "a about after again all also am an and any are as at be because been before being but by can could d did do "
        "does doing don down during each few for from further had has have having he her here hers him his how i if "
        "in into is it its itself just ll m me more most my no nor not now of off on once only or other our ours out "
        "over own re s same she should so some such t than that the their them then there these they this those "
        "through to too under until up ve very was we were what when where which while who whom why will with would "
        "you your"
    ),
    "german": (
        "aber als am an auch auf aus bei bin bis das dass dein deine dem den der des die dir doch du ein eine einem "
        "einen einer er es für fur hab habe haben hat ich ihr im in ist ja kann kein keine man mein meine mich mir "
        "mit nach nicht noch nur ob oder sein seine sich sie sind so und uns unser vom von vor war waren was wenn wer "
        "werden wie wir wird wo wurde zu zum zur über uber"
    ),
    "french": (
        "ai au aux avec c ce ces cette d dans de des du elle elles en est et eu il ils j je l la le les leur lui m ma "
        "mais me mes moi mon n ne nos notre nous on ont ou où par pas pour qu que qui s sa sans se ses son sont sur t "
        "ta te tes toi ton tu un une vos votre vous y à été a"
    ),
    "spanish": (
        "a al como con cuando de del desde donde e el ella ellos en era es esa ese esta este está fue ha había hay la "
        "las le les lo los me mi mis muy más no nos o para pero por porque que qué se ser si sin sobre son su sus te "
        "tu tus un una uno y ya yo"
    ),
    "portuguese": (
        "a ao aos as com como da das de do dos e ela ele em era essa esse esta este eu foi há isso já lhe mais mas me "
        "meu minha muito na nas no nos não nao o os ou para pela pelo por que quem se sem ser seu sua são também te "
        "tem um uma você voce"
    ),
    "italian": (
        "a ad ai al alla anche c che chi ci come con cui da dal dalla de dei del della di dove e ed era gli ha ho i "
        "il in io l la le lo ma mi mia mio ne nel nella no non o per perché più quando questo se si sono su sua suo "
        "ti tu un una uno è"
    ),
    "dutch": (
        "aan al als bij dan dat de der deze die dit door een en er had heb hebben heeft het hij hoe ik in is je kan "
        "maar me met mijn naar niet nog of om ons onze ook op over te tot u uit van veel voor waar was wat we wel "
        "wie wij ze zich zijn zo"
    ),
    "swedish": (
        "att av de dem den det din du där efter en er ett för från ha hade han har hon hur här i inte jag kan man med "
        "men mig min mitt mot ni nu när och om oss på sig sin som till upp ut vad var vi vid vår är"
    ),
    "russian": (
        "а без бы был была были было быть в вам вас во вот все вы где да для до его ее её если есть еще же за и из "  # noqa: RUF001  # Cyrillic on purpose
        "или их к как ко когда кто ли мне мой моя мы на нас не него нет но ну о об он она они от по под при с сам "  # noqa: RUF001  # Cyrillic on purpose
        "свой себя со так там то тоже только ты у уже чем что чтобы это этот я вами ему ей им ими какая какие какое "  # noqa: RUF001  # Cyrillic on purpose
        "какой какую кого кем кому меня мной моего моей моё мои мою нам нами наш наша наше наши нём ним своей "
        "своё свои своя тебе тебя тобой твоё твои твой твоя чей чья чём эта эти этого этой этом эту"
    ),
}
_KOREAN = (
    "가요 그 그리고 그럼 나는 나를 나의 내 내가 너는 네가 누가 누구 누구야 누구예요 누구인가요 누구죠 뭐 뭐가 "
    "뭐라고 뭐를 뭐야 뭐예요 뭐지 뭐죠 뭔가요 뭘 무슨 무엇 무엇을 무엇이 무엇인가요 무엇입니까 어느 어디 어디로 "
    "어디서 어디야 어디에 어디에서 어디예요 어디인가요 어디죠 어떤 어떻게 어때요 언제 언제부터 언제야 언제예요 "
    "언제인가요 언제입니까 언제죠 얼마 얼마나 얼마예요 얼마인가요 왜 우리 우리의 이 있나요 있습니까 있습니다 "
    "있어 있어요 저 저는 저를 저의 제 제가 하나요 합니까 합니다 해요"
)
KOREAN_STOP_WORDS = frozenset(_KOREAN.split())
"""Those of Korean, whose words are told by their script, whatever the language of the rest."""
STOP_WORDS = {language: frozenset(words.split()) for language, words in _STOP_WORD_LISTS.items()}
"""Stop words by language, case-folded like terms."""
_LATIN_LANGUAGES = tuple(language for language in STOP_WORDS if language != "russian")
_COUNTS = struct.Struct(f"<{len(_LATIN_LANGUAGES)}I")
_COUNT_BY_STOP_WORD = {
    word: sum((word in STOP_WORDS[each]) << 32 * place for place, each in enumerate(_LATIN_LANGUAGES))
    for word in frozenset().union(*map(STOP_WORDS.__getitem__, _LATIN_LANGUAGES))
}
"""For each stop word a count of one in each of its languages, all in one number: a sum counts all at once."""
_MIN_LEAD = 2  # how many more stop words than the default language another needs to be chosen


def detect_language(words: Iterable[str], default_language: str = "english") -> str:
    """The language with the most stop words in a text.

    Args:
        words: The case-folded words of the text.
        default_language: Returned also in a tie.

    Returns:
        A language of `STOP_WORDS`.
    """
    folded = list(words)
    if any("\u0400" <= word[:1] <= "\u04ff" for word in folded):
        return "russian"
    return detect_latin_language(folded, default_language)


def detect_latin_language(words: Iterable[str], default_language: str = "english") -> str:
    """See `detect_language`; of words without Cyrillic letters."""
    default = default_language if default_language in _LATIN_LANGUAGES else "english"
    counts = sum(filter(None, map(_COUNT_BY_STOP_WORD.get, words)))
    if not counts:
        return default
    hits = _COUNTS.unpack(counts.to_bytes(_COUNTS.size, "little"))
    most = max(hits)
    return _LATIN_LANGUAGES[hits.index(most)] if most >= hits[_LATIN_LANGUAGES.index(default)] + _MIN_LEAD else default
