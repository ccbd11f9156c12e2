"""The journal in memory lists what is asked of it, whatever came and went before."""

import sys
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from wmem.journal.memory import MemoryJournal
from wmem.journal.port import new_record_id
from wmem.model.history import Path

PATHS = st.lists(st.sampled_from("ab"), max_size=4).map(tuple)
STEPS = st.lists(st.tuples(st.booleans(), PATHS.filter(bool), PATHS), max_size=40)


def _made() -> MemoryJournal[bytes]:
    return MemoryJournal(len)


def _append(journal: MemoryJournal[bytes], path: Path) -> None:
    journal.append(path, new_record_id(), b"", None, None)


@given(steps=STEPS)
def test_the_paths_below_a_prefix_are_those_appended_to_and_not_deleted(
    steps: list[tuple[bool, Path, Path]],
) -> None:
    journal, there = _made(), set[Path]()
    for appends, path, prefix in steps:
        if appends:
            _append(journal, path)
            there.add(path)
        else:
            journal.delete(path, None)
            there = {each for each in there if each[: len(path)] != path}
        listed = list(journal.paths(prefix))
        assert len(listed) == len(set(listed))
        assert set(listed) == {each for each in there if each[: len(prefix)] == prefix}
    journal.delete((), None)
    assert list(journal.paths(())) == []


def _calls(act: Callable[[], object]) -> int:
    """How many functions run, Python's own included."""
    count = 0

    def seen(_frame: object, event: str, _of: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def test_nothing_is_paid_for_the_scopes_of_others() -> None:
    journal = _made()
    for number in range(10):
        _append(journal, ("agent", "session", f"{number}"))
    alone = len(list(journal.paths(("agent", "session")))), _calls(lambda: journal.paths(("agent", "session")))
    for number in range(1_000):
        _append(journal, ("agent", f"other-{number}", "child"))
    assert (10, _calls(lambda: journal.paths(("agent", "session")))) == alone
