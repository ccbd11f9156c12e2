"""Recall, in each mode and store: answers with their questions, nothing where nothing is known, in many languages."""

from collections.abc import Sequence

import pytest

from tests.conformance.conftest import Call
from wmem import Scope

THANKS = ("Thank you!", "You are welcome.", "Thanks a lot.", "Any time.")


def say(session: Scope, call: Call, texts: Sequence[str]) -> None:
    """Messages of the user and the assistant in turn."""
    roles = "user", "assistant"
    call(session.messages.append, [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("request_", "answer", "question", "wanted"),
    [
        (
            "I want to change reservation R{}",
            "Reservation R{}: flight X{}, refund {} dollars",
            "How much was my refund for R7?",
            "refund 7 dollars",
        ),
        (
            "Ich möchte die Buchung B{} ändern",
            "Buchung B{}: Zug Z{}, Erstattung {} Euro",
            "Was war meine Erstattung für B7?",
            "Erstattung 7 Euro",
        ),
        ("我想修改订单D{}", "订单D{}：航班H{}，退款{}元", "我的订单D7退款是多少？", "退款7元"),  # noqa: RUF001  # as it is written
        ("予約Y{}を変更したい", "予約Y{}：便名B{}、返金{}円", "予約Y7の返金はいくらでしたか？", "返金7円"),  # noqa: RUF001  # as it is written
        ("أريد تغيير الحجز R{}", "الحجز R{}: رحلة X{}، استرداد {} دولار", "كم كان الاسترداد للحجز R7؟", "استرداد 7"),
    ],
    ids=["English", "German", "Chinese", "Japanese", "Arabic"],
)
def test_b140_the_answer_comes_with_the_question_in_any_language(  # noqa: PLR0917  # fixtures
    session: Scope, call: Call, request_: str, answer: str, question: str, wanted: str
) -> None:
    for number in range(30):
        texts = request_.format(number), answer.format(number, number, number), *THANKS * 2
        say(session, call, texts)
    # German spends more tokens on as many letters.
    budget = 1_200 if "Erstattung" in wanted else 1_024
    assert wanted in call(session.pack, question, budget=budget).note


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which paint did you say dries fastest on damp walls?", "Limewash: it is dry after two hours."),
        ("Welche Farbe trocknet auf feuchten Wänden am schnellsten?", "Kalkfarbe: nach zwei Stunden."),
        ("哪种涂料在潮湿的墙上干得最快？", "石灰浆，两个小时就干。"),  # noqa: RUF001  # as it is written
        ("ما هو الطلاء الأسرع جفافا على الجدران الرطبة؟", "طلاء الجير يجف بعد ساعتين."),
    ],
    ids=["English", "German", "Chinese", "Arabic"],
)
def test_b141_what_is_asked_again_brings_the_answer_of_then_in_any_language(
    session: Scope, call: Call, question: str, answer: str
) -> None:
    say(session, call, [question, answer])
    for number in range(40):
        say(session, call, [f"Tell me a story about part {number} of the town", f"Part {number} has a tower."])
    note = call(session.pack, question, budget=1_024).note
    assert answer in note
    assert note.index(question) < note.index(answer)


def test_b145_what_shares_one_weak_word_with_a_question_is_no_item_and_no_quote(session: Scope, call: Call) -> None:
    for number in range(30):
        call(session.items.add, f"The user thinks a lot about project number {number} these days", ttl_s=None)
    question = "What does the user like to eat for breakfast on weekend mornings in winter?"
    assert call(session.items.search, question) == ()
    assert call(session.pack, question, budget=2_000).note == ""


FACTS = {
    "Korean": (
        ["언니는 서울에서 의사로 일해요.", "회의가 목요일 세 시로 바뀌었어요.", "우리 강아지 이름은 비스킷이에요."],
        "제{}장은 산 위의 등대와 갈매기 이야기입니다.",
        {"언니는 어디에서 일해요?": 0, "회의는 언제예요?": 1, "강아지 이름이 뭐예요?": 2},
        "자동차 브랜드가 뭐예요?",
    ),
    "Arabic": (
        ["اشتريت دراجة حمراء قبل أيام.", "تأجل الاجتماع حتى يوم الخميس.", "عندي حساسية من الفول."],
        "الفصل {} يتحدث عن منارة على جبل ونورس.",
        {"ما لون الدراجة؟": 0, "متى اجتماع العمل؟": 1, "هل عندي حساسية؟": 2},
        "ما نوع سيارتي؟",
    ),
    "Japanese": (
        ["コーヒーは飲まずに緑茶を飲みます。", "パスポート番号はTR1234567です。", "会議は木曜日に変更されました。"],
        "第{}章は山の灯台とカモメの話です。",
        {"コーヒーを飲みますか？": 0, "パスポートの番号は？": 1, "会議はいつですか？": 2},  # noqa: RUF001  # as it is written
        "車のメーカーは何ですか？",  # noqa: RUF001  # as it is written
    ),
    "Russian": (
        ["У меня аллергия на арахис.", "Встречу перенесли на четверг.", "Мою собаку зовут Бисквит."],  # noqa: RUF001  # Cyrillic on purpose
        "Глава {} рассказывает о маяке на горе и чайках.",  # noqa: RUF001  # Cyrillic on purpose
        {"На что у меня аллергия?": 0, "Когда встреча?": 1, "Как зовут мою собаку?": 2},  # noqa: RUF001  # Cyrillic on purpose
        "Какая у меня машина?",  # noqa: RUF001  # Cyrillic on purpose
    ),
}


@pytest.mark.parametrize("language", FACTS)
def test_B114_a_natural_question_finds_its_fact_and_one_of_something_else_nothing(
    session: Scope, call: Call, language: str
) -> None:
    facts, story, questions, other = FACTS[language]
    for text in (*facts, *map(story.format, range(30))):
        call(session.items.add, text, ttl_s=None)
    for question, place in questions.items():
        assert [item.content for item in call(session.items.search, question)][:1] == [facts[place]], question
        assert facts[place] in call(session.pack, question, budget=500).note, question
    assert call(session.items.search, other) == ()
    assert call(session.pack, other, budget=500).note == ""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Erstattung Zugfahrt: 70 Euro", "Wie hoch war die Erstattung, die ich für die Zugfahrt bekommen habe?"),
        ("Ich habe die Erstattungen für alle meine Zugfahrten im Mai noch nicht bekommen", "Erstattung"),
        ("Remboursement billets: 70 euros", "Quel était le montant des remboursements que nous avons eus ?"),
        ("Reembolsos: 70 euros", "¿Cuánto fue el reembolso que me hicieron en la estación?"),
    ],
    ids=["German", "German, a word", "French", "Spanish"],
)
def test_a_text_that_tells_no_language_is_found_in_its_own(
    session: Scope, call: Call, text: str, question: str
) -> None:
    for number in range(20):
        call(session.items.add, f"Notiz {number}: Leuchtturm, Fels, Boot", ttl_s=None)
        call(session.items.add, f"Ich habe mit der Mutter das Boot Nummer {number} nicht gesehen", ttl_s=None)
    call(session.items.add, text, ttl_s=None)
    assert [item.content for item in call(session.items.search, question, order="recall")][:1] == [text]
    assert call(session.recall, question, limit=1)[0].text == text
