"""A prompt as a provider takes it: order of roles, names, ids, and what a message may hold.

A prompt that its profile's providers take as it is is sent as it is, message for message. Only what one of them
would refuse is changed, in the prompt alone, as little as will do, and alike in every prompt:

- A developer message in front has the role of a system message (not with ``openai``).
- System text behind the front stays where it was said, as a reminder in a user message (not with ``openai``).
- A prompt that begins with an assistant gets a user message before it (not with ``openai``).
- A speaker's name loses the characters that OpenAI refuses; the other providers know no names, so it is left out.
- A tool's name and a call's id are fitted to the pattern, alike on call and result; distinct ids stay distinct, and an
  id that a later exchange uses again gets one of its own (not with ``openai``).
- Images and files in a tool's result (``any``, ``openai``, ``mistral``) or in an assistant's message (not with
  ``gemini``) move to a user message behind it.
- A file has the block that Mistral has for it, a document at a URL (``mistral``).
- Blank messages and blank blocks are left out, refusals are text (not with ``openai``).
- Calls right behind an assistant's words become one message with them (``any``, ``gemini``).
- Between a tool's result and the user an assistant says that no answer was given (``mistral``).

``roles="alternate"`` adds, to any profile: system text in front, a user first, and turns that strictly alternate; the
messages of one speaker in a row are joined, the note among them.

Every provider wants results directly after their call; units guarantee that. Blocks that one provider alone takes were
fitted before (`foreign_blocks`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import TypeVar

from wmem.model._reasoning import is_signed
from wmem.model.alternation import SYSTEM_ROLES, join_messages
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.pack.provider_rules import ProviderRules
from wmem.tokens.counter import Counter, message_tokens

Unit = TypeVar("Unit")
_LEFT_OUT = "[Earlier messages were left out.]"
_BEGINNING = "[The conversation begins here.]"
_UNANSWERED = "[No answer was given.]"
_REMINDER = "<system-reminder>\n{}\n</system-reminder>"
_JOINTS = 2  # tokens that joining a text to what is around it can add
_MEDIA = frozenset(("image", "audio", "video", "file"))


def group_by_turn(units: Iterable[tuple[str | None, Unit]], *, last: str | None = None) -> list[Unit]:
    """Units in their order, each turn grouped where it began.

    Args:
        units: The turn and the unit, oldest first.
        last: The turn that goes to the end: the one that waits for the model.
    """
    turns: dict[object, list[Unit]] = {}
    for turn, unit in units:
        turns.setdefault(object() if turn is None else turn, []).append(unit)
    if last is not None and last in turns:
        turns[last] = turns.pop(last)
    return [unit for turn in turns.values() for unit in turn]


def is_plain(message: Message) -> bool:
    """Whether the message is a text, not blank, of the user or an assistant without a name: no provider refuses it."""
    parts = message.parts
    return (
        len(parts) == 1
        and parts[0].kind == "text"
        and not message.tool_calls
        and message.name is None
        and message.role in ("user", "assistant")
        and not (parts[0].text or "").isspace()
        and bool(parts[0].text)
        and (message.native is None or message.native.takers is None)
    )


def to_provider_messages(
    rules: ProviderRules, messages: Sequence[Message], *, plain: bool, follows_user: bool, left_out: bool
) -> list[Message]:
    """The messages as the provider takes them; those that need no change are the same objects.

    Args:
        plain: Whether all are plain: then there is nothing to fit but who speaks first.
        follows_user: Whether a user message already stands before these.
        left_out: Whether messages before the first of these were left out.
    """
    fitted = list(messages if plain else _fit_files(rules, _move_media(rules, _fit_messages(rules, messages))))
    begun = count_leading_system(fitted)
    if rules.user_first and begun < len(fitted) and fitted[begun].role != "user" and not follows_user:
        fitted.insert(begun, _opening(_LEFT_OUT if left_out else _BEGINNING))
    return fitted if plain else _fit_neighbors(rules, fitted)


@cache
def _opening(text: str) -> Message:
    """Marked as recalled: no adapter stores it."""
    return Message.recall("user", text)


def place_system_text(rules: ProviderRules, messages: Sequence[Message]) -> list[Message]:
    """The messages; where system text stands only in front, later system text stays as a reminder in a user message."""
    if not rules.system_in_front:
        return list(messages)
    begun = count_leading_system(messages)
    front = [_to_system_message(message) for message in messages[:begun]]
    return [*front, *(_to_reminder(each) if each.role in SYSTEM_ROLES else each for each in messages[begun:])]


def extra_tokens(before: Sequence[Message], after: Sequence[Message], count: Counter) -> int:
    """Tokens that a prompt has more, or less, once its messages were made to fit; what is in both costs nothing."""
    was, now = set(map(id, before)), set(map(id, after))
    if was == now:
        return 0
    added = sum([message_tokens(message, count) for message in after if id(message) not in was])
    gone = [message for message in before if id(message) not in now] if was - now else ()
    return added - sum([message_tokens(message, count) for message in gone])


def count_leading_system(messages: Sequence[Message]) -> int:
    """How many system messages come first."""
    return next((at for at, message in enumerate(messages) if message.role not in SYSTEM_ROLES), len(messages))


def newest_user_position(messages: Sequence[Message]) -> int:
    """Position of the newest user message, else of the newest assistant message, else the end.

    It is never directly behind results: what an assistant says of them is not parted from them.
    """
    spoken = [at for at, each in enumerate(messages) if each.role in ("user", "assistant") and not each.recalled]
    user_positions = [at for at in spoken if messages[at].role == "user"]
    place = (user_positions or spoken or [len(messages)])[-1]
    while place and messages[place - 1].role == "tool":
        place -= len(list(takewhile(lambda each: each.role == "tool", reversed(messages[:place])))) + 1
    return max(0, place)


def reminder_tokens(count: Counter) -> int:
    """Tokens that a reminder takes beside its text."""
    return count(_REMINDER.format("")) + _JOINTS


def _to_reminder(message: Message) -> Message:
    """System text as a user message, marked so that nothing stores it as the user's own."""
    reminder = Message.recall("user", _REMINDER.format(message.text))
    return reminder.model_copy(update={"id": message.id, "turn_id": message.turn_id})


