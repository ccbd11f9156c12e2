"""Random operations on a tree of scopes, drawn so that most of them find something to do.

An operation is data: it names a method of the model, a scope and arguments, so that any
list of them can be played again, also with some left out. Ids in it are the model's.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple, TypeAlias

from tests.soak.model import PATHS, Held, Model
from tests.soak.plain import Path

__all__ = ["FAMILIES", "WORDS", "Operation", "drawn"]

WORDS = ["amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "ledge"]
KEYS = ["goal", "plan", "city", "count", "tempo"]
TAGS = ["red", "green", "blue"]
PRIORITIES = ("low", "medium", "high", "critical")
MANY = 24
"""Rows of a facet from which it is emptied rather than filled."""
_OWN = tuple(path for path in PATHS if not path or path[0][0] != "~")
_SESSIONS = tuple(path for path in _OWN if path not in (("queue",), ("buffer",)))


class Operation(NamedTuple):
    """One step.

    Attributes:
        number: Of the step in its run.
        engine: Which of a store's two engines does it, 0 or 1.
        name: The model's method.
        path: The scope's segments below its agent.
        given: The method's other arguments.
    """

    number: int
    engine: int
    name: str
    path: Path
    given: Mapping[str, Any]


class Draw:
    """Draws arguments for one step."""

    def __init__(self, chance: Random, model: Model, number: int) -> None:
        self.chance = chance
        self.model = model
        self.number = number
        self._made = 0

    def id(self) -> str:
        """An id of the model's that no other step makes; two more letters make others of it."""
        self._made += 1
        return f"{self.number:022d}{'ABCDEFGH'[self._made]}"

    def whole_id(self) -> str:
        return f"{self.id()}XYZ"

    def maybe(self, part: float) -> bool:
        return self.chance.random() < part

    def text(self) -> str:
        return " ".join([*self.chance.choices(WORDS, k=self.chance.randint(1, 5)), f"n{self.number}"])

    def held(self, path: Path) -> Held:
        return self.model.held(path)

    def item(self, path: Path) -> str:
        """The id of an item of a scope, seen or not, or one that was never there."""
        ids = [row["id"] for row in self.held(path).items()]
        return self.chance.choice(ids) if ids and not self.maybe(0.03) else self.whole_id()

    def message(self, path: Path) -> str:
        ids = [row["id"] for row in self.held(path).messages()]
        return self.chance.choice(ids) if ids and not self.maybe(0.03) else self.whole_id()

    def value(self) -> Any:
        return self.chance.choice([self.number, f"text {self.number}", [self.number, "x"], {"n": self.number}, None])

    def fields(self) -> dict[str, Any]:
        """What an item is given beside its content."""
        chance = self.chance
        given: dict[str, Any] = {}
        if self.maybe(0.6):
            given["priority"] = chance.choice(PRIORITIES)
        if self.maybe(0.3):
            given["tags"] = chance.sample(TAGS, k=chance.randint(1, 2))
        if self.maybe(0.3):
            given["importance"] = chance.choice([0.1, 0.35, 0.6, 0.75, 0.95])
        if self.maybe(0.3):
            given["ttl_s"] = chance.choice([1.0, 60.0, 5_000.0, None])
        if self.maybe(0.2):
            given["type"] = chance.choice(["fact", "skill", "action"])
        if self.maybe(0.1):
            given["metadata"] = {"source": self.number}
        if self.maybe(0.05):
            given["pinned"] = True
        return given

    def said(self, count: int) -> list[dict[str, Any]]:
        """New messages."""
        ids = self.id()
        turn = f"turn-{self.number}" if self.maybe(0.3) else None
        return [
            {
                "id": f"{ids}X{number:02d}",
                "role": self.chance.choice(["user", "assistant"]),
                "content": f"{self.text()} {number}",
                "turn_id": turn,
            }
            for number in range(count)
        ]


Given: TypeAlias = tuple[str, Path, dict[str, Any]]


