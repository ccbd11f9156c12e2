"""The local journals' one decision on an append: who may write, and what a refused writer is told."""

from hypothesis import given
from hypothesis import strategies as st

from wmem.journal.head import Head, decide_append, refuse_append
from wmem.journal.port import MISSED_MAX, Tail
from wmem.model.history import ORIGIN, Cursor, Incarnation

CHAINS = st.integers(1, 3)
CURSORS = st.builds(Cursor, st.integers(1, 2 * MISSED_MAX), CHAINS)
INCARNATIONS = st.builds(Incarnation, CHAINS)
HEADS = st.builds(Head, CURSORS, st.just(ORIGIN), INCARNATIONS, st.integers(0, 9))
JOURNALS = st.none() | HEADS
EXPECTED = st.just(ORIGIN) | CURSORS | INCARNATIONS


@given(JOURNALS)
def test_a_writer_that_expects_nothing_is_never_refused(journal: Head | None) -> None:
    assert decide_append(journal, None) == (True, None)


@given(HEADS, EXPECTED)
def test_a_writer_is_accepted_at_the_head_or_in_the_incarnation_it_expects_and_nowhere_else(
    journal: Head, expected: Cursor | Incarnation
) -> None:
    accepted, _ = decide_append(journal, expected)
    assert accepted == (expected == (journal.head if isinstance(expected, Cursor) else journal.incarnation))


@given(EXPECTED)
def test_without_a_journal_only_a_writer_that_expects_none_is_accepted(expected: Cursor | Incarnation) -> None:
    assert decide_append(None, expected)[0] == (expected == ORIGIN)


@given(JOURNALS, EXPECTED)
def test_a_refused_writer_gets_what_it_missed_if_it_named_a_cursor_not_too_far_back(
    journal: Head | None, expected: Cursor | Incarnation
) -> None:
    accepted, missed_after = decide_append(journal, expected)
    newest = journal.head.version if journal else 0
    few = isinstance(expected, Cursor) and newest - expected.version <= MISSED_MAX
    assert missed_after == (expected if few and not accepted else None)


@given(JOURNALS, st.none() | st.binary())
def test_a_refusal_says_what_the_journal_is_and_brings_no_snapshot(
    journal: Head | None, snapshot: bytes | None
) -> None:
    head, incarnation = (journal.head, journal.incarnation) if journal else (ORIGIN, None)
    tail = Tail(snapshot is None, ORIGIN, snapshot, (), head, incarnation)
    refused = refuse_append(journal, tail)
    assert (refused.cursor, refused.previous, refused.incarnation) == (None, head, incarnation)
    assert refused.tail_bytes == (journal.tail_bytes if journal else 0)
    assert refused.missed == (tail if snapshot is None else None)
