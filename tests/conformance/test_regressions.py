"""What once was broken and must stay mended, defect by defect."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import wmem
from tests.conformance.conftest import Call, MemoryOpener
from wmem import BudgetError, InvalidInputError, Message, Policy, Scope
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.scope.handle import Handle
from wmem.tokens.estimate import EstimateCounter


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def plain(scope: Scope) -> Scope:
    """The face that needs no loop."""
    return scope if isinstance(scope, Scope) else scope.sync()


# -- merging


@pytest.mark.parametrize("name", ["", " ", None, "a\nb", "~own", 5])
def test_a_temporary_scope_needs_a_name(name: Any) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        with pytest.raises(InvalidInputError), memory.scope("s").temporary(name):
            pass
        assert memory.working.children() == []


# -- what a URL names


def opener(mode: str) -> Any:
    return wmem.open if mode == "sync" else wmem.aopen


@pytest.mark.parametrize("name", ["50% of #1, what? 日本 é", "a%23b%2Fc"])
def test_a_memorys_url_opens_the_same_directory_again(tmp_path: Path, call: Call, mode: str, name: str) -> None:
    memory = call(opener(mode), f"disk://{quote(str(tmp_path / name))}", agent_id="a")
    call(memory.working.entries.set, "k", 1)
    call(memory.close)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    again = call(opener(mode), memory.url, agent_id="a")
    assert again.url == memory.url
    assert call(again.working.entries.get, "k") == 1
    call(again.close)
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("url", ["disk://{}/x?y=1", "disk://{}/x#f", "disk:///", "disk://", "disk:// ", "memory:///"])
def test_a_url_that_names_no_store_is_refused(tmp_path: Path, call: Call, mode: str, url: str) -> None:
    with pytest.raises(InvalidInputError, match="://"):
        call(opener(mode), url.format(tmp_path), agent_id="a")
    assert list(tmp_path.iterdir()) == []


# -- packing


SCHEMA = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    "tools",
    [SCHEMA, "look", [None], ["look"], [object()], [{"name": object()}], (each for each in [SCHEMA]), 5, None],
    ids=lambda tools: type(tools).__name__,
)
def test_tools_that_are_no_list_of_schemas_are_refused(tools: Any) -> None:
    with wmem.open("memory://", agent_id="a", counter=EstimateCounter()) as memory:
        memory.working.messages.append(said("hello"))
        with pytest.raises(InvalidInputError, match="tools") as refused:
            memory.working.pack(budget=1_000, tools=tools)
        assert not isinstance(refused.value, BudgetError)


@pytest.mark.parametrize(
    "counter", [5, "o200k", lambda *_: "12", lambda *_: -1, lambda *_: 1.5, lambda *_: None, lambda *_: True]
)
def test_a_prompt_counter_that_counts_no_tokens_is_refused(counter: Any) -> None:
    with wmem.open("memory://", agent_id="a", counter=EstimateCounter()) as memory:
        memory.working.messages.append(said("hello"))
        with pytest.raises(InvalidInputError, match="prompt_counter"):
            memory.working.pack(budget=1_000, prompt_counter=counter)


async def test_two_that_close_at_once_give_one_hold_back(tmp_path: Any) -> None:
    url = f"disk://{tmp_path}/store"
    other = await wmem.aopen(url, agent_id="other")
    memory = await wmem.aopen(url, agent_id="agent")
    await memory.scope("s").entries.set("k", 1)
    await asyncio.gather(memory.close(dispose=True), memory.close(dispose=True))
    await other.scope("s").entries.set("k", 2)
    assert await other.scope("s").entries.get("k") == 2
    await other.close()


class Answering:
    """A counter that answers the same to every text, or raises it."""

    name = "odd"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, text: str, /) -> int:
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: int = self.answer
        return answer


@pytest.mark.parametrize("answer", [-1, float("nan"), 1.0, True, None, "12", KeyError("x"), RuntimeError("no model")])
def test_a_counter_is_held_to_its_word(answer: Any) -> None:
    counter = Answering(4)
    with wmem.open("memory://", agent_id="a", counter=counter) as memory:
        memory.scope("s").messages.append({"role": "user", "content": "hello"})
        counter.answer = answer
        with pytest.raises(InvalidInputError, match="odd"):
            memory.scope("s").messages.append({"role": "user", "content": "lost"})
        counter.answer = 4
        memory.scope("s").messages.append({"role": "user", "content": "again"})
        assert [message.text for message in memory.scope("s").messages.all()] == ["hello", "again"]


def test_counts_are_kept_under_the_name_of_their_counter(tmp_path: Path) -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name
            self.asked: list[str] = []

        def __call__(self, text: str, /) -> int:
            self.asked.append(text)
            return 5

    first, same, other = Named("one"), Named("one"), Named("other")
    for counter in (first, same, other):
        with wmem.open(f"disk://{tmp_path}", agent_id="a", counter=counter) as memory:
            if counter is first:
                memory.scope("s").messages.append({"role": "user", "content": "hello there"})
            memory.scope("s").pack(budget=500)
    assert [counter.asked.count("hello there") for counter in (first, same, other)] == [1, 0, 1]


# -- OpenAI's own dictionaries


def answers() -> Iterator[dict[str, Any]]:
    """An answer as OpenAI's SDK dumps it, and as people write it."""
    chat = pytest.importorskip("openai.types.chat")
    yield chat.ChatCompletionMessage(role="assistant", content="Hello.").model_dump()
    yield {"role": "assistant", "content": "Hello.", "annotations": None, "audio": None, "refusal": None}
    yield {"role": "assistant", "content": "Hello.", "annotations": [], "function_call": None, "tool_calls": None}
    yield {"role": "assistant", "content": "Hello.", "provider_specific_fields": None, "images": []}


