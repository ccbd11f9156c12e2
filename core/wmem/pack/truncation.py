"""Truncate the middle of a message, and divide the room among several."""

from collections.abc import Mapping, Sequence

from wmem.graphemes import cut_after, cut_before
from wmem.model.message import Message
from wmem.model.part import Part
from wmem.tokens.counter import Counter, message_tokens, part_tokens

_FIRST_CHARS_PER_TOKEN = 4
"""Characters per token at the first try; with those that follow, fewer than eight are counted per token wanted."""
_TEXT_KINDS = ("text", "refusal")
_MIN_CONTENT_TOKENS = 16  # tokens of content that make a truncated message worth including


def truncate_text(text: str, tokens: int, count: Counter) -> tuple[str, str, int]:
    """The beginning and the end of a text, at most `tokens` together, and how many they are.

    Cut between grapheme clusters.
    """
    head, in_head = _fit_text(text, tokens - tokens // 2, count, from_start=True)
    tail, in_tail = _fit_text(text[len(head) :], tokens // 2, count, from_start=False)
    return head, tail, in_head + in_tail


def _fit_text(text: str, tokens: int, count: Counter, *, from_start: bool) -> tuple[str, int]:
    size = min(len(text), _FIRST_CHARS_PER_TOKEN * tokens)
    while size > 0:
        piece = text[: cut_before(text, size)] if from_start else text[cut_after(text, len(text) - size) :]
        tokens_counted = count(piece)
        if tokens_counted <= tokens:
            return piece, tokens_counted
        # 2 % below the proportion, so that one more try is nearly always enough.
        size = min(len(piece) - 1, len(piece) * tokens * 98 // (tokens_counted * 100))
    return "", 0


def min_tokens(message: Message, tokens: int, count: Counter) -> int:
    """Tokens of a message of `tokens` tokens when it is truncated as far as is sensible.

    An empty message, and one whose parts a provider verifies, stays whole.
    """
    if not message.parts or any(part.signature or part.kind == "reasoning" for part in message.parts):
        return tokens
    emptied = message.model_copy(update={"parts": (Part(text=_text_with_marker("", "", tokens, ("audio",))),)})
    return min(tokens, message_tokens(emptied, count) + _MIN_CONTENT_TOKENS)


def truncate_message(message: Message, tokens: int, room: int, count: Counter) -> tuple[Message, int]:
    """Cut the middle out of a message so that it costs at most `room` tokens; returns it and its cost.

    The text keeps its beginning and its end; other parts stay, in their order, while they take
    no more than half of the room. A marker says how many tokens were cut. `tokens` is the cost of the whole
    message. The result exceeds `room` only when `room` is below the message's minimum.
    """
    text = "\n".join(part.text for part in message.parts if part.text and part.kind in _TEXT_KINDS)
    others = [part for part in message.parts if part.kind not in _TEXT_KINDS]
    media = _fit_parts(others, room // 2, count)
    lost = tuple(dict.fromkeys(part.kind for part in others if part not in media))
    frame = message_tokens(message.model_copy(update={"parts": media}), count)
    wanted = max(0, room - frame - count(_text_with_marker("", "", tokens, lost)))
    while True:
        head, tail, tokens_kept = truncate_text(text, wanted, count)
        whole = not lost and len(head) + len(tail) >= len(text)
        shown = text if whole else _text_with_marker(head, tail, max(1, tokens - frame - tokens_kept), lost)
        # The framework's own JSON still holds the full text.
        truncated = message.model_copy(update={"parts": (Part(text=shown), *media), "native": None})
        cost = message_tokens(truncated, count)
        if cost <= room or not wanted:
            return truncated, cost
        wanted = max(0, wanted - max(1, cost - room))


def _fit_parts(parts: Sequence[Part], room: int, count: Counter) -> tuple[Part, ...]:
    """The parts, in their order, but for those that exceed what the others leave of the room."""
    fitting: list[Part] = []
    for part in parts:
        tokens = part_tokens(part, count)
        if tokens <= room:
            fitting.append(part)
            room -= tokens
    return tuple(fitting)


def _text_with_marker(head: str, tail: str, tokens: int, media: Sequence[str]) -> str:
    what = f", {', '.join(media)} among them" if media else ""
    marker = f"[… {tokens} tokens left out{what} …]"
    return "\n".join(piece for piece in (head, marker, tail) if piece)


def allocate_tokens(sizes: Mapping[str, int], minimums: Mapping[str, int], room: int) -> dict[str, int]:
    """Tokens for each so that small ones stay whole and large ones are truncated to one size.

    `room` is at least the sum of `least`.
    """
    low, high = 0, max(sizes.values(), default=0)
    while low < high:
        level = (low + high + 1) // 2
        if sum(min(size, max(level, minimums[key])) for key, size in sizes.items()) <= room:
            low = level
        else:
            high = level - 1
    return {key: min(size, max(low, minimums[key])) for key, size in sizes.items()}
