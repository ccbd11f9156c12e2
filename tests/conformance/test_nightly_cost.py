"""A night's maintenance costs what its day brought, and not what the memory has become."""

import random
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

import wmem
from tests.counting import count_calls
from wmem.flow import run

DAY, NOON = 86_400.0, 1_764_288_000.0
USERS = ("ada", "ben")
POLICIES = {user: wmem.Policy.session(long_term=[("users", user)]) for user in USERS}
TOOLS = ("find_account", "list_invoices", "send_reminder")
WORDS = ("parcel", "ladder", "recipe", "ticket", "printer", "garden", "lantern", "harbour", "invoice", "orchard")


class Night(NamedTuple):
    """What one pass cost.

    Attributes:
        calls: Functions that were entered, each row that is looked at being at least one.
        read: Records and snapshots that the journal replied, each of which is decoded.
        written: Bytes that it took.
    """

    calls: int
    read: int
    written: int


class Meter(dict[str, Any]):
    """The ports of a memory, which count what a journal replies and takes."""

    def __init__(self, ports: Any) -> None:
        super().__init__(ports)
        self.read = self.written = 0

    def __getitem__(self, name: str) -> Any:
        method = super().__getitem__(name)

        def call(*args: Any) -> Any:
            reply = method(*args)
            if name == "Journal.read":
                self.read += sum(len(tail.records) + (tail.snapshot is not None) for tail in reply.values())
            elif name in ("Journal.append", "Journal.compact"):
                self.written += len(args[2])
            return reply

        return call


class Life:
    """An agent that lives equal days: a session of each user, with a fact, one said again, and calls of tools."""

    def __init__(self, url: str) -> None:
        self.now = NOON
        self._chance = random.Random(7)
        self.memory = wmem.open(url, agent_id="agent", clock=lambda: self.now)

    def live(self, day: int) -> Night:
        """One day, and its night."""
        self.now = NOON + day * DAY
        for user in USERS:
            name, policy = f"{user}-{day}", POLICIES[user]
            session = self.memory.scope(name, policy=policy)
            for number in range(3):
                with self.memory.turn(name, policy=policy) as turn:
                    self.now += 20
                    one, other = self._chance.sample(WORDS, 2)
                    said = f"We saw the {one} of house {day * 10 + number} beside the {other}."
                    session.messages.append([{"role": "user", "content": said}])
                    session.messages.append([{"role": "assistant", "content": f"So the {one} it is."}])
                    fact = f"Number {day if number else day - 1} of {user} likes the {WORDS[day % 10]}."
                    turn.memorize({"content": fact, "type": "fact"})
                    for tool in TOOLS if number == 0 else ():
                        turn.track_tool_invocation(tool, {"id": f"x{day}"}, f'{{"id": "x{day}"}}')
            self.memory.types.session(name, policy=policy)["conversation"].close()
        self.now = NOON + day * DAY + 12 * 3_600
        core = self.memory._core
        meter = Meter(core.ports.sync)
        calls = count_calls(lambda: run(core.maintain(None), meter))
        return Night(calls, meter.read, meter.written)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["sqlite", "disk"])
def test_a_night_after_60_days_costs_no_more_than_one_after_20(tmp_path: Path, scheme: str) -> None:
    life = Life(f"{scheme}://{tmp_path / 'store'}")
    nights = [life.live(day) for day in range(60)]
    early, late = (
        Night(*(median(each) for each in zip(*part, strict=True))) for part in (nights[14:21], nights[53:60])
    )
    life.memory.close()
    assert late.calls <= 1.3 * early.calls
    assert late.read <= 1.3 * early.read + 2
    assert late.written <= 1.3 * early.written
