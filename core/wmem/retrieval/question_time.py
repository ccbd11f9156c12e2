"""Which time a question asks for: the dates that it names, or the past; and what it may find that does not hold now."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from wmem.analysis.dates import PartialDate, parse_dates
from wmem.fork import cached_property
from wmem.model.row import Row
from wmem.rules.updates import asks_for_past
from wmem.rules.validity import Validity, find_successor, find_validity

_END_CHARS = 500  # of a long question either end is read: what lies between was pasted
_DECEMBER = 12
_FEBRUARY = 2
_LAST_SURE_DAY = 28


class QuestionTime:
    """The time that a question asks for, read when it matters.

    Args:
        now: UTC epoch seconds.
        zone: In which the days of the question are counted.
    """

    def __init__(self, text: str, now: float, zone: tzinfo) -> None:
        self.now = now
        self._text = f"{text[:_END_CHARS]} {text[-_END_CHARS:]}" if len(text) > 2 * _END_CHARS else text
        self._zone = zone

    @cached_property
    def spans(self) -> Sequence[Validity]:
        """The dates that it names, as ranges of time."""
        dates = parse_dates(self._text, self.now, self._zone)
        return [span for each in dates if (span := _to_span(each, self.now, self._zone)) is not None]

    @cached_property
    def asks_for_past(self) -> bool:
        """See `wmem.rules.updates.asks_for_past`."""
        return asks_for_past(self._text)

    def prefers_older(self, older_at: float, newer_at: float) -> bool:
        """Whether it asks for the older of two statements, by when they were made: it held then, or before."""
        if self.spans:
            return older_at < max(span.end for span in self.spans) <= newer_at
        return self.asks_for_past

    def accepts(self, row: Row) -> bool:
        """Whether what a row says may be an answer: it holds now, or then; or the newer item comes with it."""
        if row.rest is None or b'"valid_' not in row.rest:
            return True
        validity = find_validity(row)
        if validity.includes(self.now) or any(validity.overlaps(span) for span in self.spans):
            return True
        if validity.end > self.now:
            return False
        return (not self.spans and self.asks_for_past) or find_successor(row) is not None

    def accepts_alone(self, row: Row, rows: Mapping[str, Row]) -> bool:
        """As `accepts`, where no newer item comes with it: one that was superseded holds only if that one is gone.

        Args:
            rows: Of its scope, by id.
        """
        return self.accepts(row) and (find_needed(row, rows, self.now) is None or self.asks_for_past)

    def is_ahead(self, row: Row) -> bool:
        """Whether a row tells of a time to come that is not asked for."""
        if row.rest is None or b'"valid_' not in row.rest:
            return False
        validity = find_validity(row)
        return validity.start > self.now and not any(validity.overlaps(span) for span in self.spans)


def find_needed(row: Row, rows: Mapping[str, Row], now: float) -> str | None:
    """The id of the item without which a row is not shown: the newer one that maintenance marked it by, if visible."""
    successor = find_successor(row)
    newer = None if successor is None else rows.get(successor)
    return successor if newer is not None and newer.visible(now) and not find_validity(row).includes(now) else None


def _to_span(named: PartialDate, now: float, zone: tzinfo) -> Validity | None:
    """A date as a range of time; one without a year is the last time that it was."""
    try:
        today = datetime.fromtimestamp(now, zone).date()
        year = named.year or today.year
        first = date(
            year, named.month or 1, min(named.day or 1, _LAST_SURE_DAY) if named.month == _FEBRUARY else named.day or 1
        )
        if named.year is None and first > today:
            first = first.replace(year=year - 1)
        if named.day is not None:
            after = first + timedelta(days=1)
        elif named.month is not None and named.month < _DECEMBER:
            after = first.replace(month=named.month + 1)
        else:
            after = date(first.year + 1, 1, 1)
        begin, end = (datetime.combine(day, time(), zone).astimezone(UTC).timestamp() for day in (first, after))
        return Validity(begin, end)
    except (ValueError, OverflowError, OSError):
        return None
