"""What hides secrets and personal data in texts and JSON values.

Pure, and linear in the text. What it finds is replaced by a mark, such as ``[REDACTED_EMAIL]``.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Self, TypeAlias

from pydantic import JsonValue

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.log import find_logger, log_callback_failure
from wmem.model.checks import check_flag
from wmem.model.vault import Vault
from wmem.rules.redaction.finders import find_spans, kind_of_field, may_have_spans
from wmem.rules.redaction.json_values import collect_texts, is_id, quote_of_number, redact_text, redact_value
from wmem.rules.redaction.kinds import ALL, REDACTION_KINDS
from wmem.rules.redaction.spans import Span, find_marks, is_full, mark_pattern, merge_spans, spare_marks

_LOGGER = find_logger(__name__)
_MAX_PASSES = 4
_DIGEST_CHARS = 16
_WITHHELD = "withheld"
_NOT_WITHIN = "\0"  # is within no value, label or word
_KIND_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")

Recognizer: TypeAlias = Callable[[str], Iterable[Span]]
"""A user's own finder: the stretches of a text that are to be hidden, each with its kind."""
RedactionStatus: TypeAlias = Literal["none", "partial", "full"]


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without what was to be hidden.

    Attributes:
        text: With marks for what was taken out.
        counts: How many were taken out, by kind.
        status: ``"none"``: no mark is in it; ``"full"``: nothing else is; else ``"partial"``.
    """

    text: str
    counts: Mapping[str, int]
    status: RedactionStatus


@dataclass(frozen=True, slots=True)
class Redaction:
    """Hides secrets and personal data; what it is given stays, its result has marks instead.

    Where it runs, see `wmem.open`. A mark has the kind of what it stands for, as in ``[REDACTED_EMAIL]``, and nothing
    of the value; with a vault also a keyed digest, and `restore` puts the values back.

    Args:
        kinds: The kinds to hide, of `wmem.types.REDACTION_KINDS`; all by default.
        recognizers: Finders of your own, for names, addresses and the like. They get texts without what the kinds
            found. If one fails, the text is held back whole, as ``[REDACTED_WITHHELD]``, and the failure is logged
            without its message.
        vault: Where values are kept to be restored; without one nothing can be.
        on_every_put: Whether everything that is stored goes through it, in every scope; see `strict`.

    Raises:
        InvalidInputError: There is no such kind, or a value is none of its option.
    """

    kinds: frozenset[str] = ALL
    recognizers: tuple[Recognizer, ...] = ()
    vault: Vault | None = field(default=None, repr=False)
    on_every_put: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.kinds, str):
            raise InvalidInputError(f"kinds takes several: kinds=[{describe(self.kinds)}]")
        listed = _list_option(self.kinds, "kinds")
        unknown = {describe(each) for each in listed if not isinstance(each, str) or each not in REDACTION_KINDS}
        if unknown:
            msg = f"no such kinds: [{', '.join(sorted(unknown))}]; there are {sorted(REDACTION_KINDS)}"
            raise InvalidInputError(msg)
        object.__setattr__(self, "kinds", frozenset(listed))
        object.__setattr__(self, "recognizers", tuple(_list_option(self.recognizers, "recognizers")))
        if wrong := [each for each in self.recognizers if not callable(each)]:
            raise InvalidInputError(f"a recognizer is a function from a text to spans, not {describe(wrong[0])}")
        if self.vault is not None and not all(hasattr(self.vault, name) for name in ("store", "reveal")):
            raise InvalidInputError(f"vault must be a wmem.Vault, as wmem.MemoryVault(), not {describe(self.vault)}")
        check_flag(self.on_every_put, "on_every_put")

    @classmethod
    def strict(
        cls,
        kinds: Iterable[str] = ALL,
        recognizers: Iterable[Recognizer] = (),
        vault: Vault | None = None,
    ) -> Self:
        """One that everything stored goes through, in every scope, not only what is kept long or leaves."""
        return cls(kinds, recognizers, vault, on_every_put=True)  # type: ignore[arg-type]  # made to sets and tuples

    @classmethod
    def off(cls) -> Self:
        """One that hides nothing."""
        return cls(frozenset())

    @property
    def active(self) -> bool:
        """Whether it hides anything."""
        return bool(self.kinds or self.recognizers)

    def find(self, text: str) -> Sequence[Span]:
        """What the kinds find in a text, in order, without the recognizers; a JSON document is read as text."""
        _check_text(text)
        return self._find(text) if self.kinds else []

    def redact(self, text: str) -> Redacted:
        """A text without what is to be hidden; a JSON document stays one, with the types of its values.

        A number of a JSON document that is hidden becomes a text. Marks are left as they are: again changes nothing.
        """
        _check_text(text)
        counts: dict[str, int] = {}
        result = redact_text(text, partial(self._hide, counts)) if self.active else text
        status: RedactionStatus = "none" if not find_marks(result) else "full" if is_full(result) else "partial"
        return Redacted(result, counts, status)

    def redact_json(self, value: JsonValue) -> tuple[JsonValue, Mapping[str, int]]:
        """A JSON value without what is to be hidden, and how many there were, by kind.

        Names of fields stay, and say what stands in them: ``{"password": "…"}``. Texts that are JSON documents, such as
        the arguments of tools, stay documents. The value that it is given is not changed.
        """
        if not self.active or leaves_alone(self, value):
            return value, {}
        counts: dict[str, int] = {}
        return redact_value(value, partial(self._hide, counts)), counts

    def restore(self, text: str) -> str:
        """A text with the values that the vault has behind its marks; other marks stay.

        Raises:
            InvalidInputError: There is no vault.
        """
        if (vault := self.vault) is None:
            raise InvalidInputError("nothing can be restored without a vault: Redaction(vault=…)")
        _check_text(text)
        return mark_pattern().sub(lambda mark: value if (value := vault.reveal(mark[0])) is not None else mark[0], text)

    def _find(self, text: str) -> list[Span]:
        spans = [span for span in find_spans(text) if span.kind in self.kinds]
        return spare_marks(merge_spans(spans), find_marks(text), text) if spans else spans

    def _hide(self, counts: dict[str, int], text: str, name: str) -> str:
        """A text that is no JSON document, in a field of a name."""
        if name and (kind := kind_of_field(name, text)) in self.kinds and not find_marks(text):
            whole = [span for span in self.find(text) if (span.start, span.end) == (0, len(text))]
            return self._replace(text, whole or [Span(0, len(text), kind)], counts)  # a key's own form says more
        for _ in range(_MAX_PASSES):  # what is gone may let something else be seen
            if not (spans := self.find(text)) or (name and is_id(name, text)):
                break
            text = self._replace(text, spans, counts)
        for recognizer in self.recognizers:
            try:
                found = _check_spans(recognizer(text), text)
            except Exception as exc:  # noqa: BLE001  # a user's function: whatever it raises, the text stays hidden
                log_callback_failure(_LOGGER, "a recognizer failed; a text is held back whole", exc=exc)
                counts[_WITHHELD] = counts.get(_WITHHELD, 0) + 1
                return f"[REDACTED_{_WITHHELD.upper()}]"
            text = self._replace(text, found, counts)
        return text

    def _replace(self, text: str, spans: Sequence[Span], counts: dict[str, int]) -> str:
        pieces: list[str] = []
        at = 0
        for span in spans:
            quote = quote_of_number(text, span.start, span.end)
            pieces += text[at : span.start], quote, self._mark(span.kind, text[span.start : span.end]), quote
            at = span.end
            counts[span.kind] = counts.get(span.kind, 0) + 1
        return "".join((*pieces, text[at:]))

    def _mark(self, kind: str, value: str) -> str:
        name = kind.upper()
        if self.vault is None:
            return f"[REDACTED_{name}]"
        message = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
        digest = hmac.new(self.vault.key, message, hashlib.sha256).hexdigest()[:_DIGEST_CHARS]
        mark = f"[REDACTED_{name}_{digest}]"
        self.vault.store(mark, value)
        return mark


def leaves_alone(redaction: Redaction, value: object) -> bool:
    """Whether it is sure that redaction leaves a JSON value as it is; False if that takes reading it."""
    texts: list[str] = []
    return not redaction.recognizers and collect_texts(value, texts) and not may_have_spans(_NOT_WITHIN.join(texts))


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"a text is asked for, got {describe(text)}")


def _list_option(values: object, name: str) -> Sequence[object]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name} takes several: {name}=[…], not {describe(values)}")
    return tuple(values)


def _check_spans(spans: Iterable[Span], text: str) -> Sequence[Span]:
    """What a recognizer found, in order, outside of marks.

    Raises:
        InvalidInputError: A span is none, or not of this text.
    """
    checked = []
    for start, end, kind in spans:
        if not 0 <= start <= end <= len(text) or not _KIND_NAME.fullmatch(kind):
            raise InvalidInputError("a recognizer's span is outside of the text, or its kind is no lower-case word")
        checked.append(Span(start, end, kind))
    return spare_marks(merge_spans(checked), find_marks(text), text)