def test_an_answer_as_openai_dumps_it_is_taken() -> None:
    for answer in answers():
        message = Message.from_openai(answer)
        assert message == Message.of("assistant", "Hello.")
        assert message.to_openai() == {"role": "assistant", "content": "Hello."}


def test_an_unknown_key_that_says_something_is_kept_as_metadata() -> None:
    message = Message.from_openai({"role": "assistant", "content": "Hello.", "mood": "good"})
    assert "good" in str(message.metadata)
    assert message.to_openai() == {"role": "assistant", "content": "Hello."}


def test_what_an_answer_cites_and_sounds_like_is_kept(session: Scope, call: Call) -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": "https://example.org", "title": "E"}}]
    sound = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Hello."}
    call(session.messages.append, {"role": "assistant", "content": None, "annotations": cited, "audio": sound})
    (message,) = call(session.messages.all)
    assert message.metadata == {"annotations": cited}
    (part,) = message.parts
    assert (part.kind, part.file_id, part.base64) == ("audio", "audio_1", "UklGRg==")
    assert part.data == {"expires_at": 1, "transcript": "Hello."}


def test_reasoning_content_is_reasoning_and_no_text(session: Scope, call: Call) -> None:
    call(session.messages.append, {"role": "assistant", "content": "42", "reasoning_content": "six by seven"})
    (message,) = call(session.messages.all)
    assert [(part.kind, part.text) for part in message.parts] == [("reasoning", "six by seven"), ("text", "42")]
    assert message.text == "42"


def test_a_call_of_a_custom_tool_comes_back_as_it_was(session: Scope, call: Call) -> None:
    chat = pytest.importorskip("openai.types.chat")
    asked = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    dumped = chat.ChatCompletionMessage(role="assistant", content=None, tool_calls=[asked]).model_dump()
    answer = {"role": "tool", "tool_call_id": "c1", "content": "1"}
    call(session.messages.append, [said("One?"), dumped, answer])
    sent = call(session.pack, budget=500).to_openai()
    assert sent[1:] == [{"role": "assistant", "content": None, "tool_calls": [asked]}, answer]


# -- typed errors


BAD_MESSAGES: Mapping[str, dict[str, Any]] = {
    "file data": said([{"type": "file", "file": {"file_data": 5}}]),  # type: ignore[arg-type]  # that is the point
    "function call": {"role": "assistant", "content": None, "function_call": "x"},
    "custom tool": {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {}}]},
    "reasoning": {"role": "assistant", "content": "x", "reasoning_content": 5},
    "audio": {"role": "assistant", "audio": {"id": 5}},
}
UNTYPED: Mapping[str, dict[str, Any]] = {
    "tool calls": {"role": "assistant", "tool_calls": 5},
    "arguments": {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {1}}}]},
    "metadata": said("x", metadata=5, annotations=[{}]),
}


