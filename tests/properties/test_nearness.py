"""Texts of one gist say nearly the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.rules.nearness import gist

NEAR = [
    ("Thanks a lot!", "Thank you so much for your help.", "Thanks, Anna", "Thanks for everything 🙏", "Many thanks"),
    ("Hello!", "Hi there", "Hey Bob"),
    ("Book the flight, please.", "please book a flight", "Book flight"),
    ("Error: connection refused", "error — connection refused!", "ERROR: the connection refused"),
    ("谢谢!", "谢谢", "好的, 谢谢你"),
    ("Gracias", "Muchas gracias!"),
]
APART = [
    ("refund 7 dollars", "refund 8 dollars", "refund 7.5 dollars", "refund 7 euros", "refund $7"),
    ("yes, book it", "no, don't book it", "book it", "don't book it"),
    ("dog bites man", "man bites dog"),
    ("It is done.", "Is it done?", "It is done?"),
    ("-5 degrees", "5 degrees"),
    ("Thanks", "No thanks", "Thanks, but cancel Tuesday", "Thanks, Tuesday", "Thanks, is it 7?"),
    ("Hello", "Goodbye", "Thanks"),
    ("My dog is called Rex", "My cat is called Rex", "My dog is called Max"),
    ("👍", "👎"),
    ("谢谢", "请帮我订星期二的房间, 谢谢", "ขอบคุณ", "はい, ありがとう"),
    ("C", "C++", "C#"),
]


@pytest.mark.parametrize("texts", NEAR)
def test_courtesies_and_articles_make_no_difference(texts: tuple[str, ...]) -> None:
    assert len({gist(text) for text in texts}) == 1


@pytest.mark.parametrize("texts", APART)
def test_a_number_a_negation_a_name_a_question_and_the_order_do(texts: tuple[str, ...]) -> None:
    assert len({gist(text) for text in texts}) == len(texts)


@given(st.text(max_size=500), st.integers(0, 99), st.integers(0, 99))
@examples(1)
def test_two_numbers_are_never_one(text: str, first: int, second: int) -> None:
    told, other = (f"{text} {number} {text}" for number in (first, second))
    assert (gist(told) == gist(other)) == (first == second)


@given(st.text(max_size=600))
@examples(1)
def test_case_and_white_space_make_no_difference_and_no_text_is_without_a_gist(text: str) -> None:
    folded = " ".join(text.split())
    assert gist(text) == gist(f"  {folded}\n")
    assert bool(gist(text)) == bool(folded)


def test_a_long_text_is_its_own_gist() -> None:
    text = "the report says that all is well, thanks. " * 20
    assert gist(text) != gist(text.replace("the", "a"))
