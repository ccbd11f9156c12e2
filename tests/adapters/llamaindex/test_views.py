"""A packed view that comes back through `set` goes on with the conversation; nothing that it left out is lost."""

import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock

import wmem
from llamaindex_wmem import WmemMemory
from llamaindex_wmem._convert import from_llamaindex
from llamaindex_wmem._history import drop_notes
from llamaindex_wmem._recent_views import RecentViews
from tests.matrix import examples
from wmem import BudgetError

Make = Callable[..., WmemMemory]
Call = Callable[..., Any]

OTHER_PROCESS = "another process, which knows no view"
NEW = ChatMessage(role="user", content="new")


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def garden(count: int = 100) -> list[ChatMessage]:
    return [
        ChatMessage(role="assistant" if place % 2 else "user", content=f"message {place} about the garden and the dog")
        for place in range(count)
    ]


def is_note(message: ChatMessage) -> bool:
    return wmem.is_note(message.content or "")


def through_json(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [ChatMessage.model_validate(each) for each in json.loads(json.dumps([m.model_dump() for m in messages]))]


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    """Calls a method of a memory, or its async twin."""

    async def _call(memory: WmemMemory, name: str, *args: Any, **given: Any) -> Any:
        if request.param == "sync":
            return getattr(memory, name)(*args, **given)
        return await getattr(memory, f"a{name}")(*args, **given)

    return _call


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has shown nothing yet."""
    monkeypatch.setattr("llamaindex_wmem.memory.RECENT_VIEWS", RecentViews())


@pytest.fixture(params=["this process", OTHER_PROCESS])
def later(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Goes on where the view is known, or where it is not."""
    return (lambda: forget(monkeypatch)) if request.param == OTHER_PROCESS else lambda: None


# --- the view goes on ------------------------------------------------------------------------------------------------


async def test_B110_a_packed_view_with_a_new_message_appends_that_message_alone(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    assert len(view) < 20
    later()
    await call(memory, "set", [*through_json(view), NEW])
    assert await call(memory, "get_all") == [*garden(), NEW]


async def test_a_packed_view_alone_changes_nothing(make: Make, call: Call, later: Callable[[], None]) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    later()
    await call(memory, "set", view)
    assert await call(memory, "get_all") == garden()


async def test_a_view_that_is_set_twice_with_the_same_news_stores_them_once(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    later()
    for _ in range(2):
        await call(memory, "set", [*view, NEW, assistant("fine")])
    assert await call(memory, "get_all") == [*garden(), NEW, assistant("fine")]


async def test_what_was_put_since_the_view_stays_and_is_not_stored_again(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    called = ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={})])
    result = ChatMessage(role="tool", content="r", additional_kwargs={"tool_call_id": "c"})
    since = [user("asked since"), called, result, assistant("answered since")]
    await call(memory, "put_messages", since)
    later()
    # A client keeps what it was shown and what was said since; it saw nothing of the tools.
    await call(memory, "set", [*view, since[0], since[-1], NEW])
    assert await call(memory, "get_all") == [*garden(), *since, NEW]


async def test_a_new_message_that_says_what_an_old_one_said_is_new(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=300)
    said = [user("yes"), assistant("ok"), *garden(), user("yes"), assistant("ok")]
    await call(memory, "put_messages", said)
    view = await call(memory, "get", "dog")
    later()
    await call(memory, "set", [*view, user("yes"), assistant("ok")])
    assert await call(memory, "get_all") == [*said, user("yes"), assistant("ok")]


async def test_without_a_note_a_view_is_known_where_it_was_shown(make: Make, call: Call) -> None:
    memory = make(token_limit=300, recall=False)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get")
    assert not any(map(is_note, view))
    await call(memory, "set", [*view, NEW])
    assert await call(memory, "get_all") == [*garden(), NEW]


async def test_a_view_without_its_note_is_still_known(make: Make, call: Call) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    assert any(map(is_note, view))
    await call(memory, "set", [*(message for message in view if not is_note(message)), NEW])
    assert await call(memory, "get_all") == [*garden(), NEW]


async def test_a_message_that_was_cut_is_not_stored_in_place_of_the_whole(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory, long = make(token_limit=150), user("begin " + "word " * 5_000 + "end")
    await call(memory, "put_messages", [*garden(), long])
    view = await call(memory, "get", "dog")
    assert "left out" in (view[-1].content or "")
    later()
    await call(memory, "set", [*view, NEW])
    assert await call(memory, "get_all") == [*garden(), long, NEW]


async def test_results_that_a_view_made_up_are_not_stored(make: Make, call: Call) -> None:
    memory = make(orphans="synthesize")
    called = ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={})])
    await call(memory, "put_messages", [user("look"), called, user("well?")])
    view = await call(memory, "get")
    assert [message.role for message in view].count(MessageRole.TOOL) == 1
    await call(memory, "set", [*view, NEW])
    assert await call(memory, "get_all") == [user("look"), called, user("well?"), NEW]


