"""Numbers among the words of a sentence: which word says of what they are, and which belong to them."""

from collections.abc import Sequence

from wmem.rules.updates.frames.lexicon import Lexicon, words
from wmem.rules.updates.frames.words import Word

_MONTHS = words(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec okt dez janv févr avr juil déc "
    "januar jänner februar märz mai juni juli oktober dezember januari februari maart mei augustus mars marts maj augusti desember "
    "janvier février avril juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro "
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia "
    "ledna února března dubna května června července srpna září října listopadu prosince "
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря "
    "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня"
)
_MAX_LEFT = 7  # words before the verb
_BEFORE = words(
    "at on in to from by for after before until till within about around over under up down out roughly nearly "
    "almost approximately only exactly port version level speed"
)
"""English words between a verb and its number; behind any other the number names one of several: "holds record 3"."""
_SEVERAL = words(
    "supports includes contains offers sells buys accepts likes wins says covers sees visits serves stops reads wants plays "
    "orders sends needs leaves departs arrives speaks teaches knows gets gives makes brings shows hosts eats meets as was has "
    "scores loses finds fixes adds removes deletes creates merges uploads downloads publishes posts deploys books cancels writes "
    "reviews approves rejects drops mentions quotes cites "
    "this always yes plus minus times perhaps besides minutes seconds hours days weeks months years"
)
"""English words in the form of such verbs that take several, or are none."""
_WHEN = words("at by from until till before after am pm")
"""English words beside when something happens, which it may do at several times: "polls at 9"."""
_OF_NUMBERS = words("may every each until till alle cada ogni tous toutes co elke varje каждые")
"""Words that refuse a sentence, and do not before a number."""


def find_measure(sentence: Sequence[Word]) -> int | None:
    """The place of an English verb before a number, whichever it is: "the key rotates every 30 days"."""
    for at, word in enumerate(sentence[:_MAX_LEFT]):
        verb, behind = word.text, sentence[at + 1 :]
        is_verb = not word.named and verb.endswith("s") and not verb.endswith(("ss", "us", "is"))
        measure = next((each for each in behind if not belongs_to_number(each.text)), None)
        if at and is_verb and not word.parts and measure is not None and measure.text[:1].isdigit():
            when = any(each.text in _WHEN or is_month(each.text) for each in behind)
            return at if verb not in _SEVERAL and not when else None
    return None


def is_month(word: str) -> bool:
    """Whether a word in lower case is a month, in whichever language."""
    return word in _MONTHS


def belongs_to_number(word: str) -> bool:
    """Whether a word before a number belongs to it, and is not what the number counts or names: every 3, port 3."""
    return word in _BEFORE or word in _OF_NUMBERS


def is_of_number(sentence: Sequence[Word], at: int) -> bool:
    """Whether a word only belongs to a number beside it: every 30 days, until 18:00, 12 May."""
    beside = sentence[max(at - 1, 0) : at + 2] if sentence[at].text == "may" else sentence[at + 1 : at + 2]
    return sentence[at].text in _OF_NUMBERS and any(word.text[:1].isdigit() for word in beside)


def number_ordinals(lexicon: Lexicon, sentence: Sequence[Word]) -> Sequence[Word]:
    """The words with numbers for ordinals behind a verb: on the third floor."""
    if lexicon.ordinals.keys().isdisjoint(word.text for word in sentence):
        return sentence
    verb = next((at for at, word in enumerate(sentence) if word.text in lexicon.verbs), len(sentence))
    at = 0 if lexicon.bare and verb == len(sentence) else verb
    return [
        word._replace(text=lexicon.ordinals[word.text], named=True)
        if place > at and word.text in lexicon.ordinals
        else word
        for place, word in enumerate(sentence)
    ]
