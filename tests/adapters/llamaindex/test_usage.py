"""What a memory may return: learned from usage it is told of, and a front that providers can cache."""

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.llms.openai.utils import to_openai_message_dicts
from workflows.context.serializers import JsonSerializer

import wmem
from llamaindex_wmem import WmemMemory, from_llamaindex
from wmem import BudgetError, InvalidInputError
from wmem.tokens.counter import PROMPT_OVERHEAD, default_counter, message_tokens

Make = Callable[..., WmemMemory]
LIMIT = 2_000


@pytest.fixture(params=["sync", "async"])
def get(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """What a memory returns, by `get` or by `aget`."""

    async def _get(memory: WmemMemory, **given: Any) -> list[ChatMessage]:
        return memory.get(**given) if request.param == "sync" else await memory.aget(**given)

    return _get


def ours(prompt: Sequence[ChatMessage]) -> int:
    """What wmem counts of a prompt as it was returned."""
    count = default_counter()
    return PROMPT_OVERHEAD + sum(message_tokens(message, count) for message in from_llamaindex(prompt))


def talk(turns: int) -> list[ChatMessage]:
    return [
        message
        for turn in range(turns)
        for message in (
            ChatMessage(role="user", content=f"Question {turn}: what became of the plan for the fair in town {turn}?"),
            ChatMessage(role="assistant", content=f"Answer {turn}: it waits for the samples, as Mira said."),
        )
    ]


# --- What is learned --------------------------------------------------------------------------------------------------


async def test_what_a_provider_reports_makes_the_next_prompt_fit_in_its_own_tokens(make: Make, get: Any) -> None:
    memory = make(token_limit=LIMIT, reserve=100, chat_history=talk(120))
    first = await get(memory)
    assert 1.4 * ours(first) > LIMIT - 100
    memory.learn(int(1.4 * ours(first)), model="gpt-5")
    second = await get(memory)
    assert 0.85 * (LIMIT - 100) < 1.4 * ours(second) <= LIMIT - 100


async def test_what_a_caller_spent_is_part_of_what_was_counted(make: Make, get: Any) -> None:
    memory = make(token_limit=LIMIT, chat_history=talk(120))
    shown = await get(memory, initial_token_count=800)
    memory.learn(ours(shown) + 800)
    assert memory.context().budget == LIMIT
    memory.learn(1_500, counted=1_000)
    assert memory.context().budget == int(LIMIT / 1.5)
    assert 1.5 * (ours(await get(memory, initial_token_count=800)) + 800) <= LIMIT


def test_a_chat_engine_s_prompt_fits_once_its_usage_was_told(make: Make) -> None:
    took: list[int] = []

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        took.append(int(1.4 * ours(messages)))
        return ChatMessage(role="assistant", content="Fine.")

    memory = make(token_limit=LIMIT, chat_history=talk(120))
    llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory, system_prompt="Be brief. " * 100)
    for turn in range(3):
        engine.chat(f"And what of town {turn}?")
        memory.learn(took[-1])
    assert took[0] > LIMIT >= max(took[1:])
    assert min(took[1:]) > 0.8 * LIMIT


def test_what_is_returned_fits_the_dearest_model_and_never_exceeds_the_limit(make: Make) -> None:
    memory = make(token_limit=LIMIT, chat_history=talk(120))
    memory.learn(800, counted=1_600, model="cheap")
    assert memory.context().budget == LIMIT
    memory.learn(2_400, counted=1_600, model="dear")
    memory.learn(1_600, counted=1_600, model="plain")
    assert memory.context().budget == int(LIMIT / 1.5)


async def test_a_factor_that_leaves_no_room_is_an_error_that_says_so_and_fades(make: Make, get: Any) -> None:
    memory = make(token_limit=LIMIT, chat_history=talk(20))
    memory.learn(6_000, counted=2_000)
    with pytest.raises(BudgetError, match=r"token_limit of 2000, which are 666 of wmem's"):
        await get(memory, initial_token_count=1_500)
    for _ in range(10):
        try:
            shown = await get(memory, initial_token_count=1_500)
            break
        except BudgetError:
            pass
    assert ours(shown) + 1_500 <= LIMIT


