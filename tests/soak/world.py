"""One store under two engines, one for threads and one for coroutines, that plays operations; and what it shows."""

import json
import re
from collections.abc import Mapping
from typing import Any

import wmem
from tests.soak.model import PATHS, Model, Refused
from tests.soak.operations import Operation
from tests.soak.plain import BUFFER, QUEUE, Path
from wmem.testing import Call, Clock, MemoryOpener

__all__ = ["Names", "Truth", "World"]

_ID = re.compile(r"(?<![0-9A-Za-z])[0-9A-Z]{26}(?![0-9A-Za-z])|(?<=~)[0-9a-f]{8}(?![0-9A-Za-z])")
"""An id, or what a merge adds to one that is in use."""
_POLICIES: Mapping[Path, wmem.Policy] = {
    ("queue",): wmem.Policy.queue(
        **{name: QUEUE[name] for name in ("max_items", "max_tokens", "step_ttl", "wall_ttl_s", "recent_steps")}
    ),
    ("buffer",): wmem.Policy.buffer(max_items=BUFFER["max_items"]),
}


_JOBS = ("merge-duplicates", "mark-superseded", "apply-retention", "evict-long-term", "purge")
"""The jobs of maintenance that leave such histories as they are: no two texts say the same, and none is summed up."""
_UNTOLD = frozenset(
    ("format", "version", "count", "origins", "policy", "erased", "merged", "decisions", "checksum", "novelty")
)
"""What is not compared: what the model does not know, or says in its own words, and the instant of the last fetch,
which a copy in long-term memory has or has not, as it was written before or not."""


class Words:
    """Counts what the model can count."""

    name = "words"

    def __call__(self, text: str, /) -> int:
        return len(text.split())


