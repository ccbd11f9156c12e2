"""What middleware around ours hides from the model in single calls: that is never stored."""

from collections.abc import Container, Sequence
from operator import is_
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from langchain_wmem._dedup import hash_objects

_SHORTENED = 0.8  # of a text's length: what is cut to no more than that, and begins alike, was shortened
_MARKER = 40  # characters with which a shortened text may end


class _Mask(NamedTuple):
    """The message as the model sees it, None for not at all, in place of what has this hash in the state."""

    object_hash: int
    form: BaseMessage | None


class Masks:
    """Messages of a state that the model sees in another form, in the newest model call.

    What was added to a message, cut off it or cleared to save room is no mask: all of it is stored.
    """

    def __init__(self) -> None:
        self._masks: dict[str | None, _Mask] = {}

    def learn(self, messages: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> None:
        """Compare a state's messages with those of a model call, before ours packs them."""
        self._masks = {}
        if len(messages) == len(shown) and all(map(is_, messages, shown)):
            return
        forms: dict[str | None, BaseMessage] = {message.id: message for message in shown if message.id}
        # What is older than all that is shown was left out to save room.
        first = next((place for place, message in enumerate(messages) if message.id in forms), len(messages))
        for message in messages[first:]:
            form = forms.get(message.id)
            if form is None or (form is not message and _hides(message, form)):
                self._masks[message.id] = _Mask(hash_objects([message]), form)

    def apply(self, messages: Sequence[BaseMessage], stored: Container[str | None]) -> Sequence[BaseMessage]:
        """A state's messages as the model saw them; what it was not shown is left out, unless it is stored."""
        if not self._masks:
            return messages
        kept: list[BaseMessage] = []
        for message in messages:
            mask = self._masks.get(message.id)
            if mask is None or mask.object_hash != hash_objects([message]):
                kept.append(message)
            elif mask.form is not None:
                kept.append(mask.form)
            elif message.id in stored:
                kept.append(message)
        return kept


def _hides(message: BaseMessage, form: BaseMessage) -> bool:
    """Whether a form of a message says less than it, other than to save room."""
    if "context_editing" in form.response_metadata:  # how LangChain marks what it cleared to save room
        return False
    if isinstance(message, AIMessage) and isinstance(form, AIMessage) and message.tool_calls != form.tool_calls:
        return True
    whole, rest = str(message.text), str(form.text)
    return whole not in rest and not _is_shortened(whole, rest)


def _is_shortened(whole: str, rest: str) -> bool:
    """Whether the rest is the beginning of the whole, perhaps with a remark that it was cut."""
    beginning = rest[:-_MARKER]
    return len(beginning) >= _MARKER and len(rest) <= _SHORTENED * len(whole) and whole.startswith(beginning)
