"""Below its budget, a pack sends what a caller without wmem would send: each message as it is, in its order.

What remains different, and why:

- what a provider of the profile refuses (`pack/provider_order.py` lists it) is changed as little as will do; the
  properties are for ``openai``, and for the default with what all providers take;
- a call without a result, or a result without its call, is left out (`orphans`): every provider refuses them;
- an empty text beside calls is null, a refusal among the blocks is a key, the form of calls before there were tools
  (`function_call`) is that of tools, a tool's name is not repeated in its result: they say the same;
- `annotations` of an answer are metadata: no provider takes them back;
- a key whose value is null or an empty list is not written: it says nothing;
- system text that repeats the one in force is sent once: every start of a program stores its own anew;
- reasoning of an answer in an earlier turn, given without calls, is not sent (`reasoning`): no provider wants it;
- messages of one `turn_id` stand together, which is what the key asks for;
- a lone surrogate is replaced: no provider's encoder takes it;
- text of a note that `pack` made is not stored again, so that recalled text does not breed.
"""

import json
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from tests.openai_talks import Dictionary, talks, without_own_keys
from wmem.testing import Call

pytestmark = pytest.mark.backends("memory", "sqlite")

SAME_STORE = examples(0.25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
_numbers = count()

USER: Dictionary = {"role": "user", "content": "hello"}
RULES: list[Dictionary] = [{"role": "system", "content": "Be brief."}, {"role": "system", "content": "Be kind."}]
ROUND: list[Dictionary] = [
    {
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "done"},
]


def form(messages: Sequence[Dictionary]) -> list[str]:
    """The messages as JSON texts, to compare them by type as well."""
    return [json.dumps(without_own_keys(message), sort_keys=True, ensure_ascii=False) for message in messages]


@pytest.fixture
def store(memory: wmem.AgentMemory, call: Call) -> Callable[..., wmem.Scope]:
    """Stores a conversation in a new session, in as many batches as there are cuts."""

    def append(talk: Sequence[Dictionary], cuts: Sequence[int] = ()) -> wmem.Scope:
        session = memory.scope(f"s{next(_numbers)}")
        places = [0, *sorted(cut % (len(talk) + 1) for cut in cuts), len(talk)]
        for begin, end in pairwise(places):
            if begin < end:
                call(session.messages.append, talk[begin:end])
        return session

    return append


options = st.fixed_dictionaries(
    {},
    optional={
        "recent": st.sampled_from([0, 1, 100]),
        "stable": st.just(True),
        "summary": st.sampled_from([True, 40]),
        "orphans": st.just("synthesize"),
        "note_role": st.just("system"),
        "query": st.sampled_from(["What is my dog called?", "Biscuit", "yes", "東京タワー", "nothing of this"]),
    },
)


@SAME_STORE
@given(talk=talks(), cuts=st.lists(st.integers(0, 99), max_size=3), options=options)
def test_a_pack_with_room_for_all_sends_the_messages_as_they_were_given(
    store: Callable[..., wmem.Scope], call: Call, talk: Any, cuts: Any, options: Any
) -> None:
    context = call(store(talk, cuts).pack, budget=100_000, profile="openai", **options)
    assert form(context.to_openai()) == form(talk)
    assert not context.note
    assert not context.dropped.count
    assert not context.truncated


@SAME_STORE
@given(talk=talks(), options=options)
def test_so_does_a_pack_whose_budget_just_holds_them(
    store: Callable[..., wmem.Scope], call: Call, talk: Any, options: Any
) -> None:
    session = store(talk)
    context = call(
        session.pack, budget=call(session.pack, budget=100_000, profile="openai").tokens, profile="openai", **options
    )
    assert form(context.to_openai()) == form(talk)
    assert not context.note
    assert not context.truncated


@SAME_STORE
@given(talk=talks(plain=True), options=options)
def test_so_does_the_default_profile_with_what_every_provider_takes(
    store: Callable[..., wmem.Scope], call: Call, talk: Any, options: Any
) -> None:
    context = call(store(talk).pack, budget=100_000, **options)
    assert form(context.to_openai()) == form(talk)
    assert not context.note


@SAME_STORE
@given(talk=talks(), pins=st.sets(st.integers(0, 30)), options=options)
@example(talk=[USER, *ROUND, *ROUND], pins={1, 4}, options={})
def test_a_pinned_message_stays_in_its_place(
    store: Callable[..., wmem.Scope], call: Call, talk: Any, pins: Any, options: Any
) -> None:
    talk = [{**message, "pinned": True} if at in pins else message for at, message in enumerate(talk)]
    session = store(talk)
    needed = call(session.pack, budget=100_000, profile="openai").tokens
    context = call(session.pack, budget=needed, profile="openai", **options)
    assert form(context.to_openai()) == form(talk)
    assert not context.note


@SAME_STORE
@given(talk=talks(), cuts=st.tuples(*[st.integers(0, 99)] * 3), options=options)
@example(talk=[*RULES, USER], cuts=(0, 1, 1), options={})
@example(talk=[*RULES, USER], cuts=(1, 1, 1), options={})
def test_a_list_of_the_framework_is_sent_as_it_is_whatever_part_of_it_is_stored(
    store: Callable[..., wmem.Scope], call: Call, talk: Any, cuts: Any, options: Any
) -> None:
    talk = [{**message, "id": f"m{at}"} for at, message in enumerate(talk)]
    stored, begin, _ = sorted(cut % (len(talk) + 1) for cut in cuts)
    session = store(talk[:begin])
    context = call(session.pack, budget=100_000, profile="openai", messages=talk[stored:], **options)
    assert form(context.to_openai()) == form(talk)
    assert not context.note


@SAME_STORE
@given(talk=talks(), kept=st.sets(st.integers(0, 30)), options=options)
def test_a_list_whose_messages_are_stored_here_and_there_is_sent_as_it_is(
    store: Callable[..., wmem.Scope], call: Call, talk: Any, kept: Any, options: Any
) -> None:
    talk = [{**message, "id": f"m{at}"} for at, message in enumerate(talk)]
    session = store([message for at, message in enumerate(talk) if at in kept])
    context = call(session.pack, budget=100_000, profile="openai", messages=talk, **options)
    assert form(context.to_openai()) == form(talk)


@SAME_STORE
@given(talk=talks(), options=options)
def test_a_list_of_which_nothing_is_stored_keeps_the_ids_it_has(
    memory: wmem.AgentMemory, call: Call, talk: Any, options: Any
) -> None:
    context = call(memory.scope("empty").pack, budget=100_000, profile="openai", messages=talk, **options)
    assert form(context.to_openai()) == form(talk)
    assert [message.id for message in context.messages] == [message.get("id") for message in talk]


@SAME_STORE
@given(talk=talks(), options=options)
def test_what_a_parent_remembers_changes_no_message(
    memory: wmem.AgentMemory, call: Call, talk: Any, options: Any
) -> None:
    parent = memory.scope(f"p{next(_numbers)}")
    call(parent.items.add, "My dog is called Biscuit.")
    call(parent.items.add, "Ann is allergic to nuts.", pinned=True)
    child = parent.child("c")
    call(child.messages.append, talk)
    context = call(child.pack, budget=100_000, profile="openai", **options)
    sent = [message.to_openai() for message in context.messages]
    assert form(sent) == form(talk)


def test_half_an_exchange_is_not_told_of_where_everything_fits(store: Callable[..., wmem.Scope], call: Call) -> None:
    again = [{"role": "user", "content": "What does f say?"}]
    for half in ROUND:
        talk = [{**USER, "content": "Call f, I am done."}, half, *again]
        assert form(call(store(talk).pack, again[0]["content"], budget=10_000).to_openai()) == form([talk[0], *again])
