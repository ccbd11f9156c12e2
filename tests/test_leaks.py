"""No error, log line or warning repeats what is remembered, whatever is given to whichever public name."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM
from pydantic import BaseModel, ValidationError

import langchain_wmem
import llamaindex_wmem
import wmem
import wmem.adapter
import wmem.observe
from tests.leaks import CONTENT, NAME, NUMBER, Quoting, UserError, find_marks, watch
from tests.redaction.test_presidio import Analyzer
from tests.test_public_surface import MADE_BY_WMEM, SURFACE
from wmem.model.item import ItemFields


class Strict(BaseModel):
    """A user's class that the content is not."""

    size: int


def fail(*_: object) -> Any:
    """A user's function that repeats what it was given."""
    raise UserError


def _message(**fields: object) -> dict[str, object]:
    return {"role": "user", "content": CONTENT, **fields}


def _native(framework: str, data: dict[str, Any]) -> wmem.Message:
    native = wmem.Native(framework=framework, data=data)
    return wmem.Message.of("user", CONTENT, id="n", native=native)


CARRIERS: list[Any] = [
    CONTENT,
    f"{CONTENT}\n",
    CONTENT.encode(),
    NUMBER,
    -float(NUMBER),
    Quoting(),
    [CONTENT],
    [[CONTENT], Quoting(), NUMBER],
    {CONTENT: CONTENT},
    {"format": "wmem-scope", "version": NUMBER},
    {"format": "wmem-scope", "version": 1, "messages": [_message(id="m", parts=CONTENT)], "step": CONTENT},
    {"format": "wmem-scope", "version": 1, "memories": [{"id": "i", "content": CONTENT, "priority": CONTENT}]},
    {"format": "wmem-scope", "version": 1, "memories": [{"id": "i", "content": CONTENT, "created_at": CONTENT}]},
    {"format": "wmem-scope", "version": 1, "entries": [{"id": "i", "key": "k", "content": CONTENT}]},
    {"format": "wmem-scope", "version": 1, "entries": [CONTENT]},
    _message(role=CONTENT),
    _message(content=[CONTENT]),
    _message(content=[{"type": "text", "text": [CONTENT]}]),
    _message(content=[{"type": CONTENT, CONTENT: Quoting()}]),
    _message(metadata={CONTENT: Quoting()}),
    _message(metadata=CONTENT),
    _message(created_at=CONTENT),
    _message(tool_calls=[{"id": "c", "function": {"name": "f", "arguments": {CONTENT: Quoting()}}}]),
    _message(tool_calls=[CONTENT]),
    _message(**{CONTENT: CONTENT}),
    [_message(), _message(pinned=CONTENT)],
    wmem.Message.of("user", CONTENT).model_copy(update={"parts": CONTENT}),
    [{"type": CONTENT, "target_id": [CONTENT]}],
    {"name": {"nested": Quoting()}},
    Strict | int,
    fail,
    HumanMessage(CONTENT, id="h", additional_kwargs={"nested": {CONTENT: Quoting()}}),
    [AIMessage("", id="a", tool_calls=[{"name": "f", "args": {CONTENT: Quoting()}, "id": "c"}])],
    [ToolMessage(CONTENT, tool_call_id="c", artifact=Quoting())],
    [HumanMessage([{"type": "text", "text": CONTENT}, {"type": CONTENT}]).model_copy(update={"content": Quoting()})],
    [ChatMessage(role="user", content=CONTENT, additional_kwargs={CONTENT: Quoting()})],
    [ChatMessage(role="user", content=CONTENT).model_copy(update={"blocks": [CONTENT]})],
    [ChatMessage(role="user", blocks=[TextBlock(text=f"{CONTENT}\ud800")])],
    [_native("langchain", {"type": "ai", "data": {"tool_calls": CONTENT}})],
    [_native("llamaindex", {"blocks": CONTENT})],
    lambda *_: CONTENT,
    lambda *_: Quoting(),
    UserError(),
]
"""Content in many shapes, each of them wrong nearly everywhere."""
SHORT = 9
"""How many of them fields are tried with."""

NAMING = {
    *("key", "keys", "id", "ids", "item_id", "name", "names", "agent_id", "session_id", "session", "model", "where"),
    *("below", "store", "url", "source_id", "target_id", "turn", "after", "before", "episode_id"),
}
"""Parameters that take ids and keys: what is valid there is one, and may be named."""
COUNTING = {"counted", "initial_token_count", "limit", "minimum", "reported"}
"""Parameters that take any number: errors may name it."""

