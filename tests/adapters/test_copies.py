"""Copies of what an adapter hands out open the same session again, and hold no password, key, client or embedder."""

import asyncio
import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from workflows.context import Context
from workflows.context.serializers import JsonSerializer

import wmem
from langchain_wmem import WmemChatMessageHistory
from llamaindex_wmem import WmemMemory
from tests.adapters.openings import KEY, OPENINGS, SECRETS, WORD, opening
from tests.servers import DATABASES, RedisServer
from wmem import InvalidInputError, SerializationError

Open = Callable[[], wmem.AgentMemory]
Copy = Callable[[Any], Any]
Held = WmemMemory | WmemChatMessageHistory


def by_json(memory: WmemMemory) -> Any:
    serializer = JsonSerializer()
    return serializer.deserialize(serializer.serialize(memory))


def by_dict(memory: WmemMemory) -> Any:
    return WmemMemory.from_dict(json.loads(json.dumps(memory.to_dict())))


def by_pickle(held: Held) -> Any:
    return pickle.loads(pickle.dumps(held))


def saved_context(memory: WmemMemory) -> str:
    """The context of an agent's workflow, as JSON."""
    running = Context(FunctionAgent(llm=MockFunctionCallingLLM(), tools=[]))
    asyncio.run(running.store.set("memory", memory))
    return json.dumps(running.to_dict(serializer=JsonSerializer()))


def by_context(memory: WmemMemory) -> Any:
    agent = FunctionAgent(llm=MockFunctionCallingLLM(), tools=[])
    restored = Context.from_dict(agent, json.loads(saved_context(memory)), serializer=JsonSerializer())
    return asyncio.run(restored.store.get("memory"))


WRITTEN: list[tuple[type[Held], Copy]] = [
    (WmemMemory, by_json),
    (WmemMemory, by_dict),
    (WmemMemory, by_pickle),
    (WmemMemory, by_context),
    (WmemChatMessageHistory, by_pickle),
]
COPIED = [
    *WRITTEN,
    *((kind, copied) for kind in (WmemMemory, WmemChatMessageHistory) for copied in (copy.copy, copy.deepcopy)),
]


def hold(kind: type[Held], **where: Any) -> Any:
    return (
        WmemMemory.from_defaults(session_id="s", **where)
        if kind is WmemMemory
        else WmemChatMessageHistory("s", **where)
    )


def say(held: Held, text: str) -> None:
    held.put(ChatMessage(text)) if isinstance(held, WmemMemory) else held.add_messages([HumanMessage(text)])


def texts(held: Held) -> list[Any]:
    return [each.content for each in (held.get_all() if isinstance(held, WmemMemory) else held.messages)]


async def atexts(held: Held) -> list[Any]:
    return [each.content for each in await (held.aget_all() if isinstance(held, WmemMemory) else held.aget_messages())]


pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")  # a workflow's own, on itself


