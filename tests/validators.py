"""What each provider refuses, offline: one function a provider lists what is wrong with a payload.

The rules are those that the providers document or answer with (names of fields as on the wire). A payload is what a
client sends: `openai_violations` and `mistral_violations` take messages of the chat form, the others what a converter
makes of them. `violations` does both steps from a prompt in OpenAI's form, with converters retyped in short from
what LangChain's packages do; `tests/adapters/langchain/test_provider_packages.py` holds the packages' own beside them.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Mapping[str, Any]
Provider: TypeAlias = Literal["openai", "anthropic", "gemini", "mistral", "bedrock"]
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "gemini", "mistral", "bedrock")

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SPEAKER = re.compile(r"[^\s<|\\/>]{1,64}")
_GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_BEDROCK_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_OPENAI_ID_LENGTH = 40
_ANTHROPIC_RESULTS = frozenset(("text", "image", "document", "search_result", "tool_reference"))
_OPENAI_BLOCKS = {
    "system": {"text"}, "developer": {"text"}, "tool": {"text"}, "assistant": {"text", "refusal"},
    "user": {"text", "image_url", "input_audio", "file"},
}  # fmt: skip
_MISTRAL_BLOCKS = {
    "system": {"text"}, "tool": {"text"}, "assistant": {"text", "thinking"},
    "user": {"text", "image_url", "input_audio", "document_url"},
}  # fmt: skip
_TEXT = {"type", "text"}
_MISTRAL_FOLLOWERS = {
    "system": {"system", "user", "assistant"}, "user": {"system", "user", "assistant"},
    "assistant": {"user", "assistant", "tool"}, "tool": {"user", "assistant", "tool"},
}  # fmt: skip


def violations(provider: Provider, prompt: Sequence[Json], *, strict: bool = False) -> list[str]:
    """What the provider would refuse of a prompt in OpenAI's form.

    Args:
        strict: What only some deployments of the provider refuse counts as well: Mistral's ids of nine characters,
            names on its messages, and a user directly after a tool's result.
    """
    if provider == "openai":
        return openai_violations(prompt)
    if provider == "mistral":
        sent = prompt if strict else [_to_mistral(message) for message in prompt]
        return mistral_violations(sent, bridged=strict)
    misplaced = [
        f"message {at}: system text behind the front"
        for at, message in enumerate(prompt)
        if message["role"] in ("system", "developer") and at and prompt[at - 1]["role"] not in ("system", "developer")
    ]
    system = [block for message in prompt if message["role"] in ("system", "developer") for block in _texts(message)]
    rest = [message for message in prompt if message["role"] not in ("system", "developer")]
    if provider == "anthropic":
        return misplaced + anthropic_violations(system, _to_anthropic(rest))
    if provider == "gemini":
        return misplaced + gemini_violations([{"text": each["text"]} for each in system], _to_gemini(rest))
    return misplaced + bedrock_violations([{"text": each["text"]} for each in system], _to_bedrock(rest))


# --- OpenAI, Chat Completions ----------------------------------------------------------------------------------------


def openai_violations(messages: Sequence[Json]) -> list[str]:
    """Of a list of chat messages."""
    found: list[str] = [] if messages else ["no messages"]
    for at, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        wrong = [f"unknown role {role!r}"] if role not in _OPENAI_BLOCKS else []
        wrong += _name_faults(message.get("name"), _SPEAKER)
        if isinstance(content, str):
            pass
        elif isinstance(content, list):
            kinds = {block.get("type") for block in content}
            wrong += [f"block {kind!r} in {role}" for kind in kinds - _OPENAI_BLOCKS.get(str(role), set())]
            wrong += [] if content else ["empty content"]
        elif role != "assistant" or not any(message.get(key) for key in ("tool_calls", "refusal", "audio")):
            wrong.append("no content")
        for call in message.get("tool_calls", ()):
            wrong += [] if 0 < len(call["id"]) <= _OPENAI_ID_LENGTH else [f"id of {len(call['id'])} characters"]
            if call["type"] == "function":
                wrong += _name_faults(call["function"]["name"], _TOOL_NAME)
                wrong += [] if isinstance(call["function"]["arguments"], str) else ["arguments that are no text"]
        found += [f"message {at}: {each}" for each in wrong]
    return found + _chat_pairs(messages)


def _chat_pairs(messages: Sequence[Json]) -> list[str]:
    """Of the chat form: each result behind its call, each call answered once, before anything else is said."""
    found: list[str] = []
    due: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in due:
                due.remove(message["tool_call_id"])
            else:
                found.append(f"message {at}: a result of no call {message['tool_call_id']!r}")
            continue
        found += [f"message {at}: {each!r} was not answered before" for each in due]
        due = [call["id"] for call in message.get("tool_calls", ())]
        found += _repeated(due, f"message {at}: id")
    return found + [f"the end: {each!r} was not answered" for each in due]


# --- Mistral ---------------------------------------------------------------------------------------------------------


def mistral_violations(messages: Sequence[Json], *, bridged: bool = False) -> list[str]:
    """Of a list of chat messages; the order of roles is that of Mistral's own validator, `mistral_common`.

    Args:
        bridged: An assistant has to speak between a tool's result and a user, as older deployments demand.
    """
    found: list[str] = [] if messages else ["no messages"]
    before = ""
    for at, message in enumerate(messages):
        role, content = str(message["role"]), message.get("content")
        wrong = [f"unknown role {role!r}"] if role not in _MISTRAL_BLOCKS else []
        if before and role not in _MISTRAL_FOLLOWERS.get(before, set()):
            wrong.append(f"{role} after {before}")
        if bridged and (before, role) == ("tool", "user"):
            wrong.append("user after tool")
        if message.get("name") is not None:
            wrong += _name_faults(message["name"], _TOOL_NAME) if role == "tool" else ["a name"]
        if isinstance(content, list):
            wrong += [
                f"block {each.get('type')!r} in {role}"
                for each in content
                if each.get("type") not in _MISTRAL_BLOCKS[role] or isinstance(each.get("thinking"), str)
            ]
            wrong += [] if content else ["empty content"]
            wrong += [
                f"key {key!r} of a text" for each in content if each.get("type") == "text" for key in {*each} - _TEXT
            ]
        if role == "assistant" and not content and not message.get("tool_calls"):
            wrong.append("neither content nor calls")
        for call in message.get("tool_calls", ()):
            wrong += _name_faults(call["function"]["name"], _TOOL_NAME)
            wrong += _id_faults(call["id"], _MISTRAL_ID)
        if role == "tool":
            wrong += _id_faults(message["tool_call_id"], _MISTRAL_ID)
        found += [f"message {at}: {each}" for each in wrong]
        before = role
    return found + _chat_pairs(messages)


def _to_mistral(message: Json) -> Json:
    """As `langchain_mistralai` sends it: no names, ids of nine characters."""
    sent = {key: value for key, value in message.items() if key != "name"}
    if sent.get("tool_calls"):
        sent["tool_calls"] = [{**call, "id": _nine(call["id"])} for call in sent["tool_calls"]]
    if "tool_call_id" in sent:
        sent["tool_call_id"] = _nine(sent["tool_call_id"])
    return sent


def _nine(id: str) -> str:
    return id if _MISTRAL_ID.fullmatch(id) else f"{abs(hash(id)) % 10**9:09}"


# --- Anthropic -------------------------------------------------------------------------------------------------------


def anthropic_violations(system: str | Sequence[Json] | None, messages: Sequence[Json]) -> list[str]:
    """Of the system blocks and the messages of the Messages API, which joins consecutive turns of one role."""
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system or ()
    found = [f"system: {each}" for block in blocks for each in _blank_faults(block.get("text"))]
    found += [] if messages else ["no messages"]
    turns: list[tuple[str, list[Json]]] = []
    for at, message in enumerate(messages):
        role, content = message["role"], message["content"]
        found += [] if role in ("user", "assistant") else [f"message {at}: role {role!r}"]
        found += [] if message.keys() <= {"role", "content"} else [f"message {at}: unknown keys {sorted(message)}"]
        found += (
            [] if content or (role == "assistant" and at == len(messages) - 1) else [f"message {at}: empty content"]
        )
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [f"message {at}: {each}" for block in blocks for each in _anthropic_block_faults(role, block)]
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, list(blocks)))
    found += [] if not turns or turns[0][0] == "user" else ["the first message is not the user's"]
    found += _repeated((block["id"] for _, said in turns for block in said if block.get("type") == "tool_use"), "id")
    for at, (_, said) in enumerate(turns):
        results = [block.get("type") == "tool_result" for block in said]
        found += [] if results == sorted(results, reverse=True) else [f"turn {at}: a result behind other content"]
    return found + _turn_pairs(
        [[block["id"] for block in said if block.get("type") == "tool_use"] for _, said in turns],
        [[block["tool_use_id"] for block in said if block.get("type") == "tool_result"] for _, said in turns],
    )


def _anthropic_block_faults(role: str, block: Json) -> list[str]:
    kind = str(block.get("type"))
    places = {
        "text": "both", "image": "user", "document": "user", "tool_result": "user", "search_result": "user",
        "tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant",
        "server_tool_use": "assistant", "mcp_tool_use": "assistant", "compaction": "assistant",
        "container_upload": "user",
    }  # fmt: skip
    if kind.endswith("_tool_result"):
        return [] if role == "assistant" else [f"block {kind!r} in {role}"]  # of a tool that the provider ran
    if places.get(kind, "") not in ("both", role):
        return [f"block {kind!r} in {role}"]
    if kind == "text":
        return _blank_faults(block["text"])
    if kind == "thinking":
        return [] if block.get("signature") else ["thinking without a signature"]
    if kind == "tool_use":
        wrong = [] if isinstance(block["input"], Mapping) else ["an input that is no object"]
        return wrong + _id_faults(block["id"], _ANTHROPIC_ID) + _name_faults(block["name"], _TOOL_NAME)
    if kind == "tool_result":
        inner = block.get("content") or []
        held = [] if isinstance(inner, str) else [each for each in inner if isinstance(each, Mapping)]
        wrong = [
            f"block {each.get('type')!r} in a result" for each in held if each.get("type") not in _ANTHROPIC_RESULTS
        ]
        wrong += [fault for each in held if each.get("type") == "text" for fault in _blank_faults(each["text"])]
        return wrong + _id_faults(block["tool_use_id"], _ANTHROPIC_ID)
    return []


def _to_anthropic(messages: Sequence[Json]) -> Sequence[Json]:
    """As `langchain_anthropic` sends it: results in user messages, blank text left out, runs of users joined."""
    sent: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [_anthropic_block(block) for block in _blocks(message) if block.get("type") != "refusal"]
        if message["role"] == "tool":
            inner = message["content"] if isinstance(message["content"], str) else blocks
            blocks = [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": inner}]
        for call in message.get("tool_calls") or ():
            blocks.append({"type": "tool_use", "id": call["id"], "name": _called(call), "input": _arguments(call)})
        if sent and role == "user" == sent[-1]["role"]:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": role, "content": blocks})
    return sent


def _anthropic_block(block: Json) -> Json:
    if block.get("type") == "image_url":
        return {"type": "image", "source": _source(block["image_url"])}
    if block.get("type") == "file":
        return {"type": "document", "source": block["file"]}
    return block


# --- Gemini ----------------------------------------------------------------------------------------------------------


def gemini_violations(system: Sequence[Json] | None, contents: Sequence[Json]) -> list[str]:
    """Of the system instruction's parts and the contents, in the names of their protobuf (`function_call`)."""
    found = [f"system: {each}" for part in system or () for each in _blank_faults(part.get("text"))]
    found += [] if contents else ["no contents"]
    if contents and contents[0]["role"] != "user":
        found.append("the first content is not the user's")
    before: Json = {"role": "user", "parts": []}
    for at, content in enumerate(contents):
        wrong = [f"role {content['role']!r}"] if content["role"] not in ("user", "model") else []
        wrong += [] if content["parts"] else ["no parts"]
        wrong += [fault for part in content["parts"] if "text" in part for fault in _blank_faults(part["text"])]
        calls, results = _gemini_names(content, "function_call"), _gemini_names(content, "function_response")
        for name in (*calls, *results):
            wrong += _name_faults(name, _GEMINI_NAME)
        if calls and content["role"] != "model":
            wrong.append("a call of the user's")
        if calls and before["role"] != "user":
            wrong.append("a call that is not directly behind a user's turn or a response")
        if sorted(results) != sorted(asked := _gemini_names(before, "function_call")):
            wrong.append(f"responses {results} to the calls {asked}")
        found += [f"content {at}: {each}" for each in wrong]
        before = content
    if left := _gemini_names(before, "function_call"):
        found.append(f"the end: {left} were not answered")
    return found