async def test_b143_a_view_with_nothing_but_marks_of_results_goes_on(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=70)
    calls: list[Any] = [ToolCallBlock(tool_call_id=id, tool_name="look_up", tool_kwargs={}) for id in ("a", "b")]
    results = [ChatMessage(role="tool", content="rain " * 99, additional_kwargs={"tool_call_id": id}) for id in "ab"]
    said = [user("Rain?"), ChatMessage(role="assistant", blocks=calls), *results]
    await call(memory, "put_messages", said)
    view = await call(memory, "get")
    assert [each.content for each in view[2:]] == ["[…]", "[…]"]
    later()
    await call(memory, "set", [*view, NEW])
    assert [each.content for each in memory.get_all()] == [each.content for each in [*said, NEW]]


async def test_a_call_under_way_that_a_view_left_out_stays(make: Make, call: Call) -> None:
    memory = make()
    called = ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={})])
    await call(memory, "put_messages", [user("look"), called])
    view = await call(memory, "get")
    assert view == [user("look")]
    await call(memory, "set", [*view, NEW])
    assert await call(memory, "get_all") == [user("look"), called, NEW]


async def test_a_message_that_was_removed_since_the_view_stays_removed(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    with wmem.open(memory.url, agent_id="a") as opened:
        opened.scope("s").messages.pop()
    later()
    await call(memory, "set", [*view, NEW])
    left = await call(memory, "get_all")
    assert left[:99] == garden(99)
    assert left[-1] == NEW
    # Where the view is not known, what is not stored can only be taken for new.
    assert len(left) in (100, 101)


# --- something else replaces -----------------------------------------------------------------------------------------


async def test_a_list_of_other_messages_replaces_the_conversation(make: Make, call: Call) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    await call(memory, "set", view[-4:-2])
    assert await call(memory, "get_all") == view[-4:-2]


async def test_a_view_of_the_whole_conversation_takes_back_what_followed(make: Make, call: Call) -> None:
    memory = make()
    await call(memory, "put_messages", garden(4))
    before = await call(memory, "get")
    await call(memory, "put_messages", [user("a mistake"), assistant("hm")])
    await call(memory, "set", before)
    assert await call(memory, "get_all") == garden(4)


async def test_one_message_that_is_the_first_and_the_last_of_the_history_takes_back_the_rest(
    make: Make, call: Call
) -> None:
    memory = make()
    for _ in range(3):
        memory.put(user("again"))
    await call(memory, "set", [user("again")])
    assert len(memory.get_all()) == 1


async def test_a_view_of_what_is_gone_begins_the_session_anew(
    make: Make, call: Call, later: Callable[[], None]
) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    view = await call(memory, "get", "dog")
    shown = [message for message in view if not is_note(message)]
    await call(memory, "reset")
    later()
    await call(memory, "set", [*view, NEW])
    assert await call(memory, "get_all") == [*shown, NEW]
    await call(memory, "set", [user("else")])
    await call(memory, "set", [*view, NEW])
    assert await call(memory, "get_all") == [*shown, NEW]


async def test_a_view_of_one_session_is_none_of_another(make: Make, call: Call) -> None:
    memory, other = make(token_limit=300), make(session_id="other")
    await call(memory, "put_messages", garden())
    await call(other, "put_messages", [user("elsewhere"), assistant("indeed")])
    view = await call(memory, "get", "dog")
    await call(other, "set", view)
    assert await call(other, "get_all") == [message for message in view if not is_note(message)]


async def test_a_note_alone_removes_nothing(make: Make, call: Call) -> None:
    memory = make(token_limit=300)
    await call(memory, "put_messages", garden())
    [note] = [message for message in await call(memory, "get", "dog") if is_note(message)]
    await call(memory, "set", [note])
    assert await call(memory, "get_all") == garden()


# --- who knows a view ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda memory: pickle.loads(pickle.dumps(memory))])
def test_a_copy_knows_what_the_original_showed(make: Make, copied: Call) -> None:
    memory = make(token_limit=300, recall=False)
    memory.put_messages(garden())
    other = copied(memory)
    other.set([*memory.get(), NEW])
    assert memory.get_all() == [*garden(), NEW]
    other.close()


def test_another_memory_of_the_session_knows_it_too(make: Make) -> None:
    make(token_limit=300).put_messages(garden())
    view = make(token_limit=300, recall=False).get()
    make().set([*view, NEW])
    assert make().get_all() == [*garden(), NEW]


@pytest.mark.slow
def test_views_of_many_threads_are_all_known(make: Make) -> None:
    memory = make(token_limit=300, recall=False)
    memory.put_messages(garden())
    wrong: list[int] = []

    def go_on(number: int) -> None:
        for turn in range(5):
            memory.set([*memory.get(), user(f"{number}-{turn}")])
            if len(memory.get_all()) < 100:
                wrong.append(number)

    threads = [threading.Thread(target=go_on, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    history = memory.get_all()
    assert history[:100] == garden()
    assert sorted(message.content or "" for message in history[100:]) == [
        f"{n}-{t}" for n in range(8) for t in range(5)
    ]


def test_only_so_many_views_are_known_and_the_oldest_goes_first(make: Make) -> None:
    memory = make(token_limit=200, recall=False)
    views, contexts = RecentViews(max_views=2), []
    for message in garden(80):
        memory.put(message)
        contexts.append(memory.context())
    with wmem.open(memory.url, agent_id="a") as opened:
        stored = opened.scope("s").messages.all()
    contexts = contexts[19:69:20]  # none begins with the end of another, or with that of what is stored
    for context in contexts:
        views.record(("s",), context, stored)

    def known(context: wmem.Context) -> bool:
        given = drop_notes(from_llamaindex(context.to_llamaindex()), views)
        return views.find_continuation(("s",), stored, given, has_note=False) is not None

    assert [known(context) for context in contexts] == [False, True, True]
    views.record(("s",), contexts[1], stored)
    views.record(("s",), contexts[0], stored)
    assert [known(context) for context in contexts] == [True, True, False], "one that is shown again counts as new"


SETTER = """
import json
import sys
from llama_index.core.base.llms.types import ChatMessage
from llamaindex_wmem import WmemMemory

memory = WmemMemory.from_defaults(session_id="s", url=sys.argv[1], agent_id="a")
memory.set([ChatMessage.model_validate(each) for each in json.loads(sys.argv[2])])
"""


@pytest.mark.slow
def test_another_process_goes_on_with_a_view_that_has_a_note(tmp_path: Path) -> None:
    url = f"disk://{tmp_path / 'store'}"
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=300)
    memory.put_messages(garden())
    sent = json.dumps([message.model_dump(mode="json") for message in [*memory.get("dog"), NEW]])
    subprocess.run([sys.executable, "-c", SETTER, url, sent], check=True, timeout=300)
    assert memory.get_all() == [*garden(), NEW]
    memory.close()


# --- anything --------------------------------------------------------------------------------------------------------

words = st.sampled_from(["yes", "ok", "the dog", "no", "word " * 60, "rain in the garden"]) | st.text(max_size=20)
exchanges = st.builds(
    lambda result: [
        ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={})]),
        ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": "c"}),
    ],
    words,
)
spoken = st.builds(lambda text: [user(text)], words) | st.builds(lambda text: [assistant(text)], words)


