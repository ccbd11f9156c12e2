"""Near spellings of words that no text has."""

from hypothesis import given
from hypothesis import strategies as st

from wmem.analysis.spelling import near_spellings

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = st.text(LETTERS, min_size=8, max_size=12)


@given(word=WORDS, data=st.data())
def test_any_one_slip_behind_the_first_letters_is_mended(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(2, len(word) - 2))
    letter = data.draw(st.sampled_from(LETTERS))
    slips = [
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        *([word[:at] + word[at + 1 :]] if len(word) > 8 else []),
    ]
    assert word in near_spellings(data.draw(st.sampled_from(slips)))


@given(word=st.text(max_size=10))
def test_a_near_spelling_keeps_the_first_letters_and_nearly_the_length(word: str) -> None:
    near = list(near_spellings(word))
    assert all(each[:2] == word[:2] and abs(len(each) - len(word)) <= 1 for each in near)
    assert len(near) <= 54 * len(word)


def test_short_words_and_other_scripts_have_none() -> None:
    assert [list(near_spellings(word)) for word in ("model", "mango", "żółwiowaty", "4711471147", "")] == [[]] * 5
