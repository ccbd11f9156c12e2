"""What text costs: never less than it does, never much more, and always in bounded time."""

import base64
import json
import os
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmem.errors import InvalidInputError
from wmem.model.message import Message, Part, ToolCall
from wmem.text.tokens import (
    Counter,
    EstimateCounter,
    EstimateWarning,
    TiktokenCounter,
    default_counter,
    message_tokens,
    tools_tokens,
)

ENGLISH = (
    "We talked about the trip to the coast last summer, and Maria said that she would rather take the train. "
    "It's cheaper, and the view between the two stations isn't something you'd want to miss. "
    "Could you remind me on Friday to book the tickets? I'll also need a hotel for three nights, please.\n"
)
CODE = (
    "def merge(left: list[int], right: list[int]) -> list[int]:\n    merged = []\n    while left and right:\n"
    "        source = left if left[0] <= right[0] else right\n        merged.append(source.pop(0))\n"
    "    return merged + left + right\n\n\nclass HTTPConnectionPool:\n    maxRetries = 3  # tries\n"
)
SAMPLES = {
    "English": ENGLISH * 5,
    "code": CODE * 5,
    "JSON": json.dumps([{"id": n, "name": f"item {n}", "tags": ["red", "blue"], "price": n / 7} for n in range(40)]),
    "indented JSON": json.dumps({"rows": [{"key": n, "ok": True, "none": None} for n in range(60)]}, indent=2),
    "Chinese": "今天天气很好，我们打算周六去海边玩。请帮我总结一下这份合同的主要条款，并列出可能存在的法律风险。" * 5,  # noqa: RUF001  # Chinese has its own comma
    "Japanese": "今日は天気がとても良いので、土曜日に海へ遊びに行く予定です。この契約書の主な条項を要約してください。"
    * 5,
    "Korean": "오늘 날씨가 아주 좋아서 토요일에 바다로 놀러 갈 예정입니다. 이 계약서의 주요 조항을 요약해 주세요. " * 5,
    "Thai": "วันนี้อากาศดีมาก เราจะไปเที่ยวทะเลกันในวันเสาร์นี้ การเดินทางด้วยรถไฟฟ้าสะดวกและรวดเร็ว " * 5,
    "Arabic": "الطقس جميل جدا اليوم. سنذهب إلى الشاطئ يوم السبت. هناك الكثير من الأماكن التي يمكن زيارتها. " * 5,
    "Hebrew": "מזג האוויר היום נהדר, ובשבת ניסע לחוף הים. אני מעדיף לנסוע ברכבת כי זה מהיר יותר. " * 5,
    "Russian": "Сегодня очень хорошая погода, и в субботу мы поедем к морю. Напомни мне купить билеты на поезд. " * 5,
    "Hindi": "आज मौसम बहुत अच्छा है और हम शनिवार को समुद्र तट पर जाएंगे। मुझे टिकट खरीदने की याद दिलाना। " * 5,
    "German": "Die Vertragsbedingungen müssen überprüft werden, bevor wir die Zahlungsaufforderung weiterleiten. " * 5,
    "Polish": "Dzisiaj jest bardzo ładna pogoda, więc w sobotę pojedziemy nad morze. Przypomnij mi o biletach. " * 5,
    "emoji": "😀🎉🔥👍❤️😂🙏🚀✨😊🐶🍕🏖️🧠🛠️🤖🫶🧵🦊" * 10,
    "chat with emoji": "great job 🎉🎉 see you tomorrow 😊 thanks a lot!! 🙏\n" * 10,
    "base64": base64.b64encode(random.Random(1).randbytes(6_000)).decode(),
    "hexadecimal": random.Random(2).randbytes(3_000).hex(),
    "licence": "THE WORK IS PROVIDED WITHOUT WARRANTIES OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING MERCHANTABILITY. "
    "Redistributions of the source must retain the copyright notice, and neither the names of contributors nor "
    "acknowledgements may be used to endorse derived products without permission of the organisation.\n" * 4,
    "C": "#ifndef BUFFER_LENGTH\n#define BUFFER_LENGTH 4096\n#endif\nstatic int read_header(struct parser *self) {\n"
    "    if (self->offset >= BUFFER_LENGTH) return -1;\n    return memcmp(self->data, MAGIC, sizeof(MAGIC));\n}\n" * 4,
    "SQL": "SELECT customer_id, SUM(total) AS revenue FROM orders WHERE created_at >= '2025-01-01' "
    "GROUP BY customer_id HAVING COUNT(*) > 3 ORDER BY revenue DESC LIMIT 20;\n" * 4,
    "HTML": '<div class="card"><h2>Weekly report</h2><a href="/reports/2025/48?sort=asc">Open</a></div>\n' * 6,
    "log": "2025-11-28T04:27:19.113Z ERROR worker-7 request 8f14e45f failed after 3 tries: ConnectionResetError(104)\n"
    * 6,
    "numbers": ", ".join(f"{random.Random(n).random():.6f}" for n in range(300)),
}
HUGE = {
    "equal letters": "a" * 1_000_000,
    "equal spaces": " " * 1_000_000,
    "equal signs": "=" * 1_000_000,
    "equal Han": "好" * 1_000_000,
    "2 MB base64": base64.b64encode(random.Random(3).randbytes(1_500_000)).decode(),
    "huge source": CODE * 5_000,
}


