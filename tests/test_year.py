"""A fortnight of the simulated year: memory keeps what was planted, stays small, and leaves nothing once erased."""

from pathlib import Path

import pytest

from tests.bench.year import Year


@pytest.mark.slow
def test_a_fortnight_keeps_every_fact_tells_no_old_value_alone_and_leaves_nothing_when_erased(tmp_path: Path) -> None:
    report = Year(f"sqlite://{tmp_path / 'year.db'}", 14, sessions=4).run()
    assert report.messages == 14 * 4 * 40
    assert report.found >= 0.95
    assert report.stale == 0
    assert report.errors == []
    assert report.skills
    assert set(report.left.values()) == {0}


def test_the_same_seed_makes_the_same_days() -> None:
    days = [Year("memory://", 2, seed=5, sessions=2) for _ in range(2)]
    for year in days:
        year.live()
        year.memory.close()
    assert days[0].facts == days[1].facts
    assert days[0].report.jobs == days[1].report.jobs
    assert days[0].report.asked == days[1].report.asked
