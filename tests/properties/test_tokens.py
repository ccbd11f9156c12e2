"""What text costs: never less than it does, never much more, and always in bounded time."""

import base64
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.errors import InvalidInputError
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.tokens import bpe
from wmem.tokens.bpe import TiktokenCounter
from wmem.tokens.counter import Counter, default_counter, message_tokens, tools_tokens
from wmem.tokens.estimate import EstimateCounter, EstimateWarning

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
    "C header": "#define CERT_R_ADD_SIGNING_ERROR 139\n#define CERT_R_INVALID_NULL_POINTER 102\n"
    "/************************************************************\n * Slots\n */\n"
    "extern int CERT_set_verify_depth(CERT_CTX *ctx, const unsigned char **data, size_t length);\n" * 3,
    "Makefile": ".PHONY: html clean\nhtml:\n\t$(BUILDTOOL) -b html $(ALLOPTS) $(BUILDDIR)/html\n\t@echo done\n\n" * 4,
    "diff": "@@ -12,7 +12,9 @@ def load(path):\n     with open(path) as file:\n-        return json.load(file)\n"
    "+        found = json.load(file)\n+        return check(found)\n" * 3,
    "shouted": "THIS SOFTWARE IS PROVIDED AS IS AND ANY EXPRESS OR IMPLIED WARRANTIES ARE DISCLAIMED. " * 4,
    "boxes": "┌──────────────────┐\n│ total     1,204  │\n└──────────────────┘\n" * 4,
    "deep JSON": json.dumps({"a": [[{"b": [{"c": [1, {"d": [True, [], {}]}]}]}]]}, indent=8) * 3,
    "arrays in arrays": json.dumps([[[[[[1, 2], [3]]]], [[[]]]]] * 12),
    "vectors": json.dumps([random.Random(n).gauss(0, 0.05) for n in range(60)]),
    "escaped JSON": json.dumps(json.dumps([{"id": n, "text": 'say "hi"'} for n in range(30)])),
    "base64 of zeros and numbers": base64.b64encode(
        b"".join(n.to_bytes(8, "big") for n in range(9_000, 9_300))
    ).decode(),
    "base64 of text": base64.b64encode((ENGLISH + CODE).encode()).decode(),
    "Markdown table": "| name | tries | median |\n|------|------:|-------:|\n" + "| append | 1200 | 0.31 ms |\n" * 20,
    "Vietnamese": "Hôm nay thời tiết rất đẹp nên thứ bảy chúng tôi sẽ đi biển. Nhắc tôi mua vé tàu nhé. " * 5,
    "Tamil": "இன்று வானிலை மிகவும் நன்றாக இருக்கிறது, சனிக்கிழமை நாங்கள் கடற்கரைக்கு செல்வோம். " * 5,
    "Odia": "ଆଜି ପାଗ ବହୁତ ଭଲ ଅଛି ଏବଂ ଶନିବାର ଦିନ ଆମେ ସମୁଦ୍ର କୂଳକୁ ଯିବା। " * 5,
    "Lao": "ມື້ນີ້ອາກາດດີຫຼາຍ ພວກເຮົາຈະໄປທະເລໃນວັນເສົາ " * 5,
    "Greek": "Σήμερα ο καιρός είναι πολύ καλός και το Σάββατο θα πάμε στη θάλασσα με το τρένο. " * 5,  # noqa: RUF001  # Greek has its own o
    "Amharic": "ዛሬ የአየር ሁኔታው በጣም ጥሩ ነው። ቅዳሜ ወደ ባህር ዳርቻ እንሄዳለን። " * 5,
    "pointed Arabic": "ذَهَبَ الْوَلَدُ إِلَى الْمَدْرَسَةِ وَقَرَأَ الْكِتَابَ. " * 5,
}
SPOKEN = {
    "Chinese": "昨天我和朋友一起去附近的菜市场逛了逛，买了一些苹果和橘子，然后在一家小咖啡馆里"  # noqa: RUF001  # Chinese has its own comma
    "喝咖啡聊天。下周五晚上能帮我订一张四人桌吗？如果没有位置，星期六也可以。机器学习模型的训练需要大量的数据和计算资源。",  # noqa: RUF001
    "traditional Chinese": "昨天我和朋友一起去附近的菜市場逛了逛，買了一些蘋果和橘子，然後在一家小咖啡館裡喝咖啡聊天。"  # noqa: RUF001
    "下週五晚上能幫我訂一張四人桌嗎？如果沒有位置，星期六也可以。這份報告請寄給會計部門。",  # noqa: RUF001
    "spaced Chinese": "使 用 者 目 錄 下 所 有 的 檔 案 會 自 動 改 變 ， 其 他 的 要 自 行 更 動 。 ",  # noqa: RUF001
    "Japanese": "昨日は友達と一緒に近所の商店街を散歩しました。そのあと小さな喫茶店でコーヒーを飲みながら"
    "ゆっくり話しました。来週の金曜日の夜、四人で予約をお願いできますか。インターネットとプログラミングのカタカナも試します。",
    "Korean": "어제는 친구와 함께 동네 시장을 산책했어요. 작은 카페에서 커피를 마시며 이야기를 나눴습니다. "
    "다음 주 금요일 저녁에 네 명 자리를 예약해 주실 수 있나요? 컴퓨터 프로그래밍과 사용자 인터페이스. ",
    "Thai": "เมื่อวานนี้ผมไปเดินเล่นที่ตลาดใกล้บ้านกับเพื่อนสนิท เราซื้อผลไม้หลายอย่าง เช่น มะม่วง ทุเรียน และมังคุด "
    "คุณช่วยจองโต๊ะสำหรับสี่คนในคืนวันศุกร์หน้าได้ไหมครับ ถ้าไม่ว่างก็ขอเป็นวันเสาร์แทน ขอบคุณล่วงหน้านะครับ ",
    "Arabic": "ذهبت أمس مع صديقي إلى السوق القديم واشترينا بعض الفواكه الطازجة والتوابل. كان الجو حارا جدا ولكننا "
    "استمتعنا كثيرا بالمشي بين المحلات. هل يمكنك أن تحجز لنا طاولة لأربعة أشخاص مساء يوم الجمعة القادم؟ ",
}
PEOPLE = ("👨‍👩‍👧‍👦", "👩‍💻", "🧑‍🚀", "👨🏽‍🍳", "🏳️‍🌈", "👩🏿‍🔬", "💁🏻‍♀️", "❤️‍🔥", "🧑🏾‍🤝‍🧑🏻")
SOURCES = (
    "argparse",
    "ast",
    "csv",
    "difflib",
    "fractions",
    "inspect",
    "pickle",
    "shutil",
    "statistics",
    "typing",
    "zipfile",
)
HUGE = {
    "equal letters": "a" * 1_000_000,
    "equal spaces": " " * 1_000_000,
    "equal signs": "=" * 1_000_000,
    "equal Han": "好" * 1_000_000,
    "equal tabs": "\t" * 1_000_000,
    "equal marks": "\u064b" * 1_000_000,
    "spaces and breaks": " \n" * 500_000,
    "letters before a mark": "a" * 999_999 + "é",
    "10 MB": CODE * 30_000,
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


def _assert_near(text: str, size: int) -> None:
    count, estimate = exact(), EstimateCounter()
    for at in range(0, max(1, len(text) - size + 1), size):
        window = text[at : at + size]
        assert 0.9 <= estimate(window) / count(window) <= 1.6, window


@pytest.mark.parametrize("size", [200, 700])
@pytest.mark.parametrize("language", SPOKEN)
def test_B70_speech_of_another_script_stays_near_in_every_window(language: str, size: int) -> None:
    # Windows move on by another length than the text has, so each begins elsewhere.
    _assert_near(SPOKEN[language] * 20, size)


@pytest.mark.parametrize("module", SOURCES)
def test_B70_the_sources_of_the_standard_library_stay_near(module: str) -> None:
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    _assert_near(Path(found.origin).read_text(encoding="utf-8"), 2_000)


@pytest.mark.parametrize(
    "emoji",
    [
        [chr(at) for at in range(0x1F600, 0x1F650)],
        [chr(at) for at in range(0x1F300, 0x1F700) if unicodedata.category(chr(at)) == "So"],
        [chr(at) for at in range(0x1F900, 0x1FAF0) if unicodedata.name(chr(at), "")],
        [chr(at) + "\ufe0f" for at in range(0x2600, 0x2700)],
        [chr(at) + tone for at in (0x1F44D, 0x1F44B, 0x1F64F) for tone in "🏻🏼🏽🏾🏿"],
        [chr(0x1F1E6 + one) + chr(0x1F1E6 + two) for one in range(0, 26, 3) for two in range(26)],
        list(PEOPLE),
    ],
    ids=["faces", "old", "new", "with selectors", "skin tones", "flags", "joined"],
)
@pytest.mark.parametrize("joint", ["", " ", " see you tomorrow "])
def test_B70_emoji_of_every_kind_stay_near(emoji: list[str], joint: str) -> None:
    dealt = random.Random(5)
    _assert_near(joint.join(dealt.choice(emoji) for _ in range(300)), 300)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}])
