"""What a person sees of a context: complete, escaped, self-contained."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import wmem
from tests.matrix import examples
from wmem.display.html import excerpt

_VOID = {"br", "meta"}


class Reader(HTMLParser):
    """Follows tags, and fails where one is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: dict[str, str] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def in_terminal(context: wmem.Context, width: int = 140) -> str:
    out = StringIO()
    Console(file=out, width=width).print(context)
    return out.getvalue()


@pytest.fixture
def session() -> Iterator[wmem.Scope]:
    with wmem.open("memory://", agent_id="agent") as memory:
        scope = memory.scope("session")
        scope.items.add("Rule <b>one</b>: be brief & kind.", pinned=True)
        for number in range(60):
            scope.messages.append({"role": "user", "content": f"Question {number} about <script>alert(1)</script>?"})
            scope.messages.append(
                {"role": "assistant", "content": f"Answer {number} " + "at length " * (number % 9) * 30}
            )
        yield scope


def test_html_shows_the_budget_each_unit_and_what_was_left_out_and_why(session: wmem.Scope) -> None:
    context = session.pack("question 7", budget=1_500, system="Be brief.", reserve=200, summary=True)
    page = read(context._repr_html_())
    assert f"{context.tokens:,} of 1,500 tokens" in page.text
    for name, size in context.sizes.items():
        assert not size or f"{name} {size:,}" in page.text
    for report in (*context.included, *context.truncated):
        assert report.rule in page.text
        assert report.score is None or f"{report.score:.3f}" in page.text
    for reason, count in context.dropped.totals.items():
        assert f"{count:,} × {reason}" in page.text
    for report in context.dropped.best:
        assert report.ids[0] in page.text


def test_html_is_escaped_and_loads_and_runs_nothing(session: wmem.Scope) -> None:
    context = session.pack("question 7", budget=1_500)
    page = read(context._repr_html_())
    assert not page.tags & {"script", "style", "link", "img", "iframe", "b"}
    assert not {"src", "href", "onclick", "class", "id"} & page.attributes.keys()
    assert "<script>alert(1)</script>" in page.text
    assert "Rule <b>one</b>: be brief & kind." in page.text


def test_a_terminal_shows_the_same(session: wmem.Scope) -> None:
    context = session.pack("question 7", budget=1_500, summary=True)
    shown = in_terminal(context)
    assert f"{context.tokens:,} of 1,500 tokens" in shown
    assert {report.rule for report in (*context.included, *context.truncated)} <= set(re.findall(r"[\w-]+", shown))
    assert "[" not in shown.split("\n")[0]
    for reason, count in context.dropped.totals.items():
        assert f"{count:,} × {reason}" in shown


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_of_any_width_shows_why_what_it_costs_and_the_beginning_of_the_text(
    session: wmem.Scope, width: int
) -> None:
    session.items.add("Question 7 at great length: " + "and so on and on " * 20, ttl_s=None)
    context = session.pack("question 7", budget=1_500, system="Be brief.", reserve=200)
    lines = [line.rstrip() for line in in_terminal(context, width).split("\n")]
    assert max(map(len, lines)) <= width
    units = [line for line in lines if line.startswith(("●", "◐"))]
    reports = (*context.included, *context.truncated)
    assert len(units) == len(reports)
    for report in reports:
        assert any(re.match(rf". +{report.rule} .*\b{report.tokens:,}\b.* \w", line) for line in units)
    if width >= 80:
        for report in reports:
            assert report.score is None or any(f" {report.score:.3f} " in line for line in units)


def test_without_modes_the_sections_of_the_bar_are_told_apart(session: wmem.Scope) -> None:
    shown = in_terminal(session.pack("question 7", budget=1_500, system="Be brief. " * 20, reserve=200), 72)
    bar = shown.split("\n")[1]
    assert len(set(bar)) >= 4


def test_what_would_command_a_terminal_or_cannot_be_encoded_is_shown_as_unknown(session: wmem.Scope) -> None:
    session.messages.append({"role": "user", "content": "\x1b]0;owned\x07\x1b[31mred \u202etxt \ud800 end"})
    context = session.pack(budget=500)
    shown = in_terminal(context)
    assert "]0;owned" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert shown.encode()
    assert context._repr_html_().encode()


def test_markup_in_a_message_is_text_in_a_terminal(session: wmem.Scope) -> None:
    session.messages.append({"role": "user", "content": "[red]not a colour[/red] [/wrong"})
    assert "[red]not a colour[/red] [/wrong" in in_terminal(session.pack(budget=500))


@examples(0.4)
@given(texts=st.lists(st.text(max_size=80), max_size=6), budget=st.integers(40, 400))
def test_every_context_can_be_shown(texts: list[str], budget: int) -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append([{"role": "user", "content": text} for text in texts])
        try:
            context = session.pack(" ".join(texts[:2]), budget=budget, summary=budget // 3)
        except wmem.BudgetError:
            return
        read(context._repr_html_())
        assert in_terminal(context)


@pytest.mark.parametrize("letters", range(40, 44))
def test_an_excerpt_has_no_mark_of_quotation_wherever_it_ends(letters: int) -> None:
    assert excerpt("> user: " + "a" * letters + "\n> " * 200) == "user: " + "a" * letters


def test_a_long_prompt_is_shown_in_part_and_says_so(session: wmem.Scope) -> None:
    session.messages.append([{"role": "user", "content": f"m{number}"} for number in range(400)])
    context = session.pack(budget=100_000)
    assert "more: explain() has them all" in read(context._repr_html_()).text
    assert "more: explain() has them all" in in_terminal(context)


def test_without_rich_a_context_is_made_and_shown_as_html_and_asking_for_rich_names_the_extra() -> None:
    code = """
import sys
sys.modules["rich"] = None
import wmem
with wmem.open("memory://", agent_id="a") as memory:
    context = memory.scope("s").pack(budget=9)
assert "9 tokens" in context._repr_html_()
try:
    context.__rich__()
except wmem.MissingExtraError as exc:
    print(exc)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "wmem[inspect]" in done.stdout
