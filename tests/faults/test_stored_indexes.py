"""An interrupt while a stored index is read, made or written costs no answer and no word too much."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import wmem
from tests.interrupts import interruptions
from wmem.model.history import index_path
from wmem.scope import index_store
from wmem.testing.opener import _without_open_stores
from wmem.testing.store_bytes import read_store_bytes

PACKAGES = ("wmem.scope.index_store", "wmem.retrieval.index_codec", "wmem.engine.replica")
SECRET = "zqXvKw9PjLmTrB"
EVERY = 20  # points that are tried one by one
QUESTION = "a lantern in the harbour"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(
        index_store, "MIN_TEXTS", 4
    )  # as many texts as an index is stored of: a few, of which all are met
    return f"sqlite://{tmp_path}/store.db"


@pytest.fixture
def told(url: str) -> Iterator[list[tuple[str, float]]]:
    """What is answered from an index that was made and stored without an interrupt."""
    memory = wmem.open(url, agent_id="agent")
    session = memory.scope("session")
    session.messages.append(
        [{"id": f"m{number}", "role": "user", "content": f"lantern {number} in the harbour"} for number in range(12)]
    )
    yield ask(session)
    memory.close()


def ask(session: wmem.Scope) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in session.recall(QUESTION)]


def open_later(url: str) -> wmem.AgentMemory:
    with _without_open_stores():
        return wmem.open(url, agent_id="agent")


def drop_stored(url: str) -> None:
    with open_later(url) as memory:
        memory._core.ports.sync["Journal.delete"](index_path(("agent", "session")), None)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("stored", [True, False])
def test_a_first_question_that_is_interrupted_is_answered_when_it_is_repeated(
    stored: bool, package: str, url: str, told: list[tuple[str, float]]
) -> None:
    with open_later(url) as memory:
        ask(memory.scope("session"))
    memories: list[wmem.AgentMemory] = []

    def ask_first(_: int) -> None:
        memories.append(open_later(url))
        ask(memories[-1].scope("session"))

    interrupts = 0
    for _, was_interrupted in interruptions(ask_first, package=package, every=EVERY):
        interrupts += was_interrupted
        with memories.pop() as memory:
            assert ask(memory.scope("session")) == told
        if not stored:
            drop_stored(url)
    assert interrupts


@pytest.mark.parametrize("package", PACKAGES)
def test_an_index_that_is_interrupted_while_it_is_stored_leaves_no_word_of_what_is_erased(
    package: str, url: str, told: list[tuple[str, float]]
) -> None:
    memories: list[wmem.AgentMemory] = []

    def store(_: int) -> None:
        memories.append(open_later(url))
        ask(memories[-1].scope("session"))
        memories[-1].maintain()

    with open_later(url) as memory:
        memory.scope("session").messages.append({"id": "secret", "role": "user", "content": SECRET})
    interrupts = 0
    for number, was_interrupted in interruptions(store, package=package, every=EVERY):
        interrupts += was_interrupted
        with memories.pop() as memory:
            session = memory.scope("session")
            if number % 5 == 0 or not was_interrupted:
                session.erase("secret")
                stored_bytes = read_store_bytes(url)
                assert SECRET[:7].lower().encode() not in stored_bytes  # in halves: a word may go on on another page
                assert SECRET[7:].lower().encode() not in stored_bytes
                assert ask(session) == told
                session.messages.append({"id": f"again {number}", "role": "user", "content": SECRET})
                session.erase(f"again {number}")
                session.messages.append({"id": "secret", "role": "user", "content": SECRET})
        drop_stored(url)
    assert interrupts