def test_B70_json_of_any_shape_stays_near(seed: int, style: dict[str, Any]) -> None:
    dealt = random.Random(seed)
    words = ENGLISH.replace(",", "").split()

    def value(depth: int) -> object:
        shape = dealt.random()
        if depth < 5 and shape < 0.5:
            return {dealt.choice(words): value(depth + 1) for _ in range(3)}
        if depth < 5 and shape < 0.7:
            return [value(depth + 1) for _ in range(3)]
        return dealt.choice([dealt.random(), dealt.randrange(10**6), None, True, str(UUID(int=dealt.getrandbits(128)))])

    _assert_near(json.dumps([value(0) for _ in range(30)], **style), 400)


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
@pytest.mark.parametrize("kind", [pytest.param(each, marks=[pytest.mark.slow] * (each == "10 MB")) for each in HUGE])
def test_B67_huge_texts_count_in_bounded_time(
    counter: Counter | None, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = bpe._count_tokens

    def counted(encoding: str, text: str) -> int:
        encoded.append(len(text))
        return encode(encoding, text)

    monkeypatch.setattr(bpe, "_count_tokens", counted)
    assert (counter or exact())(HUGE[kind]) > 0
    # What is encoded is every character once, in short pieces: whole, a text of equal ones takes quadratic time.
    assert all(size <= bpe._CHUNK_CHARS for size in encoded)
    assert sum(encoded) in {0, len(HUGE[kind])}


@pytest.mark.parametrize("kind", ["equal letters", "equal signs", "2 MB base64"])
def test_B67_counting_in_pieces_is_never_below_counting_whole(kind: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    text, count = HUGE[kind][:300_000], exact()
    counted = count(text)
    assert counted >= len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))


