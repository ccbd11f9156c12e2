"""A simulated year of an agent: ten sessions a day, facts planted, repeated and contradicted, maintenance each night.

``python tests/bench/year.py`` runs a year, ``--days 30`` a month. The clock is moved by hand, and the same seed makes
the same year. Printed is what must hold: bounds of long-term memory, what is found of the planted facts, what
maintenance takes, and that nothing is left after an erasure.
"""

import argparse
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import wmem
from wmem.testing.store_bytes import read_store_bytes

__all__ = ["DAY_S", "Planted", "Report", "Year", "main"]

DAY_S = 86_400.0
_BEGIN = 1_735_689_600.0  # 1 January 2025, UTC
_USERS = ("ada", "ben", "cleo", "dora", "emil")
_MESSAGES = 40
_FACTS_A_SESSION = 2
_QUESTIONS_A_DAY = 4
_BUDGET = 1_024
_LEAST_FOUND = 0.95
_PART = 30  # days of which means are told
_REPEATED, _CONTRADICTED = 0.1, 0.01
_ATTRIBUTES = (
    *("favourite tea", "home town", "dentist", "bicycle brand", "landlord", "gym", "first teacher", "bank"),
    *("allergy", "middle name", "car", "publisher", "choir", "birthplace", "therapist", "office building"),
    *("guitar", "youngest cousin", "wedding venue", "shoe brand", "hiking club", "vet", "insurer", "barber"),
)
_SYLLABLES = (  # none ends with another one: no word is a part of another
    *("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi"),
    *("yo", "zu", "bra", "cle", "shi", "sta", "gre"),
)
_CHAT = (
    "We should look at the {} before the {} arrives.",
    "I read about a {} that nobody had seen near the {}.",
    "The {} was late again, so the {} had to wait.",
    "Can you compare a {} with a {} for me?",
    "My neighbour keeps a {} beside the {}, which is loud.",
    "Let us plan the {} around the {} next week.",
)
_ANSWERS = (
    "I looked into the {}; the {} seems to be fine.",
    "Of course: the {} goes first, then the {}.",
    "There is little about the {}, more about the {}.",
)
_THINGS = (
    *("parcel", "meeting", "ladder", "recipe", "ticket", "printer", "garden", "lantern", "harbour", "invoice"),
    *("keyboard", "festival", "orchard", "suitcase", "museum", "report", "kettle", "tram", "bridge", "lecture"),
)
_FLOWS: tuple[tuple[str, ...], ...] = (
    ("find_account", "list_invoices", "send_reminder"),
    ("search_trains", "reserve_seat", "pay_ticket"),
    ("read_calendar", "propose_slot", "invite_guests"),
)


@dataclass(slots=True)
class Planted:
    """A fact that was planted: whose, of whom what, and the values it had, the last one now."""

    user: str
    person: str
    attribute: str
    values: list[str]

    @property
    def question(self) -> str:
        return f"What is {self.person}'s {self.attribute}?"

    def state(self, *, again: bool = False) -> str:
        """The fact as a sentence; as it was said first, or as one says it once it changed, or again."""
        now = " now" if len(self.values) > 1 else ""
        begin = "As I said, " if again else ""
        return f"{begin}{self.person}'s {self.attribute} is{now} {self.values[-1]}."


class _Asked(NamedTuple):
    age_days: float
    found: bool
    stale: bool


