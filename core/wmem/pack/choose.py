"""Selection, in order: pinned, newest user message, exchange in flight, recent, recalled, a summary, the rest.

The part filled by recency is contiguous: a reader expects no silent gap. A unit that
fits is taken whole; one above a quarter of the budget that does not fit is truncated,
so that it does not hide older messages; any other that does not fit ends the part.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from wmem.errors import BudgetError
from wmem.pack.digest import COVERED, Digest, digest
from wmem.pack.front import Front, begun_at
from wmem.pack.larder import Larder, Served, is_blank
from wmem.pack.render import Note, Noted, folded, noted_down, quote_of, said
from wmem.pack.request import Candidate, PackRequest, Recalled
from wmem.pack.units import Conversation, Unit
from wmem.text.terms import terms_of
from wmem.text.tokens import MESSAGE_OVERHEAD

__all__ = ["LOOK_BACK", "Choice", "Kept", "choose"]

LOOK_BACK = 2_000
"""Messages read to find the newest user message."""
_CLOSE = 256
"""Further messages read to complete a tool exchange that a user interrupted."""

_SHORT = 256
"""Tokens up to which a recalled memory is quoted whole if it fits in a quarter of the budget."""


class Kept(NamedTuple):
    """A unit that is included, the rule that included it, and how it is sent."""

    unit: Unit
    rule: str
    served: Served


class Choice:
    """What is included within one token limit, as it grows."""

    def __init__(
        self, request: PackRequest, talk: Conversation, larder: Larder, pinned: Sequence[Kept], room: int
    ) -> None:
        self.request = request
        self.room = room
        self.pinned = pinned
        self.talk = talk
        self.larder = larder
        self.left = room
        self.note = Note(request.note_role, request.count)
        self.kept: dict[Unit, Kept] = {}
        self.noted: dict[str, Noted] = {}
        self.digest: Digest | None = None
        self.uncovered = 0
        """Messages left out that are older than those the summary covers."""
        self.dropped: dict[Unit, str] = {}
        self.refused: list[tuple[Recalled, str]] = []

    @cached_property
    def _terms(self) -> tuple[str, ...]:
        """Terms of the query, to quote passages of long memories; none when nothing was recalled."""
        return tuple(terms_of(self.request.query)) if self.request.recalled else ()

    @property
    def notes(self) -> list[Noted]:
        """Everything in the note, the summary first."""
        return [*([self.digest.noted] if self.digest else ()), *self.noted.values()]

    def paired(self, unit: Unit) -> bool:
        """Whether every call has a result or gets a synthetic one; else the unit is dropped as an orphan."""
        if unit.missing and self.request.orphans == "drop":
            self.dropped[unit] = "orphan"
        return unit not in self.dropped

    def sendable(self, unit: Unit) -> bool:
        """Whether the message is no echo of a note and the provider accepts it; decodes it."""
        if len(unit.members) > 1 or unit.missing:
            return True
        message = self.larder.message(unit.head)
        if message.recalled:
            self.dropped[unit] = "echo"
        elif self.request.profile != "openai" and is_blank(message):
            self.dropped[unit] = "empty"
        return unit not in self.dropped

    def keep(self, unit: Unit, rule: str, served: Served) -> None:
        """Include the unit."""
        self.kept[unit] = Kept(unit, rule, served)
        self.left -= served.tokens

    def take_pinned_items(self) -> None:
        """Put the pinned items into the note, whole.

        Raises:
            BudgetError: They do not fit.
        """
        for candidate in self.request.pinned:
            if candidate.role is not None or candidate.id in self.noted:
                continue
            noted = self._quote(candidate)
            if noted is not None and noted.quote.text:
                self.left -= self.note.price(noted.quote, self._days())
                self.noted[candidate.id] = noted
        if self.left < 0 and self.noted:
            msg = (
                f"pinned items take {self.note.total(list(self.noted.values()))} tokens, {-self.left} more than the "
                f"budget of {self.request.budget} leaves for them: raise the budget, or unpin some"
            )
            raise BudgetError(msg)

    def take_required(self) -> None:
        """Include the newest user message and the exchange in flight since, truncated if need be.

        Raises:
            BudgetError: Not even the newest message fits, truncated to its minimum.
        """
        user, flight, answered = self._in_flight()
        first = flight if user is None else [user, *flight]
        part = 4 if answered else 2 if user is not None and not flight and self._beside_the_question(user) else 1
        room = min(self.left, self.request.budget // part)
        if sum(self.larder.cost(unit) for unit in first) <= room:
            for unit in first:
                self.keep(unit, "newest" if unit is user else "in-flight", self.larder.whole(unit))
            return
        least = {unit: self.larder.least(unit) for unit in first}
        needed = sum(least.values())
        # The oldest unit of the exchange is dropped first, the user's message never.
        for unit in () if user is None else flight:
            if needed <= self.left:
                break
            needed -= least[unit]
            self.dropped[unit] = "in-flight"
            first.remove(unit)
        served = self.larder.cut(first, max(room, min(needed, self.left)))
        if served is None:
            msg = (
                f"the newest message needs at least {needed} tokens and {max(self.left, 0)} of the budget of "
                f"{self.request.budget} are left for it: raise the budget, or lower what is fixed "
                "(system text, tools, pinned messages, reserve)"
            )
            raise BudgetError(msg)
        for unit, each in zip(first, served, strict=True):
            self.keep(unit, "newest" if unit is user else "in-flight", each)

    def take_front(self, front: Front) -> None:
        """Include the messages before the exchange in flight, from a start point that stays for many turns."""
        older = ((unit, self.larder.cost(unit)) for unit in self.talk if unit not in self.kept and self.paired(unit))
        used = self.room - self.left
        for unit in begun_at(front, self.request.total, older, min(front.limit(self.room) - used, self.left)):
            if not self.sendable(unit):
                continue
            # Truncated to a size that depends only on the room, so that its text is the same in every turn.
            whole = self.larder.cost(unit) <= front.step
            served = [self.larder.whole(unit)] if whole else self.larder.cut([unit], front.step)
            if served is None or served[0].tokens > self.left:
                self.dropped[unit] = "budget"
                return
            self.keep(unit, "filled", served[0])

    def take_recent(self) -> int:
        """Include the newest few messages within a quarter of the budget; return its rest if one is too big, or 0."""
        allowed = min(self.left, self.request.budget // 4)
        for unit in self._newest(self.request.recent):
            if unit in self.kept or not self.paired(unit):
                continue
            cost = self.larder.cost(unit)
            if cost > allowed:
                return allowed
            if self.sendable(unit):
                allowed -= cost
                self.keep(unit, "recent", self.larder.whole(unit))
        return 0

    def take_recalled(self, room: int) -> None:
        """Put recalled memories that no message repeats into the note, best first."""
        if not self.request.recalled:
            return
        here = {id for kept in (*self.pinned, *self.kept.values()) for id in kept.unit.ids} | self.noted.keys()
        told = self._told() | {noted.quote.text for noted in self.noted.values()}
        days = self._days()
        whole, most, least = self._mosts(room)
        for found in self.request.recalled:
            candidate = found.candidate
            if candidate.id in here:
                continue
            here.add(candidate.id)
            limit = most if candidate.tokens <= whole else least
            # Its line costs about as much as the message less its delimiters: one that is too long is not decoded.
            if candidate.tokens - MESSAGE_OVERHEAD > room and limit > room:
                self.refused.append((found, "budget"))
                continue
            noted = self._quote(candidate, limit)
            if noted is None or not noted.quote.text:
                self.refused.append((found, "empty" if noted else "echo"))
            elif noted.quote.text in told:
                self.refused.append((found, "duplicate"))
            elif (price := self.note.price(noted.quote, days)) > room:
                self.refused.append((found, "budget"))
            else:
                told.add(noted.quote.text)
                days.add(noted.quote.day)
                self.noted[candidate.id] = noted
                room -= price
                self.left -= price

    def take_rest(self, aside: int = 0) -> None:
        """Fill with older messages by recency, without a gap; one quoted in the note moves to its place among them.

        Args:
            aside: Tokens that stay free.
        """
        self.left -= aside
        self._take_rest()
        self.left += aside

    def _take_rest(self) -> None:
        for unit in self.talk:
            if self.left < MESSAGE_OVERHEAD:
                return
            if unit in self.kept or not self.paired(unit):
                continue
            moved = [self.noted[id] for id in unit.ids if id in self.noted] if self.noted else ()
            for noted in moved:
                self._unquote(noted)
            cost = self.larder.cost(unit)
            if cost <= self.left:
                if self.sendable(unit):
                    self.keep(unit, "filled", self.larder.whole(unit))
                continue
            large = cost > self.request.budget // 4 and self.left >= self.request.budget // 16
            # The passage of a large unit in the note bears on the query; its beginning and end need not.
            served = self.larder.cut([unit], self.left // 2) if large and not moved else None
            if served is None:
                for noted in moved:
                    self._requote(noted)
                self.dropped[unit] = "budget"
                if large and moved:
                    continue
                return
            self.keep(unit, "filled", served[0])

    def leave_out_told(self) -> None:
        """Remove quotes from the note that a message included later repeats."""
        if not self.noted:
            return
        told = self._told()
        for found in self.request.recalled:
            noted = self.noted.get(found.candidate.id)
            if noted is not None and noted.rule != "pinned" and noted.quote.text in told:
                self._unquote(noted)
                self.refused.append((found, "duplicate"))

    def make_whole(self) -> None:
        """Quote truncated memories of the note whole, best first, where there is room after all."""
        for found in self.request.recalled if self.noted else ():
            candidate = found.candidate
            noted = self.noted.get(candidate.id)
            if noted is None or not noted.cut or candidate.tokens - MESSAGE_OVERHEAD > self.left + noted.tokens:
                continue
            whole = self._quote(candidate, candidate.tokens)
            if whole is not None and whole.tokens - noted.tokens <= self.left:
                self.left -= whole.tokens - noted.tokens
                self.noted[candidate.id] = whole

    def take_all_or_summary(self, room: int) -> None:
        """Include everything left out if it fits after all, else a summary of it."""
        left_out = self._left_out()
        whole = self.talk.exhausted and len(left_out) < COVERED
        if not whole or sum(candidate.tokens for candidate, _ in left_out) > self.left:
            self.take_summary(room)
        if self.digest is None:
            self.dropped = {unit: reason for unit, reason in self.dropped.items() if reason != "budget"}
            self.take_rest()
            self.leave_out_told()

    def take_summary(self, room: int) -> None:
        """Put the best sentences of the newest messages left out into the note."""
        left_out = self._left_out()
        room = min(room, self.left)
        self.digest = digest([each for each, _ in left_out], room, self.request.query, self.larder, self.note)
        if self.digest is not None:
            self.left -= self.note.price(self.digest.noted.quote, self._days())
            self.uncovered = self.request.total - 1 - left_out[self.digest.covered - 1][1]

    def _left_out(self) -> list[tuple[Candidate, int]]:
        """The newest messages that could be sent but are not, and how many are newer than each."""
        found: list[tuple[Candidate, int]] = []
        for unit in self.talk:
            if len(found) >= COVERED:
                break
            if unit not in self.kept and (self.paired(unit) or self.dropped[unit] in ("budget", "in-flight")):
                found += [(each, unit.place) for each in unit.members if each.id not in self.noted]
        return found

    def _in_flight(self) -> tuple[Unit | None, list[Unit], bool]:
        """The newest user message, the units in flight since, oldest first, and whether it was answered.

        An answered message is no longer the question and must not take the room of memories
        recalled for the current one; if nothing was recalled, the last exchange counts as unanswered.
        """
        user = None
        flight: list[Unit] = []
        for unit in self.talk:
            if self.talk.read > LOOK_BACK:
                break
            if not self.paired(unit) or not self.sendable(unit):
                continue
            if unit.head.role == "user":
                user = unit
                break
            flight.append(unit)
        if user is None:
            # No user message: the newest unit at least, so that a prompt is never silently empty.
            return None, flight[:1], False
        bound = self.talk.read + _CLOSE
        while self.talk.read < bound and self._open_after(user) and self.talk.advance():
            pass
        broken_into = [unit for unit in self.talk.units if unit.newest < user.place < unit.place and self.paired(unit)]
        answer = _answer(flight) if self.request.recalled else None
        if answer is not None:
            # A finished exchange ranks by recency only. Calls in flight in another turn stay in flight.
            flight = [unit for unit in flight if unit.head.calls and unit.head.turn_id != answer.head.turn_id]
        flight = sorted((*flight, *broken_into), key=lambda unit: -unit.place)
        return user, flight, answer is not None and not flight

    def _beside_the_question(self, user: Unit) -> bool:
        """Whether memories were recalled for a query other than the newest user message, its beginning or its end."""
        asked, text = folded(self.request.query), folded(said(self.larder.message(user.head)))
        same = text.startswith(asked) or text.endswith(asked) or text in asked
        return bool(self.request.recalled) and not same

    def _open_after(self, user: Unit) -> bool:
        return any(place < user.place for results in self.talk.open_results.values() for place, _ in results)

    def _newest(self, messages: int) -> Iterable[Unit]:
        """The units within the newest `messages` messages."""
        return takewhile(lambda unit: unit.newest < messages, self.talk) if messages else ()

    def _mosts(self, room: int) -> tuple[int, int, int]:
        """Tokens up to which a recalled memory is quoted whole, the limit of such a quote, and of any other."""
        # Fixed parts may leave little of the budget: no memory takes more than half of the rest.
        budget = min(self.request.budget, 2 * room)
        return min(max(_SHORT, budget // 8), budget // 4), budget // 4, budget // 6

    def _quote(self, candidate: Candidate, most: int | None = None) -> Noted | None:
        """The memory as an entry of the note, pinned and whole without `most`; None for an echo."""
        rule = "pinned" if most is None else "recalled"
        quotes = self.request.quotes if most is None or candidate.tokens <= most else None
        if quotes is not None and (known := quotes.get(candidate)) is not None:
            return Noted(candidate, known, 0, rule)
        message = self.larder.message(candidate)
        if message.recalled:
            return None
        if quotes is not None:
            quote = quote_of(candidate, message, self.request.count)
            quotes.put(candidate, quote)
            return Noted(candidate, quote, 0, rule)
        return noted_down(candidate, message, self.request.count, rule=rule, most=most, terms=self._terms)

    def _told(self) -> set[str]:
        """The normalized texts of the included messages."""
        kept = (*self.pinned, *self.kept.values())
        return {folded(said(message)) for each in kept for message in each.served.messages}

    def _unquote(self, noted: Noted) -> None:
        del self.noted[noted.candidate.id]
        self.left += self.note.price(noted.quote, self._days())

    def _requote(self, noted: Noted) -> None:
        self.left -= self.note.price(noted.quote, self._days())
        self.noted[noted.candidate.id] = noted

    def _days(self) -> set[str]:
        """The day headings in the note."""
        return {noted.quote.day for noted in self.noted.values()}


def _answer(newest_first: Iterable[Unit]) -> Unit | None:
    """The assistant's answer if it is the newest unit, system text aside."""
    told = [unit for unit in newest_first if unit.head.role != "system"]
    last = min(told, key=lambda unit: unit.newest, default=None)
    return last if last is not None and last.head.role == "assistant" and not last.head.calls else None


def choose(
    request: PackRequest, talk: Conversation, larder: Larder, pinned: Sequence[Kept], room: int, *, front: Front | None
) -> Choice:
    """Select messages and recalled memories within `room` tokens, beside the pinned units.

    Args:
        front: Start points of a prompt whose prefix is to stay stable; None to take what fits.

    Raises:
        BudgetError: Not even the newest message fits.
    """
    choice = Choice(request, talk, larder, pinned, room)
    choice.take_pinned_items()
    choice.take_required()
    if front is not None:
        choice.take_front(front)
        choice.take_recent()
        summary = min(request.summary, choice.left)
        choice.take_recalled(choice.left - summary)
        if summary:
            choice.take_summary(summary)
        choice.make_whole()
        return choice
    aside = choice.take_recent()
    summary = min(request.summary, choice.left)
    choice.take_recalled(choice.left - aside - summary)
    choice.take_rest(aside=summary)
    choice.leave_out_told()
    if summary:
        choice.take_all_or_summary(summary)
    choice.make_whole()
    return choice