def _entries(draw: Draw) -> Given:
    path, key, chance = draw.chance.choice(_OWN), draw.chance.choice(KEYS), draw.chance
    name = chance.choice(["store", "store", "store", "get", "keys", "bump", "bump", "get_or_set", "unset"])
    if name in ("get", "unset"):
        return name, path, {"key": key}
    if name == "keys":
        return name, path, {}
    given: dict[str, Any] = {"key": key, "id": draw.whole_id()}
    if name == "bump":
        return name, path, given
    given["value"] = draw.value()
    if name == "store":
        if draw.maybe(0.3):
            given["ttl_s"] = chance.choice([1.0, 100.0, 9_000.0])
        if draw.maybe(0.2):
            given["tags"] = chance.sample(TAGS, k=2)
        if draw.maybe(0.2):
            given["importance"] = 0.9
        if draw.maybe(0.1):
            given["metadata"] = {"by": "hand"}
    return name, path, given


def _items(draw: Draw) -> Given:
    path, chance = draw.chance.choice(_OWN), draw.chance
    if len(draw.held(path).items()) > MANY:
        return "clear", path, {"facet": "items"}
    if draw.maybe(0.55):
        return "add", path, {"content": draw.text(), "id": draw.whole_id(), **draw.fields()}
    wanted = draw.item(path)
    if draw.maybe(0.3):
        return "drop", path, {"wanted": wanted}
    given = draw.fields()
    for fixed in ("type", "metadata"):
        given.pop(fixed, None)
    if draw.maybe(0.5):
        given["content"] = draw.text()
    if draw.maybe(0.2):
        given["pinned"] = chance.choice([True, False])
    return "change", path, {"wanted": wanted, **given}


def _lives(draw: Draw) -> Given:
    path = draw.chance.choice(_OWN)
    name = draw.chance.choice(["expire", "extend", "undelete", "relate", "fetch", "fetch", "fetch"])
    given: dict[str, Any] = {"wanted": draw.item(path)}
    if name == "extend" and draw.maybe(0.5):
        given["ttl_s"] = draw.chance.choice([5.0, 50_000.0, None])
    if name == "relate":
        given["target"] = draw.item(draw.chance.choice(_OWN))
    if name == "fetch":
        given |= {"times": draw.chance.randint(1, 6), "id": draw.whole_id()}
    return name, path, given


def _finds(draw: Draw) -> Given:
    chance = draw.chance
    path = chance.choice(PATHS)
    if draw.maybe(0.4):
        return "listed", path, {}
    given = {
        "query": chance.choice([*WORDS, " ".join(chance.sample(WORDS, 2)), ""]),
        "order": chance.choice(["relevance", "relevance", "recency", "importance"]),
        "limit": chance.choice([1, 3, 100]),
        "tags": chance.sample(TAGS, k=chance.choice([0, 0, 1, 2])),
        "priority": chance.choice([None, None, None, *PRIORITIES]),
    }
    return "search", path, given


def _long_term(draw: Draw) -> Given:
    if draw.maybe(0.6):
        path = draw.chance.choice(_OWN)
        return "promote", path, {"wanted": draw.item(path)}
    path = draw.chance.choice([("~semantic",), ("~episodic",)])
    if len(draw.held(path).items()) > MANY:
        return "clear", path, {"facet": "all"}
    return "drop", path, {"wanted": draw.item(path)}


def _queue(draw: Draw) -> Given:
    path, chance = draw.chance.choice([("queue",), ("queue",), ("queue",), ("buffer",), ("one",)]), draw.chance
    name = chance.choice(["memorize"] * 6 + ["forget"] * 2 + ["advance"] * 2 + ["evict_to", "decisions"])
    if name == "memorize":
        return name, path, {"content": draw.text(), "id": draw.whole_id(), **draw.fields()}
    if name == "forget":
        number = chance.randint(0, 7)
        words = ["oldest", "least important", f"position:{number}", f"before:step_{number}"]
        return name, path, {"instruction": chance.choice(words), "mode": chance.choice(["soft", "hard"])}
    if name == "advance":
        return name, path, {"steps": chance.randint(1, 3)}
    return name, path, {"items": chance.randint(0, 6)} if name == "evict_to" else {}