def _gemini_names(content: Json, kind: str) -> list[str]:
    return [part[kind]["name"] for part in content["parts"] if part.get(kind)]


def _to_gemini(messages: Sequence[Json]) -> Sequence[Json]:
    """As `langchain_google_genai` sends it: no text beside calls, all results of a message in one turn behind it."""
    sent: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            continue
        calls = message.get("tool_calls") or ()
        if not calls:
            role = "model" if message["role"] == "assistant" else "user"
            sent.append({"role": role, "parts": [_gemini_part(block) for block in _blocks(message)]})
            continue
        made = [{"function_call": {"name": _called(call), "args": _arguments(call)}} for call in calls]
        answers = {each["tool_call_id"]: each for each in reversed(messages) if each["role"] == "tool"}
        there = [call for call in calls if call["id"] in answers]
        answered = [{"function_response": {"name": _called(call)}} for call in there]
        sent += [{"role": "model", "parts": made}, {"role": "user", "parts": answered}]
    return sent


def _gemini_part(block: Json) -> Json:
    return {"text": block["text"]} if block.get("type") == "text" else {"inline_data": block}


# --- Bedrock, Converse -----------------------------------------------------------------------------------------------


def bedrock_violations(system: Sequence[Json] | None, messages: Sequence[Json]) -> list[str]:
    """Of the system blocks and the messages of Converse."""
    found = [f"system: {each}" for block in system or () if "text" in block for each in _blank_faults(block["text"])]
    found += [] if messages else ["no messages"]
    for at, message in enumerate(messages):
        role = message["role"]
        wrong = [] if role == ("assistant" if at % 2 else "user") else [f"role {role!r} breaks the alternation"]
        wrong += [] if message["content"] else ["empty content"]
        for block in message["content"]:
            wrong += _bedrock_block_faults(role, block)
        found += [f"message {at}: {each}" for each in wrong]
    calls = [[each["toolUse"]["toolUseId"] for each in said["content"] if "toolUse" in each] for said in messages]
    results = [
        [each["toolResult"]["toolUseId"] for each in said["content"] if "toolResult" in each] for said in messages
    ]
    return found + _turn_pairs(calls, results)


