"""The fifth process: a week later another session is asked, in another framework."""

import json

from demo_answers import choose_model
from demo_monday import ADA
from demo_printing import WEEKDAYS, console, to_lines
from llama_index.core.base.llms.types import ChatMessage
from rich.box import ROUNDED
from rich.panel import Panel
from rich.text import Text

import wmem
from llamaindex_wmem import WmemMemory

__all__ = ["ask_on_tuesday"]

BUDGET = 300
QUESTION = "What is Biscuit allergic to?"


def ask_on_tuesday(url: str, agent_id: str) -> None:
    """Ask in a session of Ada's, and in one of Bob's; print what each prompt drew on, and replay the first."""
    model, _ = choose_model()
    with wmem.open(url, agent_id=agent_id, clock=lambda: WEEKDAYS["Tuesday"]) as memory:
        prompts: list[wmem.Context] = []
        for user in (ADA, ("users", "bob")):
            name = f"tuesday-of-{user[-1]}"
            memory.scope(name).dispose()  # from an earlier run in the same directory
            held = WmemMemory.from_defaults(memory=memory, session_id=name, token_limit=BUDGET, long_term=[user])
            held.put(ChatMessage(role="user", content=QUESTION))
            prompts.append(held.context())
            reply = model.chat(prompts[-1].to_llamaindex()).message
            held.put(reply)
            _show(user[-1].title(), reply.content or "", prompts[-1])
        receipt = memory.record(prompts[0])
        again = memory.replay(receipt).context
        same = again is not None and _to_bytes(again) == _to_bytes(prompts[0])
        told = "the same prompt, byte for byte" if same else "another prompt"
        console().print(
            to_lines(("receipt", f"{receipt} of Ada's prompt"), ("replayed", f"from what is stored: {told}"))
        )


def _to_bytes(context: wmem.Context) -> bytes:
    return json.dumps(context.to_openai()).encode()


def _show(user: str, answer: str, context: wmem.Context) -> None:
    """Print an answer, the note of its prompt and where that is from."""
    note = context.note or "(no note: nothing that this user has bears on the question)"
    used = f"{context.tokens} of {context.budget} tokens"
    told = "; ".join(f"{tokens} tokens of {scope}" for scope, tokens in context.sources.items() if tokens and scope)
    paper = console()
    paper.print()
    paper.print(to_lines((user, QUESTION), ("answer", answer), ("sources", told)))
    paper.print(Panel(Text(note), title="the note of the prompt", subtitle=used, box=ROUNDED, border_style="blue"))
