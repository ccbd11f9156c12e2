"""The last step of a pack, and of its replay: a prompt from what it holds, in order."""

from collections.abc import Sequence
from operator import is_
from typing import NamedTuple

from wmem.model.message import Message
from wmem.pack.provider_order import (
    count_leading_system,
    is_plain,
    newest_user_position,
    place_system_text,
    to_provider_messages,
)
from wmem.pack.provider_rules import ProviderRules
from wmem.pack.request import NoteRole


class Assembly(NamedTuple):
    """A prompt without its system text.

    Attributes:
        placed: The messages with system text where the provider takes it, and not yet fitted otherwise.
        note_before: The position of the note among the messages.
        is_fitted: Whether messages were changed for the provider.
    """

    messages: tuple[Message, ...]
    placed: Sequence[Message]
    note_before: int
    is_fitted: bool


def join_note(section: str, quotes: str) -> str:
    """The text of a note: the section of standing requests, and the quotes; either may be empty."""
    return "\n".join(filter(None, (section, quotes)))


def assemble(
    rules: ProviderRules,
    sent: Sequence[Message],
    *,
    plain: bool | None = None,
    has_note: bool,
    note_role: NoteRole,
    stable: bool,
    left_out: bool,
) -> Assembly:
    """Fit the messages of a prompt to its provider, and place the note among them.

    Args:
        sent: The messages, each as it is sent, in order.
        plain: Whether all are plain, see `is_plain`; None to look.
        left_out: Whether messages before the first one were left out.
    """
    if plain is None:
        plain = all(map(is_plain, sent))
    placed = sent if plain else place_system_text(rules, sent)
    first = not stable or (note_role == "system" and rules.system_in_front)
    messages = to_provider_messages(
        rules,
        placed,
        plain=plain,
        follows_user=has_note and first and note_role == "user",
        left_out=left_out,
    )
    return Assembly(
        messages=tuple(messages),
        placed=placed,
        note_before=count_leading_system(messages) if first else newest_user_position(messages),
        is_fitted=len(messages) != len(sent) or not all(map(is_, messages, sent)),
    )
