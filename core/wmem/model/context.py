"""`Context`, the result of a pack: the prompt, its tokens, and why each unit is in or out."""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wmem.describe import describe
from wmem.errors import InvalidInputError, MissingExtraError
from wmem.model.alternation import alternate
from wmem.model.message import Message
from wmem.model.prompt import Prompt
from wmem.model.receipt import Sealed
from wmem.model.results import RecallUse, UnitReport

if TYPE_CHECKING:
    from rich.console import Group

ProviderProfile: TypeAlias = Literal["any", "openai", "anthropic", "gemini", "mistral", "bedrock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Report on a pack, unit by unit; `str()` of it is a table for people."""

    budget: int
    tokens: int
    sizes: Mapping[str, int]
    """Tokens by section: system, tools, note, messages, reserve."""
    units: tuple[UnitReport, ...]
    dropped: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    scope: str = ""
    """Id of the scope that was packed."""

    def __str__(self) -> str:
        lines = [f"{self.tokens} of {self.budget} tokens: " + ", ".join(f"{k} {v}" for k, v in self.sizes.items() if v)]
        for unit in self.units:
            score = "" if unit.score is None else f"  score {unit.score:.3f}"
            parts = " ".join(f"{name}={part:.3f}" for name, part in unit.parts.items())
            cut = f"  (cut by {unit.tokens_cut})" if unit.tokens_cut else ""
            cut += f"  (without calls of {', '.join(unit.left_out)})" if unit.left_out else ""
            cut += f"  (without {', '.join(unit.blocks_left_out)})" if unit.blocks_left_out else ""
            cut += f"  (of {unit.scope})" if unit.scope != self.scope else ""
            ids = _unit_label(unit)
            where = f"{unit.fate:9} {unit.rule:10} {unit.placed:8} {unit.tokens:6} tokens"
            lines.append(f"  {where}  {ids}{cut}{score}  {parts}".rstrip())
        lines += [f"  dropped   {count} × {reason}" for reason, count in sorted(self.dropped.items())]
        lines += [f"  warning   {text}" for text in self.warnings]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Prompt):
    """A prompt that fits its budget, and reports on what was chosen and why."""

    def prompt(self) -> Iterator[Message]:
        """All messages in the order they are sent, with system text and note."""
        return alternate(self._in_order()) if self.roles == "alternate" else self._in_order()

    def _in_order(self) -> Iterator[Message]:
        if self.system:
            yield Message.of("system", self.system)
        for place, message in enumerate(self.messages):
            if self.note and place == self.note_before:
                yield self.note_message()
            yield message
        if self.note and self.note_before >= len(self.messages):
            yield self.note_message()

    def note_message(self) -> Message:
        """The note as a message, marked so that no adapter stores it again."""
        return Message.recall(self.note_role, self.note)

    def to_openai(self) -> list[dict[str, Any]]:
        """The prompt as dictionaries in OpenAI's chat form."""
        return [message.to_openai() for message in self.prompt()]

    def to_langchain(self) -> list[Any]:
        """The prompt as LangChain messages; needs the extra ``langchain``."""
        return list(_import_adapter("langchain").to_langchain(list(self.prompt())))

    def to_llamaindex(self) -> list[Any]:
        """The prompt as LlamaIndex chat messages; needs the extra ``llamaindex``."""
        return list(_import_adapter("llamaindex").to_llamaindex(list(self.prompt())))

    @property
    def receipt(self) -> str:
        """A few characters that name this prompt, and hold nothing of it: `AgentMemory.replay` renders it again.

        For that it must be recorded: by a turn, an adapter, or `AgentMemory.record`. "" for a prompt that no scope has
        packed.
        """
        sealed = unseal(self)
        return "" if sealed is None else sealed.receipt

    def __getstate__(self) -> list[Any]:
        """All fields, with the receipt made: a copy knows nothing of what it is made from."""
        _ = self.receipt
        return [getattr(self, each.name) for each in fields(self)]

    def explain(self, *, all: bool = False) -> Explanation:  # `all` is the word users look for
        """Report why each unit is included, truncated or dropped.

        Args:
            all: Enumerate every dropped unit, not only the best hundred.
        """
        out = self.dropped.best if self.all_dropped is None or not all else self.all_dropped
        return Explanation(
            budget=self.budget,
            tokens=self.tokens,
            sizes=self.sizes,
            units=(*self.included, *self.truncated, *out),
            dropped=self.dropped.totals,
            warnings=self.warnings,
            scope=self.scope,
        )

    @property
    def sources(self) -> Mapping[str, int]:
        """Tokens of the prompt by the id of the scope that they are from; those of "" are from none.

        They are the system text, the tools, the reserve, and what wraps messages and note.
        """
        tokens: dict[str, int] = {}
        for unit in (*self.included, *self.truncated):
            tokens[unit.scope] = tokens.get(unit.scope, 0) + unit.tokens
        return {**tokens, "": self.tokens - sum(tokens.values())}

    def uses(self, ids: Iterable[str]) -> list[RecallUse]:
        """Recalled units of the prompt, and whether the answer used each; input of `propose_profile`.

        Args:
            ids: Ids that the answer used, as in `included` and `truncated`. Units that are there for
                another reason (new, pinned) tell nothing about recall and are left out.

        Raises:
            InvalidInputError: `ids` is one string, or not of texts.
        """
        listed = None if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
        if listed is None or not all(isinstance(each, str) for each in listed):
            raise InvalidInputError(f"ids must be several texts, got {describe(ids)}")
        used = set(listed)
        found = (unit for unit in (*self.included, *self.truncated) if unit.rule == "recalled")
        return [RecallUse(unit.parts, not used.isdisjoint(unit.ids)) for unit in found]

    def __repr__(self) -> str:
        from wmem.display.html import title

        return f"<Context {title(self)}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: the budget as a bar, each unit with its score, what was left out and why."""
        from wmem.display.html import to_html

        return to_html(self)

    def __rich__(self) -> "Group":
        """Display in a terminal: ``rich.print(context)``; needs the extra ``inspect``."""
        from wmem.display.terminal import to_rich

        return to_rich(self)


def unseal(context: Context) -> Sealed | None:
    """A prompt's receipt and what its trace tells; None for a prompt that no scope has packed."""
    return None if context._seal is None else context._seal.of(context)  # noqa: SLF001  # of this module


def _unit_label(unit: UnitReport) -> str:
    if not unit.ids:
        return f"of {len(unit.sources)} messages"
    return unit.ids[0] if len(unit.ids) == 1 else f"{unit.ids[0]} +{len(unit.ids) - 1}"


def _import_adapter(name: str) -> Any:
    try:
        return importlib.import_module(f"{name}_wmem")
    except ImportError as exc:
        raise MissingExtraError(f"this needs the extra {name!r}: pip install 'wmem[{name}]'") from exc