VALID: dict[str, Any] = {
    "key": NAME, "keys": [NAME], "value": 1, "fn": lambda value: value, "factory": lambda: 1, "default": None,
    "content": "said", "query": "pin", "budget": 500, "messages": [_message()], "message": _message(), "document": {},
    "ids": [NAME], "id": NAME, "name": NAME, "names": (NAME,), "listener": print, "limit": 3, "counted": 10,
    "reported": 10, "model": "m", "role": "user", "text": "x", "scoring": "evidence", "profile": "evidence",
    "relation": "r", "target_id": NAME, "steps": 1, "instruction": "low_salience", "span": "all", "trace": [],
    "url": "memory://", "agent_id": NAME, "memory": "memory://", "session_id": NAME, "values": [], "kind": dict,
    "token_limit": 500, "max_entries": 3, "before": NAME, "active": bytes(range(200, 232)), "minimum": 0, "prompt": "p",
    "episode_id": NAME, "texts": ["said"], "max_tokens": 100, "mark": "[REDACTED_PIN]", "language": "en",
}  # fmt: skip
FIELDS: dict[str, Any] = {
    "fields": [*ItemFields.__annotations__, *wmem.Message.model_fields, *llamaindex_wmem.WmemMemory.model_fields],
    "numbers": wmem.Policy.model_fields,
    "coefficients": wmem.RecallProfile.model_fields,
    "options": ["budget", "profile"],
    "kwargs": ["initial_token_count"],
}
"""What `**` of this name takes."""

FACES = {
    *("Scope", "AgentMemory", "Entries", "LocalEntries", "EntriesView", "EntryReads", "Items", "ItemReads", "Messages"),
    *("MessageReads", "Queue", "QueueReads", "ScopeView", "Context", "WmemMemory", "WmemChatMessageHistory"),
    "Redaction",
}
"""Classes whose verbs raise nothing but wmem's own errors, whatever they are given."""
CONVERSIONS = {"from_langchain", "to_langchain", "from_llamaindex", "to_llamaindex", "from_openai", "open"}

EXEMPT = re.compile(
    r"wmem\.(?:testing|journal|events|Async|types\.Async|adapter\.(?:a?run|check_|describe|fade_on_overflow|to_session_path|LruCache)"
    r"|types\.(?:\w+Error|Run\w+|Explanation|Units)|errors|\w+Error|EstimateWarning|\w*Counter|Embedder|Maintenance|MemoryType\."
    r"|is_note)"
    r"|llamaindex_wmem\.WmemLLM\.(?:stream_)?(?:chat|complete)\("
)
"""Not fuzzed: the async faces, which share all of it; ports that others implement; errors; pure functions of text.

Nor the calls of a LlamaIndex model that LlamaIndex itself checks first.
"""


def _objects() -> dict[str, Any]:
    """A live object for each public class that has verbs, over a memory that holds the content."""
    memory = wmem.open("memory://", agent_id="agent", embedder=None)
    memory.subscribe(fail)
    policy = wmem.Policy.session(flush_threshold=2, max_items=50, on_flush=fail, eviction="oldest")
    session = memory.scope("session", policy=policy)
    session.entries.set(NAME, CONTENT, tags=[CONTENT], metadata={"a": CONTENT})
    session.entries.set("object", Strict(size=1))
    for id_ in (NAME, "other"):
        session.messages.append(_message(id=id_, turn_id="t"))
    session.items.add(CONTENT, tags=[CONTENT], metadata={"a": CONTENT})
    view = session.view()
    ours: list[Any] = [memory, session, session.entries, session.items, session.messages, session.queue]
    ours += [session.entries.local, view, view.entries, view.items, view.messages, session.pack("PIN", budget=400)]
    ours += [session.items.search("PIN")]
    ours += [wmem.Calibrations(), wmem.KeyRing(bytes(range(200, 232))), wmem.Policy(), wmem.RecallProfile()]
    ours += [wmem.Message.of("user", CONTENT)]
    history = langchain_wmem.WmemChatMessageHistory("session", memory=memory)
    ours += [history, langchain_wmem.WmemMiddleware(memory, budget=500, session="session")]
    ours += [langchain_wmem.WmemPack(memory, budget=500, session="session")]
    ours += [llamaindex_wmem.WmemMemory.from_defaults(session_id="session", memory=memory)]
    reads = {"EntryReads": session.entries, "ItemReads": session.items, "MessageReads": session.messages}
    reads |= {
        "LazyMemory": wmem.adapter.LazyMemory(memory, None),
        "QueueReads": session.queue,
        "Calibration": wmem.Calibration(),
        "SessionMemory": ours[-1],
        "WmemLLM": llamaindex_wmem.WmemLLM(MockFunctionCallingLLM(), ours[-1]),
        "LongTermChoice": wmem.adapter.LongTermChoice.read([NAME]),
        "MemoryTools": wmem.adapter.MemoryTools(),
        **_objects_of_turns(memory),
        **_objects_of_redaction(),
        **_summarizers(),
    }
    return {type(each).__name__: each for each in ours} | reads


