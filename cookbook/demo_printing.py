"""What the demo says, in at most 100 columns, with or without a terminal."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from demo_evidence import plain
from demo_reading import Conversation, Question, Turn
from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from wmem import Context

__all__ = [
    "Answered",
    "Talked",
    "show_asking",
    "show_question",
    "show_start",
    "show_step",
    "show_summary",
    "show_talked",
]

WIDTH = 100
_MARK = "◀ evidence"
_PREVIEW = 300


def _console() -> Console:
    console = Console(highlight=False, soft_wrap=False)
    # Piped, rich takes 80 columns; a terminal may be narrower or much wider.
    console.width = min(WIDTH, console.width) if sys.stdout.isatty() else WIDTH
    return console


@dataclass(frozen=True, slots=True, kw_only=True)
class Talked:
    """What the first process did, in numbers."""

    messages: int
    turns: int
    once: int
    """How many of the turns are stored exactly once."""
    tokens: int
    runs: int
    unanswered: int
    largest: int
    budget: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question, what each memory sent for it, and what the same model made of it."""

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


def show_start(conversation: Conversation, source: str) -> None:
    """What is read, and what is going to happen."""
    first, last = (f"{conversation.sessions[place].began:%B %Y}" for place in (0, -1))
    text = Text.assemble(
        ("wmem", "bold cyan"),
        ": two frameworks, one remembered session, one token budget\n\n",
        _facts(
            ("conversation", source),
            (
                "speakers",
                f"{conversation.user} (the agent's user) and {conversation.partner} (replies in the agent's place)",
            ),
            (
                "length",
                f"{len(conversation.turns)} turns in {len(conversation.sessions)} sittings, {first} to {last}",
            ),
        ),
    )
    _console().print(Panel(text, box=ROUNDED, border_style="cyan"))


def show_step(title: str, told: str) -> None:
    """A heading, and a sentence below it."""
    console = _console()
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="cyan")
    console.print(Text(told))


def show_talked(talked: Talked, url: str) -> None:
    """What the agent stored."""
    directory = Path(url.removeprefix("disk://"))
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    runs = f"{talked.runs:,} in {talked.seconds:.1f} s"
    if talked.unanswered:
        runs += f"; {talked.unanswered} ended without a reply, and the user's message was kept"
    _console().print(
        _facts(
            ("stored", f"{talked.messages:,} messages; {talked.once:,} of {talked.turns:,} turns exactly once"),
            ("size", f"{talked.tokens:,} tokens, {size / 1024:,.0f} KiB on disk"),
            ("agent runs", runs),
            (
                "prompts",
                f"the largest took {talked.largest:,} of {talked.budget:,} tokens, room for the reply included",
            ),
        ),
    )


def show_asking(*, model: str, found: int, tokens: int, budget: int, questions: int) -> None:
    """What the second process finds, and with what it answers."""
    stand_in = " (no OPENAI_API_KEY: it can only quote lines of its prompt)" if "stand-in" in model else ""
    _console().print(
        _facts(
            ("found", f"{found:,} messages of the session, {tokens:,} tokens"),
            ("budget", f"{budget:,} tokens a prompt: {budget / tokens:.0%} of the history"),
            ("answers from", model + stand_in),
            ("questions", f"{questions} about the first third of the sittings, chosen by rule and not by outcome"),
        ),
    )


def show_question(number: int, answered: Answered, *, whole: bool) -> None:
    """One question: the packed prompt and why it is as it is, and both answers.

    Args:
        whole: Print all of the prompt, instead of the lines that hold the evidence.
    """
    console = _console()
    asked = answered.question
    console.print()
    console.print(Text.assemble((f"Question {number}  ", "bold cyan"), (asked.text, "bold")))
    evidence = [plain(turn.text) for turn in asked.evidence]
    if whole:
        body: list[Text] = [_message(who, text, evidence) for who, text in answered.prompt]
        title = "the prompt that wmem packed, whole"
    else:
        body = [_evidence(turn, kept=turn in answered.kept) for turn in asked.evidence]
        title = "the turns that hold the answer, and whether wmem packed them"
    used = f"{answered.tokens:,} of {answered.budget:,} tokens"
    console.print(Panel(Group(*body), title=title, subtitle=used, box=ROUNDED, border_style="blue"))
    console.print(_why(answered))
    answers = Table(box=ROUNDED, width=console.width, show_lines=False, border_style="dim")
    for heading in ("the recorded answer", "with wmem", "with LlamaIndex's Memory"):
        answers.add_column(heading, ratio=1, overflow="fold")
    answers.add_row(*(Text(_short(text)) for text in (asked.answer, answered.answer, answered.default_answer)))
    console.print(answers)