def exact(encoding: str = "o200k_base") -> TiktokenCounter:
    return TiktokenCounter(encoding)  # llama-index-core, which the tests install, ships the files


@pytest.mark.parametrize("language", SAMPLES)
def test_B70_the_estimate_is_at_most_a_tenth_below_and_sixty_percent_above(language: str) -> None:
    text = SAMPLES[language]
    real, estimated = exact()(text), EstimateCounter()(text)
    assert 0.9 * real <= estimated <= 1.6 * real


def test_B70_mixed_text_is_not_underestimated() -> None:
    text = "".join(sample[:150] for sample in SAMPLES.values())
    assert 0.95 * exact()(text) <= EstimateCounter()(text) <= 1.6 * exact()(text)


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_estimate_is_deterministic_and_never_negative(one: str, other: str) -> None:
    count = EstimateCounter()
    assert count(one) == EstimateCounter()(one)
    assert count("") == 0
    assert (count(one) > 0) == bool(one)
    assert count(one + other) >= max(count(one), count(other)) - 2


@pytest.mark.parametrize("counter", [EstimateCounter(), None], ids=["estimate", "tiktoken"])
@pytest.mark.parametrize("literal", ["<|endoftext|>", "<|im_start|>system", "<|endofprompt|>", "[INST]"])
def test_B66_control_token_literals_are_plain_text(counter: Counter | None, literal: str) -> None:
    count = counter or exact()
    assert count(literal) >= 3
    message = Message(role="assistant", parts=(Part(text=literal),), tool_calls=(ToolCall(id="c", name=literal),))
    assert message_tokens(message, count) > 2 * count(literal)


@pytest.mark.parametrize("counter", [EstimateCounter(), None], ids=["estimate", "tiktoken"])
@pytest.mark.parametrize("kind", HUGE)
def test_B67_huge_texts_count_in_bounded_time(counter: Counter | None, kind: str) -> None:
    count = counter or exact()
    count("warm")
    started = time.process_time()
    tokens = count(HUGE[kind])
    assert time.process_time() - started < 8, "0.1 to 1 s on an idle core"
    assert tokens > 0


@pytest.mark.parametrize("kind", ["equal letters", "equal signs", "2 MB base64"])
def test_B67_counting_in_pieces_is_never_below_counting_whole(kind: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    text, count = HUGE[kind][:300_000], exact()
    counted = count(text)
    assert counted >= len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))


def test_B67_beyond_four_million_characters_the_estimate_counts() -> None:
    text = "word " * 900_000
    assert exact()(text) == EstimateCounter()(text)


def test_B67_a_panic_of_the_tokenizer_becomes_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        def encode_ordinary(self, text: str) -> list[int]:
            raise PanicException(text)

    class Stopped:
        def encode_ordinary(self, text: str) -> list[int]:
            raise KeyboardInterrupt

    count = exact()
    monkeypatch.setattr("wmem.text.bpe._load", {"o200k_base": Broken()}.__getitem__)
    assert count("hello world") == EstimateCounter()("hello world")
    monkeypatch.setattr("wmem.text.bpe._load", {"o200k_base": Stopped()}.__getitem__)
    with pytest.raises(KeyboardInterrupt):
        count("hello world")


@given(st.text(st.characters(categories=["Cs", "Co", "Cn", "Cc", "Lo"]), max_size=100))
@settings(max_examples=50)
def test_lone_surrogates_and_unassigned_characters_count(text: str) -> None:
    assert EstimateCounter()(text) >= bool(text)
    assert exact()(text) >= bool(text)


def test_both_encodings_are_found_offline_and_count_apart() -> None:
    text = "今天天气很好，我们打算周六去海边玩。" * 20  # noqa: RUF001  # Chinese has its own comma
    old, new = exact("cl100k_base"), exact()
    assert (old("hello world"), new("hello world")) == (2, 2)
    assert old(text) > 1.3 * new(text)
    assert (old.name, new.name) == ("tiktoken/cl100k_base", "tiktoken/o200k_base")


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="gpt2"):
        TiktokenCounter("gpt2")


