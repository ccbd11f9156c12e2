"""Whatever any verb accepted, `export` writes and `import_` takes: into a new scope of this agent or of another."""

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock
from pydantic import ValidationError

import wmem
from langchain_wmem import from_langchain
from llamaindex_wmem import from_llamaindex
from tests.matrix import examples
from wmem import Message, Policy, Scope
from wmem.testing import Clock
from wmem.tokens.estimate import EstimateCounter

ids = (
    st.text("abc/~ \u2028é", min_size=1, max_size=4)
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["~", "a/b", "memory_promoted_x_1"])
)
texts = st.text(min_size=1, max_size=9) | st.text(st.characters(exclude_categories=()), max_size=20)
numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from([0, -1, 2**53 - 1, 2**53, 2**64, 10**400, -0.0, 5e-324, 1.7e308, 1e16, True])
)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
FIELDS = {
    "type": texts,
    "kind": st.sampled_from(["fact", "preference", "conversation"]),
    "dynamic_type": texts,
    "priority": st.sampled_from(["low", "critical"]),
    "importance": st.none() | numbers,
    "pinned": st.booleans(),
    "confidence": numbers | st.sampled_from(["low", "0.5"]),
    "novelty": numbers,
    "tags": st.lists(texts, max_size=3),
    "metadata": st.dictionaries(texts, json_values, max_size=3),
    "source": st.sampled_from(["user", "tool"]),
    "participants": st.lists(texts, max_size=2),
    "causal_chain": st.lists(ids, max_size=2),
    "sources": st.lists(st.dictionaries(texts, json_values, max_size=2), max_size=2),
    "agent_id": texts,
    "agent_fingerprint": texts,
    "task_id": texts,
    "turn_id": texts,
    "step_index": numbers,
    "chunk_index": numbers,
    "parent_id": ids,
    "lineage_ids": st.lists(ids, max_size=2),
    "relations": st.lists(
        st.fixed_dictionaries({"type": texts, "target_id": ids}, optional={"metadata": st.just({"a": [1]})}),
        max_size=2,
    ),
    "valid_from": numbers,
    "valid_to": numbers,
    "retention": texts,
    "ttl_s": st.none() | numbers,
}
# A few at a time: each may be refused.
fields = st.lists(st.sampled_from([*FIELDS]), max_size=3).flatmap(
    lambda named: st.fixed_dictionaries({name: FIELDS[name] for name in named})
)


def to_messages(framework: str, text: str, id: str, arguments: dict[str, Any]) -> list[Message]:
    """A framework's own objects, as its adapter stores them."""
    if framework == "llamaindex":
        blocks = [TextBlock(text=text), ThinkingBlock(content=text), ImageBlock(url="https://a.example/x")]
        return from_llamaindex([ChatMessage(role="assistant", blocks=blocks, additional_kwargs=arguments)])
    return from_langchain(
        [
            HumanMessage(content=[{"type": "text", "text": text}], id=id, additional_kwargs=arguments),
            AIMessage(content=text, id=f"{id}2", tool_calls=[{"name": "f", "args": arguments, "id": "c"}]),
            ToolMessage(content=text, tool_call_id="c", artifact={"x": [1]}),
        ]
    )


raw_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "content": st.none() | texts},
    optional={
        "id": ids,
        "name": texts,
        "turn_id": texts,
        "tool_call_id": texts,
        "created_at": numbers,
        "pinned": st.booleans(),
        "metadata": st.dictionaries(texts, json_values, max_size=2),
    },
)
SCOPES = ("s", "c", "queue", "root", "semantic", "episodic")
where = st.sampled_from(SCOPES)
number = st.integers(0, 9)
ITEM_VERBS = ("fetch", "promote", "expire", "extend_ttl", "undelete", "remove")
acts = st.lists(
    st.one_of(
        st.tuples(st.just("add"), where, texts, fields),
        st.tuples(st.just("set"), where, texts, json_values, fields),
        st.tuples(st.just("say"), where, raw_messages),
        st.tuples(
            st.just("framework"),
            where,
            st.tuples(
                st.sampled_from(["langchain", "llamaindex"]),
                texts,
                ids,
                st.dictionaries(texts, json_values, max_size=2),
            ),
        ),
        st.tuples(st.just("item"), where, st.sampled_from(ITEM_VERBS), number),
        st.tuples(st.just("update"), where, number, fields),
        st.tuples(st.just("forget"), where, st.sampled_from(["oldest", "least important"]), st.booleans()),
        st.tuples(st.sampled_from(["step", "erase", "merge"]), where, number),
        st.tuples(st.just("bring"), where, where),
        st.tuples(st.just("wait"), where, st.floats(0, 1e7)),
    ),
    max_size=14,
)


def open_scopes(memory: wmem.AgentMemory) -> dict[str, Scope]:
    return {
        "s": memory.scope("s"),
        "c": memory.scope("s", "c"),
        "queue": memory.scope("queue", policy=Policy.queue(max_items=2, step_ttl=2)),
        "root": memory.working,
        "semantic": memory.semantic,
        "episodic": memory.episodic,
    }


def play(scopes: dict[str, Scope], clock: Clock, act: tuple[Any, ...]) -> None:
    verb, name, *given = act
    scope = scopes[name]
    if verb == "add":
        scope.items.add(given[0], **given[1])
    elif verb == "set":
        own = {name: value for name, value in given[2].items() if name in ("tags", "importance", "metadata", "ttl_s")}
        scope.entries.set(given[0], given[1], **own)
    elif verb == "say":
        scope.messages.append(given[0])
    elif verb == "framework":
        with contextlib.suppress(ValidationError):  # not even the framework takes it
            scope.messages.append(to_messages(*given[0]))
    elif verb == "forget":
        scope.queue.forget(given[0], "hard" if given[1] else "soft")
    elif verb == "step":
        scope.queue.advance_step(given[0])
    elif verb == "merge":
        scope.merge_to_parent(items=bool(given[0] % 2))
    elif verb == "bring":
        scope.import_(scopes[given[0]].export())
    elif verb == "wait":
        clock.advance(given[0])
    elif items := scope.items.all(include_promoted=True):
        item = items[given[-1] % len(items)] if verb != "update" else items[given[0] % len(items)]
        if verb == "erase":
            scope.erase(item.id)
        elif verb == "update":
            scope.items.update(item.id, **given[1])
        else:
            getattr(scope.items, given[0])(item.id)


def opened(agent_id: str, clock: Clock) -> wmem.AgentMemory:
    return wmem.open("memory://", agent_id=agent_id, clock=clock, counter=EstimateCounter())


@given(acts)
@examples(1.5)
def test_what_a_scope_exports_a_new_scope_takes_and_exports_alike(done: list[tuple[Any, ...]]) -> None:
    clock = Clock()
    with opened("agent", clock) as one, opened("another", clock) as two:
        scopes = open_scopes(one)
        for act in done:
            # Refused is refused; what is accepted must come out again.
            with contextlib.suppress(wmem.WmemError):
                play(scopes, clock, act)
        for name, scope in scopes.items():
            document = scope.export()
            text = json.dumps(document)
            targets = [memory.scope("new", name) for memory in (one, two)]
            if name in ("semantic", "episodic"):
                targets.append(getattr(two, name))
            for target in targets:
                target.import_(json.loads(text))
                if any(document[facet] for facet in ("entries", "memories", "messages")):
                    assert json.dumps(target.export()) == text