def _bedrock_block_faults(role: str, block: Json) -> list[str]:
    if "text" in block:
        return _blank_faults(block["text"])
    if "toolUse" in block:
        use = block["toolUse"]
        wrong = _id_faults(use["toolUseId"], _BEDROCK_ID) + _name_faults(use["name"], _TOOL_NAME)
        return wrong if role == "assistant" else [*wrong, "toolUse in user"]
    if "toolResult" in block:
        wrong = _id_faults(block["toolResult"]["toolUseId"], _BEDROCK_ID)
        wrong += [] if block["toolResult"]["content"] else ["an empty result"]
        wrong += [
            fault for each in block["toolResult"]["content"] if "text" in each for fault in _blank_faults(each["text"])
        ]
        return wrong if role == "user" else [*wrong, "toolResult in assistant"]
    if role == "user" and "reasoningContent" in block:
        return ["reasoningContent in user"]
    if role == "assistant" and any(kind in block for kind in ("image", "document", "video")):
        return [f"{next(iter(block))} in assistant"]
    return []


def _to_bedrock(messages: Sequence[Json]) -> Sequence[Json]:
    """As `langchain_aws` sends it: runs joined, blank text replaced by a full stop."""
    sent: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [_bedrock_block(block) for block in _blocks(message) if block.get("type") != "refusal"]
        if message["role"] == "tool":
            blocks = [{"toolResult": {"toolUseId": message["tool_call_id"], "content": blocks or [{"text": "."}]}}]
        for call in message.get("tool_calls") or ():
            use = {"toolUseId": call["id"], "name": _called(call), "input": _arguments(call)}
            blocks.append({"toolUse": use})
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": role, "content": blocks or [{"text": "."}]})
    return sent


