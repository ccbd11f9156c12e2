"""Fit a conversation into a budget: a pure function from a request to a context."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import chain, islice, takewhile
from operator import itemgetter

from wmem.errors import BudgetError
from wmem.model.alternation import SYSTEM_ROLES
from wmem.model.checks import check_count
from wmem.model.context import Context
from wmem.model.message import Message
from wmem.model.receipt import LazySeal
from wmem.model.sendable import to_sendable
from wmem.pack.assembly import assemble, join_note
from wmem.pack.attachments import warn_of_attachments
from wmem.pack.budget_errors import list_sizes, suggest_ways
from wmem.pack.contents import fill
from wmem.pack.flight import LOOK_BACK
from wmem.pack.layout import PackedPrompt
from wmem.pack.loader import MessageLoader
from wmem.pack.provider_order import (
    count_leading_system,
    extra_tokens,
    group_by_turn,
    is_blank,
    is_plain,
    reminder_tokens,
)
from wmem.pack.reasoning import SentReasoning, resolve_reasoning
from wmem.pack.render import NoteEntry, render_note
from wmem.pack.report import build_report
from wmem.pack.request import Candidate, PackRequest
from wmem.pack.selection import SelectedUnit, Selection
from wmem.pack.stable_prefix import StablePrefix
from wmem.pack.units import ConversationReader, Unit, group_units
from wmem.pack.wording import message_text
from wmem.tokens.counter import MESSAGE_OVERHEAD, PROMPT_OVERHEAD, message_tokens, tools_tokens

_MAX_NAMED = 5  # pinned messages and items that an error or a warning names
_MAX_ATTEMPTS = 8  # attempts at a prompt that fits, each rendered and given to the prompt counter
_COMPLETION_LOOK_BACK = 1_000  # messages read to find the other half of a tool exchange of which one half is pinned


def pack(request: PackRequest) -> Context:
    """Pack the best prompt within the budget, and report what was included and dropped.

    Reads no more of the conversation than the budget needs, decodes only what it
    includes, and changes nothing. The contents module documents the order.

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
        self.excluded: list[tuple[Candidate, str]] = []
        """Candidates of pinned units, and repeated system text, that are not sent, and why."""
        wanted = [
            self._price_reminder(resolve_reasoning(each, options.reasoning)) for each in request.pinned if each.role
        ]
        skip = {each.id for each in wanted}
        source = self._read(request.newest_first, skip)
        units, loose, ahead = _select_pinned(self._without_repeated_text(wanted), source)
        self.excluded += [(result, "orphan") for result in loose]
        skip.update(id for unit in units for id in unit.ids)
        self.pinned = [pinned for unit in units if (pinned := self._render_pinned(unit))]
        self.conversation = ConversationReader(
            chain(ahead, source),
            skip=skip,
            # Unsendable messages cost nothing; without a bound they would be read for ever.
            max_messages=options.budget // MESSAGE_OVERHEAD + LOOK_BACK,
            repair=self.loader.leave_out_unanswered if options.orphans == "drop" else None,
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
            sizes = {**self.fixed_tokens, "pinned": pinned}
            msg = (
                f"what must stay needs {fixed + pinned} tokens ({list_sizes(sizes)}) and the budget is {budget}: "
                f"{suggest_ways(sizes)}{self._list_pinned()}"
            )
            raise BudgetError(msg)
        if 2 * pinned > budget - fixed:
            self.warnings.append(f"pinned messages take {pinned} of {budget} tokens{self._list_pinned()}")
        prefix = (
            StablePrefix(
                room=room,
                has_query=bool(self.request.query.strip()),
                tail=self.options.tail,
                summary_tokens=self.options.summary_tokens,
            )
            if self.options.stable
            else None
        )
        tokens = 0
        for attempt in range(_MAX_ATTEMPTS):
            choice = Selection(self.request, self.conversation, self.loader, self.pinned, room)
            try:
                fill(choice, prefix)
            except BudgetError as exc:
                pinned_items = [each for each in choice.note_entries.values() if each.rule == "pinned"]
                sizes = {**self.fixed_tokens, "pinned": pinned + sum(each.tokens for each in pinned_items)}
                raise BudgetError(f"{exc}: {suggest_ways(sizes)}{self._list_pinned(pinned_items)}") from exc
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
            less = used - max(1, -(-(tokens - budget) * context.tokens // tokens))
            # What is added to each message, as a name that fits, shrinks with them.
            room = less if 2 * less > used else used * budget // (tokens + 1)
            if attempt >= _MAX_ATTEMPTS // 2:
                room = min(room, used // 2)  # what is added does not shrink alike
        msg = (
            f"none of {_MAX_ATTEMPTS} ever smaller prompts fits; "
            f"the last one has {tokens} tokens and the budget is {budget}"
        )
        raise BudgetError(msg)

    def _price_reminder(self, candidate: Candidate) -> Candidate:
        """A system message with the tokens it takes where the provider takes system text only in front."""
        if candidate.role not in SYSTEM_ROLES or not self.options.rules.system_in_front:
            return candidate
        return candidate._replace(tokens=candidate.tokens + reminder_tokens(self.request.count))

    def _read(self, newest_first: Iterable[Candidate], skip: set[str]) -> Iterator[Candidate]:
        """The messages as they are sent; those that only repeat the leading system text are noted as not sent."""
        reasoning = SentReasoning(self.options.reasoning)
        for each in newest_first:
            candidate = reasoning.resolve(each) if reasoning.in_flight or each.reasoning else each
            if candidate.role in SYSTEM_ROLES:
                if candidate.id not in skip and candidate.id in self.request.repeated:
                    skip.add(candidate.id)
                    self.excluded.append((candidate, "duplicate"))
                yield self._price_reminder(candidate)
            else:
                yield candidate

    def _without_repeated_text(self, pinned: Sequence[Candidate]) -> list[Candidate]:
        """The pinned messages without system text that another has: a framework's list begins with the stored one's."""
        texts: set[tuple[str, str]] = set()
        once = []
        for each in pinned:
            text = (each.role or "", message_text(self.loader.load(each))) if each.role in SYSTEM_ROLES else None
            if text is None or each.pinned or text not in texts:
                once.append(each)
            else:
                self.excluded.append((each, "duplicate"))
            if text is not None:
                texts.add(text)
        return once

    def _list_pinned(self, items: Sequence[NoteEntry] = ()) -> str:
        """The largest of what is pinned, by id and tokens, as the end of a sentence; empty if nothing is."""
        sizes = [(each.rendered.tokens, each.unit.head.id) for each in self.pinned]
        sizes += [(each.tokens, each.candidate.id) for each in items]
        largest = sorted(sizes, key=lambda each: -each[0])[:_MAX_NAMED]
        names = [f"{id!r:.80} {tokens}" for tokens, id in largest]
        more = [f"{len(sizes) - len(largest)} others"] if len(sizes) > len(largest) else []
        return f"; pinned: {', '.join((*names, *more))}" if names else ""

    def _count_prompt(self, context: Context) -> int:
        """Tokens of the prompt by the provider's count, or by ours without a prompt counter."""
        ask = self.options.prompt_counter
        prompt = list(context.prompt()) if ask is not None else []
        if ask is None or not prompt:
            return context.tokens
        counted = check_count(ask(prompt, to_sendable(self.options.tools)), "the count of prompt_counter")
        return counted + self.options.reserve

    def _render_pinned(self, unit: Unit) -> SelectedUnit | None:
        """Render a pinned unit; calls that were never answered are left out."""
        message = self.loader.load(unit.head)
        may_be_blank = self.options.rules.blank and unit.head.id not in self.request.changed_blocks
        blank = len(unit.members) == 1 and not may_be_blank and is_blank(message)
        if message.recalled or blank:
            self.excluded += [(member, "empty" if blank else "echo") for member in unit.members]
            return None
        if unit.missing and self.options.orphans == "drop":
            self.warnings.append(
                f"the pinned message {unit.head.id!r} calls tools that never answered: these calls are left out"
            )
            unit = self.loader.leave_out_unanswered(unit)
            if unit.missing:
                self.excluded += [(member, "orphan") for member in unit.members]
                return None
        return SelectedUnit(unit, "pinned", self.loader.render(unit))

    def _to_context(self, selection: Selection) -> Context:
        request, options = self.request, self.options
        entries = selection.all_note_entries
        quotes = render_note(entries, request.zone) if entries else ""
        note = join_note(selection.standing_section, quotes)
        ordered = self._order_units(selection)
        rules = options.rules
        sent = [each.rendered for each in ordered]
        left_out = self._leaves_out_earlier(ordered)
        messages, shown, note_before, is_fitted = assemble(
            rules,
            list(chain.from_iterable([each.messages for each in sent])),
            plain=all(each.plain is not None or all(map(is_plain, each.messages)) for each in sent),
            has_note=bool(note),
            note_role=options.note_role,
            stable=options.stable,
            left_out=left_out,
        )
        # What comes first was priced as a reminder as well, for the budget might have reached further back.
        leading = count_leading_system(shown) if rules.system_in_front else 0
        unframed = leading * reminder_tokens(request.count) if leading else 0
        sizes = {
            **self.fixed_tokens,
            **_price_note(selection, entries, quotes, note),
            "messages": sum([each.tokens for each in sent])
            + (extra_tokens(shown, messages, request.count) if is_fitted else 0)
            - unframed,
        }
        report = build_report(request, selection, ordered, self.excluded)
        seal = request.seal
        return Context(
            messages=messages,
            note=note,
            system=options.system,
            tokens=sum(sizes.values()),
            budget=options.budget,
            included=report.included,
            truncated=report.truncated,
            dropped=report.dropped,
            sizes=sizes,
            note_before=note_before,
            note_role=options.note_role,
            roles=options.roles,
            is_fitted=report.blocks_changed or is_fitted,
            warnings=(
                *self.warnings,
                *warn_of_attachments(selection.selected.values(), self.loader),
                *report.warnings,
                *request.warnings,
            ),
            all_dropped=report.all_dropped,
            _seal=None if seal is None else LazySeal(partial(seal, PackedPrompt(selection, ordered, left_out))),
            scope=request.scope,
        )

    def _leaves_out_earlier(self, ordered: Sequence[SelectedUnit]) -> bool:
        """Whether a message before the first one of the prompt, system text aside, is not sent."""
        before = list(takewhile(lambda each: each.unit.head.role in SYSTEM_ROLES, ordered))
        if len(before) == len(ordered):
            return False
        first = ordered[len(before)].unit
        places = self.conversation.skipped_places
        place = places.get(first.head.id, first.place if first.head.id in self.conversation.read_ids else None)
        if place is None:  # pinned, and older than all that was read
            return self.request.total > sum(len(each.unit.members) for each in ordered)
        return self.request.total - 1 - place > sum(len(each.unit.members) for each in before)

    def _order_units(self, selection: Selection) -> list[SelectedUnit]:
        """The included units, oldest first, each turn in one piece."""
        places = self.conversation.skipped_places
        placed = [(kept.unit.place, kept) for kept in selection.selected.values()]
        placed += [(places[kept.unit.head.id], kept) for kept in self.pinned if kept.unit.head.id in places]
        placed.sort(key=itemgetter(0), reverse=True)
        # A pinned message that was not read is older than all that were.
        ordered = [kept for kept in self.pinned if kept.unit.head.id not in places]
        ordered += [kept for _, kept in placed]
        turns = [kept.unit.members[0].turn_id for kept in ordered]
        if turns.count(None) == len(turns):
            return ordered
        # A turn whose tool just answered waits for the model, even if other turns went on meanwhile.
        waiting = next((unit.head.turn_id for unit in selection.selected if unit.newest == 0 < unit.place), None)
        return group_by_turn(zip(turns, ordered, strict=True), last=waiting)


def _price_note(selection: Selection, entries: Sequence[NoteEntry], quotes: str, note: str) -> dict[str, int]:
    """Tokens of the note, and of the section of standing requests in it.

    Args:
        quotes: The note without that section.
    """
    recalled = selection.pricer.price_note(entries, quotes)
    if not selection.standing or not recalled:
        return {"note": recalled, "standing": selection.standing_tokens}
    return {"note": recalled, "standing": selection.pricer.price_section(selection.standing_section, note, recalled)}


def _select_pinned(
    pinned: Sequence[Candidate], source: Iterator[Candidate]
) -> tuple[list[Unit], list[Candidate], list[Candidate]]:
    """The pinned units, oldest first, results without a unit, and the messages read to complete them."""
    ids = {each.id for each in pinned}
    ahead = _read_exchanges({each.id for each in pinned if each.calls}, source)
    here = {each.id for each in ahead}
    # All of them, for a parallel call of the same message is completed too.
    units, loose = group_units([*(each for each in pinned if each.id not in here), *reversed(ahead)])
    return (
        [unit for unit in reversed(units) if ids.intersection(unit.ids)],
        [each for each in loose if each.id in ids],
        ahead,
    )


def _read_exchanges(calling: AbstractSet[str], source: Iterator[Candidate]) -> list[Candidate]:
    """Read until each of the messages that call tools or answer has met its other half, and no further than a limit.

    Also when both halves are known: another exchange between them may use the same call id.
    """
    ahead: list[Candidate] = []
    if not calling:
        return ahead

    def read() -> Iterator[Candidate]:
        for candidate in islice(source, _COMPLETION_LOOK_BACK):
            ahead.append(candidate)
            yield candidate

    reader = ConversationReader(read())
    while not calling <= reader.read_ids or any(
        each.id in calling for results in reader.open_results.values() for _, each in results
    ):
        if not reader.advance():
            break
    return ahead
