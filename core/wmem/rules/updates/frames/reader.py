"""Frames: a short sentence without its value, so that two which differ in the value alone share the rest.

A frame needs few words of a language, and no list of things: "Xaver's dentist is now Grugo" is the frame "xaver dentist be"
and the value "grugo". It is read of items, which say one thing; what says more than that is no frame.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from wmem.rules.updates.frames.attribute import is_anchored, is_attribute, is_one_of_many, list_heads
from wmem.rules.updates.frames.clause import Clause, read_bare, read_clause
from wmem.rules.updates.frames.east_asian import is_unspaced, read_unspaced
from wmem.rules.updates.frames.eastern import EASTERN
from wmem.rules.updates.frames.english import ENGLISH
from wmem.rules.updates.frames.lexicon import ADD, BE, DO, FOR, LIVE, MOVE, TAKE, WORK, Lexicon, words
from wmem.rules.updates.frames.numbers import find_measure, is_of_number, number_ordinals
from wmem.rules.updates.frames.record import read_record
from wmem.rules.updates.frames.western import WESTERN
from wmem.rules.updates.frames.words import Word, split_words
from wmem.rules.updates.statement import Statement

LEXICONS: Sequence[Lexicon] = (ENGLISH, *WESTERN, *EASTERN)
"""Those of all languages; the first is English."""
_LEAST_CHARS, _MAX_CHARS = 5, 120
_LEAST_WORDS, _MAX_WORDS = 2, 16
_MAX_LEFT = 7  # words before the verb
_MAX_LEAD = 4  # words of what stands before a comma and leads to a sentence
_SHOWN = frozenset('?¿؟？"“”„«»「」《》`{}[]|;…<>=\n\t')
"""Marks of questions, of what others say, and of what is no sentence."""
_INNER_END = re.compile(
    r"(?<!\b[a-z])(?<!\bdr)(?<!\bmr)(?<!\bmrs)(?<!\bms)(?<!\bst)(?<!\bsr)(?<!\d)[.!] ", re.IGNORECASE
)
_OWNERS = ("'s", "’s", "s'", "s’")
"""Ends of a sentence that tells whose something is."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_OF = words("of de del di da do du d' von van av af") | FOR
"""Words by which a value tells where somebody is from, for whom something is, or of what he is head."""
_NEW = frozenset(
    [
        *(
            "new",
            "neue",
            "neuer",
            "neues",
            "neuen",
            "nieuwe",
            "nouvelle",
            "nouveau",
            "nueva",
            "nuevo",
            "nuova",
            "nuovo",
        ),
        *("nova", "novo", "ny", "nya", "nye", "nowy", "nowa", "nowe", "nový", "nová", "новый", "новая", "новое"),
    ]
)


def read_frames(text: str) -> Iterator[Statement]:
    """The frames of a text that is one short sentence or a JSON object, with their values; none for any other text."""
    text = text.strip()
    yield from read_record(text)
    if not _LEAST_CHARS <= len(text) <= _MAX_CHARS or not text[0].isalnum() or not _SHOWN.isdisjoint(text):
        return
    body = text.rstrip(" .!。！।")
    if _INNER_END.search(body) is not None or body.endswith(_OWNERS):
        return
    if is_unspaced(body):
        yield from read_unspaced(body)
        return
    words = split_words(body)
    if not _LEAST_WORDS <= len(words) <= _MAX_WORDS or any(_YEAR.fullmatch(word.text) for word in words):
        return  # a year says when, and perhaps not now
    for lexicon in _list_languages(words):
        if found := [*_read(lexicon, words)]:
            yield from found
            return


def _list_languages(words: Sequence[Word]) -> Sequence[Lexicon]:
    """The lexicons that know most words of a sentence, several if they know as many; English alone if it is one."""
    by_word = _places_by_word()
    known = Counter(place for word in words for place in by_word.get(word.text, ()))
    most = max(known.values(), default=0)
    places = sorted(place for place, count in known.items() if count == most)
    return [LEXICONS[place] for place in (places[:1] if places[:1] == [0] else places)]


@cache
def _places_by_word() -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    for place, each in enumerate(LEXICONS):
        own = (each.me, each.mine, each.now, each.single, each.roles, each.names, each.no, each.at, each.some)
        for word in frozenset(each.verbs).union(each.dropped, *own):
            found.setdefault(word, []).append(place)
    return found


