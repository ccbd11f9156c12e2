"""Conversations that others recorded, packed at every budget for every provider: `python -m tests.bench.traces FOLDER`.

Each file of the folder (JSON, JSON lines, recorded requests as YAML; gzipped or not) is searched for
conversations in the forms of OpenAI, Anthropic, Bedrock, Gemini, the Responses API, LangChain, LlamaIndex and
ShareGPT. The first three are given to wmem as they are. A conversation is packed as it grows. Exit status 1 if a
prompt is above its budget, if its provider would refuse it, or if anything is raised but the errors of `wmem.errors`.
"""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

import wmem
from tests.charging import rendered_tokens
from tests.validators import PROVIDERS, Provider, violations
from wmem.errors import BudgetError, WmemError
from wmem.model.alternation import SYSTEM_ROLES
from wmem.model.message import Message, parse_messages
from wmem.tokens.counter import PROMPT_OVERHEAD, default_counter, message_tokens
from wmem.types import ProviderProfile

__all__ = ["BUDGETS", "Conversation", "Outcome", "find_conversations", "pack_growing", "read_file"]

BUDGETS = (150, 400, 1_000, 2_500, 8_000)
_STEPS = 4
_MANY = 12  # conversations of a file that are packed: the longest
_ROLES = {"system", "developer", "user", "assistant", "tool", "function", "model"}
_SHAREGPT = {
    "system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant",
    "function_call": "call", "observation": "result", "tool": "result",
}  # fmt: skip
_ANTHROPIC_BLOCKS = {
    "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction", "document", "search_result",
    "container_upload",
}  # fmt: skip
_CONVERSE_BLOCKS = {
    "reasoningContent", "guardContent", "cachePoint", "citationsContent", "searchResult", "image", "document", "video",
}  # fmt: skip
Json = Mapping[str, Any]


class Conversation(NamedTuple):
    """Messages as wmem takes them, and the form they were in."""

    form: str
    messages: Sequence[Json | Message]

    @property
    def provider(self) -> Provider | None:
        """The one that takes all blocks of it, where they are not known to every provider."""
        blocks = list(_nested_blocks([each for each in self.messages if isinstance(each, Mapping)]))
        kinds = {str(block.get("type")) for block in blocks}
        if any(block.get("type") == "thinking" and "signature" not in block for block in blocks):
            return "gemini"  # its package alone takes such
        if any("cache_control" in block for block in blocks):
            return "anthropic"
        if kinds & _ANTHROPIC_BLOCKS or any(kind.endswith("_tool_result") for kind in kinds):
            return "anthropic"
        return "bedrock" if any(not _CONVERSE_BLOCKS.isdisjoint(block) for block in blocks) else None


@dataclass
class Outcome:
    """What came of the conversations of a file."""

    conversations: int = 0
    messages: int = 0
    packs: int = 0
    over: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Conversations that were not taken in, or a newest message that does not fit, by the error's text."""
    faults: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    """Tokens said by tokens of the prompt as it is sent, in the form of `tests.charging`."""