@dataclass(slots=True)
class Report:
    """What was measured.

    Attributes:
        maintained: CPU seconds of each night's maintenance.
        packed: CPU seconds of each pack that answered a question, in order.
        asked: What became of each question.
        left: Planted values whose bytes were found after the erasure, by what was erased.
    """

    days: int
    messages: int = 0
    facts: int = 0
    maintained: list[float] = field(default_factory=list)
    packed: list[float] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)
    semantic: dict[str, tuple[int, int]] = field(default_factory=dict)
    episodic: dict[str, tuple[int, int]] = field(default_factory=dict)
    bytes: int = 0
    skills: list[str] = field(default_factory=list)
    jobs: dict[str, float] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    @property
    def found(self) -> float:
        """The share of the questions whose evidence was in the prompt."""
        return statistics.fmean(each.found for each in self.asked)

    @property
    def stale(self) -> int:
        """How many prompts told a value that is no longer so without the one that is."""
        return sum(each.stale for each in self.asked)

    def lines(self) -> Iterator[str]:
        """The report, line by line."""
        old = [each.found for each in self.asked if each.age_days >= min(90, self.days / 2)]
        first, last = (self.packed[: len(self.packed) // 10 or 1], self.packed[-(len(self.packed) // 10 or 1) :])
        yield f"{self.days} days: {self.messages:,} messages, {self.facts:,} facts planted"
        yield f"found of planted facts: {self.found:.1%} of {len(self.asked)}; of old: {_mean(old):.1%} of {len(old)}"
        yield f"superseded values without their successor: {self.stale}"
        yield (
            f"maintain(): {statistics.fmean(self.maintained):.3f} s a day, at most {max(self.maintained):.3f} s, "
            f"the last tenth {statistics.fmean(self.maintained[-(self.days // 10 or 1) :]):.3f} s (CPU)"
        )
        yield f"maintain() of each {_PART} days: {_tell_parts(self.maintained, _PART, 's')} (CPU)"
        yield f"pack: {_mean(first) * 1e3:.1f} ms in the first tenth, {_mean(last) * 1e3:.1f} ms in the last (CPU)"
        packed = [1e3 * each for each in self.packed]
        yield f"pack of each {_PART} days: {_tell_parts(packed, _QUESTIONS_A_DAY * _PART, 'ms')} (CPU)"
        for name, sizes in (("semantic", self.semantic), ("episodic", self.episodic)):
            told = ", ".join(f"{user} {items:,} items {tokens:,} tokens" for user, (items, tokens) in sizes.items())
            yield f"{name}: {told}"
        yield f"store: {self.bytes / 1e6:.1f} MB; skills: {len(self.skills)}"
        yield f"changed by jobs: {self.jobs}; errors: {self.errors or 'none'}"
        yield f"left after erasure: {self.left}"


def _tell_parts(numbers: Sequence[float], size: int, unit: str) -> str:
    """The mean of each so many numbers."""
    means = (_mean(numbers[begin : begin + size]) for begin in range(0, len(numbers), size))
    return ", ".join(f"{mean:.3f}" if unit == "s" else f"{mean:.1f}" for mean in means) + f" {unit}"


def _mean(numbers: Sequence[float]) -> float:
    return statistics.fmean(numbers) if numbers else 0.0


class Year:
    """An agent's life, day by day.

    Args:
        url: Of an empty store.
    """

    def __init__(self, url: str, days: int, *, seed: int = 0, sessions: int = 10) -> None:
        self.url = url
        self.days = days
        self.now = _BEGIN
        self.report = Report(days)
        self.facts: list[Planted] = []
        self._sessions = sessions
        self._chance = random.Random(seed)
        self._words: set[str] = set()
        self._sessions_of: dict[str, list[str]] = {user: [f"ask-{user}"] for user in _USERS}
        self._planted_at: dict[int, float] = {}
        self._names = count()
        self.memory = wmem.open(url, agent_id="assistant", clock=lambda: self.now)
        self._policies = {user: wmem.Policy.session(long_term=[("users", user)]) for user in _USERS}

    def run(self) -> Report:
        """Live all days, then measure and erase."""
        self.live()
        self._measure()
        self._erase()
        return self.report

    def live(self) -> None:
        """Live all days."""
        for day in range(self.days):
            self.now = max(self.now, _BEGIN + day * DAY_S + 8 * 3_600)
            for _ in range(self._sessions):
                self._live_session(f"day-{day}-{next(self._names)}", self._chance.choice(_USERS))
            for _ in range(_QUESTIONS_A_DAY):
                self._ask()
            self._maintain()

    # -- a day

    def _live_session(self, name: str, user: str) -> None:
        session = self.memory.scope(name, policy=self._policies[user])
        self._sessions_of[user].append(name)
        self.now += self._chance.uniform(300, 1_800)
        planted = self._chance.sample(range(_MESSAGES // 4), _FACTS_A_SESSION)
        works = self._chance.random() < 0.3
        for number in range(_MESSAGES // 4):
            with self.memory.turn(name, policy=self._policies[user]) as turn:
                said = [self._chat(_CHAT), self._chat(_ANSWERS), self._chat(_CHAT), self._chat(_ANSWERS)]
                if number in planted:
                    said[0] = self._plant(turn, session, user)
                self.now += self._chance.uniform(5, 60)
                roles = ("user", "assistant") * 2
                session.messages.append(
                    [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
                )
                if works and number == 0:
                    self._work(turn)
        self.report.messages += _MESSAGES
        self.memory.types.session(name, policy=self._policies[user])["conversation"].close()

    def _plant(self, turn: wmem.Turn, session: wmem.Scope, user: str) -> str:
        """Plant a fact, say one again, or contradict one; returns what the user says."""
        drawn = self._chance.random()
        own = [number for number, fact in enumerate(self.facts) if fact.user == user] if drawn < 0.11 else []
        if own and drawn < _CONTRADICTED:
            number = self._chance.choice(own)
            fact = self.facts[number]
            fact.values.append(self._make_word())
            self._planted_at[number] = self.now
            text = fact.state()
        elif own and drawn < _CONTRADICTED + _REPEATED:
            fact = self.facts[self._chance.choice(own)]
            text = fact.state(again=self._chance.random() < 0.5)
        else:
            fact = Planted(user, self._make_word().title(), self._chance.choice(_ATTRIBUTES), [self._make_word()])
            self._planted_at[len(self.facts)] = self.now
            self.facts.append(fact)
            text = fact.state()
        self.report.facts += 1
        if self._chance.random() < 0.5:
            turn.memorize({"content": text, "type": "fact"})
        else:
            item = session.items.add(text, type="fact", priority="high")
            session.items.promote(item.id)
        return text

    def _work(self, turn: wmem.Turn) -> None:
        """Call tools as one of the flows does, now and then with a failure."""
        thing = f"x{self._chance.randrange(10**6)}"
        for tool in self._chance.choice(_FLOWS):
            if self._chance.random() < 0.05:
                turn.track_tool_invocation(tool, {"thing_id": thing}, None, "timed out")
            turn.track_tool_invocation(tool, {"thing_id": thing}, f'{{"thing_id": "{thing}"}}')

    def _ask(self) -> None:
        number = self._chance.randrange(len(self.facts))
        fact = self.facts[number]
        self.now += 30
        session = self.memory.scope(f"ask-{fact.user}", policy=self._policies[fact.user])
        begin = time.process_time()
        context = session.pack(fact.question, budget=_BUDGET)
        self.report.packed.append(time.process_time() - begin)
        prompt = context.note or ""
        found = fact.values[-1] in prompt
        stale = not found and any(value in prompt for value in fact.values[:-1])
        self.report.asked.append(_Asked((self.now - self._planted_at[number]) / DAY_S, found, stale))

    def _maintain(self) -> None:
        self.now += 3_600
        begin = time.process_time()
        done = self.memory.maintain()
        self.report.maintained.append(time.process_time() - begin)
        for name, job in done.jobs.items():
            self.report.jobs[name] = self.report.jobs.get(name, 0) + job.changed
            self.report.errors += [f"{name}: {job.error}"] if job.error else []

    # -- words

    def _chat(self, templates: Sequence[str]) -> str:
        return self._chance.choice(templates).format(*self._chance.sample(_THINGS, 2))

    def _make_word(self) -> str:
        """A word that was not there before."""
        while (word := "".join(self._chance.choices(_SYLLABLES, k=4))) in self._words:
            pass
        self._words.add(word)
        return word

    # -- the end

    def _measure(self) -> None:
        for user in _USERS:
            for name, sizes in (("semantic", self.report.semantic), ("episodic", self.report.episodic)):
                capacity = self._type_of(user, name).capacity()
                sizes[user] = capacity.items, capacity.tokens
            found = self._type_of(user, "semantic").scope.items.all()
            self.report.skills += [each.content for each in found if each.type == "skill"]
        self.report.bytes = self._count_bytes()

    def _type_of(self, user: str, name: str) -> Any:
        return self.memory.types.session(f"ask-{user}", policy=self._policies[user])[name]

    def _count_bytes(self) -> int:
        return 0 if self.url.startswith("memory:") else len(read_store_bytes(self.url))

    def _erase(self) -> None:
        """Erase one user with all sessions, then the agent."""
        user = _USERS[0]
        self.memory.scope("users", user).dispose()
        for name in self._sessions_of[user]:
            self.memory.scope(name, policy=self._policies[user]).dispose()
        self.memory.maintain()  # it writes a large file anew
        self.report.left[user] = self._count_left([fact for fact in self.facts if fact.user == user])
        self.memory.erase_all()
        self.report.left["all"] = self._count_left(self.facts)
        self.memory.close()

    def _count_left(self, facts: Sequence[Planted]) -> int:
        # Every run of letters once: to search all bytes for each value would take longer than the year.
        held = b" ".join(set(re.findall(rb"[A-Za-z]{4,}", read_store_bytes(self.url))))
        return sum(value.encode() in held for fact in facts for value in fact.values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; returns 1 if a promise does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", help="of an empty store; by default a file that is removed at the end")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        url = options.url or f"sqlite://{Path(place) / 'year.db'}"
        report = Year(url, options.days, seed=options.seed).run()
    for line in report.lines():
        print(line)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process: {peak:.0f} MB")
    print(f"took {time.perf_counter() - begin:.0f} s")
    broken = report.found < _LEAST_FOUND or report.stale or report.errors or any(report.left.values())
    return int(bool(broken) or max(report.maintained) > 1)


if __name__ == "__main__":
    sys.exit(main())
