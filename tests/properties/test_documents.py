"""Export and import of any scope, and search against a search that is plain."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem import Message, Native, Part, Scope, ToolCall
from wmem.rules.json_equality import json_equal
from wmem.testing import NOON, Clock
from wmem.tokens.estimate import EstimateCounter

# Lone surrogates too: whatever a model or a tool may have written.
texts = st.text(st.characters(), min_size=1, max_size=12)
names = st.text("abcXYZé日", min_size=1, max_size=4)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "~wmem", "é"]), inner, max_size=2)
    ),
    max_leaves=5,
)
json_only = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=4,
)
values = (
    plain
    | st.decimals(allow_nan=False).map(Decimal)
    | st.binary(max_size=5)
    | st.datetimes(timezones=st.just(UTC))
    | st.tuples(plain, plain)
    | st.sets(st.integers(), max_size=3)
    | st.floats()
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.sampled_from(["low", "medium", "high", "critical"]),
        "ttl_s": st.none() | st.floats(1, 1e12),
        "importance": st.floats(0, 1),
        "pinned": st.booleans(),
        "confidence": st.floats(0, 1) | st.sampled_from(["low", "high"]),
        "tags": st.lists(names, max_size=3),
        "metadata": st.dictionaries(names, json_only, max_size=2),
        "participants": st.lists(names, max_size=2),
        "type": st.sampled_from(["fact", "thought", "observation"]),
        "valid_from": st.floats(0, 1e10),
        "lineage_ids": st.lists(names, max_size=2),
        "relations": st.lists(
            st.fixed_dictionaries({"type": names, "target_id": names}, optional={"metadata": st.just({"a": [1]})}),
            max_size=2,
        ),
    },
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    parts=st.lists(st.builds(Part, text=texts), max_size=2).map(tuple),
    tool_calls=st.lists(st.builds(ToolCall, id=names, name=names, arguments=texts), max_size=2).map(tuple),
    name=st.none() | names,
    turn_id=st.none() | names,
    metadata=st.dictionaries(names, json_only, max_size=2),
    complete=st.booleans(),
    pinned=st.booleans(),
    native=st.none() | st.builds(Native, framework=names, data=json_only),
)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("add"), texts, fields),
        st.tuples(st.just("set"), names, values, st.none() | st.floats(1, 1e9)),
        st.tuples(st.just("say"), messages),
        st.tuples(st.sampled_from(["fetch", "promote", "expire", "extend", "remove", "hide"]), st.integers(0, 9)),
        st.tuples(st.just("wait"), st.floats(0, 1e5)),
    ),
    max_size=12,
)


def lived(scope: Scope, clock: Clock, done: list[tuple[Any, ...]]) -> None:
    """Do all of it."""
    for verb, *told in done:
        if verb == "add":
            scope.items.add(told[0], **told[1])
        elif verb == "set":
            scope.entries.set(told[0], told[1], ttl_s=told[2])
        elif verb == "say":
            scope.messages.append(told[0])
        elif verb == "wait":
            clock.advance(told[0])
        elif items := scope.items.all(include_promoted=True):
            wanted = items[told[0] % len(items)].id
            if verb == "hide":
                scope.queue.forget(f"position:{told[0] % len(items)}")
            else:
                {
                    "fetch": scope.items.fetch,
                    "promote": scope.items.promote,
                    "expire": scope.items.expire,
                    "extend": scope.items.extend_ttl,
                    "remove": scope.items.remove,
                }[verb](wanted)


def opened(clock: Clock) -> wmem.AgentMemory:
    return wmem.open("memory://", agent_id="agent", clock=clock, counter=EstimateCounter())


@given(acts, st.floats(0, 1e6))
@examples(0.6)
def test_what_any_scope_exports_is_plain_json_and_imports_equal(done: list[tuple[Any, ...]], later: float) -> None:
    clock = Clock()
    with opened(clock) as one, opened(clock) as two:
        lived(one.scope("s"), clock, done)
        clock.advance(later)
        document = one.scope("s").export()
        text = json.dumps(document)
        count = two.scope("t").import_(json.loads(text))
        assert count == sum(len(document[facet]) for facet in ("entries", "memories", "messages"))
        assert json.dumps(two.scope("t").export()) == text
        for source, target in [(one.scope("s"), two.scope("t"))]:
            assert target.items.all(include_expired=True) == source.items.all(include_expired=True)
            assert target.messages.all() == source.messages.all()
            assert repr(target.entries.all()) == repr(source.entries.all())
            assert target.stats() == source.stats()


WORDS = ("dog", "Dog", "cat", "straße", "STRASSE", "notes", "x")

found_in = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
        st.fixed_dictionaries(
            {},
            optional={
                "priority": st.sampled_from(["low", "high"]),
                "tags": st.lists(st.sampled_from(["a", "A", "b"]), max_size=2),
                "metadata": st.dictionaries(st.sampled_from(["p", "q"]), st.sampled_from([1, True, "1", None])),
                "confidence": st.sampled_from([0, 0.5, 1]),
                "ttl_s": st.sampled_from([1, 10]),
            },
        ),
    ),
    max_size=10,
)
asked_for = st.fixed_dictionaries(
    {},
    optional={
        "query": st.sampled_from([None, "", " ", "dog", "DOG cat", "strasse", "s", "nothing"]),
        "tags": st.lists(st.sampled_from(["a", "A", "c"]), max_size=2),
        "priority": st.sampled_from(["low", "high", "critical"]),
        "metadata": st.dictionaries(st.sampled_from(["p", "q"]), st.sampled_from([1, True, "1", None]), max_size=2),
        "min_confidence": st.sampled_from([0, 0.5, 1]),
        "include_expired": st.booleans(),
        "include_promoted": st.booleans(),
        "order": st.sampled_from(["relevance", "recency", "importance"]),
        "limit": st.integers(0, 12),
    },
)


def matches(item: wmem.MemoryItem, asked: Mapping[str, Any], now: float) -> bool:
    """The document's words, one after the other."""
    query = (asked.get("query") or "").strip().casefold()
    # Orders other than relevance look for words.
    words = query.split() if asked.get("order", "relevance") != "relevance" else [query]
    text = (
        item.content.casefold() if asked.get("order", "relevance") == "relevance" else item.content.casefold().split()
    )
    least = asked.get("min_confidence")
    return (
        (not query or any(word in text for word in words))
        and (not asked.get("tags") or not set(asked["tags"]).isdisjoint(item.tags))
        and asked.get("priority") in (None, item.priority)
        and all(
            name in item.metadata and json_equal(item.metadata[name], v)
            for name, v in asked.get("metadata", {}).items()
        )
        and (least is None or (item.confidence is not None and item.confidence >= least))
        and (asked.get("include_expired", False) or item.expires_at is None or now < item.expires_at)
        and (asked.get("include_promoted", False) or item.promoted_to is None)
    )