def read_file(path: Path) -> list[Any]:
    """The documents of a file; none if it is nothing that can be read."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = raw.decode("utf-8", "replace")
    if ".yaml" in path.name or ".yml" in path.name:
        import yaml  # type: ignore[import-untyped]  # here for recorded requests alone

        return [yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))]
    try:
        return [json.loads(text)]
    except ValueError:
        lines = [line for line in text.splitlines() if line.startswith(("{", "["))]
        try:
            return [[json.loads(line) for line in lines]] if lines else []
        except ValueError:
            return []


def find_conversations(data: Any) -> Iterator[Conversation]:
    """All conversations of at least two messages in a document, however deep, and in JSON inside texts."""
    if isinstance(data, bytes):
        data = data.decode("utf-8", "replace")
    if isinstance(data, str):
        if data[:1] in "{[" and '"' in data:
            try:
                yield from find_conversations(json.loads(data))
            except ValueError:
                return
        return
    if isinstance(data, Mapping):
        if isinstance(data.get("system"), str | list) and isinstance(data.get("messages"), list):
            system = data["system"] if isinstance(data["system"], str) else _texts(data["system"])
            data = {**data, "messages": [{"role": "system", "content": system}, *data["messages"]]}
        for value in data.values():
            yield from find_conversations(value)
        return
    if not isinstance(data, list):
        return
    for form, read in _FORMS.items():
        if len(data) > 1 and (found := read(data)):
            yield Conversation(form, found)
            return
    for value in data:
        yield from find_conversations(value)


# --- forms -----------------------------------------------------------------------------------------------------------


def _read_chat(data: Sequence[Any]) -> Sequence[Json]:
    return (
        [_plain(each) for each in data]
        if _all(data, lambda each: each.get("role") in _ROLES and "content" in each)
        else []
    )


def _plain(message: Json) -> Json:
    """The message; blocks with a ``value`` get the names of the chat form."""
    content = message["content"]
    if not isinstance(content, list) or not _all(content, lambda block: "type" in block and "value" in block):
        return message
    kept: dict[str, Any] = {key: value for key, value in message.items() if key in ("role", "name", "tool_call_id")}
    kept["content"] = "\n".join(str(block["value"]) for block in content if block["type"] == "text")
    if reasons := [str(block["value"]) for block in content if block["type"] == "reasoning"]:
        kept["reasoning_content"] = "\n".join(reasons)
    calls = [json.loads(block["value"]) for block in content if block["type"] == "tool_call"]
    if calls:
        kept["tool_calls"] = [_call("", each["name"], each["arguments"]) for each in calls]
    return kept


def _read_turns(data: Sequence[Any]) -> Sequence[Json]:
    """Lists of messages, one for each turn of a conversation."""
    if not all(
        isinstance(each, list) and each and _all(each, lambda said: said.get("role") in _ROLES) for each in data
    ):
        return []
    return [message for turn in data for message in turn]


def _read_logged(data: Sequence[Any]) -> Sequence[Json]:
    """Lines of a log, some of which hold a message."""
    lines = [each["message"] for each in data if isinstance(each, Mapping) and isinstance(each.get("message"), Mapping)]
    said = [{"role": line["role"], "content": line["content"]} for line in lines if {"role", "content"} <= line.keys()]
    return said if len(said) > 1 else []


def _read_langchain(data: Sequence[Any]) -> Sequence[Message]:
    if not _all(data, lambda each: "lc" in each or ("type" in each and isinstance(each.get("data"), Mapping))):
        return []
    from langchain_core.messages import convert_to_messages, messages_from_dict

    from langchain_wmem import from_langchain

    return from_langchain(
        [convert_to_messages([each])[0] if "lc" in each else messages_from_dict([each])[0] for each in data]
    )


def _read_llamaindex(data: Sequence[Any]) -> Sequence[Message]:
    if not _all(data, lambda each: each.get("role") in _ROLES | {"chatbot"} and isinstance(each.get("blocks"), list)):
        return []
    from llama_index.core.base.llms.types import ChatMessage

    from llamaindex_wmem import from_llamaindex

    return from_llamaindex([ChatMessage.model_validate(each) for each in data])


def _read_sharegpt(data: Sequence[Any]) -> Sequence[Json]:
    if not _all(data, lambda each: each.get("from") in _SHAREGPT and isinstance(each.get("value"), str)):
        return []
    made: list[Json] = []
    for each in data:
        role = _SHAREGPT[each["from"]]
        if role == "call":
            calls = json.loads(each["value"])
            calls = calls if isinstance(calls, list) else [calls]
            told = [_call("", call["name"], call["arguments"]) for call in calls]
            made.append({"role": "assistant", "content": None, "tool_calls": told})
        else:
            made.append({"role": "tool" if role == "result" else role, "content": each["value"]})
    return made


def _read_gemini(data: Sequence[Any]) -> Sequence[Json]:
    if not _all(data, lambda each: each.get("role") in _ROLES and isinstance(each.get("parts"), list)):
        return []
    made: list[Json] = []
    for each in data:
        parts = each["parts"]
        text = "".join(part.get("text") or "" for part in parts)
        calls = [part.get("functionCall") or part.get("function_call") for part in parts]
        told = [_call(call.get("id") or "", call["name"], call.get("args") or {}) for call in calls if call]
        results = [part.get("functionResponse") or part.get("function_response") for part in parts]
        made += [_result(every["name"], every.get("id"), every.get("response")) for every in results if every]
        if text or told:
            role = "assistant" if each["role"] == "model" else "user"
            made.append({"role": role, "content": text or None, **({"tool_calls": told} if told else {})})
    return made


def _read_responses(data: Sequence[Any]) -> Sequence[Json]:
    """Items of the Responses API, some of them inside lines of a log."""
    items = [each.get("payload", each) if isinstance(each, Mapping) else {} for each in data]
    if not any(
        isinstance(each, Mapping) and each.get("type") in ("function_call", "function_call_output") for each in items
    ):
        return []
    made: list[Json] = []
    for each in items:
        kind = each.get("type") if isinstance(each, Mapping) else None
        if kind == "function_call":
            called = _call(each["call_id"], each["name"], each["arguments"])
            made.append({"role": "assistant", "content": None, "tool_calls": [called]})
        elif kind == "function_call_output":
            made.append({"role": "tool", "tool_call_id": each["call_id"], "content": _texts(each["output"])})
        elif kind in ("message", None) and each.get("role") in _ROLES:
            made.append({"role": each["role"], "content": _texts(each["content"])})
    return made


_FORMS: Mapping[str, Callable[[Sequence[Any]], Sequence[Json | Message]]] = {
    "langchain": _read_langchain,
    "llamaindex": _read_llamaindex,
    "gemini": _read_gemini,
    "responses": _read_responses,
    "sharegpt": _read_sharegpt,
    "log": _read_logged,
    "turns": _read_turns,
    "chat": _read_chat,
}


def _all(data: Iterable[Any], holds: Callable[[Json], object]) -> bool:
    return all(isinstance(each, Mapping) and holds(each) for each in data)


def _nested_blocks(messages: Iterable[Json]) -> Iterator[Json]:
    """All blocks of messages, and those inside results."""
    for each in messages:
        content = each.get("content")
        inner = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
        yield from inner
        yield from _nested_blocks(inner)


def _call(id: str, name: str, arguments: object) -> Json:
    said = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": said}}


def _result(name: str, id: str | None, response: object) -> Json:
    return {"role": "tool", "name": name, "tool_call_id": id, "content": json.dumps(response, ensure_ascii=False)}


def _texts(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, Mapping))


# --- packing ---------------------------------------------------------------------------------------------------------


def pack_growing(outcome: Outcome, conversation: Conversation, *, budgets: Sequence[int] = BUDGETS) -> None:
    """Append a conversation in a few steps, and pack at each budget for each provider after every step."""
    said = list(conversation.messages)
    outcome.conversations += 1
    outcome.messages += len(said)
    outcome.forms[conversation.form] += 1
    width = max(1, -(-len(said) // _STEPS))
    with wmem.open("memory://", agent_id="traces") as memory:
        session = memory.scope("session")
        for at in range(0, len(said), width):
            try:
                session.messages.append(said[at : at + width])
            except WmemError as exc:
                outcome.refused[f"{type(exc).__name__}: {exc}"[:100]] += 1
                return
            except Exception as exc:  # whatever is raised is what is looked for
                outcome.faults[f"append: {exc!r}"[:160]] += 1
                return
            if all(each.role in SYSTEM_ROLES for each in session.messages.all()):
                continue  # nobody has said anything
            for budget in budgets:
                for profile in get_args(ProviderProfile):
                    # What one provider alone takes goes back to it, and to no other whose profile is named.
                    takers = [conversation.provider or each for each in PROVIDERS] if profile == "any" else [profile]
                    _pack(outcome, session, budget, profile, set(takers))


def _pack(
    outcome: Outcome, session: wmem.Scope, budget: int, profile: ProviderProfile, providers: Iterable[Provider]
) -> None:
    newest = next((each.text for each in reversed(session.messages.all()) if each.role == "user"), None)
    # In turns, so that every budget and every profile meets each.
    ways: tuple[tuple[str | None, Json], ...] = (
        (newest, {}), (newest, {"stable": True}), (None, {}), (newest, {"roles": "alternate"}),
    )  # fmt: skip
    query, options = ways[outcome.packs % len(ways)]
    outcome.packs += 1
    try:
        packed = session.pack(query, budget=budget, profile=profile, **options)
    except BudgetError as exc:
        outcome.refused[f"BudgetError at {budget:,}: {exc}"[:100]] += 1
        return
    except Exception as exc:  # whatever is raised is what is looked for
        outcome.faults[f"pack at {budget:,}: {exc!r}"[:160]] += 1
        return
    prompt = packed.to_openai()
    if not prompt and any("no message can be sent" in warning for warning in packed.warnings):
        outcome.refused["no message can be sent"] += 1  # a call without a result, and nothing else yet
        return
    count = default_counter()
    tokens = PROMPT_OVERHEAD + sum(message_tokens(each, count) for each in parse_messages(prompt))
    outcome.over += max(tokens, packed.tokens) > budget
    outcome.ratios.append(packed.tokens / rendered_tokens(prompt, count))
    for provider in providers:
        found = violations(provider, prompt)
        outcome.invalid.update(f"{provider}, profile {profile}: {fault}"[:120] for fault in found)


def main(arguments: Sequence[str]) -> int:
    """Print a row for each file, and what went wrong under it."""
    if len(arguments) != 1 or not (folder := Path(arguments[0])).is_dir():
        print("python -m tests.bench.traces FOLDER")
        return 2
    columns = {"talks": 6, "messages": 10, "packs": 8, "over": 6, "invalid": 9, "refused": 9, "faults": 8}
    print(f"{'file':44}{''.join(f'{name:>{width}}' for name, width in columns.items())}  said/sent")
    wrong = 0
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        found = [talk for document in read_file(path) for talk in find_conversations(document)]
        outcome = Outcome()
        for talk in sorted(found, key=lambda each: -len(each.messages))[:_MANY]:
            pack_growing(outcome, talk)
        if not outcome.conversations:
            continue
        counts = (outcome.over, outcome.invalid.total(), outcome.refused.total(), outcome.faults.total())
        wrong += outcome.over + outcome.invalid.total() + outcome.faults.total()
        figures = (outcome.conversations, outcome.messages, outcome.packs, *counts)
        row = "".join(f"{figure:{width},}" for figure, width in zip(figures, columns.values(), strict=True))
        ratios = f"{min(outcome.ratios, default=0):.2f}–{max(outcome.ratios, default=0):.2f}"
        print(f"{path.name[-43:]:44}{row}  {ratios}  {' '.join(outcome.forms)}")
        for each in (outcome.invalid, outcome.refused, outcome.faults):
            for text, count in each.most_common(4):
                print(f"    {count:6,} × {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
