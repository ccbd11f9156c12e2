"""Fit a conversation into a budget: a pure function from a request to a context."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from wmem.errors import BudgetError
from wmem.model.checks import check_count
from wmem.model.context import Context
from wmem.model.message import Message
from wmem.model.sendable import to_sendable
from wmem.pack.loader import MessageLoader
from wmem.pack.provider_order import (
    SYSTEM_ROLES,
    count_leading_system,
    group_by_turn,
    newest_user_position,
    to_provider_messages,
)
from wmem.pack.render import message_text, render_note
from wmem.pack.report import build_report
from wmem.pack.request import Candidate, PackRequest
from wmem.pack.selection import LOOK_BACK, SelectedUnit, Selection
from wmem.pack.stable_prefix import StablePrefix
from wmem.pack.units import ConversationReader, Unit, group_units
from wmem.tokens.counter import MESSAGE_OVERHEAD, PROMPT_OVERHEAD, message_tokens, tools_tokens

_MAX_ATTEMPTS = 8  # attempts at a prompt that fits, each rendered and given to the prompt counter
_COMPLETION_LOOK_BACK = 1_000  # messages read to find the other half of a tool exchange of which one half is pinned


def pack(request: PackRequest) -> Context:
    """Pack the best prompt within the budget, and report what was included and dropped.

    Reads no more of the conversation than the budget needs, decodes only what it
    includes, and changes nothing. The selection module documents the order.

    Raises:
        BudgetError: Pinned and system text, tools and reserve leave no room for the newest
            message, truncated to its minimum.
    """
    return _Packer(request).pack()


class _Packer:
    """The steps of one pack, and their shared state."""

    def __init__(self, request: PackRequest) -> None:
        self.request = request
        self.options = options = request.options
        self.loader = MessageLoader(request.count, options.orphans)
        self.warnings: list[str] = []
        source = iter(request.newest_first)
        once, repeated = self._split_repeated_system_text([each for each in request.pinned if each.role])
        units, loose, ahead = _select_pinned(once, source)
        self.excluded = [*((result, "orphan") for result in loose), *((each, "duplicate") for each in repeated)]
        """Candidates of pinned units that are not sent, and why."""
        self.pinned = [pinned for unit in units if (pinned := self._render_pinned(unit))]
        self.conversation = ConversationReader(
            chain(ahead, source),
            skip={*(id for unit in units for id in unit.ids), *(each.id for each in repeated)},
            # Unsendable messages cost nothing; without a bound they would be read for ever.
            max_messages=options.budget // MESSAGE_OVERHEAD + LOOK_BACK,
        )
        self.fixed_tokens = {
            "system": message_tokens(Message.of("system", options.system), request.count) if options.system else 0,
            "tools": tools_tokens(options.tools, request.count),
            "reserve": options.reserve,
            "overhead": PROMPT_OVERHEAD,
        }

    def pack(self) -> Context:
        budget = self.options.budget
        fixed, pinned = sum(self.fixed_tokens.values()), sum(each.rendered.tokens for each in self.pinned)
        room = budget - fixed - pinned
        if room < 0:
            sizes = ", ".join(
                f"{name} {size}" for name, size in {**self.fixed_tokens, "pinned": pinned}.items() if size
            )
            msg = (
                f"what must stay needs {fixed + pinned} tokens ({sizes}) and the budget is {budget}: "
                "raise the budget, unpin messages or shorten the system text"
            )
            raise BudgetError(msg)
        prefix = (
            StablePrefix(
                room=room, has_query=bool(self.request.query.strip()), summary_tokens=self.options.summary_tokens
            )
            if self.options.stable
            else None
        )
        tokens = 0
        for _ in range(_MAX_ATTEMPTS):
            choice = Selection(self.request, self.conversation, self.loader, self.pinned, room)
            choice.fill(prefix)
            context = self._to_context(choice)
            tokens = context.tokens
            if tokens <= budget:
                tokens = self._count_prompt(context)
            if tokens <= budget:
                return replace(context, tokens=tokens)
            # When the provider counts more tokens than we do, shrink our own count in proportion.
            # Shrink from the tokens used, not from the room: a small prompt left most of it empty.
            # Never above the selected tokens: an opening comes on top, and more room would select the same again.
            used = min(context.tokens - fixed - pinned, room - choice.tokens_left)
            room = used - max(1, -(-(tokens - budget) * context.tokens // tokens))
        msg = (
            f"none of {_MAX_ATTEMPTS} ever smaller prompts fits; "
            f"the last one has {tokens} tokens and the budget is {budget}"
        )
        raise BudgetError(msg)

    def _split_repeated_system_text(self, pinned: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Pinned candidates, and repeated system text, which is not sent: each session may begin with the same."""
        holds: dict[tuple[str, str], Candidate] = {}
        repeated: dict[str, Candidate] = {}
        for each in pinned:
            if each.role not in SYSTEM_ROLES:
                continue
            text = each.role, message_text(self.loader.load(each))
            if text == next(reversed(holds), None):
                repeated[each.id] = each
            else:
                # Other system text came between: the last one is in force.
                if (before := holds.pop(text, None)) is not None:
                    repeated[before.id] = before
                holds[text] = each
        return [each for each in pinned if each.id not in repeated], list(repeated.values())

    def _count_prompt(self, context: Context) -> int:
        """Tokens of the prompt by the provider's count, or by ours without a prompt counter."""
        ask = self.options.prompt_counter
        prompt = list(context.prompt()) if ask is not None else []
        if ask is None or not prompt:
            return context.tokens
        counted = check_count(ask(prompt, to_sendable(self.options.tools)), "the count of prompt_counter")
        return counted + self.options.reserve

    def _render_pinned(self, unit: Unit) -> SelectedUnit | None:
        """Render a pinned unit; an incomplete exchange keeps only its text."""
        message = self.loader.load(unit.head)
        if message.recalled:
            self.excluded += [(member, "echo") for member in unit.members]
            return None
        if not unit.missing or self.options.orphans == "synthesize":
            return SelectedUnit(unit, "pinned", self.loader.render(unit))
        self.warnings.append(
            f"the pinned message {unit.head.id!r} calls tools that never answered: its calls are left out"
        )
        spoken = self.loader.render_without_calls(unit)
        self.excluded += [(member, "orphan") for member in (unit.members[1:] if spoken else unit.members)]
        return SelectedUnit(replace(unit, members=unit.members[:1], missing=()), "pinned", spoken) if spoken else None

    def _to_context(self, selection: Selection) -> Context:
        request, options = self.request, self.options
        entries = selection.all_note_entries
        ordered = self._order_units(selection)
        shown = [message for each in ordered for message in each.rendered.messages]
        first = not options.stable or (options.note_role == "system" and options.profile != "openai")
        messages = to_provider_messages(
            options.profile, shown, follows_user=bool(entries) and first and options.note_role == "user"
        )
        opening = [message for message in messages if len(messages) > len(shown) and message.recalled]
        sizes = {
            **self.fixed_tokens,
            "note": selection.pricer.price_note(entries),
            "messages": sum(each.rendered.tokens for each in ordered)
            + sum(message_tokens(message, request.count) for message in opening),
        }
        report = build_report(request, selection, ordered, self.excluded)
        return Context(
            messages=tuple(messages),
            note=render_note(entries) if entries else "",
            system=options.system,
            tokens=sum(sizes.values()),
            budget=options.budget,
            included=report.included,
            truncated=report.truncated,
            dropped=report.dropped,
            sizes=sizes,
            note_before=count_leading_system(messages) if first else newest_user_position(messages),
            note_role=options.note_role,
            warnings=(*self.warnings, *report.warnings, *request.warnings),
            all_dropped=report.all_dropped,
        )

    def _order_units(self, selection: Selection) -> list[SelectedUnit]:
        """The included units, oldest first, each turn in one piece."""
        places = self.conversation.skipped_places
        # A pinned message that was not read is older than all that were.
        placed = [
            ((1, -places[kept.unit.head.id]) if kept.unit.head.id in places else (0, at), kept)
            for at, kept in enumerate(self.pinned)
        ]
        placed += [((1, -kept.unit.place), kept) for kept in selection.selected.values()]
        placed.sort(key=lambda each: each[0])
        # A turn whose tool just answered waits for the model, even if other turns went on meanwhile.
        waiting = next((unit.head.turn_id for unit in selection.selected if unit.newest == 0 < unit.place), None)
        return group_by_turn(((kept.unit.head.turn_id, kept) for _, kept in placed), last=waiting)


def _select_pinned(
    pinned: Sequence[Candidate], source: Iterator[Candidate]
) -> tuple[list[Unit], list[Candidate], list[Candidate]]:
    """The pinned units, oldest first, results without a unit, and the messages read to complete them."""
    ids = {each.id for each in pinned}
    units, loose = group_units(pinned)
    wanted = {call for unit in units for call in unit.missing} | {call for each in loose for call in each.calls}
    ahead = list(islice(source, _COMPLETION_LOOK_BACK)) if wanted else []
    if wanted:
        here = {each.id for each in ahead}
        # All of them, for a parallel call of the same message is completed too.
        units, loose = group_units([*(each for each in pinned if each.id not in here), *reversed(ahead)])
    return (
        [unit for unit in reversed(units) if ids.intersection(unit.ids)],
        [each for each in loose if each.id in ids],
        ahead,
    )
