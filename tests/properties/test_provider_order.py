"""What each profile makes of a prompt: valid for its provider, unchanged where it was, and the same every time."""

import json
from functools import partial
from itertools import pairwise, takewhile
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from tests.validators import PROVIDERS, violations
from wmem.errors import BudgetError
from wmem.model.context import Context, ProviderProfile
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.pack import pack
from wmem.pack.provider_rules import RULES
from wmem.pack.request import Candidate, PackOptions, PackRequest, RecalledCandidate
from wmem.tokens.counter import default_counter, message_tokens

PROFILES: tuple[ProviderProfile, ...] = get_args(ProviderProfile)
COUNT = default_counter()
OPTIONS: dict[str, Any] = {
    "budget": 5_000, "system": "", "tools": (), "reserve": 0, "tail": 0.5, "recent": 4, "profile": "any",
    "orphans": "drop", "note_role": "user", "stable": False, "summary": False, "prompt_counter": None,
    "reasoning": "tools", "roles": "free",
}  # fmt: skip
PICTURE = Part(kind="image", base64="iVBORw0KGgo=", mime_type="image/png")
IDS = ["c1", "call_2", "functions.look:0", "functions.look:1", "x" * 90, "a|b", "c|d", "a b", "é", "A1b2C3d4E"]
NAMES = [None, None, "Ann", "José García", "Research Agent", "<|x|>", "n" * 80]
TOOLS = ["look_up", "search docs", "1st", "a.b:c", "日本", "t" * 90]
TEXTS = ["", " \n", "ok", "My dog is called Biscuit.", "a longer remark about the weather " * 8]


def packed(*messages: Message, **options: Any) -> Context:
    known = [
        Candidate(each.id, each.role, message_tokens(each, COUNT), float(at), partial(_identity, each), each.answers)
        for at, message in enumerate(messages)
        for each in [message if message.id else message.model_copy(update={"id": f"m{at}"})]
        if each.id
    ]
    leading = list(takewhile(lambda each: each.role in ("system", "developer"), known))
    recalled = [RecalledCandidate(each, 1.0) for each in options.pop("recalled", ())]
    return pack(
        PackRequest(
            options=PackOptions(**OPTIONS | options), count=COUNT, newest_first=known[::-1], total=len(known),
            pinned=leading, recalled=recalled, query="dog",
        )
    )  # fmt: skip


def _identity(message: Message) -> Message:
    return message


def user(text: str = "hi", **fields: Any) -> Message:
    return Message.of("user", text, **fields)


def said(text: str = "hello", **fields: Any) -> Message:
    return Message.of("assistant", text, **fields)


def calls(*ids: str, name: str = "look_up", text: str = "", **fields: Any) -> Message:
    return said(text, tool_calls=[ToolCall(id=id, name=name) for id in ids], **fields)


def result(call: str, text: str = "found", **fields: Any) -> Message:
    return Message.of("tool", text, tool_call_id=call, **fields)


FACT = Candidate("i", None, 9, 0.0, partial(user, "a fact about my dog"))


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 7))):
        text, name = draw(st.sampled_from(TEXTS)), draw(st.sampled_from(NAMES))
        kind = draw(st.integers(0, 9))
        media = (PICTURE,) if draw(st.integers(0, 3)) == 0 else ()
        parts = (Part(text=text), *media, *((Part(text=" "),) if draw(st.integers(0, 5)) == 0 else ()))
        if kind == 0:
            messages.append(Message.of(draw(st.sampled_from(["system", "developer"])), text, name=name))
        elif kind <= 3:
            messages.append(Message(role="user", parts=parts, name=name))
        elif kind <= 5:
            extra = (Part(kind="refusal", text="No."),) if draw(st.integers(0, 4)) == 0 else ()
            messages.append(Message(role="assistant", parts=(*parts, *extra), name=name))
        else:
            ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
            tool = draw(st.sampled_from(TOOLS))
            exchange = [calls(*ids, name=tool, text=draw(st.sampled_from(TEXTS)))]
            exchange += [Message(role="tool", parts=parts, tool_call_id=id, name=tool) for id in ids]
            if draw(st.integers(0, 5)) == 0:
                exchange.pop(draw(st.integers(0, len(exchange) - 1)))
            messages += exchange
    return messages


def _pack_or_none(talk: list[Message], **options: Any) -> Context | None:
    try:
        return packed(*talk, **options)
    except BudgetError:
        return None


@given(
    talk=talks(), budget=st.one_of(st.integers(20, 200), st.just(5_000)), stable=st.booleans(), noted=st.booleans(),
    orphans=st.sampled_from(["drop", "synthesize"]), roles=st.sampled_from(["free", "alternate"]),
)  # fmt: skip
@examples(2)
def test_a_prompt_of_any_conversation_is_valid_for_its_profile_at_any_budget(
    talk: list[Message], budget: int, **options: Any
) -> None:
    recalled = [FACT] if options.pop("noted") else []
    for profile in PROFILES:
        context = _pack_or_none(talk, budget=budget, profile=profile, recalled=recalled, **options)
        prompt = [] if context is None else context.to_openai()
        if context is None or all(each["role"] in ("system", "developer") for each in prompt):
            continue  # nobody has said anything that could be sent
        for provider in PROVIDERS if profile == "any" else [profile]:
            assert violations(provider, prompt, strict=profile == "mistral") == [], profile
        assert sum(message_tokens(each, COUNT) for each in context.prompt()) <= context.tokens <= budget
        if options["roles"] == "alternate":
            assert alternates([each["role"] for each in prompt])


