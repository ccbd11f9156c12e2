"""Warnings of attachments that were cut out of what the model must answer."""

from collections.abc import Iterable, Iterator
from itertools import takewhile

from wmem.model.message import Message
from wmem.model.part import Part
from wmem.pack.loader import MessageLoader
from wmem.pack.selection import SelectedUnit
from wmem.tokens.counter import part_tokens

_REQUIRED = ("newest", "in-flight")


def warn_of_attachments(selected: Iterable[SelectedUnit], loader: MessageLoader) -> Iterator[str]:
    """One warning for each attachment of the newest message and the exchange in flight that is not sent.

    Args:
        selected: In the order of selection, so that these come first.
    """
    for each in takewhile(lambda each: each.rule in _REQUIRED, selected):
        if not each.rendered.tokens_cut:
            continue
        for member, sent in zip(each.unit.members, each.rendered.messages, strict=False):
            message = loader.load(member)
            for part in () if sent is message else _list_lost(message, sent):
                yield (
                    f"{_name(part)} of the {message.role} message {member.id!r} is not sent: it takes "
                    f"{part_tokens(part, loader.count)} tokens, too much for this budget"
                )


def _list_lost(message: Message, sent: Message) -> list[Part]:
    kept = list(sent.parts)
    return [part for part in message.parts if part.kind not in ("text", "refusal", "reasoning") and part not in kept]


def _name(part: Part) -> str:
    named = (part.data or {}).get("filename" if part.kind != "other" else "type")
    kind = "block" if part.kind == "other" else part.kind
    return f"the {kind} {named!r}" if isinstance(named, str) else f"the {kind}"
