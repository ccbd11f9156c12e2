"""A word that is spelled otherwise than it was stored is found, and one that is spelled alike comes first."""

from typing import Any

import pytest

from tests.conformance.conftest import Call
from wmem import Scope

PAIRS = {
    "accent": ("Jose", "José"),
    "diaeresis": ("Zoe", "Zoë"),
    "capital with an accent": ("cremieux", "Crémieux"),
    "Vietnamese": ("da nang", "Đà Nẵng"),
    "umlaut": ("Muller", "Müller"),
    "alef": ("احمد", "أحمد"),
    "alef first": ("اسماء", "أسماء"),
    "ta marbuta": ("مكتبه", "مكتبة"),
    "Arabic digits": ("457", "٤٥٧"),
    "Devanagari digits": ("45", "४५"),
    "dotted capital": ("istanbul", "İstanbul"),
    "dotless": ("Diyarbakir", "Diyarbak\u0131r"),
    "stroke": ("Lodz", "Łódź"),
    "Greek": ("Αθηνα", "Αθήνα"),
    "yo": ("Артем", "Артём"),
    "points": ("שלום", "שָׁלוֹם"),
    "Persian letters": ("كتاب", "کتاب"),
    "Thai digits": ("62", "๖๒"),
}
each_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def small_talk(call: Call, session: Scope, *between: str) -> None:
    """Sixty messages, and as far from one another as from the ends those that matter."""
    said = [f"The lighthouse on hill {number} is white, and so is its keeper's boat." for number in range(1000, 1060)]
    for place, text in enumerate(between, 1):
        said.insert(20 * place, text)
    call(session.messages.append, list(map(user, said)))


@each_pair
def test_b150_what_is_spelled_otherwise_is_found_both_ways(session: Scope, call: Call, pair: tuple[str, str]) -> None:
    for spelled, asked in (pair, pair[::-1]):
        scope = session.child(f"as {spelled}")
        text = f"Remember {spelled} for the ferry."
        small_talk(call, scope, text)
        assert text in call(scope.pack, asked, budget=400, tail=0).note
        assert call(scope.recall, asked, limit=1)[0].text == text
        call(scope.items.add, text)
        for order in ("recall", "relevance", None):
            assert [item.content for item in call(scope.items.search, asked, order=order)] == [text], order
        call(scope.items.add, "Nothing of the kind.")
        stored = [message.text for message in call(scope.messages.all) if "Remember" in message.text]
        assert stored == [text], "what is stored is not changed"


@each_pair
def test_b150_of_two_spellings_the_one_that_is_asked_for_comes_first(
    session: Scope, call: Call, pair: tuple[str, str]
) -> None:
    texts = [f"Remember {spelled} for the ferry." for spelled in pair]
    small_talk(call, session, *texts)
    for text in texts:
        call(session.items.add, text)
    for asked, text, other in ((pair[0], *texts), (pair[1], *texts[::-1])):
        found = [hit.text for hit in call(session.recall, asked, limit=10) if hit.kind == "message"]
        assert [each for each in found if each in texts] == [text, other]
        for order in ("recall", "relevance"):
            assert [item.content for item in call(session.items.search, asked, order=order)] == [text, other], order


@pytest.mark.parametrize(
    ("text", "asked"),
    [("Schon bald kommt die Fähre.", "Schön"), ("En sköld låg i båten.", "skold"), ("Má tôi bán phở.", "mà")],
)
def test_b150_what_another_word_would_be_with_its_accents_is_behind_that_word(
    session: Scope, call: Call, text: str, asked: str
) -> None:
    exact = f"Das Wort {asked} steht an einer Wand im Hafen."
    small_talk(call, session, text, exact)
    found = [hit.text for hit in call(session.recall, asked, limit=10)]
    assert found.index(exact) < found.index(text)


@pytest.mark.parametrize(
    ("stored", "asked"), [("война", "воина"), ("서울", "서을"), ("कि", "की"), ("มา", "ม้า"), ("がき", "かき")]
)
def test_b150_another_letter_of_its_script_makes_another_word(
    session: Scope, call: Call, stored: str, asked: str
) -> None:
    call(session.messages.append, [user(f"Remember {stored} please."), user("And something else.")])
    assert not any(stored in hit.text for hit in call(session.recall, asked))


def test_b150_an_accented_name_is_the_speaker_that_a_question_names_without(session: Scope, call: Call) -> None:
    said = [
        {"role": "user", "name": ("José", "Ann")[at % 2], "content": f"I saw {at} boats at pier {at % 5}."}
        for at in range(40)
    ]
    call(session.messages.append, said)
    for asked in ("Which boats did Jose see?", "Which boats did José see?"):
        [best, *_] = call(session.recall, asked, limit=5)
        assert "x speaker" in best.parts, asked


def test_b150_a_passage_of_a_long_text_is_found_by_another_spelling(session: Scope, call: Call) -> None:
    long = " ".join(f"The weather on hill {at} is fine today." for at in range(200))
    fact = "Crémieux keeps the key of the boathouse."
    call(session.messages.append, [{"role": "assistant", "content": f"{long} {fact} {long}"}])
    call(session.messages.append, [user(f"Remark {at}.") for at in range(20)])
    assert fact in call(session.pack, "What does cremieux keep?", budget=600, tail=0).note


def test_b150_traditional_chinese_is_found_by_simplified_and_the_other_way_round(session: Scope, call: Call) -> None:
    pytest.importorskip("opencc")
    pair = "臺灣的烏龜", "台湾的乌龟"
    texts = [f"我喜欢{spelled}很久了。" for spelled in pair]
    small_talk(call, session, *texts)
    for asked, text, other in ((pair[0], *texts), (pair[1], *texts[::-1])):
        found = [hit.text for hit in call(session.recall, asked, limit=10)]
        assert found[:2] == [text, other]
