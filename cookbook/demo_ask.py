"""The second process: a LlamaIndex chat engine answers from the session that the LangChain agent stored."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from demo_answers import choose_model
from demo_comparison import AnswerComparison, Tally, show_question, show_summary
from demo_evidence import find_evidence
from demo_printing import show_asking
from demo_reading import Conversation, Question, Turn, sample_evenly
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]  # says so in its manual
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatStartEvent
from llama_index.core.memory import ChatMemoryBuffer, Memory
from pydantic import PrivateAttr

import wmem
from llamaindex_wmem import WmemMemory
from wmem import Message

__all__ = ["ask"]

BUDGET = 1_024
"""Tokens of each prompt, for both memories."""
QUESTIONS = 4
SYSTEM = "You are an old friend of both. Answer in one sentence, from what is said below and nothing else."
_UNLIMITED = 10**9


def ask(conversation: Conversation, url: str, agent_id: str, session_id: str, report: Path) -> None:
    """Ask about early sessions, with wmem and with LlamaIndex's default memory, and print both side by side."""
    model, named = choose_model()
    memory = WmemMemory.from_defaults(session_id=session_id, url=url, agent_id=agent_id, token_limit=BUDGET)
    engine = SimpleChatEngine.from_defaults(llm=model, memory=memory, system_prompt=SYSTEM)

    # The default memory of SimpleChatEngine, with the same history and the same limit.
    default = Memory.from_defaults(token_limit=BUDGET)
    past = memory.get_all()
    default.put_messages(past)
    plain = SimpleChatEngine.from_defaults(llm=model, memory=default, system_prompt=SYSTEM)
    buffer = ChatMemoryBuffer.from_defaults(chat_history=list(past), token_limit=BUDGET)

    spent = len(memory.tokenizer_fn(SYSTEM))
    sent = PromptListener.attach(lambda: memory.context(initial_token_count=spent))
    early = conversation.early_questions()
    questions = sample_evenly(early, QUESTIONS)
    show_asking(
        model=named,
        messages=len(past),
        tokens=count_tokens(past),
        budget=BUDGET,
        questions=len(questions),
        early=len(early),
    )
    # Before any question is asked, so that no answer can count as evidence.
    over_all = Tally(
        questions=len(early),
        evidence=sum(len(each.evidence) for each in early),
        kept={
            "wmem": sum(
                len(find_evidence(each, _prompt_texts(memory.context(each.text, initial_token_count=spent))))
                for each in early
            ),
            "default": _count_evidence(early, default.get()),
            "buffer": _count_evidence(early, buffer.get()),
        },
    )
    answers = []
    for number, question in enumerate(questions, 1):
        ours = sent.ask(engine, question)
        theirs = sent.ask(plain, question)
        buffered = _buffer_prompt(buffer, question, theirs.answer)
        answers.append(_to_answer(question, ours, theirs, buffered, spent))
        show_question(number, answers[-1], whole=number == 1)
    show_summary(answers, over_all, model=named, history=count_tokens(past))
    told = {"answers": [_answer_to_json(each) for each in answers], "early": asdict(over_all)}
    report.write_text(json.dumps(told, indent=1), encoding="utf-8")
    memory.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReply:
    """One question to one engine: the prompt that was sent, and the answer."""

    prompt: tuple[ChatMessage, ...]
    answer: str
    context: wmem.Context


class PromptListener(BaseEventHandler):
    """Records the prompt that LlamaIndex sends to the model, whichever memory it comes from."""

    _pack: Callable[[], wmem.Context] = PrivateAttr()
    _prompt: tuple[ChatMessage, ...] = PrivateAttr(default=())
    _context: wmem.Context = PrivateAttr()

    @classmethod
    def class_name(cls) -> str:
        return "Sent"

    @classmethod
    def attach(cls, pack: Callable[[], wmem.Context]) -> "PromptListener":
        """A registered listener that also takes wmem's packed context at the moment of sending."""
        made = cls()
        made._pack = pack
        get_dispatcher().add_event_handler(made)
        return made

    def handle(self, event: BaseEvent, **_: Any) -> None:
        if isinstance(event, LLMChatStartEvent):
            self._prompt, self._context = tuple(event.messages), self._pack()

    def ask(self, engine: SimpleChatEngine, question: Question) -> EngineReply:
        """Ask an engine a question; the prompt it sent, and the answer."""
        answer = str(engine.chat(question.text))
        return EngineReply(prompt=self._prompt, answer=answer, context=self._context)


def count_tokens(prompt: Sequence[ChatMessage]) -> int:
    """The tokens of a prompt, by the same counter for every memory, each message's delimiters included."""
    # All counted as user messages: notes and system text would be treated differently.
    weighed = [Message.of("user", each.content or "", name=_name(each)) for each in prompt]
    with wmem.open("memory://", agent_id="scales") as memory:
        return memory.scope("prompt").pack(budget=_UNLIMITED, messages=weighed).tokens


def _buffer_prompt(buffer: ChatMemoryBuffer, question: Question, answer: str) -> list[ChatMessage]:
    """The prompt that LlamaIndex's older memory makes of the same history; the chat continues in it as well."""
    buffer.put(ChatMessage(role="user", content=question.text))
    system = ChatMessage(role="system", content=SYSTEM)
    prompt = [system, *buffer.get(initial_token_count=len(buffer.tokenizer_fn(SYSTEM)))]
    buffer.put(ChatMessage(role="assistant", content=answer))
    return prompt


def _to_answer(
    question: Question, ours: EngineReply, theirs: EngineReply, buffer_prompt: Sequence[ChatMessage], spent: int
) -> AnswerComparison:
    return AnswerComparison(
        question=question,
        context=ours.context,
        prompt=_speaker_lines(ours.prompt),
        default_prompt=_speaker_lines(theirs.prompt),
        answer=ours.answer,
        default_answer=theirs.answer,
        kept=_find_evidence(question, ours.prompt),
        default_kept=_find_evidence(question, theirs.prompt),
        buffer_kept=_find_evidence(question, buffer_prompt),
        tokens=count_tokens(ours.prompt),
        default_tokens=count_tokens(theirs.prompt),
        buffer_tokens=count_tokens(buffer_prompt),
        system_tokens=spent,
        budget=BUDGET,
    )


def _find_evidence(question: Question, prompt: Sequence[ChatMessage]) -> tuple[Turn, ...]:
    return find_evidence(question, [each.content or "" for each in prompt])


def _count_evidence(questions: Sequence[Question], prompt: Sequence[ChatMessage]) -> int:
    return sum(len(_find_evidence(each, prompt)) for each in questions)


def _prompt_texts(context: wmem.Context) -> list[str]:
    return [message.text for message in context.prompt()]


def _speaker_lines(prompt: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """Speaker and text of each message of a prompt."""
    return [(_name(each) or each.role.value, each.content or "") for each in prompt]


def _name(message: ChatMessage) -> str | None:
    name = message.additional_kwargs.get("name")
    return name if isinstance(name, str) else None


def _answer_to_json(answer: AnswerComparison) -> dict[str, Any]:
    """One answer as JSON, to check the numbers."""
    told = asdict(answer)
    del told["context"]
    return told