def show_summary(answers: Iterable[Answered], *, model: str, history: int) -> None:
    """All questions in one table, and what it comes to."""
    console = _console()
    told = list(answers)
    show_step("What each memory kept", "Evidence: the turns that hold the answer, whole, in the prompt that was sent.")
    table = Table(box=SIMPLE_HEAD, width=console.width, pad_edge=False)
    table.add_column("question", ratio=1)
    table.add_column("needs")
    for heading in ("wmem", "Memory\n(the default)", "Chat-\nMemoryBuffer"):
        table.add_column(heading, justify="right")
    for each in told:
        table.add_row(
            Text(each.question.text),
            each.question.kind,
            _share(len(each.kept), len(each.question.evidence), each.tokens),
            _share(len(each.default_kept), len(each.question.evidence), each.default_tokens),
            _share(len(each.buffer_kept), len(each.question.evidence), each.buffer_tokens),
        )
    console.print(table)
    wanted = sum(len(each.question.evidence) for each in told)
    budget = told[0].budget if told else 0
    console.print(
        Text(
            f"Of the {wanted} turns that hold answers wmem kept {sum(len(each.kept) for each in told)}, LlamaIndex's "
            f"Memory {sum(len(each.default_kept) for each in told)}, ChatMemoryBuffer "
            f"{sum(len(each.buffer_kept) for each in told)},\n"
            f"each with a limit of {budget:,} tokens, of a history of {history:,}. One counter weighed all prompts,\n"
            "with names and delimiters, which ChatMemoryBuffer leaves out of its own count. "
            f"Answers: {model}.",
        ),
    )


def _facts(*facts: tuple[str, str]) -> Text:
    """Names and values, one a line."""
    lines = [Text.assemble((f"{name:<13}", "cyan"), value) for name, value in facts]
    return Text("\n").join(lines)


def _message(who: str, text: str, evidence: list[str]) -> Text:
    """One message of a prompt, its evidence marked."""
    shown = Text.assemble((f"{who}: ", "bold blue"))
    for place, line in enumerate(text.splitlines() or [""]):
        if place:
            shown.append("\n")
        found = any(each in plain(line) for each in evidence)
        style = "bold green" if found else "bold" if line.startswith("## ") else ""
        shown.append(f"{line}  {_MARK}" if found else line, style)
    return shown


def _evidence(turn: Turn, *, kept: bool) -> Text:
    sign = ("✔ ", "bold green") if kept else ("✘ ", "bold red")
    return Text.assemble(sign, (f"{turn.speaker}: ", "bold"), _short(turn.text))


def _why(answered: Answered) -> Text:
    """The short form of `Context.explain()`: what is in by which rule, and what became of the evidence."""
    explanation = answered.context.explain(all=True)
    groups: dict[str, list[int]] = {}
    for unit in explanation.units:
        if unit.fate != "dropped":
            place = "in the note" if unit.placed == "note" else "as said"
            groups.setdefault(f"{unit.rule}, {place}", []).append(unit.tokens)
    sizes = [("system text", answered.system_tokens), *explanation.sizes.items()]
    lines = [Text.assemble(("why  ", "cyan"), ", ".join(f"{name} {tokens}" for name, tokens in sizes if tokens))]
    lines += [
        Text(f"     {rule}: {len(tokens)} {'message' if len(tokens) == 1 else 'messages'}, {sum(tokens)} tokens")
        for rule, tokens in groups.items()
    ]
    lines.append(Text("     dropped: " + ", ".join(f"{n} × {reason}" for reason, n in explanation.dropped.items())))
    ranked = sorted((unit for unit in explanation.units if unit.score is not None), key=lambda unit: -(unit.score or 0))
    for turn in answered.question.evidence:
        for rank, unit in enumerate(ranked, 1):
            if turn.id in unit.ids:
                told = f"     evidence {turn.id}: {unit.fate}, match {rank} of {len(ranked)}, score {unit.score:.1f}"
                lines.append(Text(told, style="green" if unit.fate == "included" else "red"))
                break
        else:
            lines.append(Text(f"     evidence {turn.id}: not among the {len(ranked)} best matches", style="red"))
    return Text("\n").join(lines)


def _share(part: int, whole: int, tokens: int) -> Text:
    style = "green" if part == whole else "red" if not part else "yellow"
    return Text.assemble((f"{part} of {whole}", style), (f"\n{tokens:,} tokens", "dim"))


def _short(text: str) -> str:
    return text if len(text) <= _PREVIEW else f"{text[:_PREVIEW].rstrip()} …"
