"""Whatever form messages come in: what is sent fits the budget, and is what was charged."""

import base64
import json
import random
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.charging import rendered_tokens
from tests.matrix import examples
from wmem.errors import BudgetError
from wmem.tokens.counter import default_counter
from wmem.types import ProviderProfile, Reasoning

COUNT = default_counter()
PROSE = "The gauge reads low since the pump was changed, so we look at the valve first, then at the hose. "
CODE = 'def read(path: str) -> dict[str, int]:\n    with open(path) as file:\n        return {"n": len(file.read())}\n'
TABLE = json.dumps([{"id": n, "at": f"a{n}"} for n in range(60)], separators=(",", ":"))
SIGNATURE = base64.b64encode(random.Random(1).randbytes(150)).decode()
IMAGE = base64.b64encode(random.Random(2).randbytes(6_000)).decode()
texts = st.sampled_from(
    ["ok", PROSE, PROSE * 12, CODE, CODE * 9, TABLE, "这个阀门读数偏低。" * 6, "🔧🪛 done!\n\n- one\n- two"]
)
blocks_of_text = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(lambda text: {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}, texts),
)
pictures = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}", "detail": "high"}},
        {"type": "input_audio", "input_audio": {"data": IMAGE, "format": "wav"}},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{IMAGE}"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]
)
unknown = st.builds(lambda rows: {"type": "custom_table", "rows": rows, "more": [1, None, {"deep": True}]}, texts)
contents = st.one_of(
    texts, st.lists(st.one_of(blocks_of_text, blocks_of_text, pictures, unknown), min_size=1, max_size=3)
)
reasoning = st.one_of(
    st.just({}),
    st.builds(lambda text: {"reasoning_content": text}, texts),
    st.builds(
        lambda text: {
            "reasoning": text,
            "reasoning_details": [{"type": "reasoning.text", "text": text, "signature": SIGNATURE}],
        },
        texts,
    ),
    st.builds(
        lambda text: {
            "content": [{"type": "thinking", "thinking": text, "signature": SIGNATURE}, {"type": "text", "text": "So."}]
        },
        texts,
    ),
    st.just({"content": [{"type": "redacted_thinking", "data": SIGNATURE}]}),
)
extras = st.sampled_from(
    [{}, {}, {"name": "helper_2"}, {"refusal": "I can't."}, {"annotations": [{"type": "url", "url": PROSE}]}]
)


def call(id: str, text: str, *, custom: bool) -> dict[str, Any]:
    if custom:
        return {"id": id, "type": "custom", "custom": {"name": "patch", "input": text}}
    return {"id": id, "type": "function", "function": {"name": "look_up", "arguments": json.dumps({"q": text})}}


@st.composite
def exchanges(draw: st.DrawFn) -> list[dict[str, Any]]:
    number = draw(st.integers(0, 10**6))
    made = [
        call(f"call_{number}_{at}", draw(texts), custom=draw(st.booleans())) for at in range(draw(st.integers(1, 2)))
    ]
    calling = {"role": "assistant", "content": draw(st.none() | texts), "tool_calls": made, **draw(reasoning)}
    return [calling, *({"role": "tool", "tool_call_id": each["id"], "content": draw(contents)} for each in made)]


turns = st.one_of(
    st.builds(lambda content: [{"role": "user", "content": content}], contents),
    st.builds(lambda content: [{"role": "user", "content": content, "name": "Ann"}], texts),
    st.builds(
        lambda text, more, why: [{"role": "assistant", "content": text, **more, **why}], texts, extras, reasoning
    ),
    st.builds(lambda text: [{"role": "system", "content": text}], texts),
    exchanges(),
)
talks = st.lists(turns, min_size=1, max_size=8).map(lambda each: [message for turn in each for message in turn])
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "look_up", "description": PROSE, "parameters": {"type": "object"}}}
]


options = st.fixed_dictionaries(
    {
        "budget": st.integers(50, 8_000),
        "profile": st.sampled_from(get_args(ProviderProfile)),
        "roles": st.sampled_from(["free", "free", "alternate"]),
        "reasoning": st.sampled_from(get_args(Reasoning)),
        "tools": st.sampled_from([[], TOOLS]),
        "stable": st.booleans(),
    }
)


@examples(2)
@given(talk=talks, question=st.none() | contents, options=options)
def test_what_is_sent_fits_the_budget_and_is_what_was_charged(
    talk: list[dict[str, Any]], question: Any, options: dict[str, Any]
) -> None:
    asked = [{"role": "user", "content": question}] if question else []
    with wmem.open("memory://", agent_id="a", counter=COUNT) as memory:
        session = memory.scope("s")
        session.messages.append([*talk, *asked])
        try:
            context = session.pack("the valve", **options)
        except BudgetError:
            return
    sent = rendered_tokens(context.to_openai(), COUNT, tools=options["tools"])
    assert sent <= context.tokens <= options["budget"]
    assert context.tokens <= 1.25 * sent + 3