def _messages(draw: Draw) -> Given:
    path, chance = draw.chance.choice(_OWN), draw.chance
    there = draw.held(path).messages()
    if len(there) > MANY:
        return "clear", path, {"facet": "messages"}
    if draw.maybe(0.2):
        name = chance.choice(["withdraw", "withdraw", "restore"])
        ids = [row["id"] for row in (there if name == "withdraw" else draw.held(path).withdrawn())]
        return name, path, {"wanted": [*chance.sample(ids, k=min(3, len(ids))), draw.message(path)]}
    name = chance.choice(["say"] * 5 + ["edit", "again", "rewrite", "pop", "pop", "unsay", "turns", "withdrawn"])
    if name in ("pop", "turns", "withdrawn"):
        return name, path, {}
    if name == "unsay":
        return name, path, {"wanted": draw.message(path)}
    known = [
        {"id": row["id"], "role": row["role"], "content": row["parts"][0]["text"], "turn_id": row["turn_id"]}
        for row in there
    ]
    if name == "again" and known:
        return "say", path, {"messages": chance.sample(known, k=min(2, len(known)))}
    if name == "edit" and known:
        return "say", path, {"messages": [{**chance.choice(known), "content": draw.text()}]}
    if name == "rewrite":
        before = known if draw.maybe(0.4) else chance.sample(known, k=len(known) // 2)
        return name, path, {"messages": [*before, *draw.said(chance.randint(0, 2))]}
    return "say", path, {"messages": draw.said(chance.randint(1, 4))}


def _scopes(draw: Draw) -> Given:
    chance = draw.chance
    name = chance.choice(
        ["children"] * 2
        + ["merge"] * 4
        + ["work"] * 2
        + ["keep", "bring", "erase", "erase", "clear", "pack"]
        + ["weigh", "weighs", "weighs"]
    )
    if draw.maybe(0.08):
        return "dispose", chance.choice(PATHS[1:7]) if not draw.maybe(0.02) else (), {}
    path = chance.choice(_OWN)
    if name == "children":
        return name, chance.choice(_SESSIONS), {}
    if name == "merge":
        below = chance.choice(_OWN[1:])
        return name, below, {"overwrite": draw.maybe(0.6), "items": draw.maybe(0.5), "id": f"{draw.id()}X"}
    if name == "work":
        entries = {key: draw.value() for key in chance.sample(KEYS, k=2)}
        given = {"entries": entries, "content": draw.text(), "merge": draw.maybe(0.6), "id": f"{draw.id()}X"}
        return name, chance.choice(_SESSIONS), given
    if name == "weigh":
        return name, path, {"profile": chance.choice(["evidence", "balanced"])}
    if name == "weighs":
        return name, path, {}
    if name in ("keep", "bring"):
        return name, path, {"slot": chance.randint(0, 1)}
    if name == "erase":
        about = {"key": chance.choice(KEYS)} if draw.maybe(0.4) else {"wanted": draw.item(path)}
        return name, path, {**about, "id": draw.whole_id()}
    if name == "clear":
        return name, path, {"facet": chance.choice(["all", "entries", "items", "messages"])}
    return "pack", path, {"query": chance.choice(WORDS), "budget": chance.choice([60, 400])}


def _time(draw: Draw) -> Given:
    chance = draw.chance
    if draw.maybe(0.3):
        return "maintain", (), {}
    if draw.maybe(0.3):
        return chance.choice(["reopen", "save_and_restore"]), (), {}
    # Forward on the whole; now and then back, as when a clock is set right.
    seconds = (
        chance.choice([0.5, 1.0, 30.0, 700.0, 3_600.0]) if not draw.maybe(0.1) else chance.choice([-1.0, -3_600.0])
    )
    return "pass_time", (), {"seconds": seconds}


FAMILIES: Mapping[str, tuple[int, Callable[[Draw], Given]]] = {
    "entries": (20, _entries),
    "items": (20, _items),
    "lives": (12, _lives),
    "finds": (6, _finds),
    "long_term": (5, _long_term),
    "queue": (14, _queue),
    "messages": (14, _messages),
    "scopes": (8, _scopes),
    "time": (8, _time),
}
"""By name: how often one of these comes, and what draws it."""

_NAMES: Sequence[str] = list(FAMILIES)
_WEIGHTS = [weight for weight, _ in FAMILIES.values()]


def drawn(chance: Random, model: Model, number: int, family: str | None = None) -> Operation:
    """The next step, of a family if one is named."""
    _, draws = FAMILIES[family or chance.choices(_NAMES, _WEIGHTS)[0]]
    engine = chance.randrange(2)
    name, path, given = draws(Draw(chance, model, number))
    return Operation(number, engine, name, path, given)