def _child(code: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if "CACHE_DIR" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_damaged_encoding_file_is_neither_used_nor_replaced(tmp_path: Path) -> None:
    exact()
    file = tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790"
    file.write_bytes(b"not an encoding")
    code = "from wmem.text.tokens import TiktokenCounter as T; print(T('o200k_base')('hello world'))"
    assert _child(code, TIKTOKEN_CACHE_DIR=str(tmp_path)) == "2"
    assert file.read_bytes() == b"not an encoding"
    assert list(tmp_path.iterdir()) == [file]


def test_without_tokenizer_the_default_counter_estimates_and_warns_once() -> None:
    code = """
import sys, warnings
sys.modules["tiktoken"] = None
import importlib.util as u
find = u.find_spec
u.find_spec = lambda name, *rest: None if name == "tiktoken" else find(name, *rest)
from wmem.text.tokens import default_counter
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    names = {default_counter().name for _ in range(3)}
print(names, [each.category.__name__ for each in caught])
"""
    assert _child(code) == "{'estimate/2'} ['EstimateWarning']"
    assert issubclass(EstimateWarning, UserWarning)


def test_making_a_counter_imports_no_tokenizer() -> None:
    code = (
        "import sys, wmem.text.tokens as t; c = t.EstimateCounter(); c('x')\n"
        "try: t.TiktokenCounter()\n"
        "except t.MissingExtraError: pass\n"
        "print(sorted({'tiktoken', 'llama_index.core', 'requests', 'asyncio'} & set(sys.modules)))"
    )
    assert _child(code) == "[]"


texts = st.one_of(st.text(max_size=80), st.sampled_from([s[:120] for s in SAMPLES.values()]))


@given(content=st.lists(texts, max_size=3), name=st.none() | texts, calls=st.lists(st.tuples(texts, texts), max_size=3))
def test_a_message_costs_at_least_what_it_renders(
    content: list[str], name: str | None, calls: list[tuple[str, str]]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimateWarning)
        count = default_counter()
    made = tuple(ToolCall(id=f"c{n}", name=f, arguments=json.dumps({"q": a})) for n, (f, a) in enumerate(calls))
    message = Message(role="assistant", parts=tuple(Part(text=t) for t in content), name=name, tool_calls=made)
    rendered = message.to_openai()
    least = 4 + count(rendered["content"] or "") + count(rendered.get("name") or "")
    for call in rendered.get("tool_calls", ()):
        least += count(call["function"]["name"]) + count(call["function"]["arguments"])
    assert message_tokens(message, count) >= least
    compact = json.dumps(rendered.get("tool_calls", ""), separators=(",", ":"), ensure_ascii=False)
    assert message_tokens(message, count) >= count(compact)


def test_B69_an_image_costs_the_same_in_every_shape_and_never_as_text() -> None:
    encoded = base64.b64encode(random.Random(4).randbytes(90_000)).decode()
    shapes = [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{encoded}"},
    ]
    count = EstimateCounter()
    costs = {message_tokens(Message.from_openai({"role": "user", "content": [s]}), count) for s in shapes}
    assert len(costs) == 1
    assert costs.pop() < 2_000
    small = Part(kind="image", base64=encoded, data={"width": 512, "height": 512})
    low = Part(kind="image", base64=encoded, data={"detail": "low"})
    whole = Part(kind="image", base64=encoded)
    by_size = [message_tokens(Message(role="user", parts=(part,)), count) for part in (low, small, whole)]
    assert by_size == sorted(set(by_size))


def test_bytes_inside_a_foreign_block_do_not_count_as_text() -> None:
    block = {
        "type": "custom",
        "payload": [{"blob": "QUJD" * 50_000, "size": 150_000}],
        "caption": "a view of the harbour",
    }
    assert message_tokens(Message.from_openai({"role": "user", "content": [block]}), EstimateCounter()) < 60


def test_what_a_framework_keeps_beside_a_message_costs_nothing() -> None:
    plain = Message.of("user", "hello")
    native = plain.model_copy(update={"native": {"framework": "x", "data": "y" * 10_000}})
    assert message_tokens(native, EstimateCounter()) == message_tokens(plain, EstimateCounter())


def test_tool_schemas_cost_at_least_their_compact_json() -> None:
    count = EstimateCounter()
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "parameters": {"type": "object"}}} for n in range(40)
    ]
    assert tools_tokens(tools, count) >= sum(count(json.dumps(t, separators=(",", ":"))) for t in tools)
    assert tools_tokens((), count) == 0
