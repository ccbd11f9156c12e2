"""How much a sentence tells that somebody may ask for later: numbers, names, decisions and rare words, not courtesies.

What it tells is a value for each of its terms, so that what another sentence tells already can be left out of account.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wmem.analysis.analyzer import Analyzer
from wmem.analysis.common_words import is_common
from wmem.analysis.stopwords import STOP_WORDS

_NUMBER, _NAME, _CODE, _QUOTED, _NUMBER_WORD, _KATAKANA, _CUE = 3.0, 2.0, 2.0, 2.0, 1.5, 1.5, 0.7
_WORD, _INITIAL, _HAN, _COMMON, _COMMON_PAIR, _COURTESY = 1.0, 1.3, 0.5, 0.25, 0.05, -0.5
_ANCHOR = 1.5
"""From this value on a term anchors its sentence: it is a number, a name or the like."""
_ANCHORED = 1.3  # of a sentence with an anchor
_QUESTION = 0.5  # of a question: what is asked is mostly told by the answer
_STRUCTURED = 0.6  # of what is written for machines, and mostly told again in words
_MARKS_OF_STRUCTURE = frozenset('{}[]"|=<>')
_SHARE_OF_STRUCTURE = 0.06
_MARKS_OF_CODE = frozenset("_/@")
_COMMON_NAME = 0.6  # of a name that is a common word, too
_MAX_KEPT = 2_048  # sentences of which is kept what they tell
_MAX_QUOTE = 60  # characters of what is quoted as a name is

_TOKEN = re.compile(
    r"(?P<kana>[\u30a1-\u30ff]+)|(?P<han>[\u3005\u3400-\u9fff]+)|[\u3040-\u309f]+"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff](?:[\u0300-\u036f\u0900-\u0dff]|[^\W\u3040-\u30ff\u3400-\u9fff]|[.:/@%+'’-](?=\w))*"
)
_QUOTES = re.compile(rf"[«“„「『\"`]([^«»“”„」』\"`\n]{{2,{_MAX_QUOTE}}})[»”“」』\"`]")
_QUESTION_END = re.compile("[?\uff1f\u061f][\"'”’)\\]]*$|\u304b\u3002$")
_HAN_NUMBERS = frozenset("一二三四五六七八九十百千万两兩半")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBER_WORDS = _words(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half third "
    "quarter once twice double zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert "
    "tausend halb halbe hälfte drittel doppelt deux trois quatre cinq sept huit neuf dix onze douze quinze seize "
    "dix-sept vingt trente cent mille moitié demi demie dos tres cuatro cinco seis siete ocho nueve diez once doce "
    "quince veinte treinta cien mil mitad media due tre quattro cinque sei sette otto nove dieci undici dodici venti "
    "trenta cento metà mezzo dois duas três quatro sete oito dez vinte trinta cem metade twee drie vier vijf zes "
    "zeven negen tien elf twaalf twintig honderd helft två fyra fem sex sju åtta nio tio tolv tjugo hundra hälften "
    "два две три четыре пять шесть семь восемь девять десять двадцать сто тысяча половина dwa dwie trzy cztery pięć "
    "sześć siedem osiem dziewięć dziesięć sto pół iki üç dört beş altı yedi sekiz dokuz yirmi yüz bin yarım اثنان "  # noqa: RUF001  # Turkish on purpose
    "ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة مائة ألف نصف दो तीन चार पाँच पांच छह सात आठ नौ दस सौ हज़ार आधा"
)
_CUES = _words(
    "no not never none nobody nothing must cannot decide decided decision agree agreed because instead only error "
    "failed fails failure always except without unless until before prefer prefers hate hates allergic important "
    "cause reason warning deadline changed cancelled canceled rejected accepted approved nicht kein keine nie niemand "
    "entschieden beschlossen weil statt stattdessen fehler immer ohne müssen muss grund wichtig pas jamais aucun "
    "aucune décidé parce erreur toujours sans doit important ningún nunca decidido porque error siempre sin debe "
    "não nunca mai perché errore sempre senza deve deciso niet nooit geen omdat fout altijd zonder moet besloten inte "
    "aldrig ingen därför fel alltid utan måste beslutat не нет никогда решили решил потому ошибка всегда без должен "
    "nie nigdy ponieważ błąd zawsze bez musi değil asla çünkü hata لا ليس لأن خطأ دائما يجب नहीं कभी क्योंकि हमेशा"
)
"""Words of decisions, reasons, refusals and faults."""
_COURTESIES = _words(
    "thank thanks happy glad sorry hope welcome lovely nice great wonderful pleased please enjoy love perfect sure "
    "hello hi bye excited friendly fun luck dear regards wishes appreciate pleasure kind beautiful pleasant danke gern "
    "gerne freue freuen wünschen wünsche herzlich herzlichen bitte schön merci plaisir bonjour gracias favor gusto "
    "grazie piacere felici auguriamo obrigado obrigada prazer bedankt leuk dank graag tack спасибо пожалуйста "
    "dziękuję proszę teşekkür teşekkürler lütfen شكرا نشكركم نرحب نتمنى धन्यवाद कृपया"
)


class Telling(NamedTuple):
    """What a sentence tells.

    Attributes:
        values: Of each of its terms.
        factor: Of all of them.
    """

    values: Mapping[str, float]
    factor: float


def weigh(sentence: str, language: str, analyzer: Analyzer) -> Telling:
    """The value of each term of a sentence, by what it is; the analyzer keeps those of the last sentences.

    Args:
        language: The language of its text.
    """
    known = analyzer.tellings.get((language, sentence))
    if known is None:
        if len(analyzer.tellings) >= _MAX_KEPT:
            analyzer.tellings.clear()
        known = analyzer.tellings[language, sentence] = _weigh(sentence, language, analyzer)
    return Telling(*known)


def _weigh(sentence: str, language: str, analyzer: Analyzer) -> tuple[Mapping[str, float], float]:
    values: dict[str, float] = {}
    for term, value in _iter_values(sentence, language, analyzer):
        values[term] = max(values.get(term, value), value)
    factor = _ANCHORED if values and max(values.values()) >= _ANCHOR else 1.0
    if _QUESTION_END.search(sentence):
        factor *= _QUESTION
    if sum(map(_MARKS_OF_STRUCTURE.__contains__, sentence)) > _SHARE_OF_STRUCTURE * len(sentence):
        factor *= _STRUCTURED
    return values, factor


def _iter_values(sentence: str, language: str, analyzer: Analyzer) -> Iterator[tuple[str, float]]:
    for quoted in _QUOTES.finditer(sentence):
        yield quoted[1].casefold(), _QUOTED
    end = 0
    for found in _TOKEN.finditer(sentence):
        token, kind = found.group(), found.lastgroup
        if kind == "kana":
            yield token, _KATAKANA
        elif kind == "han":
            yield from _weigh_han(token)
        elif not "\u3040" <= token[0] <= "\u309f":  # hiragana: mostly endings and particles
            # Behind a speaker or a heading a sentence begins anew.
            yield _weigh_word(token, language, analyzer, is_first=not end or sentence[end] in ":.!?")
        end = found.end()


def _weigh_han(run: str) -> Iterator[tuple[str, float]]:
    for at in range(max(1, len(run) - 1)):
        pair = run[at : at + 2]
        if not _HAN_NUMBERS.isdisjoint(pair):
            yield pair, _NUMBER_WORD
        else:
            yield pair, _COMMON_PAIR if is_common(pair, "chinese") else _HAN


def _weigh_word(token: str, language: str, analyzer: Analyzer, *, is_first: bool) -> tuple[str, float]:
    word = token.casefold()
    if any(map(str.isdigit, token)):
        value = _NUMBER
    elif word in _CUES:
        value = _CUE
    elif word in STOP_WORDS[language]:
        value = 0.0
    elif word in _COURTESIES:
        value = _COURTESY
    elif word in _NUMBER_WORDS:
        value = _NUMBER_WORD
    elif not _MARKS_OF_CODE.isdisjoint(token) or (token[1:] != token[1:].lower() and token != token.upper()):
        value = _CODE  # a path, an address, snake_case or camelCase
    else:
        term = analyzer.to_term(word, language)
        common = is_common(term, language)
        if token[0].isupper():
            value = (_COMMON if common else _INITIAL) if is_first else _NAME * (_COMMON_NAME if common else 1.0)
        else:
            value = _COMMON if common else _WORD
        return term, value
    return word, value
