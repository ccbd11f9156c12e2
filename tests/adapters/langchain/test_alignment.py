"""Messages that come without ids are known by what they say and where: none is stored twice, and none is lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_wmem._alignment import align_ids

WORDS = st.sampled_from(["yes", "no", "why"])
TURNS = st.lists(st.tuples(WORDS, WORDS), max_size=8)


class Session:
    """A session in short: what is stored, by id."""

    def __init__(self) -> None:
        self.stored: list[BaseMessage] = []

    def take(self, *messages: BaseMessage) -> None:
        ids = {message.id for message in self.stored}
        aligned = align_ids(messages, self.stored)
        assert [message.model_copy(update={"id": None}) for message in aligned] == list(messages)
        self.stored += [message for message in aligned if message.id not in ids]

    @property
    def said(self) -> list[str]:
        return [message.text for message in self.stored]


def whole(turns: Sequence[tuple[str, str]]) -> list[BaseMessage]:
    return [message for asked, told in turns for message in (HumanMessage(asked), AIMessage(told))]


@given(turns=TURNS, examples=TURNS, tries=st.integers(1, 2), stores_replies=st.booleans())
def test_a_whole_conversation_handed_over_again_and_again_is_stored_once(
    turns: list[tuple[str, str]], examples: list[tuple[str, str]], tries: int, stores_replies: bool
) -> None:
    session, shown = Session(), whole(examples)
    for at, (asked, told) in enumerate(turns):
        for _ in range(tries):
            session.take(*shown, *whole(turns[:at]), HumanMessage(asked))
        if stores_replies:
            session.take(*shown, *whole(turns[:at]), HumanMessage(asked), AIMessage(told))
    expected = [message.text for message in [*shown, *whole(turns)]] if turns else []
    assert session.said == expected[: None if stores_replies or not turns else -1]


@given(turns=TURNS)
def test_the_newest_question_alone_is_new_each_time_once_it_was_answered(turns: list[tuple[str, str]]) -> None:
    session = Session()
    for asked, told in turns:
        session.take(HumanMessage(asked))
        session.stored.append(AIMessage(told, id=f"reply-{len(session.stored)}"))
    assert session.said == [message.text for message in whole(turns)]


@given(turns=st.integers(1, 12), window=st.integers(1, 6), examples=st.integers(0, 2))
def test_a_window_of_a_conversation_behind_examples_is_stored_once(turns: int, window: int, examples: int) -> None:
    session, shown = Session(), whole([(f"for example {at}", "so") for at in range(examples)])
    talk = whole([(f"question {at}", f"answer {at}") for at in range(turns)])
    for at in range(0, len(talk), 2):
        session.take(*shown, *talk[max(0, at - window) : at + 1])
        session.stored.append(talk[at + 1].model_copy(update={"id": f"reply-{at}"}))
    assert session.said == [message.text for message in [*shown, *talk]]


def test_messages_with_ids_keep_them_and_others_of_the_same_words_do_not_get_them() -> None:
    stored = [HumanMessage("yes", id="1"), AIMessage("yes", id="2")]
    given = [HumanMessage("yes", id="1"), AIMessage("yes"), HumanMessage("yes")]
    first, second, third = align_ids(given, stored)
    assert (first.id, second.id) == ("1", "2")
    assert third.id not in {None, "1", "2"}
    assert align_ids(stored, []) == stored
    assert align_ids([], stored) == []


@pytest.mark.parametrize("other", [SystemMessage("yes"), AIMessage("yes"), HumanMessage("yes", name="Ada")])
def test_the_same_words_of_another_are_another_message(other: BaseMessage) -> None:
    [made] = align_ids([other], [HumanMessage("yes", id="1")])
    assert made.id != "1"
