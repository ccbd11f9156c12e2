"""What a prompt holds within one limit of tokens, as it grows: units, the note, and what was left out.

Whatever is included is paid here, out of one count of tokens.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wmem.fork import cached_property
from wmem.pack.loader import MessageLoader
from wmem.pack.provider_order import is_blank
from wmem.pack.render import NoteEntry, NotePricer
from wmem.pack.request import Candidate, PackRequest, RecalledCandidate, Rendered
from wmem.pack.units import ConversationReader, Unit

if TYPE_CHECKING:
    from wmem.pack.standing import StandingEntry
    from wmem.pack.summary import ExtractiveSummary


class SelectedUnit(NamedTuple):
    """A unit that is included, the rule that included it, and how it is sent."""

    unit: Unit
    rule: str
    rendered: Rendered


class Selection:
    """What is included within `room` tokens, and what of them is left."""

    def __init__(
        self,
        request: PackRequest,
        conversation: ConversationReader,
        loader: MessageLoader,
        pinned: Sequence[SelectedUnit],
        room: int,
    ) -> None:
        self.request = request
        self.options = request.options
        self.rules = request.options.rules
        self.room = room
        self.pinned = pinned
        self.conversation = conversation
        self.loader = loader
        self.pricer = NotePricer(request.options.note_role, request.count, request.zone)
        self.tokens_left = room
        self.selected: dict[Unit, SelectedUnit] = {}
        self.note_entries: dict[str, NoteEntry] = {}
        self.days: dict[str, int] = {}
        """Entries of the note under each day heading."""
        self.standing: Sequence[StandingEntry] = ()
        """Standing requests in the note, oldest first."""
        self.standing_section = ""
        self.standing_tokens = 0
        self.rejected_requests: list[tuple[Candidate, str]] = []
        self.summary: ExtractiveSummary | None = None
        self.messages_uncovered = 0
        """Messages left out that are older than those the summary covers."""
        self.dropped: dict[Unit, str] = {}
        self.rejected: list[tuple[RecalledCandidate, str]] = []

    # --- what could be included

    @cached_property
    def tokens_beside_pins(self) -> int | None:
        """Tokens of the conversation without its pinned messages; None if unknown."""
        whole = self.request.conversation_tokens
        return None if whole is None else whole - sum([each.rendered.tokens for each in self.pinned])

    def is_paired(self, unit: Unit) -> bool:
        """Whether every call has a result or gets a synthetic one; else the unit is dropped as an orphan."""
        if unit.missing and self.options.orphans == "drop":
            self.dropped[unit] = "orphan"
        return not self.dropped or unit not in self.dropped

    def is_sendable(self, unit: Unit) -> bool:
        """Whether the message is no echo of a note and the provider accepts it; decodes it."""
        return self.render_sendable(unit) is not None

    def render_sendable(self, unit: Unit) -> Rendered | None:
        """The unit whole; None if its message is an echo of a note or the provider does not accept it."""
        if (plain := unit.members[0].plain) is not None:
            return None if unit in self.dropped else plain
        if len(unit.members) > 1 or unit.missing:
            return self.loader.render(unit)
        message = self.loader.load(unit.head)
        if message.recalled:
            self.dropped[unit] = "echo"
        elif (not self.rules.blank or unit.head.id in self.request.changed_blocks) and is_blank(message):
            self.dropped[unit] = "empty"
        if self.dropped and unit in self.dropped:
            return None
        return Rendered((message,), unit.tokens)

    def iter_left_out(self) -> Iterator[Unit]:
        """What could be sent but is not, newest first."""
        for unit in self.conversation:
            if unit not in self.selected and (self.is_paired(unit) or self.dropped[unit] in ("budget", "in-flight")):
                yield unit

    # --- units

    def add(self, unit: Unit, rule: str, rendered: Rendered) -> None:
        """Include the unit."""
        self.selected[unit] = SelectedUnit(unit, rule, rendered)
        self.tokens_left -= rendered.tokens

    def replace(self, unit: Unit, rendered: Rendered) -> None:
        """Send an included unit otherwise."""
        before = self.selected[unit]
        self.selected[unit] = before._replace(rendered=rendered)
        self.tokens_left -= rendered.tokens - before.rendered.tokens

    # --- the note

    @property
    def all_note_entries(self) -> list[NoteEntry]:
        """Everything in the note, the summary first."""
        return [*([self.summary.entry] if self.summary else ()), *self.note_entries.values()]

    def price_entry(self, entry: NoteEntry) -> int:
        """Tokens that the note takes more with a further entry."""
        return self.pricer.price(entry.quote, self.days)

    def add_to_note(self, entry: NoteEntry, price: int | None = None) -> None:
        """Put a memory into the note; its price is what `price_entry` says, if it is known."""
        self.tokens_left -= self.price_entry(entry) if price is None else price
        self.note_entries[entry.candidate.id] = entry
        self.days[entry.quote.day] = self.days.get(entry.quote.day, 0) + 1

    def replace_in_note(self, entry: NoteEntry) -> None:
        """Tell a memory of the note otherwise."""
        self.tokens_left -= entry.tokens - self.note_entries[entry.candidate.id].tokens
        self.note_entries[entry.candidate.id] = entry

    def remove_from_note(self, entry: NoteEntry) -> None:
        """Take a memory out of the note."""
        del self.note_entries[entry.candidate.id]
        self.days[entry.quote.day] -= 1
        if not self.days[entry.quote.day]:
            del self.days[entry.quote.day]
        self.tokens_left += self.price_entry(entry)

    def set_summary(self, summary: "ExtractiveSummary") -> None:
        """Put a summary before the entries of the note."""
        self.tokens_left -= self.price_entry(summary.entry)
        self.summary = summary

    def set_requests(self, entries: "Sequence[StandingEntry]", section: str, tokens: int) -> None:
        """Replace the section of standing requests, which takes so many tokens."""
        self.tokens_left += self.standing_tokens - tokens
        self.standing, self.standing_section, self.standing_tokens = entries, section, tokens