@pytest.mark.slow
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
    monkeypatch.setattr("wmem.tokens.bpe._load_encoding", lambda *_: Broken())
    assert count("hello world") == EstimateCounter()("hello world")
    monkeypatch.setattr("wmem.tokens.bpe._load_encoding", lambda *_: Stopped())
    with pytest.raises(KeyboardInterrupt):
        count("hello world")


@given(st.text(st.characters(categories=["Cs", "Co", "Cn", "Cc", "Lo"]), max_size=100))
@examples(0.5)
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
    code = "from wmem.tokens.counter import TiktokenCounter as T; print(T('o200k_base')('hello world'))"
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
from wmem.tokens.counter import default_counter
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    names = {default_counter().name for _ in range(3)}
print(names, [each.category.__name__ for each in caught])
"""
    assert _child(code) == "{'estimate/3'} ['EstimateWarning']"
    assert issubclass(EstimateWarning, UserWarning)


ALONE = """
import importlib.util as u, os, socket, sys, warnings
def refuse(*args, **kwargs):
    os._exit(9)
socket.socket.connect = socket.getaddrinfo = refuse
find = u.find_spec
u.find_spec = lambda name, *rest: None if name == "llama_index" else find(name, *rest)
warnings.simplefilter("always")
warnings.showwarning = lambda message, category, *rest: print(category.__name__)
from wmem.tokens.counter import TiktokenCounter, default_counter
"""
"""No network, and no encoding but where the environment says."""


def _encoding_file() -> Path:
    found = importlib.util.find_spec("llama_index")
    assert found is not None
    parent = next(iter(found.submodule_search_locations or []))
    return Path(parent) / "core" / "_static" / "tiktoken_cache" / "fb374d419588a4632f3f557e76b4b70aebbca790"


def test_without_an_encoding_file_the_estimate_counts_and_the_network_is_not_asked(tmp_path: Path) -> None:
    code = ALONE + "print([default_counter()('hello world') for _ in range(3)], default_counter().name)"
    told = _child(code, TMPDIR=str(tmp_path), TIKTOKEN_CACHE_DIR=str(tmp_path / "missing"))
    assert told.splitlines() == ["EstimateWarning", "[3, 3, 3] estimate/3"]


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "TMPDIR"])
def test_an_encoding_file_is_found_where_tiktoken_keeps_it(tmp_path: Path, variable: str) -> None:
    held = tmp_path / "data-gym-cache"
    held.mkdir()
    shutil.copy(_encoding_file(), held)
    named = tmp_path if variable == "TMPDIR" else held
    assert _child(ALONE + "print(default_counter()('hello world'))", **{"TMPDIR": "/", variable: str(named)}) == "2"


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["os.remove(file)", "open(file, 'w').close()"])
def test_an_encoding_file_that_goes_before_the_first_count_is_not_downloaded(tmp_path: Path, loss: str) -> None:
    file = tmp_path / shutil.copy(_encoding_file(), tmp_path)
    code = ALONE + f"count = default_counter(); file = {str(file)!r}; {loss}; print(count('hello world'), count('a'))"
    told = _child(code, TMPDIR=str(tmp_path), TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert told.splitlines() == ["EstimateWarning", "3 1"]


LATER = (
    ALONE
    + """