def is_blank(message: Message) -> bool:
    """Whether the message has nothing that every provider is sent: text, media, calls or signed reasoning."""
    parts = message.parts
    if len(parts) == 1 and parts[0].kind == "text":  # nearly every message
        return not message.tool_calls and not (parts[0].text or "").strip()
    return not message.tool_calls and all(map(_is_blank_part, parts))


def _is_blank_part(part: Part) -> bool:
    if part.kind == "reasoning":
        return not is_signed(part)
    return part.kind in ("text", "refusal") and not (part.text or "").strip()


def _to_system_message(message: Message) -> Message:
    return message if message.role == "system" else message.model_copy(update={"role": "system", "native": None})


# --- each message ----------------------------------------------------------------------------------------------------


def _fit_messages(rules: ProviderRules, messages: Sequence[Message]) -> Iterator[Message]:
    ids = _CallIds(rules)
    for message in messages:
        if is_plain(message):
            yield message
            continue
        changes: dict[str, object] = {}
        takers = None if message.native is None else message.native.takers
        if takers is not None and rules.provider not in (None, *takers):
            changes["native"] = None
        if message.tool_calls and (calls := ids.fit_calls(message)) != message.tool_calls:
            changes["tool_calls"] = calls
        if message.role == "tool":
            if (
                message.tool_call_id is not None
                and (id := ids.fit_result(message.tool_call_id)) != message.tool_call_id
            ):
                changes["tool_call_id"] = id
            # Gemini takes a result only under the name of its call.
            name = message.name and (ids.tool_name(message.tool_call_id) or rules.fit_tool(message.name))
        else:
            name = rules.fit_speaker(message.name)
        if name != message.name:
            changes["name"] = name
        if not rules.blank:
            if message.role != "tool" and is_blank(message):
                continue
            if (parts := _fit_parts(message)) != message.parts:
                changes["parts"] = parts
        yield message.model_copy(update=changes) if changes else message