@examples(0.6)
@given(
    turns=st.lists(spoken | exchanges, max_size=14),
    news=st.lists(spoken, max_size=3),
    limit=st.integers(40, 250),
    question=st.none() | st.just("dog"),
    rules=st.fixed_dictionaries(
        {"profile": st.sampled_from(["openai", "anthropic"]), "orphans": st.sampled_from(["drop", "synthesize"])}
    ),
)
def test_whatever_was_shown_setting_it_with_news_only_adds_the_news(
    turns: list[list[ChatMessage]],
    news: list[list[ChatMessage]],
    limit: int,
    question: str | None,
    rules: dict[str, Any],
) -> None:
    said = [message for turn in turns for message in turn]
    new = [message for turn in news for message in turn]
    memory = WmemMemory.from_defaults(
        session_id="s", url=f"memory://{uuid4().hex}", agent_id="a", token_limit=limit, **rules
    )
    memory.put_messages(said)
    try:
        view = memory.get(question)
    except BudgetError:
        view = []
    assume(view or not said)  # an empty list is none of a view: it clears the session
    memory.set([*view, *new])
    assert memory.get_all() == [*said, *new]
    memory.close()


@examples(0.6)
@given(
    turns=st.lists(spoken | exchanges, min_size=3, max_size=14),
    news=st.integers(0, 3),
    limit=st.integers(60, 400),
    begin=st.integers(1, 6),
    rules=st.fixed_dictionaries(
        {
            "profile": st.sampled_from(["any", "openai", "anthropic"]),
            "orphans": st.sampled_from(["drop", "synthesize"]),
            "roles": st.sampled_from(["free", "alternate"]),
            "recall": st.booleans(),
        }
    ),
)
def test_whatever_was_shown_its_end_with_news_only_adds_the_news(
    turns: list[list[ChatMessage]], news: int, limit: int, begin: int, rules: dict[str, Any]
) -> None:
    said = [message for turn in turns for message in turn]
    new = [user(f"new {place}") for place in range(news)]
    url = f"memory://{uuid4().hex}"
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=limit, **rules)
    memory.put_messages(said)
    try:
        end = memory.get("dog")[begin:]
    except BudgetError:
        end = []
    assume(len(end) > 1 and not any(map(is_note, end)))
    memory.set([*end, *new])
    assert memory.get_all() == [*said, *new]
    memory.close()


@examples(0.6)
@given(
    turns=st.lists(spoken | exchanges, min_size=6, max_size=24),
    news=st.lists(spoken, max_size=3),
    limit=st.integers(100, 250),
)
def test_a_view_with_a_note_removes_nothing_where_it_is_not_known(
    turns: list[list[ChatMessage]], news: list[list[ChatMessage]], limit: int
) -> None:
    said = [message for turn in turns for message in turn]
    new = [user(f"{place}: {message.content}") for place, turn in enumerate(news) for message in turn]
    memory = WmemMemory.from_defaults(
        session_id="s", url=f"memory://{uuid4().hex}", agent_id="a", token_limit=limit, recent=1
    )
    memory.put_messages([user("the dog is called Biscuit"), *said])
    view = memory.get("dog Biscuit")
    assume(any(map(is_note, view)))
    with pytest.MonkeyPatch.context() as monkeypatch:
        forget(monkeypatch)
        memory.set([*view, *new])
    assert memory.get_all() == [user("the dog is called Biscuit"), *said, *new]
    memory.close()