import shutil, time, types
import wmem.tokens.bpe as bpe
now, looks, find_directory = [0], [], bpe._find_directory
bpe.time = types.SimpleNamespace(monotonic=lambda: now[0])
def look(encoding):
    looks.append(now[0])
    return find_directory(encoding)
bpe._find_directory = bpe._find_directory_once = look
"""
)


@pytest.mark.slow
def test_a_missing_encoding_file_is_looked_for_again_every_30_s(tmp_path: Path) -> None:
    code = (
        LATER
        + f"""
counts = []
for second in range(0, 90, 2):
    now[0] = second
    if second == 44:
        shutil.copy({str(_encoding_file())!r}, {str(tmp_path)!r})
    counts.append(default_counter()("hello world"))
print(counts.index(2) * 2, set(counts[:30]), set(counts[30:]), [at for at in looks if at < 60])
"""
    )
    told = _child(code, TMPDIR=str(tmp_path / "no"), TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert told.splitlines() == ["EstimateWarning", "60 {3} {2} [0, 30]"]


@pytest.mark.slow
def test_an_encoding_file_that_comes_back_is_used_by_a_counter_that_was_made_before(tmp_path: Path) -> None:
    file = tmp_path / shutil.copy(_encoding_file(), tmp_path)
    code = (
        LATER
        + f"""
count = TiktokenCounter()
os.rename({str(file)!r}, {str(file) + ".away"!r})
counts = [count("hello world") for _ in range(3)]
os.rename({str(file) + ".away"!r}, {str(file)!r})
counts.append(count("hello world"))
now[0] = 30
print(counts, count("hello world"), looks)
"""
    )
    told = _child(code, TMPDIR=str(tmp_path / "no"), TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert told.splitlines() == ["EstimateWarning", "[3, 3, 3, 3] 2 [0, 0, 30, 30]"]


def test_making_a_counter_imports_no_tokenizer() -> None:
    code = (
        "import sys, wmem.tokens.counter as t; c = t.EstimateCounter(); c('x')\n"
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
        "payload": [{"blob": "QUJD" * 50_000, "mimeType": "image/x-raw"}],
        "caption": "a view of the harbour",
    }
    assert message_tokens(Message.from_openai({"role": "user", "content": [block]}), EstimateCounter()) < 1_660


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
