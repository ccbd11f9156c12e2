"""What a trace of used and unused units proposes moves recall its way."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem import Use, propose_profile

NOW = 1_700_000_000.0
DAY = 86_400.0
PARTS = ("bm25", "near", "session", "vector", "recency", "importance", "duplication")
uses = st.builds(Use, st.dictionaries(st.sampled_from(PARTS), st.floats(0, 1)), st.booleans())


@pytest.fixture
def session() -> Iterator[wmem.Scope]:
    with wmem.open("memory://", agent_id="agent", clock=lambda: NOW) as memory:
        yield memory.scope("session")


@given(trace=st.lists(uses, max_size=30))
def test_a_proposal_at_most_doubles_or_halves_and_is_the_same_every_time(trace: list[Use]) -> None:
    profile = wmem.Recall.balanced()
    proposed = propose_profile(trace, profile)
    assert proposed == propose_profile(list(reversed(trace)), profile)
    for name in ("similarity", "recency", "importance", "duplication"):
        before, after = getattr(profile, name), getattr(proposed, name)
        assert before / 2 <= after <= before * 2


def test_little_use_proposes_nothing() -> None:
    few = [Use({"recency": 1.0}, used=True)] * 4 + [Use({"bm25": 1.0}, used=False)] * 99
    assert propose_profile(few, wmem.Recall.balanced()) == wmem.Recall.balanced()


def test_a_proposal_moves_recall(session: wmem.Scope) -> None:
    """Recent notes were used and older ones that match better were not: next, the recent ones come first."""
    for number in range(30):
        session.messages.append(
            {
                "role": "user",
                "content": "the lake " * (4 if number < 15 else 1) + f"and what else was seen on day {number}",
                "created_at": NOW - (40 - number) * DAY,
                "id": f"m{number}",
            }
        )
    recent = {f"m{number}" for number in range(15, 30)}

    def share(profile: wmem.Recall) -> tuple[float, list[Use]]:
        packed = session.pack("lake", budget=400, scoring=profile)
        told = [unit for unit in packed.explain(all=True).units if unit.score is not None]
        best = sorted(told, key=lambda unit: -(unit.score or 0))[:10]
        return sum(unit.ids[0] in recent for unit in best), [Use(unit.parts, unit.ids[0] in recent) for unit in told]

    profile = wmem.Recall.balanced()
    first, trace = share(profile)
    for _ in range(6):
        profile = propose_profile(trace, profile)
        last, trace = share(profile)
    assert first < last
    assert profile.recency > wmem.Recall.balanced().recency
