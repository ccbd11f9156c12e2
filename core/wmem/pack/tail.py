"""The tail: the newest messages of a prompt, without a gap, for a reader expects no silent one.

A unit that fits is taken whole; one above a quarter of the budget that does not fit is truncated to
half of what is left, so that it does not hide older messages; any other is truncated to what is
left, if that is worth it, and ends the tail.
"""

from itertools import takewhile

from wmem.fork import cached_property
from wmem.pack.render import NoteEntry
from wmem.pack.request import Rendered
from wmem.pack.selection import Selection
from wmem.pack.stable_prefix import StablePrefix, longest_history
from wmem.pack.units import Unit
from wmem.tokens.counter import MESSAGE_OVERHEAD

_WORTH_DIVISOR = 16  # the budget divided by this is the least room in which a truncated message is worth including
_WORTH_TOKENS = 64  # and this in any budget


class Tail:
    """Adds the newest messages to a selection.

    Args:
        prefix: Start points of a prompt whose prefix is to stay stable; None to take what fits.
    """

    def __init__(self, selection: Selection, prefix: StablePrefix | None) -> None:
        self._selection = selection
        self._prefix = prefix
        self._truncated: list[Unit] = []
        self._first_left = 0  # how many units of the conversation, from its newest, were dealt with

    @cached_property
    def _ids_of_hits(self) -> frozenset[str]:
        return frozenset([each.candidate.id for each in self._selection.request.recalled])

    def list_all(self) -> list[Unit] | None:
        """The whole conversation if it fits, else None; reads no more of it than fits."""
        selection, conversation = self._selection, self._selection.conversation
        left = selection.tokens_left
        if (selection.tokens_beside_pins or 0) > 2 * selection.room:
            return None  # some of it may cost nothing, but hardly half
        units = []
        cost_of, is_paired = selection.loader.cost, selection.is_paired
        for unit in conversation:
            if not unit.missing or is_paired(unit):  # none is dropped yet
                left -= cost_of(unit) if unit.missing else unit.tokens
                if left < 0:
                    return None
                units.append(unit)
        return units if conversation.exhausted else None

    def add_all(self, units: list[Unit]) -> None:
        """Include these units, which are the whole conversation."""
        for unit in units:
            if unit not in self._selection.selected:
                self._add_sendable(unit, "tail")
        self._first_left = len(self._selection.conversation.units)

    def add_history(self, prefix: StablePrefix) -> None:
        """Include the messages before the exchange in flight, from a start point that stays for many turns."""
        selection, loader = self._selection, self._selection.loader
        older = (
            (unit, loader.cost(unit))
            for unit in selection.conversation
            if unit not in selection.selected and selection.is_paired(unit)
        )
        used = selection.room - selection.tokens_left
        limit = min(prefix.conversation_limit(selection.room) - used, selection.tokens_left)
        for unit in longest_history(prefix, selection.request.total, older, limit):
            rendered = selection.render_sendable(unit)
            if rendered is None:
                continue
            # Truncated to a size that depends only on the room, so that its text is the same in every turn.
            whole = rendered.tokens <= prefix.largest
            served = [rendered] if whole else loader.truncate([unit], prefix.step)
            if served is None or served[0].tokens > selection.tokens_left:
                selection.dropped[unit] = "budget"
                return
            selection.add(unit, "filled", served[0])

    def add_newest(self, free: int) -> None:
        """Include the newest messages while at least `free` tokens stay free.

        A large one that was recalled waits: its passage bears on the query, its beginning and end need not.
        """
        selection, prefix, cost_of = self._selection, self._prefix, self._selection.loader.cost
        selected, render, add = selection.selected, selection.render_sendable, selection.add
        largest = selection.room if prefix is None else prefix.largest
        waiting = None
        for at, unit in enumerate(selection.conversation):
            if unit in selected or not selection.is_paired(unit):
                continue
            cost, room = cost_of(unit) if unit.missing else unit.tokens, selection.tokens_left - free
            if cost <= room and cost <= largest:
                if (rendered := render(unit)) is not None:  # as `_add_sendable`: there are hundreds
                    add(unit, "tail", rendered)
                continue
            waits = prefix is None and self._is_large(cost, room) and not self._ids_of_hits.isdisjoint(unit.ids)
            served = None if waits else self._truncate_large(unit, cost, room)
            if served is not None:
                selection.add(unit, "tail", served)
                self._truncated.append(unit)
                continue
            waiting = at if waiting is None else waiting
            if not waits:
                break
        self._first_left = len(selection.conversation.units) if waiting is None else waiting

    def add_recent(self, free: int) -> tuple[int, int]:
        """Include the newest few messages that are not yet, within a quarter of the budget; `free` tokens stay free.

        Large ones may be quoted better by what the query asks for: they wait, unless they take more than that
        quarter however far they are truncated. Returns the room of those that wait, and the least that they need.
        """
        selection, loader = self._selection, self._selection.loader
        units = self._list_recent_left()
        left = selection.tokens_left - free
        allowed = min(left, selection.options.budget // 4)
        while units and (cost := loader.cost(units[0])) <= allowed:
            selection.add(unit := units.pop(0), "recent", loader.render(unit))
            allowed -= cost
            left -= cost
        needed = sum(map(loader.min_cost, units))
        if needed <= allowed:
            return (allowed, needed) if units else (0, 0)
        while units and needed > left:
            needed -= loader.min_cost(units.pop())
        for unit, each in zip(units, loader.truncate(units, needed) or (), strict=False):
            selection.add(unit, "recent", each)
        return 0, 0

    def add_unquoted_recent(self, room: int) -> None:
        """Include those of the newest few messages that waited and are not quoted after all, truncated if need be."""
        selection = self._selection
        quoted = selection.note_entries.keys()
        units = [unit for unit in reversed(self._list_recent_left()) if quoted.isdisjoint(unit.ids)]
        for unit, each in zip(units, selection.loader.truncate(units, room) or (), strict=False):
            selection.add(unit, "recent", each)

    def _list_recent_left(self) -> list[Unit]:
        """Which of the newest few messages are not included."""
        selection = self._selection
        recent = takewhile(lambda unit: unit.newest < selection.options.recent, selection.conversation)
        return [
            unit
            for unit in recent
            if unit not in selection.selected and selection.is_paired(unit) and selection.is_sendable(unit)
        ]

    def expand(self, free: int) -> None:
        """Include truncated messages whole where more than `free` tokens are left after all, newest first."""
        selection = self._selection
        for unit in self._truncated:
            more = selection.loader.cost(unit) - selection.selected[unit].rendered.tokens
            if more <= selection.tokens_left - free:
                selection.replace(unit, selection.loader.render(unit))

    def fill(self, free: int = 0, *, divided: bool = False) -> None:
        """Include older messages while `free` tokens stay free; one that the note quotes moves to its place.

        Args:
            divided: Whether what moves leaves its room to the note.
        """
        selection = self._selection
        for unit in selection.conversation.after(self._first_left):
            if selection.tokens_left - free < MESSAGE_OVERHEAD:
                return
            if unit in selection.selected or not selection.is_paired(unit):
                continue
            left = selection.tokens_left
            moved = self._take_out_of_note(unit)
            freed = selection.tokens_left - left if divided else 0
            free += freed
            cost, room = selection.loader.cost(unit), selection.tokens_left - free
            if cost <= room:
                self._add_sendable(unit, "filled")
                continue
            # The passage of a large unit in the note bears on the query; its beginning and end need not.
            served = None if moved else self._truncate_large(unit, cost, room) or self._truncate_last(unit, cost, room)
            if served is not None:
                selection.add(unit, "filled", served)
                continue
            for entry in moved:
                selection.add_to_note(entry)
            free -= freed
            selection.dropped[unit] = "budget"
            if not moved or not self._is_large(cost, selection.tokens_left - free):
                return

    def _add_sendable(self, unit: Unit, rule: str) -> None:
        """Include the unit whole, if it is sendable."""
        if (rendered := self._selection.render_sendable(unit)) is not None:
            self._selection.add(unit, rule, rendered)

    def _take_out_of_note(self, unit: Unit) -> list[NoteEntry]:
        """Remove the quotes of a unit from the note, and return them."""
        entries = self._selection.note_entries
        quotes = [entries[id] for id in unit.ids if id in entries] if entries else []
        for entry in quotes:
            self._selection.remove_from_note(entry)
        return quotes

    def _is_large(self, cost: int, room: int) -> bool:
        budget = self._selection.options.budget
        return cost > budget // 4 and room >= budget // _WORTH_DIVISOR

    def _truncate_large(self, unit: Unit, cost: int, room: int) -> Rendered | None:
        """A large unit in half of the room, so that it does not hide older ones; None for any other."""
        if not self._is_large(cost, room):
            return None
        sizes = (room // 2, room) if self._prefix is None else (self._prefix.step,)
        fitting = (size for size in sizes if size <= room)
        truncate = self._selection.loader.truncate
        return next((served[0] for size in fitting if (served := truncate([unit], size))), None)

    def _truncate_last(self, unit: Unit, cost: int, room: int) -> Rendered | None:
        """A unit in what is left, if that is worth it: so the end of the tail moves no faster than messages come in."""
        selection = self._selection
        if min(cost, room) < max(_WORTH_TOKENS, selection.options.budget // _WORTH_DIVISOR):
            return None
        served = selection.loader.truncate([unit], room) if selection.options.tail else None
        return served[0] if served and selection.is_sendable(unit) else None