def _read(lexicon: Lexicon, words: Sequence[Word]) -> Iterator[Statement]:
    changes, words = _drop_lead(lexicon, words)
    left = number_ordinals(lexicon, [word for word in words if word.text not in lexicon.now])
    refused = (at for at, word in enumerate(left) if word.text in lexicon.refused and word.text not in lexicon.verbs)
    if not all(is_of_number(left, at) for at in refused):
        return
    changes = changes or len(left) < len(words)
    at = next((at for at, word in enumerate(left) if word.text in lexicon.verbs), None)
    if at is None and lexicon is ENGLISH:
        at = find_measure(left)
    if at is None:
        yield from _read_verbless(lexicon, left, changes=changes)
        return
    if lexicon.verb_last or at <= _MAX_LEFT:
        clause = _split(lexicon, left, at, changes=changes)
        if clause is not None:
            yield from read_clause(clause)


def _read_verbless(lexicon: Lexicon, words: Sequence[Word], *, changes: bool) -> Iterator[Statement]:
    """What a sentence without a verb states, in a language that needs none."""
    if not lexicon.bare or not words:
        return
    at = next((at for at, word in enumerate(words) if at and word.text in lexicon.at), len(words))
    *left, last = [word for word in words if word.text not in lexicon.dropped] or words
    value: Sequence[Word] = [last]
    preposition, owned = left[-1].text if left and left[-1].text in lexicon.at else "", False
    if any(word.text[:1].isdigit() for word in words[at + 1 :]):
        left, value, preposition = [*words[:at]], words[at + 1 :], words[at].text  # "on the third floor"
        owned = is_attribute(lexicon, left) and is_anchored(lexicon, left)
    who, renewed = _read_subject(lexicon, left)
    if left and who is not None:
        yield from read_bare(
            Clause(
                lexicon=lexicon,
                kind=BE,
                verb="",
                who=who,
                heads=list_heads(lexicon, left),
                value=value,
                preposition=preposition,
                anchored=owned,
                changes=changes or renewed,
            )
        )


def _drop_lead(lexicon: Lexicon, words: Sequence[Word]) -> tuple[bool, Sequence[Word]]:
    """What is left without words that lead to a sentence, and whether these say that it corrects another one."""
    end = next((at + 1 for at, word in enumerate(words[:_MAX_LEAD]) if word.parts), 0)
    lead = " ".join(word.text for word in words[:end])
    return (lexicon.leads[lead], words[end:]) if lead in lexicon.leads else (False, words)


def _split(lexicon: Lexicon, words: Sequence[Word], at: int, *, changes: bool) -> Clause | None:
    """The sentence at its verb; None for what is said of nobody, or of one of several."""
    verb, left, right = words[at].text, words[:at], [*words[at + 1 :]]
    kind = lexicon.verbs.get(verb, TAKE)
    while right and right[0].text in lexicon.dropped:
        right = right[1:]
    if lexicon.verb_last:
        left, right = [], [word for word in (*left, *right) if word.text not in lexicon.me | lexicon.dropped]
        if len(right) > 1 or kind == BE:
            return None
    more = lexicon.verbs.get(right[0].text, "") if right else ""
    if (kind == BE and more in (LIVE, WORK, MOVE, DO)) or (kind == ADD and more == MOVE):
        kind, verb, right = more, right[0].text, right[1:]  # "is working", "has moved"
    who, renewed = _read_subject(lexicon, left)
    if who is None or (not left and lexicon is ENGLISH and not verb.endswith("s")):
        return None  # "Have a nice day" is said of nobody
    denied = any(word.text in lexicon.no for word in (*left, *right))
    corrects = denied and not lexicon.but.isdisjoint(word.text for word in right)
    if denied and not corrects:
        right = [word for word in right if word.text not in lexicon.no | lexicon.more]
    many = is_one_of_many(lexicon, left)
    one = words[at].text not in lexicon.plural and is_attribute(lexicon, left)
    return Clause(
        lexicon=lexicon,
        kind=kind,
        verb=_to_stem(verb),
        who=who,
        value=right,
        denied=denied,
        one=one,
        linked=any(word.text in _OF for word in words[at + 1 :]),
        part=words[at + 1 : at + 2] != [] and words[at + 1].text in _OF,
        anchored=one and is_anchored(lexicon, left),
        many=many,
        heads=list_heads(lexicon, left),
        changes=changes or (renewed and not many),
    )


def _read_subject(lexicon: Lexicon, left: Sequence[Word]) -> tuple[Sequence[str] | None, bool]:
    """Whose or what, in words, none for the speaker; None for what is parted. And whether it is said to be new."""
    if any(word.parts for word in left):
        return None, False
    left_out = lexicon.mine | (lexicon.dropped - FOR) | lexicon.no | lexicon.more | lexicon.some | lexicon.me | _NEW
    return [word.text for word in left if word.text not in left_out], any(word.text in _NEW for word in left)


def _to_stem(verb: str) -> str:
    if verb == "has":
        return "have"
    return verb[:-1] if verb.endswith("s") and len(verb) > 3 else verb  # noqa: PLR2004  # "is", "bus"
