"""What the note of a prompt quotes: pinned items, recalled memories that no message repeats, a summary of the rest."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from wmem.errors import BudgetError
from wmem.fork import cached_property
from wmem.model.recall_marks import iter_repeated
from wmem.model.results import RecallForm
from wmem.pack.excerpt import LongMemory
from wmem.pack.passage import PassageTerms
from wmem.pack.render import NoteEntry, mark_superseded, render_note, to_quote
from wmem.pack.repeats import Repeats, repeat_entry
from wmem.pack.request import Candidate, RecalledCandidate, Rendered, StoredSummary
from wmem.pack.selection import Selection
from wmem.pack.summary import MAX_COVERED_MESSAGES, summarize
from wmem.pack.wording import message_text, normalize_text
from wmem.tokens.counter import MESSAGE_OVERHEAD

if TYPE_CHECKING:
    from wmem.pack.units import Unit

_SUMMARY_TOKENS = 96  # of a summary's passage, that are quoted before there is room for more
_LEAST_QUOTE_TOKENS = 12  # of a quote that is worth a look at what is left out
_ANSWER_TOKENS = 64  # of an answer that are quoted however small the budget
_ALWAYS_WHOLE_TOKENS = 128  # of a short memory, which is quoted whole however weak a match it is
_WEAK_TOKENS = 48  # of a weak match that are quoted
_STEEPNESS = 3  # power of its score with which a match has a share in the room
_MATCHES_SHARE = 0.7  # of the room, that is divided so: the rest is for those of which the least is quoted
_SHORT_TOKENS = 256  # tokens up to which a recalled memory is quoted whole if it fits in a quarter of the budget


class _QuoteLimits(NamedTuple):
    """Tokens of the quotes of recalled memories.

    Attributes:
        whole: Up to how many one is quoted whole.
        most: Limit of a quote of such a memory.
        least: Limit of any other's.
        record: Limit of a record's: a part of it mostly lacks what is asked for.
        answer: Limit of an answer's that stands where it does for its question.
        budget: What these are parts of.
    """

    budget: int
    whole: int
    most: int
    least: int
    record: int
    answer: int

    def of(self, candidate: Candidate, form: RecallForm = "", share: float | None = None) -> int:
        """The limit of a memory's quote.

        Args:
            share: Its share of the room among all matches; None if it is no match.
        """
        if form == "answer":
            return self.answer
        if form == "summary":
            return min(self.least, _SUMMARY_TOKENS)
        if form == "record" and candidate.tokens <= self.record:
            return self.record
        limit = self.most if candidate.tokens <= self.whole else self.least
        if share is None or candidate.tokens <= _ALWAYS_WHOLE_TOKENS:
            return limit
        return min(limit, max(_WEAK_TOKENS, int(share * self.budget)))


def _find_fault(recalled: RecalledCandidate) -> str:
    """The rule by which what recall found is not quoted, before its length is looked at."""
    if recalled.is_outdated:
        return "validity"
    return "floor" if recalled.below_floor else "duplicate"


def _share_room(recalled: Sequence[RecalledCandidate]) -> list[float]:
    """The share of each match in the room, by its score: one that stands alone gets much, of many each gets little."""
    best = max([each.score for each in recalled])
    weights = [max(0.0, each.score / best) ** _STEEPNESS if best > 0 else 1.0 for each in recalled]
    total = sum(weights)
    return [_MATCHES_SHARE * weight / total for weight in weights]


class Note:
    """Adds quotes to a selection."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._request = selection.request
        self._texts: dict[Unit, tuple[Rendered, list[str]]] = {}  # of the messages of units, normalized

    @cached_property
    def _passage_terms(self) -> PassageTerms | None:
        return PassageTerms.of(self._request.query_terms) if self._request.query_terms else None

    @cached_property
    def _ids_of_older(self) -> frozenset[str]:
        """Ids of recalled memories of which a newer one says otherwise."""
        return frozenset([each.candidate.id for each in self._request.recalled if each.superseded])

    def add_pinned_items(self) -> None:
        """Put the pinned items into the note, whole.

        Raises:
            BudgetError: They do not fit.
        """
        selection = self._selection
        for candidate in self._request.pinned:
            if candidate.role is not None or candidate.id in selection.note_entries:
                continue
            entry = self._to_entry(candidate)
            if entry is not None and entry.quote.text:
                selection.add_to_note(entry)
        if selection.tokens_left < 0 and selection.note_entries:
            entries = list(selection.note_entries.values())
            tokens = selection.pricer.price_note(entries, render_note(entries, self._request.zone))
            msg = (
                f"pinned items take {tokens} tokens, {-selection.tokens_left} more than the "
                f"budget of {selection.options.budget} leaves for them"
            )
            raise BudgetError(msg)

    def add_recalled(self, room: int, *, beside: AbstractSet[str] = frozenset()) -> int:
        """Put recalled memories that no message repeats into the note, best first; returns what is left of the room.

        Args:
            beside: Ids of messages that are not quoted, whether they are in the prompt or not.
        """
        selection = self._selection
        if not self._request.recalled:
            return room
        sent = (*selection.pinned, *selection.selected.values())
        included = beside | {member.id for each in sent for member in each.unit.members}
        included |= selection.note_entries.keys()
        texts = self._texts_in_prompt() | {entry.quote.text for entry in selection.note_entries.values()}
        repeats = Repeats(selection.note_entries.values())
        limits = self._quote_limits(room)
        shares = _share_room(self._request.recalled)
        for recalled, share in zip(self._request.recalled, shares, strict=True):
            candidate = recalled.candidate
            if candidate.id in included:
                continue
            included.add(candidate.id)
            if recalled.is_outdated or recalled.below_floor or recalled.is_repeated:
                selection.rejected.append((recalled, _find_fault(recalled)))
                continue
            limit = limits.of(candidate, recalled.form, share)
            if limit < min(candidate.tokens - MESSAGE_OVERHEAD, _LEAST_QUOTE_TOKENS):
                selection.rejected.append((recalled, "budget"))
                continue
            # Its line costs about as much as the message less its delimiters: one that is too long is not decoded.
            if candidate.tokens - MESSAGE_OVERHEAD > room and limit > room:
                selection.rejected.append((recalled, "budget"))
                continue
            entry = self._to_entry(candidate, limit)
            if entry is None or not entry.quote.text:
                selection.rejected.append((recalled, "empty" if entry else "echo"))
            elif repeats.count(entry) or entry.quote.text in texts:
                selection.rejected.append((recalled, "duplicate"))
            elif (price := selection.price_entry(entry)) > room:
                selection.rejected.append((recalled, "budget"))
            else:
                texts.add(entry.quote.text)
                selection.add_to_note(entry, price)
                repeats.add(entry)
                room -= price
        for entry in repeats.tell(self._request.count, room):
            room -= entry.tokens - selection.note_entries[entry.candidate.id].tokens
            selection.replace_in_note(entry)
        return room

    def remove_duplicates(self) -> None:
        """Remove quotes that a message included later repeats."""
        selection = self._selection
        if not selection.note_entries or not self._request.recalled:
            return
        texts = self._message_texts()
        if not any(entry.quote.text in texts for entry in selection.note_entries.values()):
            return
        for recalled in self._request.recalled:
            entry = selection.note_entries.get(recalled.candidate.id)
            if entry is not None and entry.rule != "pinned" and entry.quote.text in texts:
                selection.remove_from_note(entry)
                selection.rejected.append((recalled, "duplicate"))

    def quote_older(self, room: int, share: int) -> None:
        """Quote the newest messages that are left out, without a gap, in what recall left of the note's share.

        Args:
            room: Tokens for the quotes.
            share: The share of the note.
        """
        if room < _LEAST_QUOTE_TOKENS:
            return
        selection = self._selection
        for entry in reversed(self._list_older_quotes(room, share)):
            selection.add_to_note(entry)

    def _list_older_quotes(self, room: int, share: int) -> list[NoteEntry]:
        selection = self._selection
        said, days = self._texts_in_prompt(), set(selection.days)
        limits = self._quote_limits(share)
        quoted: list[NoteEntry] = []
        for candidate in (each for unit in selection.iter_left_out() for each in reversed(unit.members)):
            if candidate.id in selection.note_entries:
                continue
            placed = candidate._replace(place=self._request.places.get(candidate.id, 0))
            entry = self._to_entry(placed, limits.of(candidate))
            if entry is None or not entry.quote.text or entry.quote.text in said:
                continue
            room -= selection.pricer.price(entry.quote, days)
            if room < 0:
                break
            days.add(entry.quote.day)
            quoted.append(entry._replace(rule="filled"))
        return quoted

    def expand_passages(self, room: int) -> None:
        """Quote truncated memories whole, best first, where there is room after all."""
        selection = self._selection
        if not any(entry.tokens_cut for entry in selection.note_entries.values()):
            return
        for recalled in self._request.recalled:
            candidate = recalled.candidate
            entry = selection.note_entries.get(candidate.id)
            if entry is None or not entry.tokens_cut:
                continue
            if candidate.tokens - MESSAGE_OVERHEAD > room + entry.tokens:
                continue
            whole = self._to_entry(candidate, candidate.tokens)
            if whole is None:
                continue
            whole = repeat_entry(whole, entry.times, self._request.count)
            if (more := whole.tokens - entry.tokens) <= room:
                room -= more
                selection.replace_in_note(whole)

    def add_summary(self, room: int) -> None:
        """Put the best sentences of the newest messages left out into the note."""
        selection = self._selection
        stored = self._list_useful_summaries()
        covered = frozenset(id for each in stored for id in each.covered)
        left_out = self.list_left_out(besides=covered)
        summary = summarize(
            [each for each, _ in left_out],
            min(room, selection.tokens_left),
            self._request.query_terms,
            selection.loader,
            selection.pricer,
            analyzer=self._request.analyzer,
            stored=[each.candidate for each in stored],
        )
        if summary is not None:
            selection.set_summary(summary)
            if summary.messages_covered:
                older = self._request.total - 1 - left_out[summary.messages_covered - 1][1]
                selection.messages_uncovered = max(0, older - len(covered))

    def _list_useful_summaries(self) -> list[StoredSummary]:
        """The stored summaries of what is left out; one of messages that are all in the prompt tells nothing."""
        if not self._request.summaries:
            return []
        selection = self._selection
        sent = {id for each in (*selection.pinned, *selection.selected.values()) for id in each.unit.ids}
        return [each for each in self._request.summaries if not each.covered <= sent]

    def list_left_out(self, *, besides: AbstractSet[str] = frozenset()) -> list[tuple[Candidate, int]]:
        """The newest messages that could be sent but are not, and how many are newer than each.

        Args:
            besides: Ids of messages that are told otherwise.
        """
        selection = self._selection
        left_out: list[tuple[Candidate, int]] = []
        for unit in selection.iter_left_out():
            if len(left_out) >= MAX_COVERED_MESSAGES:
                break
            left_out += [
                (each, unit.place)
                for each in unit.members
                if each.id not in selection.note_entries and each.id not in besides
            ]
        return left_out

    def _quote_limits(self, room: int) -> "_QuoteLimits":
        # Fixed parts may leave little of the budget: no memory takes more than half of the rest.
        budget = min(self._selection.options.budget, 2 * room)
        whole = min(max(_SHORT_TOKENS, budget // 8), budget // 4)
        answer = min(max(_ANSWER_TOKENS, budget // 10), budget // 4)
        return _QuoteLimits(budget, whole, budget // 4, budget // 6, record=max(budget // 4, room // 2), answer=answer)

    def _to_entry(self, candidate: Candidate, max_tokens: int | None = None) -> NoteEntry | None:
        """The memory as an entry of the note, pinned and whole without `max_tokens`; None for an echo."""
        entry = self._to_unmarked_entry(candidate, max_tokens)
        return mark_superseded(entry, self._request.count) if entry and candidate.id in self._ids_of_older else entry

    def _to_unmarked_entry(self, candidate: Candidate, max_tokens: int | None) -> NoteEntry | None:
        if max_tokens is not None and candidate.tokens > max_tokens:
            memory = self._load_long(candidate)
            return None if memory.recalled else memory.to_note_entry(candidate, max_tokens, self._passage_terms)
        request, quotes = self._request, self._request.quotes
        rule = "pinned" if max_tokens is None else "recalled"
        if quotes is not None and (known := quotes.get(candidate)) is not None:
            return NoteEntry(candidate, known, 0, rule)
        message = self._selection.loader.load(candidate)
        if message.recalled:
            return None
        quote = to_quote(candidate, message, request.count, zone=request.zone)
        if quotes is not None:
            quotes.put(candidate, quote)
        return NoteEntry(candidate, quote, 0, rule)

    def _load_long(self, candidate: Candidate) -> LongMemory:
        request, quotes = self._request, self._request.quotes
        memory = None if quotes is None else quotes.get_long(candidate)
        if memory is None:
            memory = LongMemory(candidate, self._selection.loader.load(candidate), request.count, request.zone)
            if quotes is not None:
                quotes.put_long(candidate, memory)
        return memory

    def _texts_in_prompt(self) -> set[str]:
        """The normalized texts of the included messages and standing requests."""
        requests = {normalize_text(each.text) for entry in self._selection.standing for each in entry.requests}
        return self._message_texts() | requests

    def _message_texts(self) -> set[str]:
        """The normalized texts of the included messages, and of the memories that they repeat, each made once."""
        sent = (*self._selection.pinned, *self._selection.selected.values())
        texts = {each.rendered.plain.normal_form for each in sent if each.rendered.plain is not None}
        for unit, _, rendered in sent:
            if rendered.plain is not None:
                continue
            known = self._texts.get(unit)
            if known is None or known[0] is not rendered:
                known = (
                    rendered,
                    [
                        normalize_text(text)
                        for message in rendered.messages
                        for text in (message_text(message), *iter_repeated(message))
                    ],
                )
                self._texts[unit] = known
            texts.update(known[1])
        return texts