def _bedrock_block(block: Json) -> Json:
    kind = str(block.get("type"))
    if kind == "text":
        return {"text": block["text"]}
    if "type" not in block:
        return block  # its own
    if kind == "reasoning_content":
        return {"reasoningContent": {"reasoningText": block["reasoning_content"]}}
    if kind == "thinking":
        return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block.get("signature")}}}
    return {"image": _source(block["image_url"])} if kind == "image_url" else {"document": block}


# --- shared ----------------------------------------------------------------------------------------------------------


def _turn_pairs(calls: Sequence[Sequence[str]], results: Sequence[Sequence[str]]) -> list[str]:
    """Of turns: the calls of each are answered in the next, and nothing else is."""
    asked = [[], *calls]
    answered = [*results, []]
    return [
        f"turn {at}: results {sorted(given)} to the calls {sorted(due)}"
        for at, (due, given) in enumerate(zip(asked, answered, strict=True))
        if sorted(due) != sorted(given)
    ]


def _blocks(message: Json) -> list[Json]:
    """The blocks of a chat message, without blank text."""
    content = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if message["role"] == "assistant" and message.get("tool_calls") and isinstance(content, str):
        return [dict(block) for block in blocks]  # LangChain sends it as it is
    return [dict(block) for block in blocks if block.get("type") != "text" or block["text"].strip()]


