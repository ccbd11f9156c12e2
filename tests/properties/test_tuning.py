"""What a trace of used and unused units proposes moves recall its way, for questions that nobody asked before too."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem import RecallProfile, RecallUse, propose_profile

NOW = 1_700_000_000.0
DAY = 86_400.0
PARTS = ("bm25", "near", "session", "vector", "recency", "importance", "duplication")
README = Path(__file__).parents[2] / "README.md"
BUDGET = 220  # about five notes of the twelve on a topic
ASKED = range(12)
"""Topics whose questions were asked, and told what answers use; of the others nobody knows."""
HELD_OUT = range(12, 24)
uses = st.builds(RecallUse, st.dictionaries(st.sampled_from(PARTS), st.floats(0, 1)), st.booleans())


class Note(NamedTuple):
    """One of twelve notes on a topic, three of which answers make use of."""

    id: str
    used: bool
    text: str
    age_s: float
    importance: float


def notes(rule: str, seed: int) -> Iterator[Note]:
    """Notes of which the recent or the important ones are used; what is not used repeats the word asked for more."""
    chance = random.Random(f"{rule} {seed}")
    words = [f"word{number}" for number in range(400)]
    for topic in (*ASKED, *HELD_OUT):
        for number in range(12):
            used = number < 3
            days = chance.uniform(0, 60)
            weight = chance.random()
            if rule == "recent":
                days = chance.uniform(0, 10) if used else chance.uniform(20, 60)
            else:
                weight = chance.uniform(0.7, 1) if used else chance.uniform(0, 0.4)
            told = [f"topic{topic}"] * (1 if used else chance.randint(2, 5)) + chance.sample(words, 8)
            yield Note(f"{topic}-{number}", used, " ".join(told), days * DAY, weight)


class World:
    """A scope of such notes, and what answers use of them."""

    def __init__(self, scope: wmem.Scope, made: Iterable[Note]) -> None:
        self.scope = scope
        self.made = list(made)
        told = [
            {
                "id": note.id,
                "content": note.text,
                "created_at": NOW - note.age_s,
                "updated_at": NOW - note.age_s,
                "importance": note.importance,
                "type": "fact",
            }
            for note in self.made
        ]
        scope.import_({"format": "wmem-scope", "version": 1, "memories": told})

    def used(self, topic: int) -> set[str]:
        """What the answers to a topic's question use."""
        return {note.id for note in self.made if note.used and note.id.startswith(f"{topic}-")}

    def recall(self, topics: Iterable[int]) -> float:
        """The share of what answers use that is in the packs for these questions, by its own profile."""
        there = wanted = 0
        for topic in topics:
            used = self.used(topic)
            held = {unit.ids[0] for unit in self.scope.pack(f"topic{topic}", budget=BUDGET).included if unit.ids}
            there, wanted = there + len(held & used), wanted + len(used)
        return there / wanted

    def trace(self) -> list[RecallUse]:
        """What the packs for the questions that were asked held, and whether it was used."""
        told: list[RecallUse] = []
        for topic in ASKED:
            told += self.scope.pack(f"topic{topic}", budget=BUDGET).uses(self.used(topic))
        return told


@pytest.fixture
def session() -> Iterator[wmem.Scope]:
    with wmem.open("memory://", agent_id="agent", clock=lambda: NOW, counter=wmem.EstimateCounter()) as memory:
        yield memory.scope("session")


@given(trace=st.lists(uses, max_size=30))
def test_a_proposal_at_most_doubles_or_halves_and_is_the_same_every_time(trace: list[RecallUse]) -> None:
    profile = RecallProfile.balanced()
    proposed = propose_profile(trace, profile)
    assert proposed == propose_profile(list(reversed(trace)), profile)
    for name in ("similarity", "recency", "importance", "duplication"):
        before, after = getattr(profile, name), getattr(proposed, name)
        assert before / 2 <= after <= before * 2


