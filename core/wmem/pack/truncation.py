"""Truncate the middle of a message, and divide the room among several."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wmem.graphemes import cut_after, cut_before
from wmem.model.layout import Cut
from wmem.model.message import Message
from wmem.model.part import Part
from wmem.tokens.counter import Counter, message_tokens, part_tokens

_FIRST_CHARS_PER_TOKEN = 4
"""Characters per token at the first try; with those that follow, fewer than eight are counted per token wanted."""
_TEXT_KINDS = ("text", "refusal")
_MIN_CONTENT_TOKENS = 16  # tokens of content that make a truncated message worth including
_MARK = "[…]"
"""All that is left of a message for which even the marker is too long."""
_MARKED = Cut(0, 0, -1)


class Truncated(NamedTuple):
    """A message that was cut, its tokens, and how it was cut."""

    message: Message
    tokens: int
    cut: Cut


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

    An empty message, and one whose reasoning cannot be left out, stays whole.
    """
    marker = _text_with_marker("", "", tokens, ("audio",))
    return _tokens_with_text(message, tokens, marker, _MIN_CONTENT_TOKENS, count)


def mark_tokens(message: Message, tokens: int, count: Counter) -> int:
    """As `min_tokens`, when nothing but a mark is left of what it says."""
    return _tokens_with_text(message, tokens, _MARK, 0, count)


def _tokens_with_text(message: Message, tokens: int, text: str, more: int, count: Counter) -> int:
    if not message.parts or any(part.signature or part.kind == "reasoning" for part in message.parts):
        return tokens
    return min(tokens, message_tokens(message.model_copy(update={"parts": (Part(text=text),)}), count) + more)


def truncate_message(message: Message, tokens: int, room: int, count: Counter) -> Truncated:
    """Cut the middle out of a message so that it costs at most `room` tokens.

    The text keeps its beginning and its end; other parts stay, in their order, while they take
    no more than half of the room. A marker says how many tokens were cut; where it is too long, a mark is
    all that stays. `tokens` is the cost of the whole message. The result exceeds `room` only when `room` is
    below `mark_tokens`.
    """
    text, others = _cut_text(message), _list_others(message)
    media = _fit_parts(others, room // 2, count)
    fitting = tuple(others[number] for number in media)
    lost = _list_lost(others, media)
    frame = message_tokens(message.model_copy(update={"parts": fitting}), count)
    wanted = max(0, room - frame - count(_text_with_marker("", "", tokens, lost)))
    while True:
        head, tail, tokens_kept = truncate_text(text, wanted, count)
        whole = not lost and len(head) + len(tail) >= len(text)
        left_out = 0 if whole else max(1, tokens - frame - tokens_kept)
        cut = Cut(len(head), len(tail), left_out, media)
        truncated = cut_message(message, cut)
        cost = message_tokens(truncated, count)
        if cost <= room:
            return Truncated(truncated, cost, cut)
        if not wanted:
            marked = cut_message(message, _MARKED)
            return Truncated(marked, message_tokens(marked, count), _MARKED)
        wanted = max(0, wanted - max(1, cost - room))


def cut_message(message: Message, cut: Cut) -> Message:
    """The message, cut like this; what is beyond its text, or is none of its parts, is left out."""
    text, others = _cut_text(message), _list_others(message)
    media = tuple(others[number] for number in cut.media if number < len(others))
    if cut.tokens < 0:
        shown = _MARK
    elif not cut.tokens:
        shown = text
    else:
        tail = text[max(0, len(text) - cut.tail) :]
        shown = _text_with_marker(text[: cut.head], tail, cut.tokens, _list_lost(others, cut.media))
    # The framework's own JSON still holds the full text.
    return message.model_copy(update={"parts": (Part(text=shown), *media), "native": None})


def _cut_text(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if part.text and part.kind in _TEXT_KINDS)


def _list_others(message: Message) -> list[Part]:
    return [part for part in message.parts if part.kind not in _TEXT_KINDS]


def _list_lost(others: Sequence[Part], media: Sequence[int]) -> tuple[str, ...]:
    """The kinds of the parts of which none that is equal stays."""
    stay = [others[number] for number in media if number < len(others)]
    return tuple(dict.fromkeys(part.kind for part in others if part not in stay))


def _fit_parts(parts: Sequence[Part], room: int, count: Counter) -> tuple[int, ...]:
    """The numbers of the parts that fit, but for those that exceed what the others leave of the room."""
    fitting: list[int] = []
    for number, part in enumerate(parts):
        tokens = part_tokens(part, count)
        if tokens <= room:
            fitting.append(number)
            room -= tokens
    return tuple(fitting)


def _text_with_marker(head: str, tail: str, tokens: int, media: Sequence[str]) -> str:
    what = f", {', '.join(media)} among them" if media else ""
    marker = f"[… {tokens} tokens left out{what} …]"
    return "\n".join(piece for piece in (head, marker, tail) if piece)


def allocate_tokens(sizes: Mapping[str, int], minimums: Mapping[str, int], room: int) -> dict[str, int]:
    """Tokens for each, in the order of age, oldest first: small ones stay whole, the oldest is cut most.

    The newest stays whole if the minimums of the others leave room for it. What is cut never
    gets more than something newer that is cut, unless a minimum asks for it.

    Args:
        room: At least the sum of the minimums.
    """
    keys = list(sizes)
    whole = keys[-1:] if keys and room - sum(minimums[key] for key in keys[:-1]) >= sizes[keys[-1]] else []
    cut = keys[: len(keys) - len(whole)]
    rest = room - sum(sizes[key] for key in whole)
    rising = _rising_minimums({key: sizes[key] for key in cut}, minimums)
    least = rising if sum(rising.values()) <= rest else minimums

    def limit(place: int, level: int) -> int:
        """Tokens for one, of which the newest gets `level`, and each older one a share less."""
        key = cut[place]
        return min(sizes[key], max(level * (place + 1) // len(cut), least[key]))

    low, high = 0, len(cut) * max((sizes[key] for key in cut), default=0)
    while low < high:
        level = (low + high + 1) // 2
        if sum(limit(place, level) for place in range(len(cut))) <= rest:
            low = level
        else:
            high = level - 1
    return {**{key: limit(place, low) for place, key in enumerate(cut)}, **{key: sizes[key] for key in whole}}


def _rising_minimums(sizes: Mapping[str, int], minimums: Mapping[str, int]) -> dict[str, int]:
    """The minimums, oldest first, none below that of an older one unless it is whole."""
    rising: dict[str, int] = {}
    most = 0
    for key, size in sizes.items():
        most = max(most, minimums[key])
        rising[key] = min(size, most)
    return rising