def _objects_of_turns(memory: wmem.AgentMemory) -> dict[str, Any]:
    """Memory types, and a turn with what it makes."""
    types = memory.types
    turn = memory.turn("turns")
    draft = wmem.ItemDraft(content=CONTENT)
    made = [turn.memorize(draft), turn, turn.assemble_context(CONTENT, 500), wmem.Filters(), draft, types]
    made += [types["working"].capacity()]
    made += [types["working"], types["episodic"], types["semantic"], types["conversation"]]
    turn.commit()
    [trace] = memory.traces("turns")
    made += [trace, memory.turn("turns"), wmem.adapter.TurnPrompts()]
    return {"BuiltInType": types["working"], **{type(each).__name__: each for each in made}}


def _objects_of_redaction() -> dict[str, Any]:
    """What redaction consists of, with a vault that holds the content."""
    vault, analyzer = wmem.MemoryVault(), Analyzer()
    recognizer = wmem.PresidioRecognizer(analyzer)
    redaction = wmem.Redaction.strict(recognizers=[recognizer], vault=vault)
    vault.store(VALID["mark"], CONTENT)
    ours = {type(each).__name__: each for each in (vault, recognizer, redaction)}
    return {"Vault": vault, "PresidioAnalyzer": analyzer, **ours}


def _summarizers() -> dict[str, Any]:
    """Summarizers over models that answer with what they are sent."""
    langchain = langchain_wmem.LangChainSummarizer(RunnableLambda(lambda messages: messages[-1]))
    llamaindex = llamaindex_wmem.LlamaIndexSummarizer(MockLLM())
    return {"Summarizer": langchain, "LangChainSummarizer": langchain, "LlamaIndexSummarizer": llamaindex}


def _calls() -> Iterator[tuple[str, str | None, str]]:
    """Module, class and verb of each public callable on record."""
    for line in SURFACE.read_text().splitlines():
        if EXEMPT.match(line) or "  # async" in line or "# @overload" in line:
            continue
        if match := re.match(r"([\w.]+?)\.([A-Z]\w+): class\((?:BaseModel|NamedTuple)", line):
            yield match[1], match[2], "__init__"
        elif match := re.match(r"([\w.]+?)(?:\.([A-Z]\w+))?\.(\w+)\(", line):
            module, owner, verb = match.groups()
            if not (verb == "__init__" and owner in MADE_BY_WMEM):
                yield module, owner, verb


CALLS = list(dict.fromkeys(_calls()))


def _find(module: str, owner: str | None, verb: str) -> Callable[..., Any] | None:
    home: Any = {"wmem": wmem, "langchain_wmem": langchain_wmem, "llamaindex_wmem": llamaindex_wmem}.get(module)
    if home is None:
        home = __import__(module, fromlist=["x"])
    if owner is None:
        return getattr(home, verb)  # type: ignore[no-any-return]
    if verb == "__init__":
        return getattr(home, owner)  # type: ignore[no-any-return]
    kind = getattr(home, owner)
    held = _objects().get(owner)
    static = inspect.getattr_static(kind, verb)
    if isinstance(static, property) and static.fset is not None and held is not None:
        return partial(static.fset, held)
    if held is None and isinstance(static, classmethod | staticmethod):
        held = kind
    return None if held is None else getattr(held, verb)


