"""Finds the standing requests in a text."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from wmem.model.standing import TAKE_BACK, StandingRequest
from wmem.rules.standing.east_asian import CHINESE, JAPANESE
from wmem.rules.standing.english import ENGLISH
from wmem.rules.standing.european import DUTCH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, RUSSIAN, SPANISH, SWEDISH
from wmem.rules.standing.own_text import STRAIGHT, Sentence, own_sentences
from wmem.rules.standing.table import Table, TableRow, compile_pattern, to_hint

SPACED: Sequence[Table] = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH, SWEDISH, RUSSIAN)
UNSPACED: Sequence[Table] = (CHINESE, JAPANESE)
TABLES: Sequence[Table] = (*SPACED, *UNSPACED)
_MAX_CLAUSES = 12
_MAX_CLAUSE_CHARS = 240
_MAX_CHARS = 4_000  # characters of a text that are looked at for a word
_MAX_STARTS = 8  # clauses of a sentence that are tried
_LIST_RULE = "rule list"
_WORD = re.compile(r"[\w'/-]{1,40}")
_MARKS = ('"', "\n", " '", "`", "“", "«", "„", "「", "『", "‘")  # of what is quoted, or listed
_LIST_ITEM = re.compile(r"(?:[-*•–+]|\(?\d{1,2}[.)]|[a-z]\)) ")  # dashes on purpose
_LIST_NUMBER = re.compile(r"\(?\d{1,2}[.)]$")
_BLANKS = str.maketrans(dict.fromkeys('.,!?:;()[]{}<>"“”„«»…*_–—¿¡\n\t', " ")) | STRAIGHT  # on purpose


def find_standing_requests(text: str) -> tuple[StandingRequest, ...]:
    """The clauses of a user's message that stand, and those that take earlier ones back, in their order.

    Only his own words count: see `own_sentences`. At most 12 clauses, each cut at 240 characters: who seems to
    ask for more pasted a document.
    """
    shown = text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS // 2]} {text[-_MAX_CHARS // 2 :]}"
    lower = shown.lower()
    words = _rows_by_word().keys() & lower.translate(_BLANKS).split()
    # Nearly every message holds no word of a row, or not what the row looks for.
    if not (words and _may_ask(lower, words)) and (shown.isascii() or not _may_ask_without_spaces(shown)):
        return ()
    found: dict[StandingRequest, None] = {}
    for request in _find(text):
        if not request.text:
            continue  # nothing is said but the words that introduce a request
        found[request] = None
        if len(found) == _MAX_CLAUSES:
            break
    return tuple(found)


def _may_ask(lower: str, words: Iterable[str]) -> bool:
    """Whether a text in lower case holds what the rows of some words look for; of what is quoted that is not known."""
    straight = lower if lower.isascii() else lower.translate(STRAIGHT)
    if lower[0] == "'":
        return True
    for mark in _MARKS:  # a generator costs more on every message
        if mark in lower:
            return True
    for word in words:  # noqa: SIM110  # as above
        if _compile_hints(word).search(straight) is not None:
            return True
    return False


@cache
def _compile_hints(word: str) -> "re.Pattern[str]":
    """What the rows that want a word look for."""
    hints = dict.fromkeys(to_hint(SPACED[at].rows[place]) for at, place in _rows_by_word()[word])
    return re.compile("|".join(f"(?:{hint})" for hint in hints))


def _may_ask_without_spaces(text: str) -> bool:
    return compile_pattern(_words_of_unspaced_scripts()).search(text) is not None


@cache
def _words_of_unspaced_scripts() -> str:
    words = {word for table in UNSPACED for row in table.rows for word in row.words.split()}
    return "|".join(map(re.escape, sorted(words)))


@cache
def _rows_by_word() -> Mapping[str, Sequence[tuple[int, int]]]:
    """For each word, the places of the rows that want it: the table's and the row's."""
    rows: dict[str, list[tuple[int, int]]] = {}
    for at, table in enumerate(SPACED):
        for place, row in enumerate(table.rows):
            for word in row.words.split():
                rows.setdefault(word, []).append((at, place))
    return rows


def _find(text: str) -> Iterator[StandingRequest]:
    in_list = is_item = False
    for sentence in own_sentences(text):
        if _LIST_NUMBER.match(sentence.text):
            is_item = True
            continue
        is_item = is_item or _LIST_ITEM.match(sentence.text) is not None
        found = False
        for request in _find_in_sentence(sentence, text):
            found = True
            yield request
        if in_list and is_item and not found:
            yield StandingRequest(_LIST_RULE, _cut(text, sentence.start, sentence.start + len(sentence.text)))
        in_list = is_item if in_list else sentence.text.endswith(":") and _is_list_heading(sentence.text)
        is_item = False


def _is_list_heading(sentence: str) -> bool:
    return any(compile_pattern(table.list_heading).search(sentence) for table in TABLES)


def _find_in_sentence(sentence: Sentence, text: str) -> Iterator[StandingRequest]:
    for table, rows in _list_rows(sentence.text):
        clauses = [*_match_clauses(table, rows, sentence)]
        for number, (start, end, row) in enumerate(clauses):
            until = min(end, clauses[number + 1][0]) if number + 1 < len(clauses) else end
            clause = _cut(text, sentence.start + start, sentence.start + until)
            if row.ends:
                yield StandingRequest(TAKE_BACK, clause)
            yield StandingRequest(row.rule, clause)
        if clauses:
            return


def _list_rows(sentence: str) -> Iterator[tuple[Table, Sequence[TableRow]]]:
    """The rows that want a word of a sentence, by table."""
    by_word = _rows_by_word()
    wanted = sorted({place for word in {*_WORD.findall(sentence)} & by_word.keys() for place in by_word[word]})
    for at in dict.fromkeys(at for at, _ in wanted):
        yield SPACED[at], [SPACED[at].rows[place] for table, place in wanted if table == at]
    if not sentence.isascii() and _may_ask_without_spaces(sentence):
        for table in UNSPACED:
            yield table, [row for row in table.rows if any(word in sentence for word in row.words.split())]


def _match_clauses(table: Table, rows: Sequence[TableRow], sentence: Sentence) -> Iterator[tuple[int, int, TableRow]]:
    """Where in a sentence a clause that stands begins, where it ends at the latest, and the row it matches."""
    text = sentence.text
    starts = [0, *(match.end() for match in compile_pattern(table.joint).finditer(text))][:_MAX_STARTS]
    body = 0
    for number, start in enumerate(starts):
        if start < body:
            continue  # within what leads to the clause before
        lead = compile_pattern(table.lead).match(text, start)
        body = lead.end() if lead else start
        after = next((each for each in starts[number + 1 :] if each >= body), len(text))
        end = len(text)
        if sentence.asks and (lead is None or lead.group("asked") is None):
            # What is said before a question may stand, the question does not.
            question = compile_pattern(table.question).search(text, body)
            if question is None:
                continue
            end = question.start()
        for row in rows:
            pattern = compile_pattern(row.pattern)
            if row.anywhere:
                match = pattern.search(text, start, after)
            else:
                # What leads to a request may also be its beginning: "you can", "from now on"; "can you" allows nothing.
                begins = body > start and not (sentence.asks and row.changes_earlier)
                match = pattern.match(text, body) or (pattern.match(text, start) if begins else None)
            if match is None:
                continue
            if not row.anywhere:
                yield *(match.span("topic") if "topic" in pattern.groupindex else (start, end)), row
                break
            remark = compile_pattern(table.remark).search(text, match.end(), end)
            # What somebody prefers may stand before the verb: "like I prefer".
            whole = not text[match.end() : match.end() + 2].strip(" ,.;!")
            yield (start if whole else match.start()), (remark.start() if remark else end), row
            break


def _cut(text: str, start: int, end: int) -> str:
    """A clause, verbatim, on one line; a long one up to a comma or a blank."""
    clause = " ".join(text[start:end].split()).strip(" ,;:-–—*•")  # dashes on purpose
    if len(clause) <= _MAX_CLAUSE_CHARS:
        return clause
    head = clause[:_MAX_CLAUSE_CHARS]
    at = head.rfind(",")
    return head[: at if at > _MAX_CLAUSE_CHARS // 2 else head.rfind(" ")].rstrip()
