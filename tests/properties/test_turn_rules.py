"""The pure rules of a turn: what adds nothing, what is looked for beside a question, and what has a label."""

from hypothesis import given
from hypothesis import strategies as st

from wmem.model.row import Row
from wmem.model.values import dump_json
from wmem.rules.composite_query import BesideText, compose_query
from wmem.rules.nearness import adds_nothing, gist, may_stand_in
from wmem.rules.sources import find_source
from wmem.scope.items.labels import ItemLabels

TURNING = {"no", "never"}
LIGHT = {"the", "please"}
WORDS = st.sampled_from(
    ["the", "user", "wants", "tea", "no", "coffee", "never", "7", "8", "please", "Berlin", "and", "now"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)


def item(text: str, type_name: str = "thought", **fields: object) -> Row:
    return Row(text, dump_json(text), 0.0, 0.0, type=type_name, **fields)  # type: ignore[arg-type]  # of a row


@given(text=TEXTS.filter(lambda text: bool(set(text.split()) - LIGHT)))
def test_a_text_adds_nothing_to_itself_however_it_is_marked(text: str) -> None:
    assert adds_nothing(gist(text), gist(f"  {text.upper()}!"))


@given(text=TEXTS, before=TEXTS, after=TEXTS)
def test_what_stands_in_another_text_adds_nothing_unless_that_turns_it_round(
    text: str, before: str, after: str
) -> None:
    own = gist(text)
    adds = not adds_nothing(own, gist(f"{before} {text} {after}"))
    around = {*before.split(), *after.split()}
    has_three = len([word for word in text.split() if word not in LIGHT]) >= 3
    if has_three and not around & TURNING:
        assert not adds
    if not set(text.split()) <= set(before.split()) | set(after.split()) and not has_three and around - LIGHT:
        assert adds


@given(text=TEXTS, other=TEXTS)
def test_what_is_not_worth_a_comparison_would_not_have_been_near(text: str, other: str) -> None:
    if not may_stand_in(text, [gist(other)]) and set(text.split()) - LIGHT:
        longest = max(text.split(), key=len)
        assert longest in LIGHT or not adds_nothing(gist(text), gist(other))


@given(text=TEXTS, other=TEXTS)
def test_what_adds_nothing_has_no_word_of_its_own(text: str, other: str) -> None:
    if adds_nothing(gist(text), gist(other)):
        assert set(gist(text).split()) <= set(gist(other).split())


def test_what_is_said_the_other_way_round_adds_something() -> None:
    assert not adds_nothing(gist("the user wants tea"), gist("It is never so that the user wants tea"))
    assert not adds_nothing(gist("the user wants tea"), gist("Is it so that the user wants tea?"))
    assert not adds_nothing(gist("in room 7"), gist("in room 8"))
    assert not adds_nothing(gist("Berlin"), gist("The user lives in Berlin"))
    assert adds_nothing(gist("The user lives in Berlin."), gist("Noted: the user lives in Berlin"))


@given(
    goals=st.lists(TEXTS, max_size=3), rows=st.lists(st.tuples(TEXTS, st.sampled_from(["thought", "plan"])), max_size=9)
)
def test_beside_a_question_stand_the_goals_the_newest_plan_and_four_more(
    goals: list[str], rows: list[tuple[str, str]]
) -> None:
    made = compose_query(goals, [item(text, kind) for text, kind in rows])
    plan = next((at for at, (_, kind) in enumerate(rows) if kind == "plan"), None)
    others = [text for at, (text, _) in enumerate(rows) if at != plan][:4]
    wanted = [BesideText(goal, 1.0, is_stored=False) for goal in goals]
    wanted += [] if plan is None else [BesideText(rows[plan][0], 1.0, is_stored=True)]
    assert made == (*wanted, *(BesideText(text, 0.5, is_stored=True) for text in others))


def test_a_long_text_is_no_second_question() -> None:
    assert [len(each.text) for each in compose_query(["x" * 10_000], [item("y" * 10_000)])] == [600, 600]


def test_a_memory_type_is_told_by_the_scope() -> None:
    assert find_source("agent/s", is_message=True) == "conversation"
    assert find_source("agent/s", is_message=False) == "working"
    assert find_source("agent", is_message=False) == "working"
    assert find_source("agent/~semantic", is_message=False) == "semantic"
    assert find_source("agent/ann/~episodic", is_message=False) == "episodic"
    assert find_source("agent/~external/notes", is_message=False) == "notes"


LABELS = st.sampled_from([None, "a", "b"])
CHANGES = st.lists(
    st.tuples(st.sampled_from("123456"), st.none() | st.tuples(st.sets(st.sampled_from("xy")), LABELS, LABELS)),
    max_size=20,
)


@given(changes=CHANGES, tags=st.sets(st.sampled_from("xyz")), task_id=LABELS, agent_id=LABELS)
def test_labels_find_what_a_look_at_all_rows_finds(
    changes: list[tuple[str, tuple[set[str], str | None, str | None] | None]],
    tags: set[str],
    task_id: str | None,
    agent_id: str | None,
) -> None:
    labels, there = ItemLabels(), dict[str, tuple[set[str], str | None, str | None]]()
    for id, fields in changes:
        there.pop(id, None)
        row = None
        if fields is not None:
            there[id] = fields
            rest = {name: value for name, value in zip(("task_id", "agent_id"), fields[1:], strict=True) if value}
            row = item(id, tags=tuple(fields[0]), rest=dump_json(rest) if rest else None)
        labels.apply({id: row})
    wanted = {
        id
        for id, (has, task, agent) in there.items()
        if (tags or task_id or agent_id)
        and (not tags or tags & has)
        and task_id in (None, task)
        and agent_id in (None, agent)
    }
    assert set(labels.find(tags=tags, task_id=task_id, agent_id=agent_id)) == wanted
