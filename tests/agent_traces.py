"""Traces of tools as agents of eight trades leave them, the same for a seed, and the workflows planted in them.

A step of a workflow is written as ``tool``, ``a|b`` for one of several, ``tool?`` for one that some go without,
``tool*`` for one that is called for each of several things, and ``a&b`` for calls made side by side, in any order.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wmem.rules.skills.calls import ToolCall, Trace
from wmem.rules.skills.sequences import to_trace

TRADES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "travel": (
        (
            "search_flights compare_fares? pick_seat book_flight send_itinerary?",
            "find_traveller get_booking check_fare_rules? cancel_booking refund_fare",
            "find_traveller get_booking list_departures change_booking",
            "search_hotels get_hotel* reserve_room",
        ),
        ("get_weather", "list_airports", "get_visa_rules"),
    ),
    "code": (
        (
            "grep_code|find_symbol read_file* edit_file* run_tests",
            "git_diff git_commit git_push",
            "read_manifest search_registry update_dependency run_tests",
            "open_issue label_issue assign_issue",
        ),
        ("list_dir", "git_log", "run_command", "open_docs"),
    ),
    "support": (
        (
            "find_ticket get_customer get_orders&get_invoices issue_credit close_ticket",
            "find_ticket get_customer reset_login",
            "search_articles read_article* send_reply",
            "find_ticket escalate_ticket",
        ),
        ("get_agent_hours", "translate_text", "list_macros"),
    ),
    "data": (
        (
            "list_tables describe_table* run_query plot_chart",
            "load_csv clean_columns? fit_model score_model",
            "run_query export_sheet share_sheet",
            "get_job_log rerun_job verify_rows",
        ),
        ("preview_rows", "get_schema_docs", "list_users"),
    ),
    "home": (
        (
            "read_thermometer set_thermostat",
            "get_motion_events capture_image notify_owner",
            "list_doors lock_door* arm_alarm",
            "get_calendar dim_lights play_playlist",
        ),
        ("get_power_use", "read_humidity", "list_scenes"),
    ),
    "shop": (
        (
            "search_goods get_goods* add_to_basket pay_basket",
            "list_orders get_order return_goods",
            "list_orders get_order track_parcel claim_parcel?",
            "read_stock|ask_warehouse reserve_stock",
        ),
        ("get_coupons", "list_stores", "get_reviews"),
    ),
    "research": (
        (
            "web_search fetch_page* summarize_page save_finding",
            "find_papers download_pdf extract_quotes write_bibliography",
            "open_dataset check_license cite_dataset",
        ),
        ("define_word", "list_findings", "convert_units"),
    ),
    "operations": (
        (
            "list_alerts query_logs|get_metrics restart_service verify_health resolve_alert",
            "get_deploys roll_back notify_channel",
            "list_certificates renew_certificate reload_proxy",
            "get_disk_use rotate_logs",
        ),
        ("get_runbook", "list_hosts", "get_oncall"),
    ),
}
HELPERS = ("think", "calculate", "audit", "get_hints")
"""Called anywhere."""
BARE = frozenset(("run_tests", "verify_health", "git_commit", "git_push", "arm_alarm", "verify_rows", "reload_proxy"))
"""Called without parameters."""
DATA = ("flow", "shared", "context", "none")
"""What ties the calls of a workflow: each takes a value of the result before it, all take one value, all calls of the
episode do (helpers and noise, too), or nothing does."""


class Settings(NamedTuple):
    """How an agent works.

    Attributes:
        noise: Share of steps before which something else is called.
        wander: Share of episodes that follow no workflow.
        double: Share of episodes with two tasks, one after the other or interleaved.
    """

    data: str = "flow"
    noise: float = 0.2
    wander: float = 0.2
    double: float = 0.15
    failures: float = 0.08
    style: str = "snake"


class Workflow(NamedTuple):
    """What was planted, and in how many episodes it worked."""

    steps: tuple[str, ...]
    runs: int

    def explains(self, tools: Sequence[str]) -> bool:
        """Whether tools are steps of it in its order."""
        rest = iter(self._spell())
        place: frozenset[str] = frozenset()
        for tool in tools:
            while tool not in place:
                if (found := next(rest, None)) is None:
                    return False
                place = found
            place -= {tool}
        return True

    def covers(self, tools: Sequence[str]) -> float:
        """The share of its steps, without those that some go without, that are among tools."""
        needed = [step for step in self.steps if not step.endswith("?")]
        names = {tool for step in needed for tool in re.split(r"[|&]", step.rstrip("*"))}
        size = sum(len(step.split("&")) for step in needed)
        return len(names & set(tools)) / size

    def _spell(self) -> Iterator[frozenset[str]]:
        for step in self.steps:
            yield frozenset(re.split(r"[|&]", step.rstrip("?*")))


class Agent:
    """An agent of a trade at work: `work` returns its traces and what was planted in them, as its tools are spelled.

    Attributes:
        calls: The calls of the episodes that it has worked, by thread.
    """

    def __init__(self, trade: str, seed: int, settings: Settings) -> None:
        self._chance = random.Random(f"{trade} {seed} {settings}")  # it makes tests
        self._trade = trade
        self._own = settings
        self._flows = tuple(tuple(flow.split()) for flow in TRADES[trade][0])
        self._noise = TRADES[trade][1]
        self._time = 1_700_000_000.0
        self._worked: Counter[tuple[str, ...]] = Counter()
        self.calls: dict[str, list[ToolCall]] = {}

    def work(self, episodes: int) -> tuple[list[Trace], list[Workflow]]:
        for number in range(episodes):
            self._time += self._chance.uniform(6_000, 60_000)
            thread = f"{self._trade}-{number}"
            self.calls[thread] = list(self._run_episode(number))
        traces = [to_trace(thread, calls) for thread, calls in self.calls.items() if calls]
        return traces, [Workflow(tuple(map(self._spell_step, flow)), self._worked[flow]) for flow in self._flows]

    def _run_episode(self, number: int) -> Iterator[ToolCall]:
        chance = self._chance
        if chance.random() < self._own.wander:
            tools = sorted({*self._noise, *(tool for flow in self._flows for tool in self._expand(flow))})
            plans = [chance.sample(tools, chance.randint(1, 4))]
            flows: list[tuple[str, ...] | None] = [None]
        else:
            weights = [1 / (1 + place) ** 0.5 for place in range(len(self._flows))]
            picked = chance.choices(self._flows, weights, k=2 if chance.random() < self._own.double else 1)
            flows, plans = list(dict.fromkeys(picked)), [self._expand(flow) for flow in dict.fromkeys(picked)]
        order = [place for place, plan in enumerate(plans) for _ in plan]
        if chance.random() < 0.5:
            chance.shuffle(order)  # interleaved
        context = self._draw_id()
        runs = [self._run(plan, context, planned=flow is not None) for flow, plan in zip(flows, plans, strict=True)]
        failed: set[int] = set()
        for place in order:
            if place in failed:
                continue
            if chance.random() < self._own.noise:
                yield self._make_noise(context)
            for call in next(runs[place]):
                yield call
                failed |= {place} if call.failed else set()
                failed -= set() if call.failed else {place}
            if place in failed and len(plans) == 1:
                return
        if not failed:
            self._worked.update(flow for flow in flows if flow is not None)

    def _expand(self, flow: Sequence[str]) -> list[str]:
        tools: list[str] = []
        for step in flow:
            if step.endswith("?") and self._chance.random() < 0.5:
                continue
            names = step.rstrip("?*")
            if "&" in names:
                tools += self._chance.sample(sides := names.split("&"), len(sides))
            else:
                many = self._chance.choice((1, 1, 2, 3)) if step.endswith("*") else 1
                tools += [self._chance.choice(names.split("|"))] * many
        return tools

    def _run(self, plan: Sequence[str], context: str, *, planned: bool) -> Iterator[list[ToolCall]]:
        """The calls of each step of a plan; the last of those of a step fails if the step did for good."""
        given, shared = self._draw_id(), self._draw_id()
        for tool in plan:
            made = self._draw_id()
            parameters: dict[str, object] = {"query": self._draw_id()}
            if tool in BARE and self._own.data in ("flow", "shared"):
                parameters = {}
            elif planned and self._own.data == "flow" and self._chance.random() < 0.9:
                parameters = {"ref": given}
            elif planned and self._own.data == "shared":
                parameters = {"ref": shared}
            elif self._own.data == "context":
                parameters["account"] = context
            elif self._own.data == "none":
                parameters = {}
            result = json.dumps({"id": made, "status": "ok"}) if self._own.data != "none" else "done"
            luck = self._chance.random()
            calls = []
            if luck < self._own.failures:
                calls.append(self._call(tool, parameters, "timed out", failed=True))
            if luck > self._own.failures * 1.3 or luck < self._own.failures:
                calls.append(self._call(tool, parameters, result))
            else:
                calls.append(self._call(tool, parameters, "not allowed", failed=True))
            given = made
            yield calls

    def _make_noise(self, context: str) -> ToolCall:
        tool = self._chance.choice(HELPERS if self._chance.random() < 0.7 else self._noise)
        parameters: dict[str, object] = {"text": self._draw_id()}
        if self._own.data == "context":
            parameters["account"] = context
        return self._call(tool, parameters if self._own.data != "none" else {}, "fine")

    def _call(self, tool: str, parameters: dict[str, object], result: str, *, failed: bool = False) -> ToolCall:
        self._time += self._chance.uniform(1, 40)
        return ToolCall(f"call-{self._time:.3f}", self._spell(tool), parameters, result, failed, self._time)

    def _draw_id(self) -> str:
        return f"{self._chance.choice('ABCDEFGH')}{self._chance.randrange(10**6, 10**7)}"

    def _spell_step(self, step: str) -> str:
        return re.sub(r"\w+", lambda each: self._spell(each[0]), step)

    def _spell(self, tool: str) -> str:
        match self._own.style:
            case "camel":
                return re.sub(r"_(\w)", lambda each: each[1].upper(), tool)
            case "mcp":
                return f"mcp__{self._trade}__{tool}"
            case _:
                return tool


class Score(NamedTuple):
    """How many of what was mined is right, and how many of the workflows that worked often enough were found."""

    told: int = 0
    right: int = 0
    planted: int = 0
    found: int = 0

    def __add__(self, other: "Score") -> "Score":  # type: ignore[override]  # of numbers, not of tuples
        return Score(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def precision(self) -> float:
        return self.right / self.told if self.told else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.planted if self.planted else 1.0


def judge(mined: Sequence[Sequence[str]], flows: Sequence[Workflow], *, min_runs: int = 5) -> Score:
    """What is mined is right if it is steps of a workflow in its order; a workflow is found if two thirds of it are."""
    right = sum(any(flow.explains(tools) for flow in flows) for tools in mined)
    often = [flow for flow in flows if flow.runs >= min_runs]
    found = sum(any(flow.explains(tools) and flow.covers(tools) > 0.66 for tools in mined) for flow in often)
    return Score(len(mined), right, len(often), found)
