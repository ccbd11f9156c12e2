"""What a model call may take: learned from the usage that comes with replies, and a front that providers can cache."""

import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import Field, SecretStr

import wmem
from langchain_wmem import WmemMiddleware, from_langchain
from tests.adapters.langchain.conftest import Scripted
from wmem.errors import BudgetError, InvalidInputError
from wmem.tokens.counter import PROMPT_OVERHEAD, default_counter, message_tokens, tools_tokens

COUNT = default_counter()
LIMIT, RESERVE = 3_000, 200
_COSTS: dict[str, int] = {}


def ours(prompt: Sequence[BaseMessage], schemas: Sequence[dict[str, Any]] = ()) -> int:
    """What wmem counts of a prompt as it was sent."""
    return PROMPT_OVERHEAD + sum(map(_cost, prompt)) + tools_tokens(schemas, COUNT)


def _cost(message: BaseMessage) -> int:
    told = message.model_dump_json()
    if told not in _COSTS:  # prompts say the same again and again
        [ours] = from_langchain([message])
        _COSTS[told] = message_tokens(ours, COUNT)
    return _COSTS[told]


class Metered(Scripted):
    """A provider that counts `ratio` tokens for one of ours, reports it, and lets in no more than `window`."""

    model_name: str = "metered"
    ratio: float = 1.0
    ratios: list[float] = Field(default_factory=list)
    """Of the next prompts; `ratio` for those that follow."""
    window: int = 1_000_000
    took: list[int] = Field(default_factory=list)
    """Of each prompt that came, let in or not."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        ratio = self.ratios.pop(0) if self.ratios else self.ratio
        took = int(ratio * ours(messages, kwargs.get("tools", [])))
        self.took.append(took)
        if took > self.window:
            self.prompts.append(list(messages))
            raise ContextOverflowError
        [made] = super()._generate(messages, stop, run_manager, **kwargs).generations
        usage = {"input_tokens": took, "output_tokens": 5, "total_tokens": took + 5}
        return ChatResult(
            generations=[ChatGeneration(message=made.message.model_copy(update={"usage_metadata": usage}))]
        )


class Streamed(Metered):
    """The same word by word, with the usage at the end, as providers do."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        [made] = self._generate(messages, stop, run_manager, **kwargs).generations
        for word in made.message.text.split():
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
        assert isinstance(made.message, AIMessage)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=made.message.usage_metadata))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, stop, None, **kwargs):
            yield chunk


def user(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def remembering(memory: wmem.AgentMemory, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"budget": LIMIT, "reserve": RESERVE, "session": "s", **options})


def long_talk(memory: wmem.AgentMemory, session: str = "s", turns: int = 120) -> None:
    """A session of some 6,000 tokens."""
    memory.scope(session).messages.append(
        [
            each
            for turn in range(turns)
            for each in (
                {"role": "user", "content": f"Question {turn}: what became of the plan for the fair in town {turn}?"},
                {"role": "assistant", "content": f"Answer {turn}: it waits for the samples, as Mira said on Thursday."},
            )
        ]
    )


# --- What is learned --------------------------------------------------------------------------------------------------


async def test_a_model_that_counts_four_tenths_more_gets_a_second_prompt_that_fits_in_its_own_tokens(
    run: Any, memory: wmem.AgentMemory
) -> None:
    long_talk(memory)
    model, middleware = Metered(ratio=1.4), remembering(memory)
    agent = create_agent(model, [rain], middleware=[middleware], system_prompt="Be brief. " * 20)
    for turn in range(4):
        await run(agent, user(f"And what of the fair in town {turn}?"))
    assert model.took[0] > LIMIT - RESERVE, "nothing is known before the first reply"
    for took in model.took[1:]:
        assert 0.9 * (LIMIT - RESERVE) < took <= LIMIT - RESERVE
    assert middleware.calibrations.factor("metered") == 1.4375


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_what_is_reported_at_the_end_of_a_stream_is_learned(memory: wmem.AgentMemory, mode: str) -> None:
    long_talk(memory)
    model = Streamed(ratio=1.4, replies=[AIMessage("It rains there.")] * 2)
    agent = create_agent(model, middleware=[remembering(memory)])
    for text in ("Town 1?", "Town 2?"):
        if mode == "sync":
            pieces = [piece for piece, _ in agent.stream(user(text), stream_mode="messages")]
        else:
            pieces = [piece async for piece, _ in agent.astream(user(text), stream_mode="messages")]
        assert len(pieces) > 2
    assert model.took[0] > LIMIT - RESERVE >= model.took[1]


