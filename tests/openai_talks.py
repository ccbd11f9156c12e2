"""Random conversations in OpenAI's chat form that a provider accepts as they are: a Hypothesis strategy."""

from typing import Any, TypeAlias

from hypothesis import strategies as st

__all__ = ["Dictionary", "talks", "texts", "without_own_keys"]

Dictionary: TypeAlias = dict[str, Any]

_OWN_KEYS = ("id", "turn_id", "thread_id", "metadata", "pinned", "complete", "created_at")
_PIXEL = "data:image/png;base64,iVBORw0KGgo="

texts = st.sampled_from(
    [
        "yes",
        "My dog is called Biscuit.",
        "What is my dog called?",
        "Answer in French from now on.",
        "東京タワーはどこですか。",
        "e\u0301 👩‍👩‍👧‍👦 🏽",
        "  blanks around\n\n",
        "<recalled> no note </recalled>",
        '{"a": [1, 2.0, null]}',
        "a\tb\x00c",
    ]
)
_names = st.sampled_from([None, None, "ann", "Ann-7"])
_json = st.sampled_from(["{}", '{"q": "dog"}', '{ "q" :"dog" , "n": 1.0}', '{"q": "\\u00e9"}'])
_arguments = _json | st.sampled_from(["not json", ""])


def _text_block(text: str) -> Dictionary:
    marked = {"cache_control": {"type": "ephemeral"}} if text == "yes" else {}
    return {"type": "text", "text": text, **marked}


def _contents(*blocks: st.SearchStrategy[Dictionary]) -> st.SearchStrategy[Any]:
    """A text, or a list of blocks."""
    return st.one_of(texts, texts, st.lists(st.one_of(texts.map(_text_block), *blocks), min_size=1, max_size=3))


_media = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": _PIXEL}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-7"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
    ]
)
_answers: st.SearchStrategy[Dictionary] = st.sampled_from(
    [
        {"content": ""},
        {"content": None, "refusal": "I cannot do that."},
        {"content": "Half.", "refusal": "I cannot do that."},
        {"content": None, "audio": {"id": "audio_7"}},
    ]
)


@st.composite
def _rounds(draw: st.DrawFn, ids: st.SearchStrategy[str], *, strict: bool) -> list[Dictionary]:
    """An assistant's calls and their results, in either order."""
    arguments = _json if strict else _arguments
    besides: list[Dictionary] = [{"content": None}, {"content": "I look it up."}, {}]
    chosen = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    calls: list[Dictionary] = [
        {"id": id, "type": "custom", "custom": {"name": "g", "input": draw(texts)}}
        if not strict and draw(st.integers(0, 5)) == 0
        else {
            "id": id,
            "type": "function",
            "function": {"name": "f", "arguments": draw(arguments)},
        }
        for id in chosen
    ]
    order = draw(st.permutations(chosen))
    results = [{"role": "tool", "tool_call_id": id, "content": draw(_contents() | st.just(""))} for id in order]
    return [{"role": "assistant", **draw(st.sampled_from(besides)), "tool_calls": calls}, *results]


@st.composite
def talks(draw: st.DrawFn, *, plain: bool = False, strict: bool = False) -> list[Dictionary]:
    """A conversation, oldest first, in which every call is answered.

    Args:
        plain: What every provider takes: system text in front only, then a user message, then each in turn, no
            names, no blank text, no id twice.
        strict: Calls whose arguments are JSON alone, as the readers of frameworks demand.
    """
    numbers = iter(range(1_000))
    fresh = st.builds(lambda: f"call_{next(numbers)}a")
    ids = fresh if plain else st.just("call_1") | fresh
    said: list[Dictionary] = []

    def instruct() -> None:  # no two alike: a program stores its own anew at each start, and it is sent once
        content = f"Rule {next(numbers)}. {draw(texts)}"
        role = "system" if plain else draw(st.sampled_from(["system", "developer"]))
        said.append({"role": role, "content": content})

    if draw(st.booleans()):
        instruct()
    for _ in range(draw(st.integers(1, 5))):
        kind = 0 if plain else draw(st.integers(0, 9))
        if kind == 1:
            instruct()
        if kind != 2:
            said.append({"role": "user", "content": draw(_contents(_media))})
        if kind == 3:
            said.append({"role": "user", "content": draw(texts)})
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            said += draw(_rounds(ids, strict=strict))
        if kind == 4:
            said.append({"role": "assistant", **draw(_answers)})
        elif plain or draw(st.integers(0, 2)):
            said.append({"role": "assistant", "content": draw(_contents())})
    if not plain:
        for message in said:
            if message["role"] in ("user", "assistant", "system") and (name := draw(_names)):
                message["name"] = name
    if draw(st.booleans()):
        for at, message in enumerate(said):
            message["id"] = f"m{at}"
    return said or [{"role": "user", "content": "hello"}]


def without_own_keys(message: Dictionary) -> Dictionary:
    """What a caller without wmem sends; a key without a value says nothing."""
    return {key: value for key, value in message.items() if key not in _OWN_KEYS and value not in (None, [])}
