"""The marks around text that was recalled, and the calls of memory tools: what of a conversation repeats a memory.

What is recalled comes back as a part of the conversation: as a tool's result, or in an agent's own account of what it
did. It is stored there, as all of a conversation is, but nothing in it is said a second time: where a text is indexed,
quoted or summarized, its recalled blocks are left out, and the calls that asked for them or stored a memory.
"""

from collections.abc import Iterator

from wmem.model.message import Message
from wmem.model.part import ToolCall

OPENING, CLOSING = "<recalled>", "</recalled>"
RETELLERS = ("tool", "assistant")
"""Roles whose messages may hold recalled blocks; a user who pastes one says it."""
_MEMORY_TOOLS = {"remember": {"text", "tags"}, "recall": {"query", "limit"}, "forget": {"ids", "instruction"}}
"""Names of the tools of `wmem.adapter.tools`, and of their arguments."""


def is_memory_call(call: ToolCall) -> bool:
    """Whether a call is one of wmem's own tools, as far as its name and its arguments tell."""
    taken = _MEMORY_TOOLS.get(call.name)
    return taken is not None and call.args is not None and call.args.keys() <= taken


def strip_recalled(text: str) -> str:
    """The text without its recalled blocks; a block cannot be ended from within, and one without end is none."""
    if OPENING not in text:
        return text
    said, at = [], 0
    while (begin := text.find(OPENING, at)) >= 0 and (end := text.find(CLOSING, begin)) >= 0:
        said.append(text[at:begin])
        at = end + len(CLOSING)
    return "".join((*said, text[at:])).strip() if at else text


def iter_repeated(message: Message) -> Iterator[str]:
    """The memories that a message repeats whole: what its calls remember, and what recall answered."""
    for call in message.tool_calls:
        if call.name == "remember" and is_memory_call(call) and isinstance(text := (call.args or {}).get("text"), str):
            yield text
    if message.role in RETELLERS and OPENING in message.text:
        quoted: list[str] = []
        for line in message.text.splitlines():
            begins, goes_on = line.startswith("> ["), line.startswith("> ")
            if quoted and (begins or not goes_on):
                yield "\n".join(quoted)
                quoted = []
            if begins:
                quoted = [line.partition("] ")[2]]
            elif quoted:
                quoted.append(line.removeprefix("> "))