async def test_the_calls_of_one_tool_loop_learn_from_each_other(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    model = Metered(ratio=1.4, replies=[calling(1), calling(2)])
    await run(create_agent(model, [rain], middleware=[remembering(memory)]), user("Does it rain?"))
    assert [took <= LIMIT - RESERVE for took in model.took] == [False, True, True]


async def test_system_text_tools_and_note_are_part_of_what_was_counted(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    middleware = remembering(memory)
    agent = create_agent(Metered(), [rain, noisy], middleware=[middleware], system_prompt="Be brief. " * 200)
    await run(agent, user("What of town 3?"))
    context = middleware.last_context("s")
    assert context is not None
    assert min(context.sizes[name] for name in ("system", "tools", "note")) > 0
    assert middleware.calibrations.factor("metered") == 1.0


async def test_a_cheaper_count_makes_no_prompt_larger_than_the_budget(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    model, middleware = Metered(ratio=0.6), remembering(memory)
    agent = create_agent(model, middleware=[middleware])
    for turn in range(3):
        await run(agent, user(f"What of town {turn}?"))
        assert ours(model.prompts[-1]) <= LIMIT - RESERVE
        context = middleware.last_context("s")
        assert context is not None
        assert context.budget == LIMIT


async def test_a_count_that_gets_cheaper_gives_the_room_back(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    model, middleware = Metered(ratios=[1.8]), remembering(memory)
    agent = create_agent(model, middleware=[middleware])
    for turn in range(20):
        await run(agent, user(f"What of town {turn}?"))
    assert model.took[1] < LIMIT / 1.7
    assert model.took[-1] > LIMIT * 0.8


@pytest.mark.parametrize("usage", [None, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}])
async def test_a_reply_without_usage_teaches_nothing(
    run: Any, script: Any, memory: wmem.AgentMemory, usage: Any
) -> None:
    long_talk(memory)
    middleware = remembering(memory)
    agent = create_agent(script(AIMessage("Fine.", usage_metadata=usage)), middleware=[middleware])
    await run(agent, user("What of town 1?"))
    assert middleware.calibrations.factor() == 1.0


async def test_two_models_of_one_agent_are_known_apart(run: Any, memory: wmem.AgentMemory) -> None:
    dear, plain = Metered(model_name="dear", ratio=1.5), Metered(model_name="plain")

    class Choosing(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(model=self.chosen(request)))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(model=self.chosen(request)))

        def chosen(self, request: Any) -> Metered:
            return dear if "dear" in request.messages[-1].text else plain

    long_talk(memory)
    middleware = remembering(memory)
    agent = create_agent(plain, middleware=[Choosing(), middleware])
    for name in ("dear", "plain", "dear", "plain"):
        await run(agent, user(f"What of town 5, {name} one?"))
    assert dear.took[0] > LIMIT - RESERVE >= dear.took[1]
    assert min(plain.took) > 0.9 * (LIMIT - RESERVE)
    assert (middleware.calibrations.factor("dear"), middleware.calibrations.factor("plain")) == (1.5, 1.0)


async def test_a_model_without_a_name_is_known_by_its_class(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    middleware = remembering(memory)
    await run(create_agent(Metered(model_name="", ratio=1.5), middleware=[middleware]), user("What of town 1?"))
    assert middleware.calibrations.factor(f"{Metered.__module__}.Metered") == 1.5


async def test_the_model_s_own_count_is_corrected_by_what_it_reports_as_well(
    run: Any, memory: wmem.AgentMemory
) -> None:
    class Optimist(Metered):
        """Counts too little by itself."""

        def get_num_tokens_from_messages(self, messages: list[BaseMessage], tools: Sequence[Any] | None = None) -> int:
            return ours(messages)

    long_talk(memory)
    model = Optimist(ratio=1.3)
    agent = create_agent(model, middleware=[remembering(memory, ask_model=True)])
    for turn in range(2):
        await run(agent, user(f"What of town {turn}?"))
    assert model.took[0] > LIMIT - RESERVE >= model.took[1]


class Whose(TypedDict):
    """A runtime context that names the session."""

    session_id: str


@pytest.mark.slow
def test_sixteen_threads_learn_together_and_each_second_prompt_fits(memory: wmem.AgentMemory) -> None:
    model, middleware = Metered(ratio=1.4), remembering(memory, session=None)
    agent = create_agent(model, middleware=[middleware], context_schema=Whose)
    for number in range(16):
        long_talk(memory, f"s{number}", turns=100)
    firsts, failed = threading.Barrier(16), []

    def talk(name: str) -> None:
        try:
            agent.invoke(user("What of town 1?"), context={"session_id": name})
            firsts.wait()
            for turn in range(2):
                agent.invoke(user(f"And of town {turn}?"), context={"session_id": name})
                context = middleware.last_context(name)
                assert context is not None
                assert 1.4 * (context.tokens - RESERVE) <= LIMIT - RESERVE
        except BaseException as exc:
            failed.append(exc)
            firsts.abort()
            raise

    threads = [threading.Thread(target=talk, args=(f"s{number}",)) for number in range(16)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    sys.setswitchinterval(interval)
    assert not failed
    assert len(model.took) == 48


# --- Refusals ---------------------------------------------------------------------------------------------------------


async def test_a_refused_prompt_is_sent_again_once_with_half_of_the_conversation(
    run: Any, memory: wmem.AgentMemory
) -> None:
    long_talk(memory)
    model = Metered(ratio=1.6, window=LIMIT - RESERVE)
    agent = create_agent(model, [rain], middleware=[remembering(memory)], system_prompt="Be brief.")
    result = await run(agent, user("What of town 7?"))
    assert result["messages"][-1].text == "Fine."
    refused, served = model.took
    assert refused > model.window >= served > refused / 3
    assert [prompt[-1].text for prompt in model.prompts] == ["What of town 7?"] * 2
    assert [message.text for message in memory.scope("s").messages.all()][-2:] == ["What of town 7?", "Fine."]
    for turn in range(5):
        await run(agent, user(f"What of town {turn}?"))
    assert len(model.took) == 7, "what was reported of the second try lets no later one be refused"
    assert model.took[-1] > 0.9 * model.window


async def test_what_is_refused_twice_reaches_the_caller_and_the_next_run_is_smaller(
    run: Any, memory: wmem.AgentMemory
) -> None:
    long_talk(memory)
    model = Metered(ratio=2.5, window=LIMIT - RESERVE)
    agent = create_agent(model, middleware=[remembering(memory)])
    with pytest.raises(ContextOverflowError):
        await run(agent, user("What of town 7?"))
    assert len(model.took) == 2
    result = await run(agent, user("And of town 8?"))
    assert result["messages"][-1].text == "Fine."
    assert model.took[-1] <= model.window
    assert [message.text for message in memory.scope("s").messages.all(limit=3)] == [
        "What of town 7?",
        "And of town 8?",
        "Fine.",
    ]


async def test_a_refusal_that_no_smaller_prompt_can_answer_is_the_refusal(run: Any, memory: wmem.AgentMemory) -> None:
    model = Metered(window=10)
    agent = create_agent(model, middleware=[remembering(memory)], system_prompt="Be brief. " * 50)
    with pytest.raises(ContextOverflowError) as refusal:
        await run(agent, user("Hello"))
    assert isinstance(refusal.value.__cause__, BudgetError)
    assert len(model.took) == 1


async def test_any_other_failure_is_not_tried_again(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    model, middleware = script(RuntimeError("overloaded")), remembering(memory)
    with pytest.raises(RuntimeError):
        await run(create_agent(model, middleware=[middleware]), user("What of town 7?"))
    assert len(model.prompts) == 1
    assert middleware.calibrations.factor() == 1.0


async def test_a_factor_that_leaves_no_room_for_what_must_stay_fades(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    model = Metered(ratios=[3.0])
    middleware = remembering(memory)
    agent = create_agent(model, middleware=[middleware], system_prompt="Be brief. " * 400)
    await run(agent, user("What of town 7?"))
    failures = 0
    for _ in range(10):
        try:
            await run(agent, user("And now?"))
        except BudgetError:
            failures += 1
    assert 1 <= failures < 8
    assert len(model.took) == 11 - failures
    for _ in range(12):
        await run(agent, user("And now?"))
    assert middleware.calibrations.factor("metered") < 1.2


# --- A front that stays -----------------------------------------------------------------------------------------------


@tool
def rain(town: int) -> str:
    """Whether it rains in a town."""
    return f"In town {town} it rains until the evening, and the wind comes from the west. " * 3


@tool
def noisy(town: int, *, loudly: bool = False) -> str:
    """What is heard in a town, loudly or not."""
    return f"{town} {loudly}"


def calling(town: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "rain", "args": {"town": town}, "id": f"call-{town}"}])


def is_note(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "wmem"


def repeated(prompts: Sequence[Sequence[BaseMessage]], *, until: Callable[[BaseMessage], bool]) -> float:
    """The mean share, in tokens, of what came before `until` in a prompt that the next one begins with."""
    shares = []
    for before, after in pairwise(prompts):
        front = [*before][: next((at for at, each in enumerate(before) if until(each)), len(before))]
        same = next((at for at, each in enumerate(front) if after[at : at + 1] != [each]), len(front))
        shares.append(ours(front[:same]) / ours(front))
    return sum(shares) / len(shares)


def tool_turns(
    memory: wmem.AgentMemory, turns: int, *, stable: bool, said: int = 200
) -> tuple[list[list[BaseMessage]], set[int]]:
    """The two prompts of each tool-using turn after a long talk, and the budgets; usage varies by a few per cent."""
    session = f"stable-{stable}"
    long_talk(memory, session, turns=said)
    memory.scope(session).items.add("In town 3 the fair is on Thursday.")
    model = Metered(
        replies=[reply for turn in range(turns) for reply in (calling(turn), AIMessage(f"Yes, in town {turn}."))],
        ratios=[1.12 + 0.02 * (call % 3) for call in range(2 * turns)],
    )
    middleware = remembering(memory, session=session, budget=12_000, stable=stable)
    agent = create_agent(model, [rain], middleware=[middleware], system_prompt="You are the weather service. " * 9)
    budgets = set()
    for turn in range(turns):
        agent.invoke(user(f"Does it rain in town {turn}, where the fair is?"))
        context = middleware.last_context(session)
        assert context is not None
        budgets.add(context.budget)
    assert max(model.took[2:]) <= 12_000 - RESERVE, "two calls told how much it varies"
    return model.prompts, budgets


@pytest.mark.slow
@pytest.mark.no_cover  # the same lines at each turn
def test_thirty_tool_turns_repeat_the_front_of_their_prompts_while_usage_is_learned(memory: wmem.AgentMemory) -> None:
    prompts, budgets = tool_turns(memory, 30, stable=True)
    assert any(is_note(message) for message in prompts[-1])
    assert repeated(prompts, until=is_note) >= 0.95
    # Cuts, each of which leaves three quarters, weigh more from question to question.
    assert repeated(prompts[::2], until=is_note) >= 0.93
    assert len(budgets) <= 2, "reports that vary by a little do not move the budget, and with it the front"
    others, _ = tool_turns(memory, 8, stable=False, said=300)
    whole, other = (repeated(each, until=lambda _: False) for each in (prompts, others))
    assert whole > 0.7
    assert other < 0.2, "with the note in front hardly anything repeats"


@pytest.mark.parametrize("profile", ["openai", "anthropic", "gemini"])
async def test_with_a_stable_front_the_note_stands_before_the_newest_question_and_system_text_in_front(
    run: Any, memory: wmem.AgentMemory, profile: str
) -> None:
    memory.scope("s").items.add("In town 3 the fair is on Thursday.")
    long_talk(memory)
    model = Metered(replies=[calling(3), calling(4)])
    middleware = remembering(memory, stable=True, summary=True, profile=profile)
    agent = create_agent(model, [rain], middleware=[middleware], system_prompt="Be brief.")
    await run(agent, user("On which day is the fair in town 3?"))
    client = ChatOpenAI(model_name="gpt-5", openai_api_key=SecretStr("none"))
    for prompt, after in zip(model.prompts, (0, 2, 4), strict=True):
        roles = [message["role"] for message in client._get_request_payload(prompt)["messages"]]
        [note] = [at for at, message in enumerate(prompt) if is_note(message) and "<" in message.text]
        assert "Thursday" in prompt[note].text
        assert prompt[note + 1].text == "On which day is the fair in town 3?"
        assert len(prompt) == note + 2 + after
        assert roles[0] == "system"
        assert "system" not in roles[1:]
        assert roles[1] == "user" or profile == "openai"
        assert roles[note] == roles[note + 1] == "user"


async def test_a_summary_of_what_is_left_out_stands_in_the_note(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory)
    shares = {}
    for summary in (False, 300, True):
        middleware = remembering(memory, summary=summary, recall=False)
        await run(create_agent(Metered(), middleware=[middleware]), user("Go on."))
        context = middleware.last_context("s")
        assert context is not None
        shares[summary] = context.sizes["note"]
    assert shares[False] == 0
    assert 100 < shares[300] <= 300 < shares[True] <= LIMIT // 8


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        *(("stable", value) for value in (1, "yes", None)),
        *(("summary", value) for value in (-1, 1.5, "8", None)),
        *(("zone", value) for value in (5, "Mars/Olympus", "")),
    ],
)
def test_a_front_a_summary_or_a_zone_that_cannot_be_is_refused_at_once(
    memory: wmem.AgentMemory, option: str, wrong: object
) -> None:
    with pytest.raises(InvalidInputError, match=option):
        remembering(memory, **{option: wrong})