def _texts(message: Json) -> list[Json]:
    content = message.get("content") or ""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _source(image: str | Json) -> Json:
    url = image if isinstance(image, str) else image["url"]
    return {"type": "base64" if url.startswith("data:") else "url", "url": url}


def _called(call: Json) -> str:
    return str(call["function"]["name"] if "function" in call else call["custom"]["name"])


def _arguments(call: Json) -> Any:
    try:
        read = json.loads(call["function"]["arguments"])
    except (ValueError, KeyError):
        return {}
    return read if isinstance(read, Mapping) else {}


def _name_faults(name: object, pattern: re.Pattern[str]) -> list[str]:
    if name is None or (isinstance(name, str) and pattern.fullmatch(name)):
        return []
    return [f"name {name!r}"]


def _id_faults(id: object, pattern: re.Pattern[str]) -> list[str]:
    return [] if isinstance(id, str) and pattern.fullmatch(id) else [f"id {id!r}"]


def _blank_faults(text: object) -> list[str]:
    return [] if isinstance(text, str) and text.strip() else ["blank text"]


def _repeated(ids: Iterable[str], what: str) -> list[str]:
    seen: set[str] = set()
    return [f"{what} {each!r} twice" for each in ids if each in seen or seen.add(each)]  # type: ignore[func-returns-value]  # for its effect


CHECKS: Mapping[Provider, Callable[..., list[str]]] = {
    "openai": openai_violations, "anthropic": anthropic_violations, "gemini": gemini_violations,
    "mistral": mistral_violations, "bedrock": bedrock_violations,
}  # fmt: skip
"""The validators of payloads, for whoever has a converter of the provider's own."""