class Names:
    """Ids by the order in which they are first seen: what two stores show can then be compared."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def told(self, shown: object) -> str:
        """What is shown as text, the same for equal things: ids renamed, defaults left out, numbers rounded."""
        text = json.dumps(_lean(shown), sort_keys=True)
        return _ID.sub(lambda found: self._known.setdefault(found[0], f"#{len(self._known)}"), text)


def _lean(shown: Any) -> Any:
    if isinstance(shown, float):
        return round(shown + 1e-12, 9)  # beside a tie, which two sums of the same numbers would round apart
    if isinstance(shown, Mapping):
        lean = {name: _lean(value) for name, value in shown.items() if name not in _UNTOLD}
        return {name: value for name, value in lean.items() if value not in (None, "", [], {}) and value is not False}
    if isinstance(shown, list | tuple):
        return [_lean(each) for each in shown]
    return shown


class Truth:
    """The model, shown as a store is."""

    def __init__(self, clock: Clock) -> None:
        self.model = Model(clock.now)
        self._names = Names()

    def play(self, operation: Operation) -> str:
        """The result of an operation, or the name of the error."""
        result: Any
        try:
            result = getattr(self.model, operation.name)(operation.path, **operation.given)
        except Refused as exc:
            result = f"raises {exc}"
        return self._names.told(result)

    def shown(self) -> str:
        """All scopes, as they are exported."""
        return self._names.told([self.model.export(path) for path in PATHS])


class World:
    """One store.

    Args:
        modes: Of its two engines.
        clock: Of all memories; the driver moves it.
    """

    def __init__(self, name: str, url: str, calls: Mapping[str, Call], modes: tuple[str, str], clock: Clock) -> None:
        self.name = name
        self.modes = modes
        self._calls = [calls[mode] for mode in modes]
        self._openings = [
            MemoryOpener(url, {"counter": Words()}, call, mode, clock)
            for call, mode in zip(self._calls, modes, strict=True)
        ]
        self._memories = [opening.in_other_process() for opening in self._openings]
        self._scopes: list[dict[Path, Any]] = [{}, {}]
        self._names = Names()
        self._real: dict[str, str] = {}
        self._kept: dict[int, Any] = {}
        self._suffixes: set[str] = set()

    def close(self) -> None:
        """Close both engines."""
        for opening in self._openings:
            opening.close()

    # -- playing

    def play(self, operation: Operation) -> str:
        """The result of an operation, or the name of the error."""
        act = _Act(self, operation)
        result: Any
        try:
            result = getattr(act, operation.name)(**operation.given)
        except wmem.WmemError as exc:
            result = f"raises {type(exc).__name__}"
        return self._names.told(result)

    def shown(self) -> list[str]:
        """All scopes, as each engine exports them; equal texts for equal states."""
        return [
            self._names.told([self._calls[engine](self.scope(engine, path).export) for path in PATHS])
            for engine in range(2)
        ]

    def scope(self, engine: int, path: Path) -> Any:
        """A handle that lasts as long as its scope."""
        known = self._scopes[engine]
        if path not in known:
            memory = self._memories[engine]
            if path[:1] in (("~semantic",), ("~episodic",)):
                known[path] = getattr(memory, path[0][1:])
            else:
                known[path] = memory.scope(*path, policy=_POLICIES.get(path))
        return known[path]

    def bind_suffix(self, id: str, real: str) -> None:
        """Remember what a merge adds to ids; the model takes the id of the merge that first needs it."""
        if real not in self._suffixes:
            self._suffixes.add(real)
            self._real[id] = real

    def forget(self, prefix: Path) -> None:
        """Let handles go whose scopes are gone."""
        for known in self._scopes:
            for path in [path for path in known if path[: len(prefix)] == prefix]:
                del known[path]

    def reopen(self, engine: int) -> None:
        """As a process that ends, and another that begins."""
        self._calls[engine](self._memories[engine].close)
        self._memories[engine] = self._openings[engine].in_other_process()
        self._scopes[engine] = {}


class _Act:
    """What each operation is in wmem's own words."""

    def __init__(self, world: World, operation: Operation) -> None:
        self.world = world
        self.engine = operation.engine
        self.path = operation.path
        self.call = world._calls[operation.engine]
        self.scope = world.scope(operation.engine, operation.path)

    def _real(self, id: str) -> str:
        real = self.world._real
        return _ID.sub(lambda found: real.get(found[0], found[0]), id)

    def _bound(self, id: str, real: str) -> str:
        self.world._real[id] = real
        return real

    def _told(self, item: Any) -> Any:
        names = ("id", "content", "access_count", "expires_at", "promoted_to", "importance")
        return {name: getattr(item, name) for name in names}

    # -- entries

    def store(self, key: str, value: Any, id: str, **given: Any) -> Any:
        return self.call(self.scope.entries.set, key, value, **given)

    def get(self, key: str) -> Any:
        return self.call(self.scope.entries.get, key)

    def keys(self) -> Any:
        return self.call(self.scope.entries.keys)

    def bump(self, key: str, id: str) -> Any:
        return self.call(self.scope.entries.update, key, lambda value: value + 1 if isinstance(value, int) else 1, None)

    def get_or_set(self, key: str, value: Any, id: str) -> Any:
        return self.call(self.scope.entries.get_or_set, key, lambda: value)

    def unset(self, key: str) -> Any:
        return self.call(self.scope.entries.remove, key)

    # -- items

    def add(self, content: str, id: str, **given: Any) -> Any:
        item = self.call(self.scope.items.add, content, **given)
        self._bound(id, item.id)
        return self._told(item)

    def fetch(self, wanted: str, times: int, id: str) -> Any:
        for _ in range(times):
            item = self.call(self.scope.items.fetch, self._real(wanted))
        self.call(self.scope.entries.set, "fetched", times)
        return self._told(item)

    def change(self, wanted: str, **given: Any) -> Any:
        return self._told(self.call(self.scope.items.update, self._real(wanted), **given))

    def drop(self, wanted: str) -> Any:
        return self.call(self.scope.items.remove, self._real(wanted))

    def expire(self, wanted: str) -> Any:
        return self._told(self.call(self.scope.items.expire, self._real(wanted)))

    def extend(self, wanted: str, **given: Any) -> Any:
        return self._told(self.call(self.scope.items.extend_ttl, self._real(wanted), **given))

    def undelete(self, wanted: str) -> Any:
        return self._told(self.call(self.scope.items.undelete, self._real(wanted)))

    def relate(self, wanted: str, target: str) -> Any:
        return self._told(self.call(self.scope.items.relate, self._real(wanted), "about", self._real(target)))

    def listed(self) -> Any:
        items, call = self.scope.items, self.call
        lists = {
            "all": call(items.all),
            "everything": call(items.all, include_expired=True, include_promoted=True),
            "expired": call(items.expired),
            "promoted": call(items.promoted),
            "pending": call(items.pending),
            "forgotten": call(items.forgotten),
        }
        assert call(items.count) == len(lists["all"])
        pages = [page] = [call(items.all, limit=2)]
        while page:
            pages.append(page := call(items.all, limit=2, after=page[-1].id))
        assert [item for page in pages for item in page] == lists["all"]
        return {name: [item.id for item in listed] for name, listed in lists.items()}

    def search(self, query: str, **given: Any) -> Any:
        hits = self.call(self.scope.items.search, query, **given)
        return {"ids": [item.id for item in hits], "total": hits.total}

    def promote(self, wanted: str) -> Any:
        return self._told(self.call(self.scope.items.promote, self._real(wanted)))

    def weigh(self, profile: Any) -> Any:
        return self.call(self.scope.use_profile, profile).recall

    def weighs(self) -> Any:
        self.call(self.scope.entries.count)
        return self.scope.policy.recall

    # -- the queue

    def memorize(self, content: str, id: str, **given: Any) -> Any:
        made = self.call(self.scope.queue.memorize, content, **given)
        capacity = self.call(self.scope.queue.capacity)
        assert (made.items, made.tokens) == (capacity.items, capacity.tokens)
        return {
            "id": self._bound(id, made.item.id),
            "position": made.position,
            "evicted": [item.id for item in made.evicted],
            "items": made.items,
            "tokens": made.tokens,
        }

    def forget(self, instruction: str, mode: str) -> Any:
        gone = self.call(self.scope.queue.forget, instruction, mode)
        return {"ids": gone.ids, "items": gone.items, "tokens": gone.tokens}

    def advance(self, steps: int) -> Any:
        return self.call(self.scope.queue.advance_step, steps)

    def evict_to(self, items: int) -> Any:
        return [item.id for item in self.call(self.scope.queue.evict_to, items=items)]

    def decisions(self) -> Any:
        return [
            [each.id, each.rule, each.tokens, each.at, each.parts, each.kind]
            for each in self.call(self.scope.queue.decisions)
        ]

    # -- messages

    def _said(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        known = self.world._real
        said = [{name: value for name, value in message.items() if value is not None} for message in messages]
        for message in said:
            if message["id"] in known:
                message["id"] = known[message["id"]]
            elif message["id"].endswith("1"):
                known[message["id"]] = message["id"]  # the caller's own
            else:
                del message["id"]
        return said

    def say(self, messages: list[dict[str, Any]]) -> Any:
        if any(message["id"] in self.world._real for message in messages):
            # What is there as it is, is known once the scope was read.
            self.call(self.scope.messages.count)
        stored = self.call(self.scope.messages.append, self._said(messages))
        return [self._bound(message["id"], made.id) for message, made in zip(messages, stored, strict=True)]

    def rewrite(self, messages: list[dict[str, Any]]) -> None:
        self.call(self.scope.messages.replace, self._said(messages))
        for message, made in zip(messages, self.call(self.scope.messages.all), strict=True):
            self._bound(message["id"], made.id)

    def pop(self) -> Any:
        popped = self.call(self.scope.messages.pop)
        return None if popped is None else popped.id

    def unsay(self, wanted: str) -> Any:
        return self.call(self.scope.messages.remove, self._real(wanted))

    def withdraw(self, wanted: list[str]) -> Any:
        return self.call(self.scope.messages.withdraw, *map(self._real, wanted))

    def restore(self, wanted: list[str]) -> Any:
        return self.call(self.scope.messages.restore, *map(self._real, wanted))

    def withdrawn(self) -> Any:
        return [message.id for message in self.call(self.scope.messages.withdrawn)]

    def turns(self) -> Any:
        messages = self.scope.messages
        pages = [page] = [self.call(messages.all, 3)]
        while page:
            pages.append(page := self.call(messages.all, 3, before=page[0].id))
        assert [each for page in reversed(pages) for each in page] == self.call(messages.all)
        return [[message.id for message in turn] for turn in self.call(messages.turns)]

    # -- scopes

    def clear(self, facet: str) -> Any:
        return self.call(self.scope.clear if facet == "all" else getattr(self.scope, facet).clear)

    def children(self) -> Any:
        for path in PATHS:
            # Which scopes are empty is known of those that were read.
            self.call(self.world.scope(self.engine, path).entries.count)
        return self.call(self.scope.children)

    def merge(self, overwrite: bool, items: bool, id: str) -> Any:
        merged = self.call(self.scope.merge_to_parent, overwrite=overwrite, items=items)
        for place in merged.renamed.values():
            self.world.bind_suffix(f"{id}99", place.rpartition("~")[2])
        return merged

    def work(self, entries: dict[str, Any], content: str, merge: bool, id: str) -> None:
        with self.call.enter(self.scope.temporary("work", merge=merge)) as below:
            for key, value in entries.items():
                self.call(below.entries.set, key, value)
            self._bound(f"{id}88", self.call(below.items.add, content).id)

    def dispose(self) -> Any:
        try:
            count = self.call(self.scope.dispose)
            try:
                self.call(self.scope.entries.set, "too", "late")
            except wmem.DisposedError:
                return count
            return "a disposed scope took a write"
        finally:
            self.world.forget(self.path)

    def keep(self, slot: int) -> None:
        document = self.call(self.scope.export)
        document.pop("policy", None)  # which policy a scope has goes by its path
        self.world._kept[slot] = document

    def bring(self, slot: int) -> Any:
        kept = self.world._kept.get(slot)
        return 0 if kept is None else self.call(self.scope.import_, kept)

    def erase(self, id: str, wanted: str | None = None, key: str | None = None) -> None:
        if wanted is not None:
            self.call(self.scope.erase, self._real(wanted))
        for entry in self.call(self.scope.export)["entries"]:
            if entry["key"] == key:
                self.call(self.scope.erase, entry["id"])
        self.call(self.scope.entries.set, "erased", 1)

    # -- the whole memory

    def pack(self, query: str, budget: int) -> Any:
        context = self.call(self.scope.pack, query, budget=budget)
        return [context.to_openai(), context.tokens]

    def maintain(self) -> Any:
        done = self.call(self.world._memories[self.engine].maintain, _JOBS)
        return {"scopes": done.scopes, "expired": done.expired, "deleted": done.deleted}

    def reopen(self) -> None:
        self.world.reopen(self.engine)

    def save_and_restore(self) -> None:
        memory = self.world._memories[self.engine]
        key = bytes(range(160, 192))
        self.call(memory.restore, self.call(memory.snapshot, key=key), key=key)

    def pass_time(self, seconds: float) -> None:
        """The driver moves the clock of all stores."""
