"""What a store may show after a log of operations: a plain model, without any of wmem's code.

Everything that is stored is a register: a message by its id, an entry by its key, an item by its first token, and
each has one value or none. An operation writes registers. What was acknowledged, and not overwritten since, is there;
what is unknown may be there or not; and nothing else is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from tests.chaos.log import Op

__all__ = ["LONG", "Model", "Register", "Shown"]

LONG = "~long"
"""Long-term memory; a name in it is the session, a blank and the item's first token."""

Shown: TypeAlias = Mapping[str, Mapping[str, Any]]
"""By scope: ``messages`` as pairs of id and token, ``entries`` by key, ``items`` as pairs of first and last token."""


class Register(NamedTuple):
    """One place that holds one value or none."""

    scope: str
    kind: str
    name: str


class Write(NamedTuple):
    """What an operation did, or may have done, to a register."""

    begin: float
    end: float
    sure: bool
    value: str | None
    by: str


_NOTHING = Write(-1, -1, sure=True, value=None, by="")


class Model:
    """All that may be, after the operations of a log.

    Args:
        ops: In the order they began.
        window: The lines between which somebody looked: what began later did not happen, what was not over before is
            unknown.
    """

    def __init__(self, ops: Sequence[Op], window: tuple[int, int] | None = None) -> None:
        self._ops = list(_within(ops, window)) if window else list(ops)
        self._erasures = [op for op in self._ops if op.name == "erase"]
        self._listed = {op.given["listing"]: op.begin for op in self._ops if op.name == "list"}
        self._imports = [op for op in self._ops if op.name == "import"]
        self._imported = {thing for op in self._imports for thing in _imported(op)}
        self._writes: dict[Register, list[Write]] = defaultdict(list)
        self._forbidden: dict[Register, set[str]] = defaultdict(set)
        """Tokens that were erased, which no later write of the register can bring."""
        self._gone: set[Register] = set()
        """Messages and items that were erased: their tombstones stay."""
        self._merges: dict[str, list[Op]] = defaultdict(list)
        self.erased: set[str] = set()
        """Tokens of which no byte may be left once every process has closed."""
        self._put()
        self._dispose()
        self._erase_here()
        self._merge()
        self._erase_copies()

    # -- what was written

    def _write(self, op: Op, register: Register, value: str | None, *, sure: bool = True) -> None:
        if op.outcome != "refused":
            self._writes[register].append(Write(op.begin, op.end, sure and op.outcome == "done", value, op.id))

    def _put(self) -> None:
        for op in self._ops:
            given, scope = op.given, op.scope
            match op.name:
                case "say":
                    for id, token in given["messages"]:
                        self._write(op, Register(scope, "message", id), token)
                case "unsay":
                    self._write(op, Register(scope, "message", given["id"]), None)
                case "set":
                    self._write(op, Register(scope, "entry", given["key"]), given["token"])
                case "unset":
                    self._write(op, Register(scope, "entry", given["key"]), None)
                case "add" | "change":
                    self._write(op, Register(scope, "item", given["item"]), given["token"])
                case "remove":
                    self._write(op, Register(scope, "item", given["item"]), None)
                case "promote" | "fetch":
                    sure = op.name == "promote" and not given.get("doubtful")
                    self._write(op, Register(LONG, "item", f"{scope} {given['item']}"), "*", sure=sure)
                case "import":
                    self._import(op)
                case "merge":
                    self._merges[scope].append(op)
                case _:
                    pass

    def _import(self, op: Op) -> None:
        for id, token in op.given["messages"]:
            self._write(op, Register(op.scope, "message", id), token, sure=not self._was_erased(op, id))
        for key, token in op.given["entries"].items():
            self._write(op, Register(op.scope, "entry", key), token, sure=not self._was_erased(op, key))
        for item, token in op.given["items"]:
            self._write(op, Register(op.scope, "item", item), token, sure=not self._was_erased(op, item))

    def _was_erased(self, op: Op, name: str) -> bool:
        """Whether a tombstone may be in the way of what an import brings."""
        return any(each.scope == op.scope and each.begin < op.end and name in _names(each) for each in self._erasures)

    def _dispose(self) -> None:
        for op in self._ops:
            if op.name == "dispose":
                for register in list(self._writes):
                    if register.scope == op.scope or register.scope.startswith(f"{op.scope}/"):
                        self._write(op, register, None)

    def _merge(self) -> None:
        for scope, merges in self._merges.items():
            own = [register for register in self._writes if register.scope == scope]
            first: Op | None = None
            for op in merges:
                if op.outcome == "refused":
                    continue
                # Once more from the same point it adds nothing: then the first try brought it, acknowledged or not.
                tried = op if first is None else op._replace(begin=first.begin)
                repeated = first is not None and first.outcome == "done"
                for register in own:
                    values = self._values(register, before=op.begin)
                    target = register._replace(scope=scope.rpartition("/")[0])
                    for value in values - {None}:
                        self._write(tried, target, value, sure=len(values) == 1 and not repeated)
                first = first or op

    def _erase_here(self) -> None:
        for op in self._erasures:
            for kind, name, token in op.given["things"]:
                if op.scope != LONG:
                    self._take(op, Register(op.scope, kind, name), token, sure=True)

    def _erase_copies(self) -> None:
        for op in self._erasures:
            for kind, name, token in op.given["things"]:
                here = Register(op.scope, kind, name)
                for register, sure in self._copies(op, here):
                    if register != here or register.scope == LONG:
                        self._take(op, register, token, sure=sure)
                    if op.outcome == "done" and sure and not self._comes_again(register):
                        self._forbidden[register].add(token)
                        if kind != "entry":
                            self._gone.add(register)
                elsewhere = (kind, name.rpartition(" ")[2]) in self._imported  # in a session that is not its own
                if op.outcome == "done" and op.reply["complete"] and not elsewhere:
                    self.erased.add(token)

    def _take(self, op: Op, register: Register, token: str, *, sure: bool) -> None:
        # An entry that was set anew since it was listed may be another one, with an id of its own.
        meant = register.kind != "entry" or self._values(register, before=op.begin) == {token}
        self._write(op, register, None, sure=sure and meant)

    def _copies(self, op: Op, register: Register) -> Iterator[tuple[Register, bool]]:
        """Where an erasure goes, and whether it must have."""
        listed = not self._is_promoted_anew(op, register)
        yield register, listed
        # What an import brings again is another item under the same id, and no copy of what was promoted before.
        same = listed and not self._comes_again(register)
        if register.scope == LONG:
            session, _, item = register.name.partition(" ")
            register = Register(session, "item", item)
            yield register, same
        scopes = {register.scope: same}
        for child, merges in self._merges.items():
            parent = child.rpartition("/")[0]
            done = any(each.outcome == "done" and each.end < op.begin for each in merges)
            if parent == register.scope:
                scopes[child] = done
            elif child == register.scope:
                scopes[parent] = done
        for scope, sure in scopes.items():
            if scope != register.scope and register._replace(scope=scope) in self._writes:
                yield register._replace(scope=scope), sure
            if register.kind == "item":
                copy = Register(LONG, "item", f"{scope} {register.name}")
                if copy in self._writes:
                    yield copy, sure

    def _is_promoted_anew(self, op: Op, register: Register) -> bool:
        """Whether a copy may be gone, and another there under an id of its own, since it was listed to be erased."""
        if register.scope != LONG:
            return False
        listed = self._listed[op.given["listing"]]
        since = [each for each in self._writes[register] if each.end > listed and each.begin < op.begin]
        return {None} < {each.value for each in since}

    def _comes_again(self, register: Register) -> bool:
        """Whether an import may bring back what was erased."""
        scope = register.name.partition(" ")[0] if register.scope == LONG else register.scope
        return any(op.scope == scope for op in self._imports)

    # -- what may be there

    def _values(self, register: Register, before: float = float("inf")) -> set[str | None]:
        """The values that a register may have; an empty set never."""
        if register in self._gone and before == float("inf"):
            return {None}
        writes = [_NOTHING, *(each for each in self._writes.get(register, ()) if each.begin < before)]
        latest = max(each.begin for each in writes if each.sure)
        values = {each.value for each in writes if each.end >= latest}
        return (values - self._forbidden.get(register, set())) or {None}

    def live_tokens(self) -> set[str]:
        """Every token that may be somewhere."""
        live: set[str] = set()
        for register in list(self._writes):
            values = self._values(register) - {None}
            live.update(str(value) for value in values)
            if register.kind == "item" and values:
                item = register.name.rpartition(" ")[2]
                live.add(item)
                if register.scope == LONG:
                    live.update(self._versions(item))
        for op in self._ops:
            if op.name == "once":
                live.add(op.given["token"])
        return live

    def _versions(self, item: str) -> set[str]:
        """All contents an item ever had, here or elsewhere."""
        return {
            str(write.value)
            for register, writes in self._writes.items()
            if register.kind == "item" and register.name == item
            for write in writes
        } | {item}

    # -- comparing

    def faults(self, shown: Shown) -> list[str]:
        """What a store shows that may not be, in sentences; none if all is well."""
        return [
            *self._wrong_registers(shown),
            *self._wrong_order(shown),
            *self._torn_batches(shown),
            *self._wrong_counts(shown),
            *self._wrong_once(shown),
        ]

    def _wrong_registers(self, shown: Shown) -> Iterator[str]:
        found: dict[Register, list[str]] = defaultdict(list)
        for scope, facets in shown.items():
            for id, token in facets["messages"]:
                found[Register(scope, "message", id)].append(token)
            for key, token in facets["entries"].items():
                if isinstance(token, str) and not key.startswith("once"):
                    found[Register(scope, "entry", key)].append(token)
            for item, token in facets["items"]:
                found[Register(scope, "item", item)].append("*" if scope == LONG else token)
        for register in {**found, **{each: None for each in self._writes if each.scope in shown}}:
            there = found.get(register, [])
            values = self._values(register)
            what = f"{register.kind} {register.name!r} of {register.scope}"
            if len(there) > 1:
                yield f"{what} is there {len(there)} times"
            if not there and None not in values:
                yield f"{what} is lost: expected {_either(values)}; {self._story(register)}"
            if there and there[0] not in values:
                erased = register in self._gone or there[0] in self._forbidden.get(register, ())
                word = "is erased, and there" if erased else "is wrong"
                yield f"{what} {word}: expected {_either(values)}, found {there[0]!r}; {self._story(register)}"

    def _story(self, register: Register) -> str:
        writes = self._writes.get(register, ())
        return (
            "; ".join(
                f"{each.by} ({each.begin}–{each.end}{'' if each.sure else ', perhaps'}): {each.value}"
                for each in writes
            )
            or "never written"
        )

    def _wrong_order(self, shown: Shown) -> Iterator[str]:
        said = {
            (op.scope, id): op
            for op in self._ops
            if op.name == "say" and op.outcome == "done"
            for id, _ in op.given["messages"]
        }
        for scope, facets in shown.items():
            latest: tuple[int, str] = (-1, "")
            for id, _ in facets["messages"]:
                op = said.get((scope, id))
                if op is None:
                    continue
                if op.end < latest[0]:
                    yield f"message {id!r} of {scope} comes after {latest[1]!r}, which was begun later"
                latest = max(latest, (op.begin, id))

    def _torn_batches(self, shown: Shown) -> Iterator[str]:
        for op in self._ops:
            if op.name != "say" or op.scope not in shown or len(op.given["messages"]) == 1:
                continue
            ids = [id for id, _ in op.given["messages"]]
            if any(len(self._writes[Register(op.scope, "message", id)]) > 1 for id in ids):
                continue  # some of it was removed since
            there = [at for at, (id, _) in enumerate(shown[op.scope]["messages"]) if id in ids]
            if there and len(there) != len(ids):
                yield f"batch {ids} of {op.scope} is torn: {len(there)} of {len(ids)} are there"
            elif there and there[-1] - there[0] >= len(ids) and self._is_whole(op.scope):
                yield f"batch {ids} of {op.scope} is mixed with others"

    def _is_whole(self, scope: str) -> bool:
        return not any(op.scope == scope for op in self._imports)

    def _wrong_counts(self, shown: Shown) -> Iterator[str]:
        for scope, facets in shown.items():
            if any(op.name == "dispose" and op.scope == scope for op in self._ops):
                continue
            bumps = [op for op in self._ops if op.name == "bump" and op.scope == scope and op.outcome != "refused"]
            least = sum(op.outcome == "done" for op in bumps)
            count = facets["entries"].get("count", 0)
            if bumps and not least <= count <= len(bumps):
                yield f"count of {scope} is {count}: expected {least} to {len(bumps)}"
            replies = [op.reply for op in bumps if op.outcome == "done"]
            if len(replies) != len(set(replies)):
                yield f"count of {scope}: two increments returned the same number"

    def _wrong_once(self, shown: Shown) -> Iterator[str]:
        for scope, facets in shown.items():
            replies: dict[str, set[str]] = defaultdict(set)
            for op in self._ops:
                if op.name == "once" and op.scope == scope and op.outcome == "done":
                    replies[op.given["key"]].add(op.reply)
            for key, values in replies.items():
                there = facets["entries"].get(key)
                if values != {there}:
                    yield f"entry {key!r} of {scope}, set once, is {there!r}, and calls returned {sorted(values)}"


def _within(ops: Iterable[Op], window: tuple[int, int]) -> Iterator[Op]:
    begin, end = window
    for op in ops:
        if op.begin < end:
            # A refusal stays one: it never changes anything.
            over = op.end < begin or op.outcome == "refused"
            yield op if over else op._replace(end=float("inf"), outcome="unknown", reply=None)


def _names(op: Op) -> set[str]:
    return {name for _, name, _ in op.given["things"]}


def _imported(op: Op) -> set[tuple[str, str]]:
    given = op.given
    messages = {("message", id) for id, _ in given["messages"]}
    return messages | {("entry", key) for key in given["entries"]} | {("item", item) for item, _ in given["items"]}


def _either(values: Iterable[str | None]) -> str:
    return " or ".join(sorted("nothing" if value is None else repr(value) for value in values))