def _arguments(call: Callable[..., Any]) -> Iterator[tuple[str, Sequence[Any], Callable[[Any], Any]]]:
    """For each parameter its name, what to try, and what calls with one of these and valid values for the rest."""
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            for name in FIELDS.get(parameter.name, ["name"]):
                yield name, CARRIERS[:SHORT], partial(_call_with, call, name, is_field=True)
        else:
            yield parameter.name, CARRIERS, partial(_call_with, call, parameter.name)


def _call_with(call: Callable[..., Any], name: str, value: Any, *, is_field: bool = False) -> Any:
    args: list[Any] = []
    kwargs: dict[str, Any] = {name: value} if is_field else {}
    for each in inspect.signature(call).parameters.values():
        if each.kind is each.VAR_KEYWORD or (is_field and each.name == name):
            continue
        is_target = each.name == name
        given = value if is_target else VALID.get(each.name, each.default)
        if each.kind is each.VAR_POSITIONAL:
            args += [value] if is_target else VALID.get(each.name, ())
        elif each.kind is not each.KEYWORD_ONLY:
            args.append(given)
        elif given is not each.default:
            kwargs[each.name] = given
    result = call(*args, **kwargs)
    if isinstance(result, AbstractContextManager):
        with result:
            pass
    return result


def _is_valid(name: str, carrier: object) -> bool:
    """Whether it is a valid id or key, or number, for a parameter: an error may name those."""
    if name in NAMING:
        return isinstance(carrier, str | list) and carrier in (CONTENT, [CONTENT])
    return name in COUNTING and isinstance(carrier, int | float)


@pytest.mark.parametrize(("module", "owner", "verb"), CALLS, ids=[".".join(filter(None, each)) for each in CALLS])
@pytest.mark.slow
def test_no_argument_is_repeated(module: str, owner: str | None, verb: str) -> None:
    call = _find(module, owner, verb)
    assert call is not None, f"no object to call {owner}.{verb} on: add one to `_objects`"
    with watch() as watching:
        for name, carriers, call_with in _arguments(call):
            for carrier in carriers:
                if not _is_valid(name, carrier):
                    watching.run(partial(call_with, carrier))
    assert find_marks(watching.texts) == []
    if verb != "__init__":
        assert not [exc for exc in watching.errors if isinstance(exc, ValidationError)], "pydantic's own error"
    if owner in FACES or verb in CONVERSIONS:
        assert [repr(exc) for exc in watching.errors if not isinstance(exc, wmem.WmemError)] == []


class Failing:
    """A user's function that repeats the text it was given, and comes with a name as counters and embedders do."""

    name = "failing"
    timeout_s = 5.0

    def __init__(self, act: Callable[[Any], Any]) -> None:
        self._act = act

    def __call__(self, given: Any) -> Any:
        return self._act(given)


def _raise_text(given: Any) -> Any:
    raise ValueError(given)


def _read_number(given: Any) -> Any:
    return [[float(text)] for text in given]


@pytest.mark.parametrize("act", [_raise_text, _read_number, lambda given: given, lambda given: [given] * 2, fail])
def test_a_counter_or_embedder_that_fails_is_told_of_by_type_and_place(act: Callable[[Any], Any]) -> None:
    failing: Any = Failing(act)
    with watch() as watching:
        with wmem.open("memory://", agent_id="a", counter=failing) as memory:
            watching.run(partial(memory.scope("s").items.add, CONTENT))
            watching.run(partial(memory.scope("s").messages.append, _message()))
            watching.run(partial(memory.scope("s").pack, CONTENT, budget=50))
        with wmem.open("memory://", agent_id="a", embedder=failing) as memory:
            memory.scope("s").items.add(CONTENT)
            context = watching.run(partial(memory.scope("s").pack, f"what is the PIN of {CONTENT}", budget=300))
            assert isinstance(context, wmem.Context)
            watching.texts += context.warnings
            assert context.warnings
        tokenizer: Any = act
        history = llamaindex_wmem.WmemMemory.from_defaults(
            session_id="s", url="memory://", agent_id="a", tokenizer_fn=tokenizer
        )
        watching.run(partial(history.put, ChatMessage(content=CONTENT)))
        watching.run(partial(history.get, CONTENT))
    ours = [exc for exc in watching.errors if isinstance(exc, wmem.WmemError)]
    assert ours
    assert find_marks(watching.texts) == []