def test_what_is_learned_is_shared_with_copies_and_stored_nowhere(make: Make) -> None:
    memory = make(token_limit=LIMIT, chat_history=talk(120))
    copied = copy.deepcopy(memory)
    copied.learn(3_000, counted=1_500)
    assert memory.context().budget == LIMIT // 2
    revived = JsonSerializer().deserialize(JsonSerializer().serialize(memory))
    assert revived == memory
    assert revived.context().budget == LIMIT
    for each in (copied, revived):
        each.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"reported": -1, "counted": 100},
        {"reported": "100", "counted": 100},
        {"reported": True, "counted": 100},
        {"reported": 100, "counted": 1.5},
        {"reported": 100, "counted": -1},
        {"reported": 100, "counted": 100, "model": 5},
        {"reported": 100},
    ],
)
def test_usage_that_cannot_be_is_refused_and_teaches_nothing(make: Make, wrong: dict[str, Any]) -> None:
    memory = make(token_limit=LIMIT)
    with pytest.raises(InvalidInputError):
        memory.learn(**wrong)
    memory.put_messages(talk(1))
    assert memory.context().budget == LIMIT


# --- A front that stays -----------------------------------------------------------------------------------------------


async def test_with_a_stable_front_the_note_stands_before_the_newest_question_and_the_rest_repeats(
    make: Make, get: Any
) -> None:
    memory = make(token_limit=LIMIT, stable=True)
    with wmem.open(memory.url, agent_id="a") as opened:
        opened.scope("s").items.add("In town 3 the fair is on Thursday.")
        memory.put_messages(talk(120))
        fronts = []
        for turn in range(6):
            memory.put(ChatMessage(role="user", content=f"On which day is the fair in town {turn}?"))
            shown = await get(memory)
            assert shown == await get(memory)
            rendered: Any = to_openai_message_dicts(shown)
            roles = [message["role"] for message in rendered]
            assert set(roles) == {"user", "assistant"}
            assert roles[-2:] == ["user", "user"]
            assert (shown[-2].content or "").startswith("<recalled>")
            assert shown[-1].content == f"On which day is the fair in town {turn}?"
            fronts.append(shown[:-2])
            memory.put(ChatMessage(role="assistant", content="On Thursday."))
    grown = [after[: len(before)] == before for before, after in pairwise(fronts)]
    assert grown.count(True) >= 4


async def test_a_packed_view_with_its_note_in_the_middle_continues_the_conversation_when_it_is_set(
    make: Make, get: Any
) -> None:
    memory = make(token_limit=600, stable=True, summary=True)
    history = [*talk(60), ChatMessage(role="user", content="What of town 5?")]
    memory.put_messages(history)
    shown = await get(memory)
    assert len(shown) < len(history)
    assert shown[-2].content.startswith("<")
    memory.set([*shown, ChatMessage(role="assistant", content="It waits.")])
    assert memory.get_all() == [*history, ChatMessage(role="assistant", content="It waits.")]


async def test_a_summary_of_what_is_left_out_stands_in_the_note(make: Make, get: Any) -> None:
    for summary in (False, True, 100):
        memory = make(token_limit=LIMIT, summary=summary, recall=False)
        if not memory.get_all():
            memory.put_messages(talk(120))
        notes = [message.content or "" for message in await get(memory) if message.content.startswith("<")]
        assert len(notes) == bool(summary)
        assert all("Earlier, in short" in note for note in notes)


@pytest.mark.parametrize(
    "wrong", [{"stable": 1}, {"stable": "yes"}, {"summary": -1}, {"summary": 1.5}, {"summary": "8"}]
)
def test_a_front_or_a_summary_that_cannot_be_is_refused_by_name(wrong: dict[str, Any]) -> None:
    for made in (WmemMemory, WmemMemory.from_defaults):
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            made(**{"session_id": "s", "url": "memory://x", "agent_id": "a", **wrong})


def test_a_front_and_a_summary_survive_what_a_workflow_does_to_a_memory(make: Make) -> None:
    memory = make(stable=True, summary=300)
    for revived in (JsonSerializer().deserialize(JsonSerializer().serialize(memory)), copy.deepcopy(memory)):
        assert (revived.stable, revived.summary) == (True, 300)
        revived.close()
