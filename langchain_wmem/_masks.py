"""What middleware around ours hides from the model in single calls: that is never stored."""

from collections.abc import Sequence
from operator import is_
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from langchain_wmem._dedup import SeenMessages, hash_objects

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

    def learn(
        self,
        messages: Sequence[BaseMessage],
        shown: Sequence[BaseMessage],
        seen: SeenMessages,
        before: "Masks | None" = None,
    ) -> None:
        """Compare a state's messages with those of a model call, before ours packs them.

        Args:
            shown: With the ids of the messages that they stand for, see `align_shown`.
            before: Those of the session's last call: what is left out to save room stays masked as it was.
        """
        earlier = {} if before is None else before._masks  # noqa: SLF001  # its own class
        self._masks = {}
        if len(messages) == len(shown) and all(map(is_, messages, shown)):
            return
        forms: dict[str | None, BaseMessage] = {message.id: message for message in shown if message.id}
        # What is older than all that is shown was left out to save room, unless something else is shown in its place.
        first = next((place for place, message in enumerate(messages) if message.id in forms), len(messages))
        state_ids = {message.id for message in messages}
        is_replaced = bool(shown) and shown[0].id not in state_ids
        for place, message in enumerate(messages):
            form = forms.get(message.id)
            if form is None and (known := earlier.get(message.id)) is not None:
                self._masks[message.id] = known
            elif (form is None and (is_replaced or place >= first or message.id in seen.masked_ids)) or (
                form is not None and form is not message and _hides(message, form)
            ):
                self._masks[message.id] = _Mask(hash_objects([message]), form)

    def is_form(self, shown: BaseMessage, message: BaseMessage | None) -> bool:
        """Whether a message of the call says what is stored of the state's: it is no other, or the form of it."""
        if message is None or shown is message:
            return shown is message
        mask = self._masks.get(message.id)
        return shown == message if mask is None else shown is mask.form

    def hides(self, id: str | None) -> bool:
        """Whether a message is stored in another form than the state's."""
        mask = self._masks.get(id)
        return mask is not None and mask.form is not None

    def apply(self, messages: Sequence[BaseMessage], seen: SeenMessages) -> Sequence[BaseMessage]:
        """A state's messages as the model saw them; what it was not shown is left out, unless it is stored so."""
        if not self._masks:
            return messages
        kept: list[BaseMessage] = []
        for message in messages:
            mask = self._masks.get(message.id)
            if mask is None or mask.object_hash != hash_objects([message]):
                kept.append(message)
            elif mask.form is not None:
                kept.append(mask.form)
            elif message.id in seen and message.id not in seen.masked_ids:
                kept.append(message)
        return kept


def align_shown(messages: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """The messages of a call, those that middleware made anew under the ids of the state's that they stand for.

    One that is in no state stands for the one of its type that is missing at its place. If fewer
    are made than are missing, as where a summary is, they stand for none.
    """
    state_ids, shown_ids = {message.id for message in messages}, {message.id for message in shown}
    if all(message.id in state_ids for message in shown):
        return shown
    aligned, place = list(shown), 0
    start = 0
    for at in range(len(shown) + 1):
        if at < len(shown) and shown[at].id not in state_ids:
            continue
        anchor = shown[at].id if at < len(shown) else None
        end = next((n for n in range(place, len(messages)) if messages[n].id == anchor), len(messages))
        missing = [message for message in messages[place:end] if message.id not in shown_ids]
        made = range(start, at)[-len(missing) :] if missing else ()
        if len(made) == len(missing) and all(
            shown[n].type == message.type for n, message in zip(made, missing, strict=True)
        ):
            for n, message in zip(made, missing, strict=True):
                aligned[n] = shown[n].model_copy(update={"id": message.id})
        start, place = at + 1, min(end + 1, len(messages))
    return aligned


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