@pytest.mark.parametrize(
    "given",
    [pytest.param(given, id=name) for name, given in BAD_MESSAGES.items()]
    + [pytest.param(given, id=name) for name, given in UNTYPED.items()],
)
def test_a_message_of_the_wrong_shape_gets_the_typed_error(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Message.from_openai(given)


async def _listening(_: object) -> None:
    pass


def test_a_call_of_the_wrong_shape_gets_the_typed_error(memory: wmem.AgentMemory, call: Call) -> None:
    session = memory.scope("s")
    wrong: Any = "x"
    acts: list[Callable[[], Any]] = [
        lambda: memory.changes(wrong),
        lambda: memory.changes(5),  # type: ignore[arg-type]  # that is the point
        lambda: session.pack(budget=100, messages=5),  # type: ignore[arg-type]  # see above
        lambda: session.pack(budget=100, messages=wrong),
        lambda: memory.scope("s", policy=wrong),
        lambda: session.child("c", policy=wrong),
        lambda: session.entries.get_many("abc"),
        lambda: session.entries.local.get_many(wrong),
        lambda: session.entries.get_many(5),  # type: ignore[arg-type]  # see above
        lambda: memory.subscribe(_listening),  # type: ignore[arg-type]  # see above
    ]
    for act in acts:
        with pytest.raises(InvalidInputError):
            call(act)
    assert call(memory.working.children) == []


def test_a_role_that_is_none_gets_the_typed_error() -> None:
    wrong: Any = "nobody"
    with pytest.raises(InvalidInputError, match="nobody"):
        Message.of(wrong, "x")


def test_a_counter_without_a_name_is_refused(call: Call, mode: str, url: str) -> None:
    with pytest.raises(InvalidInputError, match="name"):
        call(opener(mode), url, agent_id="a", counter=len)


# -- views


@pytest.mark.parametrize("name", ["path", "cursor", "entries", "items", "messages", "unheard_of"])
def test_a_view_takes_no_assignment(name: str) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        view = memory.working.view()
        with pytest.raises((AttributeError, TypeError)):
            setattr(view, name, None)
        assert view.path == ("a",)


# -- capacity and policies


def test_of_two_that_begin_a_scope_at_once_with_other_numbers_one_writes_nothing(
    open_memory: MemoryOpener, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = open_memory().scope("s", policy=Policy.session(max_entries=1))
    theirs = plain(open_memory.in_other_process().scope("s", policy=Policy.session(max_entries=2)))
    room = Handle._prepare_creation

    def overtaken(handle: Handle, replica: Replica[Any]) -> Flow[None]:
        yield from room(handle, replica)
        monkeypatch.undo()
        theirs.entries.set("k", "theirs")

    monkeypatch.setattr(Handle, "_prepare_creation", overtaken)
    with pytest.raises(InvalidInputError, match="max_entries 2 not 1"):
        call(ours.messages.append, said("ours"))
    seen = open_memory.in_other_process().scope("s")
    assert (call(seen.entries.keys), call(seen.messages.count)) == (["k"], 0)
    assert seen.policy.max_entries == 2


# -- closing


def test_json_that_somebody_changes_in_a_prompt_is_in_no_later_one(session: Scope, call: Call) -> None:
    native = wmem.Native(framework="mine", data={"model": "m", "usage": {"tokens": 1}})
    call(session.messages.append, Message.of("assistant", "Hello", id="m", native=native, metadata={"seen": [1]}))
    for _ in range(2):  # what a second pack gives is what the first one decoded
        changed: Any = call(session.pack, budget=500).messages[-1]
    changed.native.data["usage"]["tokens"] = 2
    changed.metadata["seen"].append(2)
    for _ in range(2):
        again = call(session.pack, budget=500).messages[-1]
        assert again.native is not None
        assert (again.native.data, again.metadata) == ({"model": "m", "usage": {"tokens": 1}}, {"seen": [1]})
