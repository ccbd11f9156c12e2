"""The cases about names: a prefix means whole segments, and no sign in a name is more than a letter."""

import itertools

import wmem
from wmem.testing.calls import Call
from wmem.testing.suite import MemoryOpener

SIBLINGS = ["john-doe", "john_doe", "10%", "10x", "a*b", "axb", "[x]", "x", "a?b", "^x", "x$", "J*", "_", "%", "*"]
LETTERS = [
    "a-b",
    "a.b",
    "a{b}c",
    "{a}",
    "a|b",
    "a b",
    "a:b",
    "@a",
    "(a)",
    '"a"',
    "a\\b",
    "a,b",
    "ä",
    "日本",
    "-a",
    "a~",
]


def test_B16_a_prefix_means_whole_segments(memory: wmem.AgentMemory, call: Call) -> None:
    paths = [("t", "a"), ("t", "ab"), ("t", "a", "x"), ("t", "ab", "x"), ("ta",)]
    for path in paths:
        call(memory.scope(*path).items.add, f"kept in {path}")
        call(memory.scope(*path).entries.set, "of", list(path))
    for path in paths:
        scope = memory.scope(*path)
        assert [item.content for item in call(scope.items.search, "kept")] == [f"kept in {path}"]
        assert call(scope.entries.local.keys) == ["of"]
        assert call(scope.entries.get, "of") == list(path)
    assert call(memory.scope("t").children) == ["a", "ab"]
    assert call(memory.scope("t", "a").children) == ["x"]
    call(memory.scope("t", "a").dispose)
    assert call(memory.scope("t").children) == ["ab"]
    assert call(memory.scope("t", "ab").children) == ["x"]
    assert call(memory.working.children) == ["t", "ta"]


def test_B16_an_agent_whose_id_begins_like_anothers_sees_nothing_of_it(open_memory: MemoryOpener, call: Call) -> None:
    agents = {name: open_memory(name) for name in ("a", "ab", "a/b", "a b")}
    for name, memory in agents.items():
        call(memory.scope("b").entries.set, "whose", name)
    for name, memory in agents.items():
        assert call(memory.scope("b").entries.get, "whose") == name
        assert call(memory.stats).total_entries_working == 1
    call(agents["a"].working.dispose)
    assert [call(memory.working.children) for memory in agents.values()] == [[], ["b"], ["b"], ["b"]]


def test_B17_signs_of_patterns_are_letters_in_every_verb(memory: wmem.AgentMemory, call: Call) -> None:
    for name in SIBLINGS:
        scope = memory.scope("s", name)
        call(scope.items.add, name, tags=[name], metadata={name: name})
        call(scope.entries.set, name, name)
    assert call(memory.scope("s").children) == sorted(SIBLINGS)
    for name, other in itertools.product(SIBLINGS, SIBLINGS):
        scope = memory.scope("s", name)
        there = int(name == other)
        assert call(scope.items.search, tags=[other]).total == there
        assert call(scope.items.search, metadata={other: other}).total == there
        assert call(scope.entries.contains, other) is bool(there)
    for name in SIBLINGS:
        assert call(memory.scope("s", name).items.search, name).total == 1
    call(memory.scope("s", "*").dispose)
    call(memory.scope("s", "%").dispose)
    call(memory.scope("s", "john_doe").dispose)
    assert call(memory.scope("s").children) == sorted({*SIBLINGS} - {"*", "%", "john_doe"})


def test_B28_add_and_read_work_whatever_signs_the_ids_have(open_memory: MemoryOpener, call: Call) -> None:
    for name in LETTERS:
        memory = open_memory(name)
        call(memory.scope(name, name).items.add, f"said by {name}")
        call(memory.scope(name, name).entries.set, name, name)
        call(memory.scope(name, name).messages.append, {"role": "user", "content": name, "id": name})
    for name in LETTERS:
        scope = open_memory.in_other_process(name).scope(name, name)
        assert [item.content for item in call(scope.items.search, name)] == [f"said by {name}"]
        assert call(scope.entries.get, name) == name
        assert [message.id for message in call(scope.messages.all)] == [name]
        assert call(scope.messages.remove, name) is True