def alternates(roles: list[str]) -> bool:
    """Whether system text stands once and in front, and user and assistant take turns, results aside."""
    begun = roles[1:] if roles[0] == "system" else roles
    pairs = {
        ("user", "assistant"),
        ("assistant", "user"),
        ("assistant", "tool"),
        ("tool", "tool"),
        ("tool", "assistant"),
    }
    return begun[:1] in ([], ["user"]) and pairs.issuperset(pairwise(begun))


def test_a_prompt_that_every_provider_takes_is_sent_as_it_is() -> None:
    talk = [
        Message.of("system", "Be kind."), user("hi", name="Ann"), calls("c1", "c2", text="Looking."), result("c1"),
        result("c2", ""), said("Here."), user("thanks"), user("more?"), said("No."), user("bye"),
    ]  # fmt: skip
    for profile in ("any", "openai"):
        assert packed(*talk, profile=profile).to_openai() == [message.to_openai() for message in talk]


@pytest.mark.parametrize("profile", PROFILES)
def test_b134_ids_and_names_fit_alike_on_call_and_result_and_distinct_ones_stay_distinct(
    profile: ProviderProfile,
) -> None:
    talk = [user("hi", name="José García"), calls(*IDS, name="search docs")]
    talk += [result(id, name="search docs") for id in IDS]
    sent = packed(*talk, said("done"), user("next", name="Research Agent"), profile=profile).to_openai()
    called = [call["id"] for call in sent[1]["tool_calls"]]
    assert len(set(called)) == len(IDS)
    assert called == [each["tool_call_id"] for each in sent if each["role"] == "tool"]
    assert all(id in called for id in IDS if RULES[profile].call_id.fullmatch(id))
    assert {call["function"]["name"] for call in sent[1]["tool_calls"]} == {"search_docs"}
    names = [each["name"] for each in sent if "name" in each]
    assert names == (["José_García", "Research_Agent"] if profile in ("any", "openai") else [])


@pytest.mark.parametrize("profile", ["any", "anthropic", "mistral"])
def test_b134_ids_are_rewritten_the_same_in_every_prompt(profile: ProviderProfile) -> None:
    turns = [
        [
            user(f"q{n}", id=f"q{n}"),
            calls("functions.look:0", id=f"a{n}"),
            result("functions.look:0", id=f"r{n}"),
            said(),
        ]
        for n in range(6)
    ]
    before: dict[str | None, str] = {}
    for last in range(1, 6):
        context = packed(*(each for turn in turns[:last] for each in turn), user("now?"), profile=profile)
        ids = {message.id: message.tool_calls[0].id for message in context.messages if message.tool_calls}
        assert len(set(ids.values())) == last, "each exchange has an id of its own"
        assert ids.items() >= before.items()
        before = ids


def test_b134_what_is_stored_keeps_its_ids_and_names() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        talk = [user("hi", name="José García"), calls("functions.look:0"), result("functions.look:0")]
        session.messages.append(talk)
        for adapted in (session.pack(budget=500).to_langchain(), session.pack(budget=500).to_llamaindex()):
            assert "functions.look:0" not in str(adapted)
            assert "José García" not in str(adapted)
        assert [each.to_openai() for each in session.messages.all()] == [each.to_openai() for each in talk]


def test_an_opening_says_that_messages_were_left_out_only_if_so() -> None:
    talk = [said("Hello, I am your agent."), user("hi")]
    assert packed(*talk).messages[0].text == "[The conversation begins here.]"
    assert packed(Message.of("system", "Be kind."), *talk).messages[1].text == "[The conversation begins here.]"
    assert packed(*talk, profile="openai").messages[0].text == "Hello, I am your agent."
    long = [user("a question " * 50), said("an answer"), user("hi")]
    assert packed(*long, budget=40).messages[0].text == "[Earlier messages were left out.]"


@pytest.mark.parametrize("profile", ["any", "openai", "mistral"])
def test_a_picture_in_a_result_moves_behind_the_results_and_is_charged(profile: ProviderProfile) -> None:
    shot = Message(role="tool", tool_call_id="c1", parts=(Part(text="taken"), PICTURE))
    context = packed(user(), calls("c1", "c2"), shot, result("c2"), said("I see."), user("and?"), profile=profile)
    shown = [
        message
        for message in context.messages
        if message.role != "assistant" or message.tool_calls or message.text == "I see."
    ]
    assert [message.role for message in shown][:5] == ["user", "assistant", "tool", "tool", "user"]
    assert shown[2].text == "taken\n[image: shown below]"
    assert shown[4].parts[-1] == PICTURE
    assert shown[4].recalled, "no adapter stores it"
    assert context.sizes["messages"] == sum(message_tokens(each, COUNT) for each in context.messages)


def test_roles_alternate_where_asked_with_the_note_in_its_neighbor() -> None:
    talk = [user("one"), user("two"), said("a"), said("b"), calls("c1"), result("c1"), user("three")]
    for role in ("user", "system"):
        context = packed(*talk, roles="alternate", system="Be kind.", recalled=[FACT], note_role=role)
        prompt = context.to_openai()
        assert alternates([each["role"] for each in prompt])
        text = "".join(each["content"] or "" for each in prompt)
        assert all(word in text for word in ("Be kind.", "one\n\ntwo", "a\n\nb", "a fact about my dog", "three"))
    assert [each["role"] for each in packed(*talk).to_openai()] != [each["role"] for each in prompt]


def test_a_call_of_arguments_that_are_no_json_is_sent_as_the_model_wrote_it() -> None:
    broken = said("", tool_calls=[ToolCall(id="functions.look:0", name="look", arguments='{"q": ')])
    sent = packed(user(), broken, result("functions.look:0")).to_openai()
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"q": '
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