@pytest.fixture(params=OPENINGS)
def secret(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that wants a password."""
    server = RedisServer("valkey", tmp_path_factory.mktemp("locked"))
    with server.client() as client:
        client.config_set("requirepass", WORD)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def databases() -> Iterator[int]:
    """Numbers of databases: what a name has opened stays open, so each test has one of its own."""
    return iter(range(DATABASES))


@pytest.fixture
def locked(server: RedisServer, databases: Iterator[int]) -> str:
    """The URL of an empty database, with its password."""
    return f"redis://:{WORD}@127.0.0.1:{server.port}/{next(databases)}"


@pytest.fixture
def open_it(secret: str, tmp_path: Path, request: pytest.FixtureRequest) -> Open:
    return opening(secret, tmp_path, request.getfixturevalue("locked") if secret == "password" else None)


@pytest.fixture
def name() -> str:
    """A name that is nobody's yet."""
    return uuid4().hex


# -- in the process, the open memory is found


@pytest.mark.parametrize(("kind", "copied"), COPIED)
def test_a_copy_finds_the_memory_that_is_open(kind: type[Held], copied: Copy, open_it: Open) -> None:
    with open_it() as memory:
        held = hold(kind, memory=memory)
        say(held, "a")
        other = copied(held)
        say(other, "b")
        assert texts(held) == texts(other) == asyncio.run(atexts(copied(other))) == ["a", "b"]
        other.close()
        say(held, "c")
        assert texts(held) == ["a", "b", "c"], "closing a copy leaves the original open"


@pytest.mark.parametrize(("kind", "copied"), WRITTEN)
def test_a_copy_that_was_written_out_stays_open_when_its_original_is_closed(
    kind: type[Held], copied: Copy, open_it: Open
) -> None:
    with open_it() as memory:
        say(hold(kind, memory=memory), "a")
        other = copied(hold(kind, memory=memory))
    assert texts(other) == ["a"]
    assert texts(copied(other)) == ["a"]
    other.close()


@pytest.mark.parametrize(("kind", "copied"), COPIED)
def test_a_url_with_a_password_is_found_again_by_its_copies(kind: type[Held], copied: Copy, locked: str) -> None:
    held = hold(kind, url=locked, agent_id="a")
    say(held, "a")
    other = copied(held)
    held.close()
    assert texts(other) == ["a"]
    other.close()


# -- nothing that is secret is in it


@pytest.mark.parametrize("kind", [WmemMemory, WmemChatMessageHistory])
def test_no_secret_is_written_shown_or_quoted(kind: type[Held], secret: str, open_it: Open) -> None:
    with open_it() as memory:
        held = hold(kind, memory=memory)
        say(held, "a")
        shown = [pickle.dumps(held), repr(held).encode(), str(held).encode()]
        if isinstance(held, WmemMemory):
            shown += [
                held.to_json().encode(),
                held.model_dump_json().encode(),
                JsonSerializer().serialize(held).encode(),
            ]
            assert held.needs == (secret,)
        saved = pickle.dumps(held)
    with pytest.raises(InvalidInputError) as failure:
        texts(pickle.loads(saved))
    shown.append(str(failure.value).encode())
    assert not [text for text in SECRETS for each in shown if text.encode() in each]


# -- elsewhere it is opened by its name, or an error says what to do


@pytest.mark.parametrize(("kind", "copied"), WRITTEN)
def test_a_copy_whose_memory_is_not_open_says_what_it_needs(
    kind: type[Held], copied: Copy, secret: str, open_it: Open
) -> None:
    with open_it() as memory:
        held = hold(kind, memory=memory)
        say(held, "a")
        other = copied(held)
        other.close()
    for used in (texts, lambda copy: asyncio.run(atexts(copy))):
        with pytest.raises(InvalidInputError, match=rf"opened with {secret}, .*wmem.register"):
            used(other)
    with open_it():
        assert texts(other) == ["a"], "nothing was changed, and it works once its memory is open"
    other.close()


def test_a_copy_does_not_choose_between_two_memories(tmp_path: Path) -> None:
    """Two journals under one URL are two stores."""
    first, second = opening("client", tmp_path), opening("client", tmp_path)
    with first() as memory, second() as other:
        saved = pickle.dumps(hold(WmemChatMessageHistory, memory=memory))
        with pytest.raises(InvalidInputError, match="more than one that differ"):
            texts(pickle.loads(saved))
        assert hold(WmemChatMessageHistory, memory=other).messages == []


def words(text: str) -> list[str]:
    """A tokenizer that finds far fewer tokens than wmem's counter."""
    return text.split()[:3]


def lines(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize("copied", [by_json, by_pickle, by_context, copy.copy, copy.deepcopy])
def test_a_copy_counts_with_the_tokenizer_of_its_original(copied: Copy, caplog: pytest.LogCaptureFixture) -> None:
    url = f"memory://{uuid4().hex}"
    memory = hold(WmemMemory, url=url, agent_id="a", token_limit=200, tokenizer_fn=words)
    memory.put_messages([ChatMessage(f"message {number} " + "of many words " * 40) for number in range(20)])
    whole = memory.get()
    other = copied(memory)
    assert other.get() == whole
    assert other == memory
    assert not caplog.text
    with wmem.open(url, agent_id="a"):  # a memory of this name ends with its last handle
        memory.close()
        other.close()
        elsewhere = copied(other)
        if copied in {copy.copy, copy.deepcopy}:
            assert elsewhere.get() == whole, "it holds the tokenizer itself"
        else:
            assert len(elsewhere.get()) < len(whole)
            assert "was opened with counter, which no copy holds" in caplog.text
        assert elsewhere == memory


def test_a_copy_does_not_count_with_the_tokenizer_of_another_memory() -> None:
    url = f"memory://{uuid4().hex}"
    first, second = (
        hold(WmemMemory, url=url, agent_id="a", token_limit=200, tokenizer_fn=each) for each in (words, lines)
    )
    first.put_messages([ChatMessage(f"message {number} " + "of many words " * 40) for number in range(20)])
    copied = by_pickle(second)
    assert len(copied.get()) < len(first.get())
    for each in (first, second, copied):
        each.close()


@pytest.mark.parametrize(("kind", "copied"), WRITTEN)
def test_a_copy_has_the_policy_of_its_original_while_that_is_open(
    kind: type[Held], copied: Copy, tmp_path: Path
) -> None:
    policy = wmem.Policy(max_content_bytes=10)
    with wmem.open(f"sqlite://{tmp_path / 'm.db'}", agent_id="a", policy=policy) as memory:
        other = copied(hold(kind, memory=memory))
        say(other, "a")
        with pytest.raises(wmem.WmemError):
            other.scope().items.add("far more than ten bytes")
        other.close()
    assert texts(copied(other)) == ["a"], "elsewhere it is opened without"


@pytest.mark.parametrize(("kind", "copied"), COPIED)
def test_a_memory_with_a_name_is_opened_by_it(kind: type[Held], copied: Copy, name: str, open_it: Open) -> None:
    wmem.register(name, open_it)
    held = hold(kind, store=name)
    say(held, "a")
    held.close()
    other = copied(held)
    assert texts(other) == texts(held) == ["a"]
    assert other.store == name if isinstance(other, WmemMemory) else True
    if isinstance(held, WmemMemory):
        assert other == held
        assert (held.url, held.needs) == ("", ()), "what the opener knows is not written"
    other.close()
    held.close()


ELSEWHERE = """
import asyncio, json, pickle, sys
from pathlib import Path
import wmem
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.mock import MockFunctionCallingLLM
from workflows.context import Context
from workflows.context.serializers import JsonSerializer

_, folder, url, key, name = sys.argv

def read_context(saved):
    agent = FunctionAgent(llm=MockFunctionCallingLLM(), tools=[])
    restored = Context.from_dict(agent, json.loads(saved), serializer=JsonSerializer())
    return asyncio.run(restored.store.get("memory"))

def read_json(saved):
    return JsonSerializer().deserialize(saved.decode())

READ = {".context": read_context, ".json": read_json, ".pickle": pickle.loads}

def show(file):
    held = READ[file.suffix](file.read_bytes())
    try:
        print(file.stem, [each.content for each in (held.get_all() if hasattr(held, "get_all") else held.messages)])
    except wmem.InvalidInputError as exc:
        print(file.stem, "is told to call", "wmem.register" if "wmem.register(" in str(exc) else exc)

files = sorted(Path(folder).glob("*.*"))
for file in files:
    show(file)
wmem.register(name, lambda: wmem.open(url, agent_id="a", key=bytes.fromhex(key)))
for file in files:
    show(file)
"""


@pytest.mark.slow
def test_another_process_opens_an_encrypted_session_by_its_name_alone(name: str, tmp_path: Path) -> None:
    url, folder = f"sqlite://{tmp_path / 'm.db'}", tmp_path / "saved"
    folder.mkdir()
    wmem.register(name, opening("key", tmp_path))
    for named, where in (("named", {"store": name}), ("nameless", {"memory": opening("key", tmp_path)()})):
        memory, history = hold(WmemMemory, **where), hold(WmemChatMessageHistory, **where)
        say(memory, named)
        (folder / f"{named}-1.json").write_text(JsonSerializer().serialize(memory))
        (folder / f"{named}-2.pickle").write_bytes(pickle.dumps(memory))
        (folder / f"{named}-3.pickle").write_bytes(pickle.dumps(history))
        (folder / f"{named}-4.context").write_text(saved_context(memory))
    command = [sys.executable, "-c", ELSEWHERE, str(folder), url, KEY.hex(), name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    saved = [f"{which}-{number}" for which in ("named", "nameless") for number in (1, 2, 3, 4)]
    refused = sorted(f"{each} is told to call wmem.register" for each in saved)
    # Once the name has opened it, it is open in the process, and those without a name find it.
    opened = sorted(f"{each} ['named', 'nameless']" for each in saved)
    assert done.stdout.splitlines() == refused + opened


def test_a_private_memory_is_not_pickled_but_copied(name: str) -> None:
    with wmem.open("memory://", agent_id="a") as private:
        for held in (
            hold(WmemChatMessageHistory, memory=private),
            WmemChatMessageHistory("s", url="memory://", agent_id="a"),
        ):
            say(held, "a")
            with pytest.raises(SerializationError, match="name it"):
                pickle.dumps(held)
            assert texts(copy.copy(held)) == texts(copy.deepcopy(held)) == ["a"]
    wmem.register(name, lambda: wmem.open("memory://", agent_id="a"))
    held = hold(WmemChatMessageHistory, store=name)
    say(held, "b")
    assert texts(by_pickle(held)) == ["b"], "a name finds even what has no URL"


def test_a_copy_made_before_the_first_use_is_the_same_private_memory() -> None:
    held = WmemChatMessageHistory("s", url="memory://", agent_id="a")
    other = copy.copy(held)
    say(other, "a")
    assert texts(held) == ["a"]


@pytest.mark.parametrize("copied", [by_pickle, copy.copy, copy.deepcopy])
def test_a_copy_of_a_history_has_its_budget(copied: Copy) -> None:
    with wmem.open(f"memory://{uuid4().hex}", agent_id="a") as memory:
        held = WmemChatMessageHistory("s", memory=memory, budget=100, recall=False)
        held.add_messages([HumanMessage(f"message {number}, of many words") for number in range(50)])
        assert copied(held).messages == held.messages
        assert len(held.messages) < len(copied(held).all_messages()) == 50


def test_a_copy_of_a_memory_with_fewer_features_is_never_opened_with_more() -> None:
    with wmem.open("memory://tiers", agent_id="a", features=wmem.Features.core()) as opened:
        memory = WmemMemory.from_defaults(session_id="s", memory=opened)
        memory.put(ChatMessage("hello"))
        written = pickle.dumps(memory)
        copied = pickle.loads(written)
        assert copied.get_all() == memory.get_all()
        item = copied.scope().items.add("x")
        with pytest.raises(wmem.FeatureNotEnabledError):
            copied.scope().items.promote(item.id)
        copied.close()
    with pytest.raises(InvalidInputError, match="features"):
        pickle.loads(written).get_all()