@given(found_in, st.lists(asked_for, min_size=1, max_size=3), st.integers(0, 9))
@examples(1.5)
def test_a_search_finds_what_a_plain_look_at_each_item_finds(
    added: list[tuple[str, Any]], questions: list[dict[str, Any]], promoted: int
) -> None:
    clock = Clock()
    with opened(clock) as memory:
        scope = memory.scope("s")
        items = [scope.items.add(text, **{"ttl_s": None, **told}) for text, told in added]
        scope.items.search("warm")
        if items:
            scope.items.promote(items[promoted % len(items)].id)
        clock.advance(5)
        everything = scope.items.all(include_expired=True, include_promoted=True)
        for asked in ({"order": "relevance", **each} for each in questions):
            if asked["order"] != "relevance" and asked.get("query") in ("s", "strasse"):
                continue  # what a word is, and its stem, is the index's to say
            hits = scope.items.search(**asked)
            wanted = {item.id for item in everything if matches(item, asked, clock.now)}
            assert hits.total == len(wanted)
            assert {item.id for item in hits} <= wanted
            assert len(hits) == min(asked.get("limit", 10), len(wanted))
            assert list(hits.scores) == sorted(hits.scores, reverse=True)


def test_a_document_of_another_zone_is_read_as_the_instant_it_is() -> None:
    clock = Clock()
    with opened(clock) as memory:
        told = {"id": "a", "content": "x", "expires_at": datetime.fromtimestamp(NOON + 5, UTC).isoformat()}
        memory.scope("s").import_({"format": "wmem-scope", "version": 1, "memories": [told]})
        assert memory.scope("s").items.all()[0].expires_at == NOON + 5