def test_little_use_proposes_nothing() -> None:
    few = [RecallUse({"recency": 1.0}, used=True)] * 4 + [RecallUse({"bm25": 1.0}, used=False)] * 99
    assert propose_profile(few, RecallProfile.balanced()) == RecallProfile.balanced()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rule", "coefficient"), [("recent", "recency"), ("important", "importance")])
def test_what_was_used_for_some_questions_finds_more_of_what_others_need(
    session: wmem.Scope, rule: str, coefficient: str, seed: int
) -> None:
    world = World(session, notes(rule, seed))
    session.use_profile("balanced")
    before = world.recall(HELD_OUT)
    for _ in range(2):
        session.use_profile(propose_profile(world.trace(), session.policy.recall))
    assert before < 0.8
    assert world.recall(HELD_OUT) > 0.9
    moved = {
        name: getattr(session.policy.recall_profile, name) / getattr(RecallProfile.balanced(), name)
        for name in _weights()
    }
    assert max(moved, key=moved.__getitem__) == coefficient


def test_what_the_readme_shows_finds_more_of_what_other_questions_need(session: wmem.Scope) -> None:
    shown = (
        README.read_text("utf-8").partition("### Weighing recall")[2].partition("```python\n")[2].partition("```")[0]
    )
    world = World(session, notes("important", 0))
    session.use_profile("balanced")
    before = world.recall(HELD_OUT)
    asked = [(f"topic{topic}", world.used(topic)) for topic in ASKED]
    exec(shown, {"wmem": wmem, "session": session, "asked": asked, "budget": BUDGET})  # it is the project's own
    assert session.policy.recall_profile.name == "balanced, tuned"
    assert world.recall(HELD_OUT) > before + 0.2


def test_use_that_follows_another_rule_than_the_question_needs_does_not_help_it(session: wmem.Scope) -> None:
    """A control: what moves recall is which units were used, not that something was proposed."""
    world = World(session, notes("recent", 0))
    session.use_profile("balanced")
    before = world.recall(HELD_OUT)
    upside_down = [RecallUse(use.parts, not use.used) for use in world.trace()]
    session.use_profile(propose_profile(upside_down, session.policy.recall))
    assert world.recall(HELD_OUT) < before


def test_a_proposal_is_named_once_however_often_it_is_made() -> None:
    trace = [RecallUse({"bm25": 1.0}, used=True)] * 5 + [RecallUse({"recency": 1.0}, used=False)] * 5
    once = propose_profile(trace, "balanced")
    assert once.name == propose_profile(trace, once).name == "balanced, tuned"
    assert once == propose_profile(trace, RecallProfile.balanced())
    with pytest.raises(wmem.InvalidInputError, match="balanced"):
        propose_profile(trace, "best")  # type: ignore[arg-type]  # what is refused


def test_uses_tell_of_what_recall_alone_brought_in_and_of_no_more(session: wmem.Scope) -> None:
    session.items.add("the lake is pinned", pinned=True)
    kept = session.items.add("the lake was cold", type="fact")
    other = session.items.add("the lake was deep, " + "and so on and on " * 200, type="fact")
    session.messages.append({"role": "user", "content": "the lake, just now", "id": "recent"})
    session.messages.append({"role": "user", "content": "what of the lake?", "id": "newest"})
    context = session.pack("what of the lake?", budget=200)
    placed = {id: unit for unit in context.explain(all=True).units for id in unit.ids}
    assert placed[other.id].fate == "truncated"
    assert placed["recent"].score is not None
    both = context.uses(iter([kept.id, "recent", "unknown"]))
    assert len(both) == 2
    assert {use.used: use.parts for use in both} == {True: placed[kept.id].parts, False: placed[other.id].parts}
    assert not any(use.used for use in context.uses([]))
    assert session.pack(budget=200).uses([kept.id]) == []
    tight = session.pack("what of the lake?", budget=75)
    assert len(tight.uses([])) < 2, "what has no room cannot have been used"
    with pytest.raises(wmem.InvalidInputError, match="several"):
        context.uses(kept.id)


def _weights() -> tuple[str, ...]:
    return ("similarity", "recency", "importance", "duplication")