def _fit_parts(message: Message) -> tuple[Part, ...]:
    """The parts without blank text; a refusal is text."""
    if len(message.parts) == 1 and message.parts[0].kind == "text" and not message.tool_calls:
        return message.parts
    said = [part for part in message.parts if part.kind not in ("text", "refusal") or (part.text or "").strip()]
    return tuple(Part(text=part.text) if part.kind == "refusal" else part for part in said)


class _CallIds:
    """The ids of calls and results in one prompt."""

    def __init__(self, rules: ProviderRules) -> None:
        self._rules = rules
        self._used: set[str] = set()
        self._due: dict[str, list[str]] = {}
        self._names: dict[str | None, str] = {}

    def fit_calls(self, message: Message) -> tuple[ToolCall, ...]:
        """The calls, with ids and names that fit."""
        self._due, self._names = {}, {}
        calls = []
        for at, call in enumerate(message.tool_calls):
            id = self._rules.fit_id(call.id)
            if self._rules.unique_ids and id in self._used:
                # Not the number of uses before it: what the budget leaves out must not change it.
                id = self._rules.fit_id(call.id, message.id or str(len(self._used)), str(at))
            self._used.add(id)
            self._due.setdefault(call.id, []).append(id)
            name = self._names[call.id] = self._rules.fit_tool(call.name)
            same = (id, name) == (call.id, call.name)
            calls.append(call if same else call.model_copy(update={"id": id, "name": name}))
        return tuple(calls)

    def tool_name(self, id: str | None) -> str | None:
        """The name of the tool that the newest call of that id calls."""
        return self._names.get(id)

    def fit_result(self, id: str) -> str:
        """The id of a result of the newest calls; results of calls of one id come in the order of the calls."""
        due = self._due.get(id)
        if due is None:
            return self._rules.fit_id(id)
        return due.pop(0) if len(due) > 1 else due[0]


# --- media -----------------------------------------------------------------------------------------------------------


def _move_media(rules: ProviderRules, messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, and media that may not stand in them in a user message behind the results."""
    moved: list[Part] = []
    for message in messages:
        if moved and message.role != "tool":
            yield _user_with_media(moved)
            moved = []
        free = {"assistant": rules.media_in_answers, "tool": rules.media_in_results}.get(message.role, True)
        if free or all(part.kind not in _MEDIA for part in message.parts):
            yield message
            continue
        # An assistant's audio goes back by its id alone.
        media = [part for part in message.parts if part.kind in _MEDIA and not (part.kind == "audio" and part.file_id)]
        moved += media
        parts = tuple(Part(text=f"[{part.kind}: shown below]") if part in media else part for part in message.parts)
        yield message.model_copy(update={"parts": parts}) if media else message
    if moved:
        yield _user_with_media(moved)


def _fit_files(rules: ProviderRules, messages: Iterable[Message]) -> Iterator[Message]:
    if not rules.documents_at_url:
        yield from messages
        return
    for message in messages:
        parts = tuple(map(_to_document, message.parts))
        same = all(each is part for each, part in zip(parts, message.parts, strict=True))
        yield message if same else message.model_copy(update={"parts": parts})


def _to_document(part: Part) -> Part:
    if part.kind != "file" or not (part.url or part.base64):
        return part
    named = (part.data or {}).get("filename")
    url = part.url or f"data:{part.mime_type or 'application/octet-stream'};base64,{part.base64}"
    block = {"type": "document_url", "document_url": url, **({"document_name": named} if named else {})}
    return Part(kind="other", data=block)


def _user_with_media(media: Sequence[Part]) -> Message:
    note = Message.recall("user", "[From the message above:]")
    return note.model_copy(update={"parts": (*note.parts, *media)})


# --- neighbors -------------------------------------------------------------------------------------------------------


def _fit_neighbors(rules: ProviderRules, messages: Iterable[Message]) -> list[Message]:
    sent: list[Message] = []
    for message in messages:
        if message.role == "user" and sent and sent[-1].role == "tool" and not rules.user_after_result:
            sent.append(Message.recall("assistant", _UNANSWERED))
        while message.tool_calls and not rules.call_after_answer and sent and _is_answer(sent[-1]):
            message = join_messages(sent.pop(), message)  # noqa: PLW2901  # the two are one message
        sent.append(message)
    return sent


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls
