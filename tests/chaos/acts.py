"""What a writer does: acts on one memory, drawn from its own generator; each is one call of a face.

A writer alone writes the scopes named after it, and its own keys and ids in the shared ones: so a plain model can say
what must be there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.log import find_tokens, make_token
from tests.chaos.model import LONG

__all__ = ["FAMILIES", "Act", "Writer", "show", "tokens_of"]

SHARED = ("shared-0", "shared-1")
BACKUPS = 3
"""Most backups of one writer."""
CHILDREN = 12
WORDS = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "ledge")


@dataclass
class Act:
    """One call.

    Attributes:
        given: What the log says about it.
        call: Makes it; the async face returns an awaitable.
        single: It is one record, so a typed refusal means that nothing was changed.
        keep: Takes the result, and returns what the log says about it.
    """

    name: str
    scope: str
    given: dict[str, Any]
    call: Callable[[], Any]
    single: bool = True
    keep: Callable[[Any], Any] = lambda _: None


def tokens_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """An exported scope as the model has it."""
    return {
        "messages": [[each["id"], _last(json.dumps(each["parts"]))] for each in document["messages"]],
        "entries": {each["key"]: _value(each["content"]) for each in document["entries"]},
        "items": [[_item_name(each), _last(each["content"])] for each in document["memories"]],
    }


def _item_name(item: Mapping[str, Any]) -> str:
    """An item by its first token, in long-term memory with its session before it."""
    session = item.get("metadata", {}).get("working_memory_session")
    first = find_tokens(item["content"])[0]
    return f"{session} {first}" if session else first


def _is_register(key: str) -> bool:
    return key != "count" and not key.startswith("once")


def _last(text: str) -> str:
    return find_tokens(text)[-1]


def _value(stored: str) -> Any:
    value = json.loads(stored)
    return find_tokens(value)[0] if isinstance(value, str) else value


def show(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What scopes show, from their exports; both long-term memories are one."""
    shown: dict[str, Any] = {}
    for scope, document in documents.items():
        facets = tokens_of(document)
        if scope.startswith("~"):
            shown.setdefault(LONG, {"messages": [], "entries": {}, "items": []})["items"] += facets["items"]
        else:
            shown[scope] = facets
    return shown


