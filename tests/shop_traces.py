"""Traces of tools as agents of a shop and of an airline leave them, with what was planted in them."""

import json
import random
from collections.abc import Iterator, Sequence

from wmem.rules.skills.calls import ToolCall

FLOWS: tuple[tuple[str, ...], ...] = (
    ("find_customer_by_mail", "get_customer_profile", "get_booking", "cancel_booking"),
    ("find_customer_by_mail", "get_customer_profile", "get_booking", "list_flights", "change_flight"),
    ("get_booking", "get_baggage_rules", "add_baggage"),
    ("find_parcel", "get_parcel_route", "open_claim"),
    ("list_orders", "get_order", "return_order_goods"),
    ("list_orders", "get_order", "list_product_kinds", "exchange_order_goods"),
    ("read_stock", "reserve_stock"),
    ("get_menu", "check_allergens", "place_meal_order", "send_receipt"),
    ("search_rooms", "hold_room", "charge_card", "confirm_room"),
    ("fetch_invoice", "convert_currency", "issue_refund"),
)
NOISE = ("think", "compute", "get_time", "look_up_policy")
_KEYS = ("customer_id", "booking_id", "order_id", "parcel_id", "room_id", "invoice_id")


class Shop:
    """Makes the traces of episodes; the same for the same seed.

    Attributes:
        values: What was passed and returned of users, none of which may be in a skill.
    """

    def __init__(self, seed: int, *, noise: float = 0.12, failures: float = 0.08) -> None:
        self._chance = random.Random(seed)  # it makes tests
        self._noise = noise
        self._failures = failures
        self._time = 1_700_000_000.0
        self.values: set[str] = set()

    def make_traces(self, episodes: int) -> dict[str, list[ToolCall]]:
        """The calls of episodes, by their threads: four in five do something planted, the others what comes along."""
        traces: dict[str, list[ToolCall]] = {}
        for number in range(episodes):
            self._time += self._chance.uniform(600, 6_000)
            flow = FLOWS[number % len(FLOWS)] if self._chance.random() < 0.8 else self._wander()
            traces[f"thread-{number}"] = list(self._run(flow, f"{number}"))
        return traces

    def _wander(self) -> Sequence[str]:
        tools = sorted({tool for flow in FLOWS for tool in flow})
        return self._chance.sample(tools, self._chance.randint(1, 4))

    def _run(self, flow: Sequence[str], mark: str) -> Iterator[ToolCall]:
        thing = {key: f"{key[0].upper()}{self._chance.randrange(10**7, 10**8)}" for key in _KEYS}
        mail = f"person{mark}.{self._chance.randrange(10**6)}@mail.example"
        self.values |= {*thing.values(), mail}
        for tool in flow:
            if self._chance.random() < self._noise:
                yield self._call(self._chance.choice(NOISE), {"text": f"about {mail}"}, "fine", mark)
            key = next((each for each in _KEYS if each.split("_")[0] in tool), "customer_id")
            parameters: dict[str, object] = {key: thing[key]}
            if "flight" in tool:
                parameters["cabin"] = "economy"
            if tool.startswith("find_"):
                parameters = {"mail": mail}
            result = json.dumps(thing)
            luck = self._chance.random()
            if luck < self._failures:  # it fails, and is tried again
                yield self._call(tool, parameters, "timed out", mark, failed=True)
            elif luck < self._failures * 1.5:  # it fails for good: the task ends
                yield self._call(tool, parameters, "no such thing", mark, failed=True)
                return
            for _ in range(self._chance.choice((1, 1, 1, 1, 3))):  # for each of several things
                yield self._call(tool, parameters, result, mark)

    def _call(
        self, tool: str, parameters: dict[str, object], result: str, mark: str, *, failed: bool = False
    ) -> ToolCall:
        self._time += self._chance.uniform(1, 40)
        return ToolCall(f"call-{mark}-{self._time:.3f}", tool, parameters, result, failed, self._time)
