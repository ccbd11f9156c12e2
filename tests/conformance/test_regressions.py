"""What once was broken and must stay mended, defect by defect."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import wmem
from tests.conformance.conftest import NOON, Call, Clock, Opening
from wmem import BudgetError, CapacityError, InvalidInputError, Message, NotFoundError, Policy, Scope
from wmem.flow import Flow
from wmem.replica import Replica
from wmem.scope.handle import Handle
from wmem.text.tokens import EstimateCounter


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def plain(scope: Scope) -> Scope:
    """The face that needs no loop."""
    return scope if isinstance(scope, Scope) else scope.sync()


# -- merging


def test_a_merge_by_hand_leaves_the_items_to_the_merge_at_exit(session: Scope, call: Call) -> None:
    with call.within(session.temporary("work", merge=True)) as scope:
        call(scope.entries.set, "found", 1)
        item = call(scope.items.add, "an insight")
        assert call(scope.merge_to_parent) == 1
    assert call(session.items.get, item.id).content == "an insight"


def test_merging_without_and_then_with_overwriting_does_both(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "k", "parent")
    call(child.entries.set, "k", "child")
    call(child.entries.set, "new", 1)
    assert call(child.merge_to_parent, overwrite=False) == 1
    assert call(session.entries.get, "k") == "parent"
    assert call(child.merge_to_parent, overwrite=True) == 2
    assert call(session.entries.get, "k") == "child"


@pytest.mark.parametrize("way", [{}, {"items": True}, {"overwrite": False, "items": True}], ids=str)
def test_the_same_point_merged_the_same_way_is_merged_once(session: Scope, call: Call, way: dict[str, bool]) -> None:
    child = session.child("c")
    call(child.entries.set, "k", 1)
    call(child.items.add, "x")
    assert call(child.merge_to_parent, **way) == 1 + way.get("items", False)
    there = call(session.view).cursor
    assert call(child.merge_to_parent, **way) == 0
    assert call(session.view).cursor == there


def test_a_merge_without_overwriting_keeps_the_parents_newer_item(session: Scope, call: Call) -> None:
    child = session.child("c")
    item = call(child.items.add, "old")
    call(child.merge_to_parent, items=True)
    call(session.items.update, item.id, content="newer")
    call(child.entries.set, "k", 1)
    assert call(child.merge_to_parent, overwrite=False, items=True) == 1
    assert call(session.items.get, item.id).content == "newer"
    assert call(session.entries.get, "k") == 1


def test_a_temporary_scope_that_its_full_parent_refuses_stays_and_can_be_merged_later(
    memory: wmem.AgentMemory, call: Call
) -> None:
    session = memory.scope("s", policy=Policy.session(max_entries=1))
    call(session.entries.set, "k", 1)

    def work(scope: Scope) -> None:
        call(scope.entries.set, "found", 2)
        call(scope.items.add, "an insight")

    with pytest.raises(CapacityError), call.within(session.temporary("work", merge=True)) as scope:
        work(scope)
    assert scope.is_disposed is False
    assert call(session.children) == [scope.name]
    assert call(scope.entries.local.keys) == ["found"]
    assert (call(session.entries.keys), call(session.items.count)) == (["k"], 0)
    call(session.entries.remove, "k")
    assert call(scope.merge_to_parent, items=True) == 2
    assert call(session.entries.get, "found") == 2
    assert call(session.items.count) == 1


@pytest.mark.parametrize("name", ["", " ", None, "a\nb", "~own", 5])
def test_a_temporary_scope_needs_a_name(name: Any) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        with pytest.raises(InvalidInputError), memory.scope("s").temporary(name):
            pass
        assert memory.working.children() == []


# -- one id, one thing


def test_a_message_under_the_id_of_an_item_or_entry_is_refused(session: Scope, call: Call) -> None:
    item = call(session.items.add, "an item")
    call(session.entries.set, "k", "a value")
    kept = call(session.messages.append, said("stays"))
    there = call(session.view).cursor
    for taken in (item.id, call(session.entries.entry, "k").id):
        for attempt in (
            lambda taken=taken: session.messages.append([said("new"), said("x", id=taken)]),
            lambda taken=taken: session.messages.replace([said("x", id=taken)]),
            lambda taken=taken: session.messages.replace([kept, said("x", id=taken)]),
        ):
            with pytest.raises(InvalidInputError, match=taken):
                call(attempt)
    assert call(session.view).cursor == there
    assert call(session.items.get, item.id).content == "an item"
    assert call(session.entries.get, "k") == "a value"
    assert call(session.messages.all) == [kept]


def test_a_message_under_the_id_of_an_item_that_another_process_added_leaves_the_item(
    opening: Opening, call: Call
) -> None:
    here, there = opening().scope("s"), opening.elsewhere().scope("s")
    call(here.messages.append, said("a"))
    call(there.messages.count)
    item = call(here.items.add, "an item")
    with suppress(InvalidInputError):
        call(there.messages.append, said("x", id=item.id))
    assert call(here.items.get, item.id).content == "an item"


def test_an_append_tells_what_is_stored(session: Scope, call: Call, clock: Clock) -> None:
    call(session.messages.append, said("first", id="m"))
    clock.pass_(60)
    told = call(session.messages.append, said("second", id="m"))
    assert told.created_at == NOON
    assert told == call(session.messages.get, "m")
    several: Any = [told, said("new", created_at=5)]
    assert call(lambda: session.messages.append(several)) == call(session.messages.all)


def test_an_append_tells_what_is_stored_although_another_process_was_first(
    opening: Opening, call: Call, clock: Clock
) -> None:
    here, there = opening().scope("s"), opening.elsewhere().scope("s")
    call(here.messages.append, said("a"))
    call(there.messages.count)
    call(here.messages.append, said("first", id="m"))
    clock.pass_(60)
    told = call(there.messages.append, said("second", id="m"))
    assert told == call(there.messages.get, "m")


# -- what a URL names


def opener(colour: str) -> Any:
    return wmem.open if colour == "sync" else wmem.aopen


@pytest.mark.parametrize("name", ["50% of #1, what? 日本 é", "a%23b%2Fc"])
def test_a_memorys_url_opens_the_same_directory_again(tmp_path: Path, call: Call, colour: str, name: str) -> None:
    memory = call(opener(colour), f"disk://{quote(str(tmp_path / name))}", agent_id="a")
    call(memory.working.entries.set, "k", 1)
    call(memory.close)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    again = call(opener(colour), memory.url, agent_id="a")
    assert again.url == memory.url
    assert call(again.working.entries.get, "k") == 1
    call(again.close)
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("url", ["disk://{}/x?y=1", "disk://{}/x#f", "disk:///", "disk://", "disk:// ", "memory:///"])
def test_a_url_that_names_no_store_is_refused(tmp_path: Path, call: Call, colour: str, url: str) -> None:
    with pytest.raises(InvalidInputError, match="://"):
        call(opener(colour), url.format(tmp_path), agent_id="a")
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


def test_a_schema_larger_than_the_budget_is_counted_and_refused(session: Scope, call: Call) -> None:
    long = {**SCHEMA, "description": "word " * 5_000}
    call(session.messages.append, said("hello"))
    with pytest.raises(BudgetError, match="tools"):
        call(session.pack, budget=300, tools=[long])
    context = call(session.pack, budget=20_000, tools=[long])
    assert 5_000 <= context.sizes["tools"] < context.tokens <= 20_000


@pytest.mark.parametrize(
    "counter", [5, "o200k", lambda *_: "12", lambda *_: -1, lambda *_: 1.5, lambda *_: None, lambda *_: True]
)
def test_a_prompt_counter_that_counts_no_tokens_is_refused(counter: Any) -> None:
    with wmem.open("memory://", agent_id="a", counter=EstimateCounter()) as memory:
        memory.working.messages.append(said("hello"))
        with pytest.raises(InvalidInputError, match="prompt_counter"):
            memory.working.pack(budget=1_000, prompt_counter=counter)


@pytest.mark.parametrize("role", ["user", "system"])
def test_a_note_that_was_sent_is_not_stored_and_what_was_said_is(session: Scope, call: Call, role: Any) -> None:
    call(session.entries.set, "dog", "The dog is called Biscuit.")
    context = call(session.pack, "dog", budget=500, note_role=role)
    (note,) = context.to_openai()
    assert "Biscuit" in note["content"]
    told = call(session.messages.append, [note, said("Is <recalled> a tag?"), note, said("And this?")])
    assert [message.text for message in told] == [context.note, "Is <recalled> a tag?", context.note, "And this?"]
    assert call(session.messages.all) == [told[1], told[3]]
    call(session.messages.replace, [note, told[3]])
    assert call(session.messages.all) == [told[3]]
    marked = context.note_message()
    assert call(session.messages.append, marked) == marked
    assert call(session.messages.all) == [told[3]]


def test_whoever_pastes_a_note_has_said_it(session: Scope, call: Call) -> None:
    call(session.entries.set, "dog", "The dog is called Biscuit.")
    (note,) = call(session.pack, "dog", budget=500).to_openai()
    kept = call(session.messages.append, note)
    assert kept.id is not None
    assert call(session.messages.all) == [kept]
    assert [message.text for message in call(session.pack, budget=500).messages] == [note["content"]]


def test_what_a_parent_says_under_a_key_of_its_child_is_not_recalled(session: Scope, call: Call) -> None:
    child = session.child("task")
    call(session.entries.set, "deadline", "Friday")
    call(child.entries.set, "deadline", "Monday")
    note = call(child.pack, "deadline", budget=500).note
    assert "Monday" in note
    assert "Friday" not in note


def test_the_last_of_an_append_stands_whatever_was_stored_under_its_id(session: Scope, call: Call) -> None:
    call(session.messages.append, {"role": "user", "content": "a", "id": "1"})
    twice = [{"role": "user", "content": text, "id": "1"} for text in ("b", "a")]
    call(session.messages.append, twice)
    assert [message.text for message in call(session.messages.all)] == ["a"]


def test_live_system_text_and_live_pins_are_in_every_pack(session: Scope, call: Call) -> None:
    talk = [{"role": "user", "content": f"{number} " + "word " * 20, "id": f"m{number}"} for number in range(40)]
    call(session.messages.append, talk)
    live: list[dict[str, Any]] = [
        {"role": "system", "content": "Answer in Latin.", "id": "sys"},
        {**talk[1], "pinned": True},
        {"role": "user", "content": "and now?", "id": "now"},
    ]
    told = [message.text for message in call(session.pack, budget=300, messages=live).messages]
    assert "Answer in Latin." in told
    assert talk[1]["content"].strip() in [text.strip() for text in told]
    assert told[-1] == "and now?"


def test_merging_again_keeps_what_the_parent_knows_of_an_items_use(session: Scope, call: Call) -> None:
    child = session.child("task")
    item = call(child.items.add, "found")
    call(child.merge_to_parent, items=True)
    for _ in range(9):
        call(session.items.fetch, item.id)
    call(child.items.add, "another")
    call(child.merge_to_parent, items=True)
    assert call(session.items.get, item.id).access_count == 10


async def test_two_that_close_at_once_give_one_hold_back(tmp_path: Any) -> None:
    url = f"disk://{tmp_path}/store"
    other = await wmem.aopen(url, agent_id="other")
    memory = await wmem.aopen(url, agent_id="agent")
    await memory.scope("s").entries.set("k", 1)
    await asyncio.gather(memory.close(dispose=True), memory.close(dispose=True))
    await other.scope("s").entries.set("k", 2)
    assert await other.scope("s").entries.get("k") == 2
    await other.close()


def test_a_counter_is_held_to_its_word() -> None:
    class Wrong:
        name = "wrong"

        def __call__(self, text: str, /) -> int:
            return -len(text)

    with (
        wmem.open("memory://", agent_id="a", counter=Wrong()) as memory,
        pytest.raises(InvalidInputError, match="wrong"),
    ):
        memory.scope("s").messages.append({"role": "user", "content": "hello"})


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


def test_an_unknown_key_that_says_something_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'mood'"):
        Message.from_openai({"role": "assistant", "content": "Hello.", "mood": "good"})


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


def test_a_counter_without_a_name_is_refused(call: Call, colour: str, url: str) -> None:
    with pytest.raises(InvalidInputError, match="name"):
        call(opener(colour), url, agent_id="a", counter=len)


# -- views


def test_a_view_answers_in_brackets_and_leaves_the_parents_out_if_asked(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "above", 1)
    call(child.entries.set, "own", 2)
    view = call(child.view)
    call(child.entries.remove, "own")
    assert "own" in view.entries
    assert "above" in view.entries
    assert "absent" not in view.entries
    assert (view.entries["own"], view.entries["above"]) == (2, 1)
    with pytest.raises(NotFoundError):
        view.entries["absent"]
    assert view.entries.local.keys() == ["own"]
    assert "above" not in view.entries.local
    assert view.entries.local["own"] == 2


@pytest.mark.parametrize("name", ["path", "cursor", "entries", "items", "messages", "unheard_of"])
def test_a_view_takes_no_assignment(name: str) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        view = memory.working.view()
        with pytest.raises((AttributeError, TypeError)):
            setattr(view, name, None)
        assert view.path == ("a",)


# -- capacity and policies


def test_of_two_that_begin_a_scope_at_once_with_other_numbers_one_writes_nothing(
    opening: Opening, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = opening().scope("s", policy=Policy.session(max_entries=1))
    theirs = plain(opening.elsewhere().scope("s", policy=Policy.session(max_entries=2)))
    room = Handle._room

    def overtaken(handle: Handle, replica: Replica[Any]) -> Flow[None]:
        yield from room(handle, replica)
        monkeypatch.undo()
        theirs.entries.set("k", "theirs")

    monkeypatch.setattr(Handle, "_room", overtaken)
    with pytest.raises(InvalidInputError, match="max_entries 2 not 1"):
        call(ours.messages.append, said("ours"))
    seen = opening.elsewhere().scope("s")
    assert (call(seen.entries.keys), call(seen.messages.count)) == (["k"], 0)
    assert seen.policy.max_entries == 2


# -- closing


@pytest.mark.parametrize("own", [True, False], ids=["root written", "root unwritten"])
def test_closing_with_dispose_deletes_all_of_the_agent_and_nothing_of_another(
    opening: Opening, call: Call, own: bool
) -> None:
    memory, other = opening("agent"), opening("agent-2")
    for each in (memory, other):
        call(each.scope("s", "deep").entries.set, "k", 1)
        call(each.scope("t").messages.append, said("hello"))
        if own:
            call(each.working.items.add, "an item")
    call(memory.close, dispose=True)
    for opened in (opening, opening.elsewhere):
        again = opened("agent")
        assert call(again.working.children) == []
        assert call(again.changes).events == ()
        assert call(again.scope("s", "deep").entries.get, "k") is None
        kept = opened("agent-2")
        assert call(kept.working.children) == ["s", "t"]
        assert call(kept.scope("s", "deep").entries.get, "k") == 1
        assert call(kept.working.items.count) == own
    call(memory.close, dispose=True)
