"""Output of the demo, in at most 100 columns, with or without a terminal."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demo_reading import Conversation
from rich.box import ROUNDED
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

__all__ = [
    "WEEKDAYS",
    "TalkReport",
    "console",
    "show_asking",
    "show_end",
    "show_start",
    "show_step",
    "show_stored",
    "to_lines",
]

WIDTH = 100
WEEKDAYS = {
    "Monday": datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp(),
    "Tuesday": datetime(2026, 3, 10, 9, tzinfo=UTC).timestamp(),
}
"""Instants of the last two processes, for their clocks."""


def console() -> Console:
    """The console for all output."""
    paper = Console(highlight=False)
    # rich uses 80 columns when piped; a terminal may be narrower or much wider.
    paper.width = min(WIDTH, paper.width) if sys.stdout.isatty() else WIDTH
    return paper


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkReport:
    """Numbers of the first process."""

    messages: int
    turns: int
    stored_once: int
    """Number of turns stored exactly once."""
    tokens: int
    runs: int
    unanswered: int
    largest: int
    budget: int
    seconds: float


def show_start(conversation: Conversation, source: str) -> None:
    """Print the title and the conversation's source and size."""
    first, last = (f"{conversation.sessions[place].started_at:%B %Y}" for place in (0, -1))
    text = Text.assemble(
        ("wmem", "bold cyan"),
        ": two frameworks, one remembered session, one token budget\n\n",
        to_lines(
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
    console().print(Panel(text, box=ROUNDED, border_style="cyan"))


def show_step(title: str, text: str) -> None:
    """Print a heading, and a text below it."""
    paper = console()
    paper.print()
    paper.rule(Text(title, style="bold"), align="left", style="cyan")
    paper.print(Text(text))


def show_stored(report: TalkReport, url: str) -> None:
    """Print what the agent stored."""
    directory = Path(url.removeprefix("disk://"))
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    runs = f"{report.runs:,} in {report.seconds:.1f} s"
    if report.unanswered:
        runs += f"; {report.unanswered} ended without a reply, and the user's message was kept"
    console().print(
        to_lines(
            ("stored", f"{report.messages:,} messages; {report.stored_once:,} of {report.turns:,} turns exactly once"),
            ("size", f"{report.tokens:,} tokens, {size / 1024:,.0f} KiB on disk"),
            ("agent runs", runs),
            (
                "prompts",
                f"the largest took {report.largest:,} of {report.budget:,} tokens, room for the reply included",
            ),
        ),
    )


def show_asking(*, model: str, messages: int, tokens: int, budget: int, questions: int, early: int) -> None:
    """Print what the second process finds, its budget and its model."""
    stand_in = " (no OPENAI_API_KEY: it can only quote lines of its prompt)" if "stand-in" in model else ""
    console().print(
        to_lines(
            ("found", f"{messages:,} messages of the session, {tokens:,} tokens"),
            ("budget", f"{budget:,} tokens a prompt: {budget / tokens:.0%} of the history"),
            ("answers from", model + stand_in),
            ("questions", f"{questions}, evenly spread over the {early} about the first third of the sittings"),
        ),
    )


def show_end(*, seconds: float, real_model: bool, invented: bool) -> None:
    """Print how long it took, how to read the numbers, and what to try next."""
    lines = [f"{seconds:.0f} seconds. WMEM_DEMO_DIR=directory keeps the store to look into."]
    if not real_model:
        lines.append("OPENAI_API_KEY (with OPENAI_BASE_URL and OPENAI_MODEL) lets a real model answer.")
    if invented:
        lines.insert(0, "We wrote this conversation and its questions: the numbers show how wmem works, not how well.")
        lines.append("WMEM_LOCOMO=file takes the first conversation of a file in LoCoMo's format instead.")
    console().print(Text("\n" + "\n".join(lines), style="dim"))


def to_lines(*pairs: tuple[str, str]) -> Text:
    """Names and values, one a line."""
    lines = [Text.assemble((f"{name:<13}", "cyan"), value) for name, value in pairs]
    return Text("\n").join(lines)
