"""Of what agents of eight trades did, the skills mined are what they set out to do, and hardly ever an accident."""

from collections.abc import Mapping, Sequence

import pytest

from tests import agent_traces
from tests.agent_traces import DATA, TRADES, Agent, Score, Settings, judge
from wmem.rules.skills.calls import ToolCall, Trace
from wmem.rules.skills.miner import mine
from wmem.rules.skills.sequences import is_helper, to_trace
from wmem.rules.skills.similarity import to_tool_words
from wmem.rules.skills.wording import to_skill

STYLES = ("snake", "camel", "mcp")


def score(episodes: int, settings: Settings) -> Score:
    """How well skills are mined from so many episodes, over all trades."""
    total = Score()
    for number, trade in enumerate(TRADES):
        own = settings._replace(style=STYLES[number % len(STYLES)])
        traces, flows = Agent(trade, episodes, own).work(episodes)
        total += judge([pattern.tools for pattern in mine(traces)], flows)
    return total


@pytest.mark.parametrize("data", DATA)
def test_of_what_is_mined_from_five_to_forty_episodes_ninety_five_in_a_hundred_were_planted(data: str) -> None:
    scores = {episodes: score(episodes, Settings(data)) for episodes in (5, 10, 20, 40)}
    assert {episodes: each for episodes, each in scores.items() if each.precision < 0.95} == {}
    assert scores[20].recall >= 0.8
    assert scores[40].recall >= 0.95


def test_amid_much_noise_little_is_mined_that_was_not_planted() -> None:
    total = Score()
    for data in DATA:
        total += score(20, Settings(data, noise=0.4, wander=0.3, double=0.25))
    assert total.precision >= 0.95


def test_a_tool_that_is_called_anywhere_and_most_of_all_is_in_no_skill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_traces, "HELPERS", ("note_status",))
    total = score(40, Settings(noise=0.7))
    assert total.precision >= 0.95
    assert total.recall >= 0.85


def test_tasks_of_one_thread_are_mined_as_those_of_many_threads() -> None:
    total = Score()
    for trade in TRADES:
        agent = Agent(trade, 1, Settings())
        _, flows = agent.work(40)
        calls = [call._replace(task=task) for task, each in agent.calls.items() for call in each]
        total += judge([pattern.tools for pattern in mine([to_trace("one", calls)])], flows)
    assert total.precision >= 0.95
    assert total.recall >= 0.9


# -- what ties calls


def made(number: int, *calls: tuple[str, Mapping[str, object], str]) -> Trace:
    """A trace of these calls: tool, parameters, result."""
    return to_trace(
        f"trace-{number}",
        [
            ToolCall(f"{number}-{at}", tool, parameters, result, False, 1e9 + number * 1e5 + at)
            for at, (tool, parameters, result) in enumerate(calls)
        ],
    )


def find(traces: Sequence[Trace]) -> set[tuple[str, ...]]:
    return {pattern.tools for pattern in mine(traces)}


def test_a_value_that_passes_on_ties_what_chance_would_explain() -> None:
    def trace(number: int, *, tied: bool) -> Trace:
        order = f"W{number}771"
        fetch = ("get_order", {"order_id": order}, "{}"), ("claim_order", {"order_id": order if tied else "W0"}, "ok")
        return made(number, *(fetch if number % 2 else (("get_hours", {}, "9"), *fetch, ("get_news", {}, "none"))))

    assert ("get_order", "claim_order") in find([trace(number, tied=True) for number in range(4)])
    others = [made(number, ("get_order", {}, "{}"), ("get_hours", {}, "9"), ("get_news", {}, "x")) for number in (8, 9)]
    assert find([*(trace(number, tied=False) for number in range(4)), *others]) == set()


def test_of_a_loop_whichever_round_a_value_is_of_it_flows_from_the_step() -> None:
    def trace(number: int) -> Trace:
        rooms = [f"R{number}{each}00" for each in range(3)]
        looks = [("get_room", {"room": room}, f'{{"offer": "F{room}"}}') for room in rooms]
        return made(
            number, ("list_rooms", {}, f'{{"rooms": {rooms}}}'), *looks, ("book", {"offer": f"F{rooms[2]}"}, "ok")
        )

    [pattern] = mine([trace(number) for number in range(3)])
    assert to_skill(pattern).content == "To book: 1. list_rooms() 2. get_room(room) 3. book(offer from 2)"


# -- names


def test_a_skill_neither_begins_nor_ends_with_a_helper() -> None:
    traces = [
        made(number, ("calculate", {}, "1"), ("find", {}, "x"), ("send", {}, "y"), ("get_current_time", {}, "9"))
        for number in range(5)
    ]
    assert find(traces) == {("find", "send")}


@pytest.mark.parametrize(
    ("tool", "helps"),
    [
        ("calculate", True),
        ("getCurrentTime", True),
        ("mcp__maths__calculator", True),
        ("get_current_date_and_time", False),
        ("calculate_tip", False),
        ("get_date", False),
        ("time_travel", False),
    ],
)
def test_a_helper_is_known_by_a_name_that_says_no_more(tool: str, helps: bool) -> None:
    assert is_helper(tool) is helps


def test_the_server_of_a_tool_makes_no_two_tools_alike() -> None:
    assert to_tool_words("mcp__booking__cancel_stay") == ["cancel", "stay"]
    first = [
        made(n, *((f"mcp__a__{tool}", {"ref": f"R{n}00"}, "") for tool in ("pick", "weigh", "pay"))) for n in range(4)
    ]
    other = [
        made(9 + n, *((f"mcp__a__{tool}", {"ref": f"R{n}99"}, "") for tool in ("pick", "wrap", "pay")))
        for n in range(4)
    ]
    found = mine([*first, *other])
    assert sorted(len(pattern.variants) for pattern in found) == [0, 0]
    assert to_skill(found[0]).content.startswith("To pay: 1. mcp__a__pick(ref)")
