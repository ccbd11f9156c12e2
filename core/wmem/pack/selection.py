"""What a prompt holds, in order: pinned, newest user message, exchange in flight, tail, requests, recalled, summary.

Room that is left goes to the tail again. The tail is contiguous: a reader expects no silent gap. A
unit that fits is taken whole; one above a quarter of the budget that does not fit is truncated to
half of what is left, so that it does not hide older messages; any other is truncated to what is
left, if that is worth it, and ends the tail.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from wmem.errors import BudgetError
from wmem.fork import cached_property
from wmem.model.alternation import SYSTEM_ROLES
from wmem.pack.budget_errors import list_sizes
from wmem.pack.loader import MessageLoader
from wmem.pack.provider_order import is_blank
from wmem.pack.render import NoteEntry, NotePricer, normalize_text, to_note_entry, to_quote
from wmem.pack.repeats import Repeats, repeat_entry
from wmem.pack.request import Candidate, PackRequest, RecalledCandidate, Rendered
from wmem.pack.shares import Shares, divide_room
from wmem.pack.stable_prefix import StablePrefix, longest_history
from wmem.pack.standing import (
    StandingEntry,
    add_standing_requests,
    estimate_request_tokens,
    remove_repeated_requests,
    request_share,
)
from wmem.pack.summary import MAX_COVERED_MESSAGES, ExtractiveSummary, summarize
from wmem.pack.units import ConversationReader, Unit
from wmem.pack.wording import message_text
from wmem.tokens.counter import MESSAGE_OVERHEAD

LOOK_BACK = 2_000
"""Messages read to find the newest user message."""
_UNKNOWN_TOKENS = 2**62
_EXCHANGE_LOOK_BACK = 256  # further messages read to complete a tool exchange that a user interrupted

_WORTH_DIVISOR = 16  # the budget divided by this is the least room in which a truncated message is worth including
_WORTH_TOKENS = 64  # and this in any budget
_LEAST_QUOTE_TOKENS = 12  # of a quote that is worth a look at what is left out
_SHORT_TOKENS = 256  # tokens up to which a recalled memory is quoted whole if it fits in a quarter of the budget


class SelectedUnit(NamedTuple):
    """A unit that is included, the rule that included it, and how it is sent."""

    unit: Unit
    rule: str
    rendered: Rendered


class Selection:
    """What is included within one token limit, as it grows."""

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
        self.tokens_left = room
        self.pricer = NotePricer(request.options.note_role, request.count, request.zone)
        self.selected: dict[Unit, SelectedUnit] = {}
        self.note_entries: dict[str, NoteEntry] = {}
        self.standing: Sequence[StandingEntry] = ()
        """Standing requests in the note, oldest first."""
        self.standing_section = ""
        self.standing_tokens = 0
        self.rejected_requests: list[tuple[Candidate, str]] = []
        self.summary: ExtractiveSummary | None = None
        self.messages_uncovered = 0
        """Messages left out that are older than those the summary covers."""
        self.dropped: dict[Unit, str] = {}
        self._truncated_tail: list[Unit] = []
        self._first_left = 0  # how many units of the conversation, from its newest, the tail has dealt with
        self.rejected: list[tuple[RecalledCandidate, str]] = []

    def fill(self, prefix: StablePrefix | None) -> None:
        """Select messages and recalled memories within the room, beside the pinned units.

        Args:
            prefix: Start points of a prompt whose prefix is to stay stable; None to take what fits.

        Raises:
            BudgetError: Not even the newest message fits.
        """
        self.add_pinned_items()
        room = self.tokens_left
        shares = self._divide_room(room)
        all_units = self._list_all_if_it_fits()
        whole = all_units is not None
        self.add_required(self.tokens_left if whole else None)
        summary = min(self.options.summary_tokens, max(self.tokens_left, 0))
        if all_units is not None:
            self._add_all(all_units)
        elif prefix is not None:
            add_standing_requests(self)
            self.add_stable_prefix(prefix)
            self.add_tail(max(room - int(room * self.options.tail), summary), prefix)
        else:
            self.add_tail(max(room - shares.tail, summary))
        reserved, least = self.add_recent()
        if prefix is None and not whole:
            # Requests take their room from the newest messages rather than from what was recalled.
            reserved = max(least, reserved - add_standing_requests(self))
        summary = min(summary, self.tokens_left)
        left = self.tokens_left - summary - (reserved if prefix is None else 0)
        note_left = self.add_recalled(left if whole else min(left, shares.note))
        divided = prefix is None and not whole and bool(shares.tail and shares.note)
        if prefix is None:
            if divided:
                self.add_unquoted_recent(max(self._tail_left(shares), reserved))
            free = self.tokens_left - self._tail_left(shares) if divided else 0
            self.expand_tail(reserved=max(free, summary))
            self.fill_by_recency(reserved=max(free, summary), divided=divided)
            self.remove_duplicate_quotes()
        if divided:
            self.expand_passages(min(note_left, self.tokens_left - summary))
            self.quote_older(self.tokens_left - self._tail_left(shares) - summary, shares.note)
        if summary:
            (self.add_all_or_summary if prefix is None else self.add_summary)(summary)
        remove_repeated_requests(self)
        if not divided:
            # What is left over is spent on passages; with a tail the note keeps to its share.
            less = whole or not self.options.tail
            self.expand_passages(self.tokens_left if less else min(note_left, self.tokens_left))

    @cached_property
    def _query_terms(self) -> tuple[str, ...]:
        """Terms of the query, to quote passages of long memories; none when nothing was recalled."""
        return tuple(self.request.analyzer.to_terms(self.request.query)) if self.request.recalled else ()

    @cached_property
    def _ids_of_hits(self) -> frozenset[str]:
        return frozenset([each.candidate.id for each in self.request.recalled])

    @property
    def all_note_entries(self) -> list[NoteEntry]:
        """Everything in the note, the summary first."""
        return [*([self.summary.entry] if self.summary else ()), *self.note_entries.values()]

    def is_paired(self, unit: Unit) -> bool:
        """Whether every call has a result or gets a synthetic one; else the unit is dropped as an orphan."""
        if unit.missing and self.options.orphans == "drop":
            self.dropped[unit] = "orphan"
        return not self.dropped or unit not in self.dropped

    def is_sendable(self, unit: Unit) -> bool:
        """Whether the message is no echo of a note and the provider accepts it; decodes it."""
        return self._render_sendable(unit) is not None

    def _render_sendable(self, unit: Unit) -> Rendered | None:
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

    def _add_sendable(self, unit: Unit, rule: str) -> None:
        """Include the unit whole, if it is sendable."""
        if (rendered := self._render_sendable(unit)) is not None:
            self.add(unit, rule, rendered)

    def add(self, unit: Unit, rule: str, rendered: Rendered) -> None:
        """Include the unit."""
        self.selected[unit] = SelectedUnit(unit, rule, rendered)
        self.tokens_left -= rendered.tokens

    def add_pinned_items(self) -> None:
        """Put the pinned items into the note, whole.

        Raises:
            BudgetError: They do not fit.
        """
        for candidate in self.request.pinned:
            if candidate.role is not None or candidate.id in self.note_entries:
                continue
            entry = self._to_note_entry(candidate)
            if entry is not None and entry.quote.text:
                self._add_to_note(entry)
        if self.tokens_left < 0 and self.note_entries:
            tokens = self.pricer.price_note(list(self.note_entries.values()))
            msg = (
                f"pinned items take {tokens} tokens, {-self.tokens_left} more than the "
                f"budget of {self.options.budget} leaves for them"
            )
            raise BudgetError(msg)

    def add_required(self, room: int | None = None) -> None:
        """Include the newest user message and the exchange in flight since, truncated if need be.

        Args:
            room: Tokens that they may take; None for the share that leaves room for others.

        Raises:
            BudgetError: Not even the newest message fits, truncated to its minimum.
        """
        user, flight, answered = self._exchange_in_flight()
        first = flight if user is None else [user, *flight]
        part = 4 if answered else 2 if user is not None and not flight and self._recall_query_differs(user) else 1
        if room is None:
            room = min(self.tokens_left, max(self.options.budget // part, int(self.tokens_left * self.options.tail)))
            # What the user wants followed from now on is not cut for the end of a long result.
            room = min(room, self.tokens_left - estimate_request_tokens(self))
        if sum(self.loader.cost(unit) for unit in first) <= room:
            for unit in first:
                self.add(unit, "newest" if unit is user else "in-flight", self.loader.render(unit))
            return
        least = {unit: self.loader.min_cost(unit, in_flight=True) for unit in first}
        needed = sum(least.values())
        # Old rounds, of which hardly a trace is left, do not take the newest one's two thirds.
        newest = min(self.loader.cost(first[-1]), 2 * self.tokens_left // 3)
        spare = max(0, newest - least[first[-1]])
        # The oldest rounds of the exchange are dropped first, the newest and the user's message never.
        for unit in () if user is None else flight[:-1]:
            if needed + spare <= self.tokens_left:
                break
            needed -= least[unit]
            self.dropped[unit] = "in-flight"
            first.remove(unit)
        served = self.loader.truncate(first, max(room, min(needed, self.tokens_left)), in_flight=True)
        if served is None:
            sizes = self.loader.least_sizes(first)
            flight_too = " with what is in flight" if len(first) > 1 else ""
            msg = (
                f"the newest message{flight_too} needs at least {sum(sizes.values())} tokens, however much is cut "
                f"({list_sizes(sizes)}), and {max(self.tokens_left, 0)} of the budget of {self.options.budget} are "
                "left for it"
            )
            raise BudgetError(msg)
        for unit, each in zip(first, served, strict=True):
            self.add(unit, "newest" if unit is user else "in-flight", each)

    def add_stable_prefix(self, prefix: StablePrefix) -> None:
        """Include the messages before the exchange in flight, from a start point that stays for many turns."""
        older = (
            (unit, self.loader.cost(unit))
            for unit in self.conversation
            if unit not in self.selected and self.is_paired(unit)
        )
        used = self.room - self.tokens_left
        for unit in longest_history(
            prefix, self.request.total, older, min(prefix.conversation_limit(self.room) - used, self.tokens_left)
        ):
            rendered = self._render_sendable(unit)
            if rendered is None:
                continue
            # Truncated to a size that depends only on the room, so that its text is the same in every turn.
            whole = rendered.tokens <= prefix.largest
            served = [rendered] if whole else self.loader.truncate([unit], prefix.step)
            if served is None or served[0].tokens > self.tokens_left:
                self.dropped[unit] = "budget"
                return
            self.add(unit, "filled", served[0])

    def add_tail(self, free: int, prefix: StablePrefix | None = None) -> None:
        """Include the newest messages, without a gap, while at least `free` tokens stay free.

        A large one that was recalled waits: its passage bears on the query, its beginning and end need not.
        """
        self.tokens_left -= free
        largest = self.room if prefix is None else prefix.largest
        waiting = None
        for at, unit in enumerate(self.conversation):
            if unit in self.selected or not self.is_paired(unit):
                continue
            cost = self.loader.cost(unit)
            if cost <= self.tokens_left and cost <= largest:
                self._add_sendable(unit, "tail")
                continue
            waits = prefix is None and self._is_large(cost) and not self._ids_of_hits.isdisjoint(unit.ids)
            served = None if waits else self._truncate_large(unit, cost, prefix)
            if served is not None:
                self.add(unit, "tail", served)
                self._truncated_tail.append(unit)
                continue
            waiting = at if waiting is None else waiting
            if not waits:
                break
        self._first_left = len(self.conversation.units) if waiting is None else waiting
        self.tokens_left += free

    def add_recent(self) -> tuple[int, int]:
        """Include the newest few messages that are not yet, within a quarter of the budget.

        Large ones may be quoted better by what the query asks for: they wait, unless they take more than that
        quarter however far they are truncated. Returns the room of those that wait, and the least that they need.
        """
        units = self._list_recent_left()
        allowed = min(self.tokens_left, self.options.budget // 4)
        while units and (cost := self.loader.cost(units[0])) <= allowed:
            self.add(unit := units.pop(0), "recent", self.loader.render(unit))
            allowed -= cost
        needed = sum(map(self.loader.min_cost, units))
        if needed <= allowed:
            return (allowed, needed) if units else (0, 0)
        while units and needed > self.tokens_left:
            needed -= self.loader.min_cost(units.pop())
        for unit, each in zip(units, self.loader.truncate(units, needed) or (), strict=False):
            self.add(unit, "recent", each)
        return 0, 0

    def _list_recent_left(self) -> list[Unit]:
        """Which of the newest few messages are not included."""
        return [
            unit
            for unit in takewhile(lambda unit: unit.newest < self.options.recent, self.conversation)
            if unit not in self.selected and self.is_paired(unit) and self.is_sendable(unit)
        ]

    def add_unquoted_recent(self, room: int) -> None:
        """Include those of the newest few messages that waited and are not quoted after all, truncated if need be."""
        quoted = self.note_entries.keys()
        units = [unit for unit in reversed(self._list_recent_left()) if quoted.isdisjoint(unit.ids)]
        for unit, each in zip(units, self.loader.truncate(units, room) or (), strict=False):
            self.add(unit, "recent", each)

    def add_recalled(self, room: int) -> int:
        """Put recalled memories that no message repeats into the note, best first; returns what is left of the room."""
        if not self.request.recalled:
            return room
        included = {id for each in (*self.pinned, *self.selected.values()) for id in each.unit.ids}
        included |= self.note_entries.keys()
        texts = self._message_texts() | {entry.quote.text for entry in self.note_entries.values()}
        texts |= {normalize_text(each.text) for entry in self.standing for each in entry.requests}
        days = self._day_headings()
        repeats = Repeats(self.note_entries.values())
        whole, most, least = self._quote_limits(room)
        for recalled in self.request.recalled:
            candidate = recalled.candidate
            if candidate.id in included:
                continue
            included.add(candidate.id)
            limit = most if candidate.tokens <= whole else least
            # Its line costs about as much as the message less its delimiters: one that is too long is not decoded.
            if candidate.tokens - MESSAGE_OVERHEAD > room and limit > room:
                self.rejected.append((recalled, "budget"))
                continue
            entry = self._to_note_entry(candidate, limit)
            if entry is None or not entry.quote.text:
                self.rejected.append((recalled, "empty" if entry else "echo"))
            elif repeats.count(entry) or entry.quote.text in texts:
                self.rejected.append((recalled, "duplicate"))
            elif (price := self.pricer.price(entry.quote, days)) > room:
                self.rejected.append((recalled, "budget"))
            else:
                texts.add(entry.quote.text)
                days.add(entry.quote.day)
                self.note_entries[candidate.id] = entry
                repeats.add(entry)
                room -= price
                self.tokens_left -= price
        for entry in repeats.tell(self.request.count, room):
            more = entry.tokens - self.note_entries[entry.candidate.id].tokens
            room -= more
            self.tokens_left -= more
            self.note_entries[entry.candidate.id] = entry
        return room

    def fill_by_recency(self, reserved: int = 0, *, divided: bool = False) -> None:
        """Fill with older messages by recency, without a gap; one quoted in the note moves to its place among them.

        Args:
            reserved: Tokens that stay free.
            divided: Whether what moves leaves its room to the note.
        """
        self.tokens_left -= reserved
        unused = self._fill_by_recency(divided=divided)
        self.tokens_left += reserved + unused

    def _fill_by_recency(self, *, divided: bool) -> int:
        """Returns the room of quotes that was not used."""
        unused = 0
        for unit in self.conversation.after(self._first_left):
            if self.tokens_left < MESSAGE_OVERHEAD:
                break
            if unit in self.selected or not self.is_paired(unit):
                continue
            moved = [self.note_entries[id] for id in unit.ids if id in self.note_entries] if self.note_entries else ()
            left = self.tokens_left
            for entry in moved:
                self._remove_from_note(entry)
            freed, self.tokens_left = (self.tokens_left - left, left) if divided else (0, self.tokens_left)
            cost = self.loader.cost(unit)
            if cost <= self.tokens_left:
                self._add_sendable(unit, "filled")
                unused += freed
                continue
            # The passage of a large unit in the note bears on the query; its beginning and end need not.
            served = None if moved else self._truncate_large(unit, cost) or self._truncate_last(unit, cost)
            if served is None:
                for entry in moved:
                    self._add_to_note(entry)
                self.tokens_left += freed
                self.dropped[unit] = "budget"
                if moved and self._is_large(cost):
                    continue
                break
            self.add(unit, "filled", served)
        return unused

    def _is_large(self, cost: int) -> bool:
        return cost > self.options.budget // 4 and self.tokens_left >= self.options.budget // _WORTH_DIVISOR

    def _truncate_large(self, unit: Unit, cost: int, prefix: StablePrefix | None = None) -> Rendered | None:
        """A large unit in half of what is left, so that it does not hide older ones; None for any other."""
        if not self._is_large(cost):
            return None
        sizes = (self.tokens_left // 2, self.tokens_left) if prefix is None else (prefix.step,)
        fitting = (size for size in sizes if size <= self.tokens_left)
        return next((served[0] for size in fitting if (served := self.loader.truncate([unit], size))), None)

    def _truncate_last(self, unit: Unit, cost: int) -> Rendered | None:
        """A unit in what is left, if that is worth it: so the end of the tail moves no faster than messages come in."""
        if min(cost, self.tokens_left) < max(_WORTH_TOKENS, self.options.budget // _WORTH_DIVISOR):
            return None
        served = self.loader.truncate([unit], self.tokens_left) if self.options.tail else None
        return served[0] if served and self.is_sendable(unit) else None

    def expand_tail(self, reserved: int) -> None:
        """Include truncated messages of the tail whole where there is room after all, newest first."""
        for unit in self._truncated_tail:
            more = self.loader.cost(unit) - self.selected[unit].rendered.tokens
            if more <= self.tokens_left - reserved:
                self.selected[unit] = SelectedUnit(unit, "tail", self.loader.render(unit))
                self.tokens_left -= more

    def remove_duplicate_quotes(self) -> None:
        """Remove quotes from the note that a message included later repeats."""
        if not self.note_entries:
            return
        texts = self._message_texts()
        for recalled in self.request.recalled:
            entry = self.note_entries.get(recalled.candidate.id)
            if entry is not None and entry.rule != "pinned" and entry.quote.text in texts:
                self._remove_from_note(entry)
                self.rejected.append((recalled, "duplicate"))

    def quote_older(self, room: int, share: int) -> None:
        """Quote the newest messages that are left out, without a gap, in what recall left of the note's share.

        Args:
            room: Tokens for the quotes.
            share: The share of the note.
        """
        if room < _LEAST_QUOTE_TOKENS:
            return
        said = self._message_texts() | {normalize_text(each.text) for entry in self.standing for each in entry.requests}
        days = self._day_headings()
        whole, most, least = self._quote_limits(share)
        quoted: list[NoteEntry] = []
        for unit in self._iter_left_out():
            for candidate in reversed(unit.members):
                if candidate.id in self.note_entries:
                    continue
                placed = candidate._replace(place=self.request.places.get(candidate.id, 0))
                entry = self._to_note_entry(placed, most if candidate.tokens <= whole else least)
                if entry is None or not entry.quote.text or entry.quote.text in said:
                    continue
                if (price := self.pricer.price(entry.quote, days)) > room:
                    break
                room -= price
                self.tokens_left -= price
                days.add(entry.quote.day)
                quoted.append(entry._replace(rule="filled"))
            else:
                continue
            break
        self.note_entries |= {entry.candidate.id: entry for entry in reversed(quoted)}

    def _iter_left_out(self) -> Iterator[Unit]:
        """What could be sent but is not, newest first."""
        for unit in self.conversation:
            if unit not in self.selected and (self.is_paired(unit) or self.dropped[unit] in ("budget", "in-flight")):
                yield unit

    def expand_passages(self, room: int) -> None:
        """Quote truncated memories of the note whole, best first, where there is room after all."""
        for recalled in self.request.recalled if self.note_entries else ():
            candidate = recalled.candidate
            entry = self.note_entries.get(candidate.id)
            if entry is None or not entry.tokens_cut:
                continue
            if candidate.tokens - MESSAGE_OVERHEAD > room + entry.tokens:
                continue
            whole = self._to_note_entry(candidate, candidate.tokens)
            if whole is None:
                continue
            whole = repeat_entry(whole, entry.times, self.request.count)
            if (more := whole.tokens - entry.tokens) <= room:
                room -= more
                self.tokens_left -= more
                self.note_entries[candidate.id] = whole

    def add_all_or_summary(self, room: int) -> None:
        """Include everything left out if it fits after all, else a summary of it."""
        left_out = self._newest_left_out()
        whole = self.conversation.exhausted and len(left_out) < MAX_COVERED_MESSAGES
        if not whole or sum(candidate.tokens for candidate, _ in left_out) > self.tokens_left:
            self.add_summary(room)
        if self.summary is None:
            self.dropped = {unit: reason for unit, reason in self.dropped.items() if reason != "budget"}
            self.fill_by_recency()
            self.remove_duplicate_quotes()

    def add_summary(self, room: int) -> None:
        """Put the best sentences of the newest messages left out into the note."""
        left_out = self._newest_left_out()
        room = min(room, self.tokens_left)
        self.summary = summarize(
            [each for each, _ in left_out],
            room,
            self.request.query,
            self.loader,
            self.pricer,
            analyzer=self.request.analyzer,
        )
        if self.summary is not None:
            self.tokens_left -= self.pricer.price(self.summary.entry.quote, self._day_headings())
            self.messages_uncovered = self.request.total - 1 - left_out[self.summary.messages_covered - 1][1]

    def _newest_left_out(self) -> list[tuple[Candidate, int]]:
        """The newest messages that could be sent but are not, and how many are newer than each."""
        left_out: list[tuple[Candidate, int]] = []
        for unit in self._iter_left_out():
            if len(left_out) >= MAX_COVERED_MESSAGES:
                break
            left_out += [(each, unit.place) for each in unit.members if each.id not in self.note_entries]
        return left_out

    @cached_property
    def _tokens_beside_pins(self) -> int | None:
        """Tokens of the conversation without its pinned messages; None if unknown."""
        whole = self.request.conversation_tokens
        return None if whole is None else whole - sum([each.rendered.tokens for each in self.pinned])

    def _divide_room(self, room: int) -> Shares:
        request, messages = self.request, self._tokens_beside_pins
        return divide_room(
            room,
            tail=self.options.tail,
            conversation=_UNKNOWN_TOKENS if messages is None else messages,
            standing=request_share(self) if request.standing else 0,
            asked=bool(request.query.strip()),
            items=request.has_items,
        )

    def _tail_left(self, shares: Shares) -> int:
        """What the messages have not yet taken of the tail's share."""
        return max(0, shares.tail - sum([each.rendered.tokens for each in self.selected.values()]))

    def _list_all_if_it_fits(self) -> list[Unit] | None:
        """The whole conversation if it fits, else None; reads no more of it than fits."""
        left = self.tokens_left
        if (self._tokens_beside_pins or 0) > 2 * self.room:
            return None  # some of it may cost nothing, but hardly half
        units = []
        for unit in self.conversation:
            if self.is_paired(unit):
                left -= self.loader.cost(unit)
                if left < 0:
                    return None
                units.append(unit)
        return units if self.conversation.exhausted else None

    def _add_all(self, units: Iterable[Unit]) -> None:
        for unit in units:
            if unit not in self.selected:
                self._add_sendable(unit, "tail")
        self._first_left = len(self.conversation.units)

    def _exchange_in_flight(self) -> tuple[Unit | None, list[Unit], bool]:
        """The newest user message, the units in flight since, oldest first, and whether it was answered.

        An answered message is no longer the question and must not take the room of memories
        recalled for the current one; if nothing was recalled, the last exchange counts as unanswered.
        """
        user = None
        flight: list[Unit] = []
        for unit in self.conversation:
            if self.conversation.messages_read > LOOK_BACK:
                break
            if not self.is_paired(unit) or not self.is_sendable(unit):
                continue
            if unit.head.role == "user":
                user = unit
                break
            flight.append(unit)
        if user is None:
            # No user message: the newest unit at least, so that a prompt is never silently empty.
            return None, flight[:1], False
        bound = self.conversation.messages_read + _EXCHANGE_LOOK_BACK
        while (
            self.conversation.messages_read < bound
            and self._has_open_results_after(user)
            and self.conversation.advance()
        ):
            pass
        broken_into = [
            unit for unit in self.conversation.units if unit.newest < user.place < unit.place and self.is_paired(unit)
        ]
        answer = _final_answer(flight) if self.request.recalled else None
        if answer is not None:
            # A finished exchange ranks by recency only. Calls in flight in another turn stay in flight.
            flight = [unit for unit in flight if unit.head.calls and unit.head.turn_id != answer.head.turn_id]
        flight = sorted((*flight, *broken_into), key=lambda unit: -unit.place)
        return user, flight, answer is not None and not flight

    def _recall_query_differs(self, user: Unit) -> bool:
        """Whether memories were recalled for a query other than the newest user message, its beginning or its end."""
        query, text = normalize_text(self.request.query), normalize_text(message_text(self.loader.load(user.head)))
        same = text.startswith(query) or text.endswith(query) or text in query
        return bool(self.request.recalled) and not same

    def _has_open_results_after(self, user: Unit) -> bool:
        return any(place < user.place for results in self.conversation.open_results.values() for place, _ in results)

    def _quote_limits(self, room: int) -> tuple[int, int, int]:
        """Tokens up to which a recalled memory is quoted whole, the limit of such a quote, and of any other."""
        # Fixed parts may leave little of the budget: no memory takes more than half of the rest.
        budget = min(self.options.budget, 2 * room)
        return min(max(_SHORT_TOKENS, budget // 8), budget // 4), budget // 4, budget // 6

    def _to_note_entry(self, candidate: Candidate, max_tokens: int | None = None) -> NoteEntry | None:
        """The memory as an entry of the note, pinned and whole without `max_tokens`; None for an echo."""
        rule = "pinned" if max_tokens is None else "recalled"
        quotes = self.request.quotes if max_tokens is None or candidate.tokens <= max_tokens else None
        if quotes is not None and (known := quotes.get(candidate)) is not None:
            return NoteEntry(candidate, known, 0, rule)
        message = self.loader.load(candidate)
        if message.recalled:
            return None
        if quotes is not None:
            quote = to_quote(candidate, message, self.request.count, zone=self.request.zone)
            quotes.put(candidate, quote)
            return NoteEntry(candidate, quote, 0, rule)
        return to_note_entry(
            candidate,
            message,
            self.request.count,
            rule=rule,
            max_tokens=max_tokens,
            terms=self._query_terms,
            zone=self.request.zone,
        )

    def _message_texts(self) -> set[str]:
        """The normalized texts of the included messages."""
        included = (*self.pinned, *self.selected.values())
        return {normalize_text(message_text(message)) for each in included for message in each.rendered.messages}

    def _remove_from_note(self, entry: NoteEntry) -> None:
        del self.note_entries[entry.candidate.id]
        self.tokens_left += self.pricer.price(entry.quote, self._day_headings())

    def _add_to_note(self, entry: NoteEntry) -> None:
        self.tokens_left -= self.pricer.price(entry.quote, self._day_headings())
        self.note_entries[entry.candidate.id] = entry

    def _day_headings(self) -> set[str]:
        """The day headings in the note."""
        return {entry.quote.day for entry in self.note_entries.values()}


def _final_answer(newest_first: Iterable[Unit]) -> Unit | None:
    """The assistant's answer if it is the newest unit, system text aside."""
    spoken = [unit for unit in newest_first if unit.head.role not in SYSTEM_ROLES]
    last = min(spoken, key=lambda unit: unit.newest, default=None)
    return last if last is not None and last.head.role == "assistant" and not last.head.calls else None
