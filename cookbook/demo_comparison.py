"""Prints two memories side by side: the prompt each sent for a question, why, and the answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demo_evidence import normalize_text
from demo_printing import console, show_step
from demo_reading import Question, Turn
from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from wmem import Context

__all__ = ["AnswerComparison", "Tally", "show_question", "show_summary"]

_MARK = "◀ evidence"
_PREVIEW = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerComparison:
    """One question, the prompt of each memory for it, and the same model's answers."""

    question: Question
    context: Context
    prompt: list[tuple[str, str]]
    default_prompt: list[tuple[str, str]]
    answer: str
    default_answer: str
    kept: tuple[Turn, ...]
    default_kept: tuple[Turn, ...]
    buffer_kept: tuple[Turn, ...]
    tokens: int
    default_tokens: int
    buffer_tokens: int
    system_tokens: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Number of evidence turns in the prompts for many questions, by memory."""

    questions: int
    evidence: int
    kept: Mapping[str, int]


def show_question(number: int, answer: AnswerComparison, *, whole: bool) -> None:
    """Print one question: the packed prompt, its explanation, and both answers.

    Args:
        whole: Print the whole prompt, not only the evidence turns.
    """
    paper = console()
    asked = answer.question
    paper.print()
    paper.print(Text.assemble((f"Question {number}  ", "bold cyan"), (asked.text, "bold")))
    evidence = [normalize_text(turn.text) for turn in asked.evidence]
    if whole:
        body: list[Text] = [_message_text(who, text, evidence) for who, text in answer.prompt]
        title = "the prompt that wmem packed, whole"
    else:
        body = [_evidence_line(turn, is_included=turn in answer.kept) for turn in asked.evidence]
        title = "the turns that hold the answer, and whether wmem packed them"
    used = f"{answer.tokens:,} of {answer.budget:,} tokens"
    paper.print(Panel(Group(*body), title=title, subtitle=used, box=ROUNDED, border_style="blue"))
    paper.print(_explain(answer))
    answers = Table(box=ROUNDED, width=paper.width, show_lines=False, border_style="dim")
    for heading in ("the recorded answer", "with wmem", "with LlamaIndex's Memory"):
        answers.add_column(heading, ratio=1, overflow="fold")
    answers.add_row(*(Text(_shorten(text)) for text in (asked.answer, answer.answer, answer.default_answer)))
    paper.print(answers)


def show_summary(answers: Iterable[AnswerComparison], early: Tally, *, model: str, history: int) -> None:
    """Print all questions in one table, and the totals."""
    paper = console()
    told = list(answers)
    show_step("What each memory kept", "Evidence: the turns that hold the answer, whole, in the prompt that was sent.")
    table = Table(box=SIMPLE_HEAD, width=paper.width, pad_edge=False)
    table.add_column("question", ratio=1)
    table.add_column("needs")
    for heading in ("wmem", "Memory\n(the default)", "Chat-\nMemoryBuffer"):
        table.add_column(heading, justify="right")
    for each in told:
        table.add_row(
            Text(each.question.text),
            each.question.kind,
            _share_text(len(each.kept), len(each.question.evidence), each.tokens),
            _share_text(len(each.default_kept), len(each.question.evidence), each.default_tokens),
            _share_text(len(each.buffer_kept), len(each.question.evidence), each.buffer_tokens),
        )
    paper.print(table)
    budget = told[0].budget if told else 0
    paper.print(
        Text(
            f"All {early.questions} early questions, packed without being asked: of {early.evidence} turns that hold "
            f"answers wmem keeps {early.kept['wmem']}, Memory {early.kept['default']}, "
            f"ChatMemoryBuffer {early.kept['buffer']}.\n\n"
            f"Each memory had a limit of {budget:,} tokens, of a history of {history:,}. One counter weighed all "
            "prompts, with names and delimiters, which ChatMemoryBuffer leaves out of its own count. "
            f"Answers: {model}.",
        ),
    )


def _message_text(speaker: str, text: str, evidence: list[str]) -> Text:
    """One message of a prompt, its evidence marked."""
    shown = Text.assemble((f"{speaker}: ", "bold blue"))
    for place, line in enumerate(text.splitlines() or [""]):
        if place:
            shown.append("\n")
        found = any(each in normalize_text(line) for each in evidence)
        style = "bold green" if found else "bold" if line.startswith("## ") else ""
        shown.append(f"{line}  {_MARK}" if found else line, style)
    return shown


def _evidence_line(turn: Turn, *, is_included: bool) -> Text:
    sign = ("✔ ", "bold green") if is_included else ("✘ ", "bold red")
    return Text.assemble(sign, (f"{turn.speaker}: ", "bold"), _shorten(turn.text))


def _explain(answer: AnswerComparison) -> Text:
    """A short form of `Context.explain()`: messages by rule, and where the evidence ended up."""
    explanation = answer.context.explain(all=True)
    groups: dict[str, list[int]] = {}
    for unit in explanation.units:
        if unit.fate != "dropped":
            place = "in the note" if unit.placed == "note" else "as said"
            groups.setdefault(f"{unit.rule}, {place}", []).append(unit.tokens)
    sizes = [("system text", answer.system_tokens), *explanation.sizes.items()]
    lines = [Text.assemble(("why  ", "cyan"), ", ".join(f"{name} {tokens}" for name, tokens in sizes if tokens))]
    lines += [
        Text(f"     {rule}: {len(tokens)} {'message' if len(tokens) == 1 else 'messages'}, {sum(tokens)} tokens")
        for rule, tokens in groups.items()
    ]
    lines.append(Text("     dropped: " + ", ".join(f"{n} × {reason}" for reason, n in explanation.dropped.items())))
    ranked = sorted((unit for unit in explanation.units if unit.score is not None), key=lambda unit: -(unit.score or 0))
    for turn in answer.question.evidence:
        for rank, unit in enumerate(ranked, 1):
            if turn.id in unit.ids:
                told = f"     evidence {turn.id}: {unit.fate}, match {rank} of {len(ranked)}, score {unit.score:.1f}"
                lines.append(Text(told, style="green" if unit.fate == "included" else "red"))
                break
        else:
            lines.append(Text(f"     evidence {turn.id}: not among the {len(ranked)} best matches", style="red"))
    return Text("\n").join(lines)


def _share_text(part: int, whole: int, tokens: int) -> Text:
    style = "green" if part == whole else "red" if not part else "yellow"
    return Text.assemble((f"{part} of {whole}", style), (f"\n{tokens:,} tokens", "dim"))


def _shorten(text: str) -> str:
    return text if len(text) <= _PREVIEW else f"{text[:_PREVIEW].rstrip()} …"
