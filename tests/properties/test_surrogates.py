"""Lone surrogates: whatever a text holds, it is stored as it came and sent as it encodes."""

import json

from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem import Message
from wmem.model.sendable import to_sendable

HALVES = st.sampled_from("\ud800\udbff\udc00\udfff")
TEXT = st.lists(st.one_of(HALVES, st.text(st.characters(), max_size=4)), min_size=1, max_size=8).map("".join)
JSON = st.recursive(TEXT | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=8)


@given(value=JSON)
def test_what_is_sent_encodes_and_is_the_same_object_if_it_did_before(value: object) -> None:
    sent = to_sendable(value)
    json.dumps(sent, ensure_ascii=False).encode()
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert sent is value


@given(text=TEXT)
def test_only_halves_without_their_other_half_are_replaced(text: str) -> None:
    joined = json.loads(json.dumps(text))  # JSON joins two halves, and leaves others alone
    assert to_sendable(text) == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in joined)


@given(texts=st.lists(TEXT.filter(lambda text: text.strip()), min_size=1, max_size=5))
@examples(0.3)
def test_any_text_is_stored_as_it_came_and_sent_as_it_encodes(texts: list[str]) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        for text in texts:
            joined = json.loads(json.dumps(text))
            assert session.messages.get(str(session.messages.append(Message.of("user", text)).id)) is not None
            assert session.messages.all()[-1].text == joined
            assert session.items.get(session.items.add(text).id).content == joined
            session.entries.set("k", {text: text})
            assert session.entries.get("k") == {joined: joined}
        context = session.pack(texts[0], budget=1_000, system=texts[-1], summary=100)
        sent = [context.to_openai(), context.system, context.note, context._repr_html_()]
        json.dumps(sent, ensure_ascii=False).encode()