@dataclass
class Writer:
    """One thread or task that writes.

    Args:
        name: Of no other writer.
        memory: An `AgentMemory`, or an async one.
        reopen: Makes another memory on the same store.
        place: Where backups go.
        without: Families of acts that are not drawn.
        seed: Of the round.
    """

    name: str
    memory: Any
    reopen: Callable[[], Any]
    place: Path
    without: Sequence[str] = ()
    seed: str = ""
    number: int = 0
    closing: bool = False
    """Whether another thread is closing the memory."""
    _handles: dict[str, Any] = field(default_factory=dict)
    _messages: list[tuple[str, str]] = field(default_factory=list)
    _items: dict[str, dict[str, str]] = field(default_factory=dict)
    """By scope: real id by the item's first token."""
    _documents: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _listings: dict[str, str] = field(default_factory=dict)
    """What names the act that listed a document."""
    _children: list[str] = field(default_factory=list)
    _made: int = 0
    _backups: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(f"{self.seed}/{self.name}")
        self.own, self.side, self.copy = f"own-{self.name}", f"side-{self.name}", f"copy-{self.name}"
        names = [name for name in FAMILIES if name not in self.without]
        self._drawn_from = [(FAMILIES[name][1], FAMILIES[name][0]) for name in names]

    def forget(self, memory: Any) -> None:
        """Go on with another memory."""
        self.memory = memory
        self._handles.clear()

    def scope(self, name: str) -> Any:
        """The handle of a scope."""
        if name not in self._handles:
            if name in ("~semantic", "~episodic"):
                self._handles[name] = getattr(self.memory, name[1:])
            else:
                self._handles[name] = self.memory.scope(*name.split("/"))
        return self._handles[name]

    def draw(self) -> Act:
        """The next act."""
        while True:
            families, weights = zip(*self._drawn_from, strict=True)
            made = self.chance.choices(families, weights)[0](self)
            if made is not None:
                self.number += 1
                return made  # type: ignore[no-any-return]  # the families are heterogeneous methods

    # -- drawing

    def _token(self, part: int = 0) -> str:
        return make_token(self.seed, self.name, self.number, part)

    def _text(self, *tokens: str) -> str:
        return " ".join([*tokens, *self.chance.choices(WORDS, k=self.chance.choice([1, 3, 10, 40]))])

    def _any(self) -> str:
        """A scope to write to."""
        return self.chance.choice([*SHARED, SHARED[0], self.own])

    # -- messages

    def say(self) -> Act:
        scope, many = self._any(), self.chance.choice([1, 1, 3])
        said = [(f"{self.name}-{self.number}.{part}", self._token(part)) for part in range(many)]
        messages = [{"role": "user", "content": self._text(token), "id": id} for id, token in said]
        messages_or_one: Any = messages if many > 1 else messages[0]
        handle = self.scope(scope)

        def keep(_: Any) -> None:
            self._messages.extend((scope, id) for id, _ in said)

        return Act("say", scope, {"messages": said}, lambda: handle.messages.append(messages_or_one), keep=keep)

    def unsay(self) -> Act | None:
        if not self._messages:
            return None
        scope, id = self._messages.pop(self.chance.randrange(len(self._messages)))
        handle = self.scope(scope)
        return Act("unsay", scope, {"id": id}, lambda: handle.messages.remove(id))

    # -- entries

    def set(self, scope: str | None = None) -> Act:
        scope = scope or self._any()
        key, token, handle = f"{self.name}-{self.chance.randrange(4)}", self._token(), self.scope(scope)
        value = self._text(token)
        return Act("set", scope, {"key": key, "token": token}, lambda: handle.entries.set(key, value))

    def unset(self) -> Act:
        scope = self._any()
        key, handle = f"{self.name}-{self.chance.randrange(4)}", self.scope(scope)
        return Act("unset", scope, {"key": key}, lambda: handle.entries.remove(key))

    def bump(self) -> Act:
        scope = self._any()
        handle = self.scope(scope)
        return Act(
            "bump", scope, {}, lambda: handle.entries.update("count", lambda count: count + 1, 0), keep=lambda new: new
        )

    def once(self) -> Act:
        scope, key, token = self.chance.choice(SHARED), f"once-{self.chance.randrange(3)}", self._token()
        handle = self.scope(scope)
        return Act(
            "once",
            scope,
            {"key": key, "token": token},
            lambda: handle.entries.get_or_set(key, lambda: token),
            keep=lambda value: value,
        )

    # -- items

    def add(self, scope: str | None = None) -> Act:
        scope, token = scope or self._any(), self._token()
        handle, content = self.scope(scope), self._text(token)
        kind = self.chance.choice(["fact", "action"])

        def keep(item: Any) -> None:
            self._items.setdefault(scope, {})[token] = item.id

        return Act(
            "add",
            scope,
            {"item": token, "token": token},
            lambda: handle.items.add(content, ttl_s=None, type=kind),
            keep=keep,
        )

    def _item(self, *, own: bool = True) -> tuple[str, str, str] | None:
        scopes = [name for name, items in self._items.items() if items and (own or "/" not in name)]
        if not scopes:
            return None
        scope = self.chance.choice(scopes)
        token = self.chance.choice(list(self._items[scope]))
        return scope, token, self._items[scope][token]

    def change(self) -> Act | None:
        if (drawn := self._item()) is None:
            return None
        (scope, item, id), token = drawn, self._token()
        handle, content = self.scope(scope), self._text(item, token)
        return Act("change", scope, {"item": item, "token": token}, lambda: handle.items.update(id, content=content))

    def remove(self) -> Act | None:
        if (drawn := self._item()) is None:
            return None
        scope, item, id = drawn
        del self._items[scope][item]
        handle = self.scope(scope)
        return Act("remove", scope, {"item": item}, lambda: handle.items.remove(id))

    def fetch(self) -> Act | None:
        if (drawn := self._item(own=False)) is None:
            return None
        scope, item, id = drawn
        handle = self.scope(scope)
        return Act("fetch", scope, {"item": item}, lambda: handle.items.fetch(id), single=False)

    def promote(self) -> Act | None:
        if (drawn := self._item(own=False)) is None:
            return None
        scope, item, id = drawn
        handle = self.scope(scope)
        doubtful = scope == self.copy and self._was_promoted(item)
        given = {"item": item, "doubtful": doubtful}
        return Act("promote", scope, given, lambda: handle.items.promote(id), single=False)

    def _was_promoted(self, item: str) -> bool:
        """Whether an item came into the copy as one that was in long-term memory already."""
        return any(
            find_tokens(each["content"])[0] == item and each.get("promoted_to")
            for document in self._documents.values()
            for each in document["memories"]
        )

    # -- scopes

    def child(self) -> Act | None:
        """Work in a child, merge it, dispose of it."""
        if not self._children or (len(self._children) < CHILDREN and self.chance.random() < 0.2):
            self._made += 1
            self._children.append(f"{self.chance.choice([self.own, SHARED[0]])}/child-{self.name}-{self._made}")
        scope = self.chance.choice(self._children)
        handle = self.scope(scope)
        match self.chance.choice(["set", "add", "add", "merge", "merge", "dispose"]):
            case "set":
                key, token = f"{scope.rpartition('/')[2]}-{self.chance.randrange(3)}", self._token()
                value = self._text(token)
                return Act("set", scope, {"key": key, "token": token}, lambda: handle.entries.set(key, value))
            case "add":
                return self.add(scope)
            case "merge":
                return Act("merge", scope, {}, lambda: handle.merge_to_parent(items=True), single=False)
            case _:
                self._children.remove(scope)
                return self._dispose(scope)

    def aside(self) -> Act:
        """Work in a session that comes and goes."""
        if self.chance.random() < 0.2:
            return self._dispose(self.side)
        return self.set(self.side) if self.chance.random() < 0.5 else self.add(self.side)

    def _dispose(self, scope: str) -> Act:
        handle = self.scope(scope)
        self._handles.pop(scope, None)
        self._items.pop(scope, None)
        return Act("dispose", scope, {}, handle.dispose, single=False)

    def list(self) -> Act:
        """Export a scope, for an erasure or an import."""
        scope = self.chance.choice([self._any(), self.own, self.copy, "~semantic", "~episodic", *self._children[:2]])
        handle, listing = self.scope(scope), self._token()

        def keep(document: Mapping[str, Any]) -> None:
            self._documents[scope], self._listings[scope] = document, listing

        return Act("list", scope, {"listing": listing}, handle.export, keep=keep)

    def bring(self) -> Act | None:
        """Import what was exported into another session."""
        scopes = [scope for scope in self._documents if scope[0] != "~" and scope != self.copy]
        if not scopes:
            return None
        document = dict(self._documents[self.chance.choice(scopes)])
        document["entries"] = [each for each in document["entries"] if _is_register(each["key"])]
        given, handle = tokens_of(document), self.scope(self.copy)
        self._documents.pop(self.copy, None)  # what is erased there is listed anew first
        known = self._items.setdefault(self.copy, {})
        for each in document["memories"]:
            known[find_tokens(each["content"])[0]] = each["id"]
        return Act("import", self.copy, given, lambda: handle.import_(document))

    def erase(self) -> Act | None:
        return self._erase(long_term=False)

    def erase_long(self) -> Act | None:
        """Erase in long-term memory, from where the originals must be found."""
        return self._erase(long_term=True)

    def _erase(self, *, long_term: bool) -> Act | None:
        documents = {name: each for name, each in self._documents.items() if (name[0] == "~") is long_term}
        scopes = [name for name, document in documents.items() if any(tokens_of(document).values())]
        if not scopes:
            return None
        name = self.chance.choice(scopes)
        things = self._things(self._documents[name])
        chosen = self.chance.sample(things, k=min(len(things), self.chance.choice([1, 1, 3])))
        if not chosen:
            return None
        handle = self.scope(name)
        ids = [id for id, *_ in chosen]
        for _, kind, thing, _ in chosen:
            if kind == "item":
                self._items.get(name, {}).pop(thing, None)
        return Act(
            "erase",
            LONG if name[0] == "~" else name,
            {"things": [thing for _, *thing in chosen], "listing": self._listings[name]},
            lambda: handle.erase(*ids),
            single=False,
            keep=lambda erased: {"complete": erased.complete, "remaining": erased.remaining},
        )

    @staticmethod
    def _things(document: Mapping[str, Any]) -> Sequence[tuple[str, str, str, str]]:
        """What may be erased: real id, kind, name, token."""
        facets = tokens_of(document)
        messages = [(id, "message", id, token) for id, token in facets["messages"]]
        items = [
            (each["id"], "item", name, token)
            for each, (name, token) in zip(document["memories"], facets["items"], strict=True)
        ]
        entries = [
            (each["id"], "entry", each["key"], facets["entries"][each["key"]])
            for each in document["entries"]
            if _is_register(each["key"])
        ]
        return [*messages, *items, *entries]

    # -- reading, and the whole memory

    def pack(self) -> Act:
        handle, query = self.scope(self._any()), self._text()
        return Act("pack", "", {}, lambda: handle.pack(query, budget=300), keep=lambda context: context.tokens)

    def recall(self) -> Act:
        handle, query = self.scope(self._any()), self._text()
        return Act("recall", "", {}, lambda: handle.recall(query), keep=len)

    def maintain(self) -> Act:
        return Act("maintain", "", {}, self.memory.maintain, single=False)

    def rotate(self) -> Act:
        return Act("rotate", "", {}, self.memory.rotate, single=False)

    def backup(self) -> Act | None:
        if not self.memory.url.startswith(("disk:", "sqlite:")) or self._backups >= BACKUPS:
            return None
        if not hasattr(self.memory, "backup"):
            return None
        self._backups += 1
        path = self.place / f"backup-{self.name}-{self._backups}"
        return Act("backup", "", {"path": str(path)}, lambda: self.memory.backup(str(path)), single=False)


FAMILIES: Mapping[str, tuple[int, Callable[[Writer], Act | None]]] = {
    "say": (14, Writer.say),
    "unsay": (2, Writer.unsay),
    "set": (8, Writer.set),
    "unset": (2, Writer.unset),
    "bump": (8, Writer.bump),
    "once": (1, Writer.once),
    "add": (8, Writer.add),
    "change": (4, Writer.change),
    "remove": (2, Writer.remove),
    "fetch": (4, Writer.fetch),
    "promote": (4, Writer.promote),
    "child": (10, Writer.child),
    "aside": (4, Writer.aside),
    "list": (5, Writer.list),
    "bring": (2, Writer.bring),
    "erase": (4, Writer.erase),
    "erase_long": (1, Writer.erase_long),
    "pack": (2, Writer.pack),
    "recall": (2, Writer.recall),
    "maintain": (1, Writer.maintain),
    "rotate": (1, Writer.rotate),
    "backup": (1, Writer.backup),
}
"""By name: the weight, and what draws an act or says that there is nothing to do."""
