"""The rule of episodes: where one ends is a function of what is stored, whenever it is asked."""

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from wmem.agent.types.episodes import find_open_episode, group_episodes, to_part
from wmem.model.change import ItemPut
from wmem.model.row import Row
from wmem.model.values import dump_json
from wmem.rules.episodes import EpisodeLimits, EpisodePart, OpenEpisode, assign_episodes, choose_episode
from wmem.state import State

STEPS = st.none() | st.integers(0, 4)
PARTS = st.lists(
    st.builds(
        EpisodePart,
        id=st.just(""),
        episode_id=st.none() | st.sampled_from(["trip", "home"]),
        at=st.floats(0, 100),
        tokens=st.integers(0, 30),
        step=STEPS,
    ),
    max_size=30,
).map(lambda parts: [part._replace(id=f"i{at}") for at, part in enumerate(parts)])
LIMITS = st.builds(
    EpisodeLimits,
    gap_s=st.none() | st.floats(0.1, 50),
    max_steps=st.none() | st.integers(1, 6),
    max_tokens=st.none() | st.integers(1, 60),
)
NO_LIMITS = EpisodeLimits(None, None, None)


def implicit(parts: list[EpisodePart]) -> list[EpisodePart]:
    return [part._replace(episode_id=None) for part in parts]


@given(parts=PARTS, limits=LIMITS)
def test_an_episode_keeps_its_limits_or_has_one_item(parts: list[EpisodePart], limits: EpisodeLimits) -> None:
    parts = implicit(parts)
    ids = assign_episodes(parts, limits)
    for _, grouped in groupby(zip(parts, ids, strict=True), key=lambda pair: pair[1]):
        episode = [part for part, _ in grouped]
        if len(episode) == 1:
            continue
        steps = 1 + sum(part.step is None or part.step != before.step for before, part in pairwise(episode))
        assert limits.max_steps is None or steps <= limits.max_steps
        assert limits.max_tokens is None or sum(part.tokens for part in episode) <= limits.max_tokens
        assert limits.gap_s is None or all(b.at - a.at <= limits.gap_s for a, b in pairwise(episode))


@given(parts=PARTS, limits=LIMITS)
def test_no_episode_ends_without_a_reason_and_none_comes_back(parts: list[EpisodePart], limits: EpisodeLimits) -> None:
    parts = implicit(parts)
    ids = assign_episodes(parts, limits)
    assert [id for id, _ in groupby(ids)] == list(dict.fromkeys(ids))
    assert len(set(assign_episodes(parts, NO_LIMITS))) <= 1
    for at, (before, part) in enumerate(pairwise(parts), 1):
        if ids[at] == ids[at - 1]:
            continue
        episode = [each for each, id in zip(parts, ids, strict=True) if id == ids[at - 1]]
        steps = 1 + sum(each.step is None or each.step != last.step for last, each in pairwise([*episode, part]))
        tokens = sum(each.tokens for each in episode) + part.tokens
        assert (
            (limits.gap_s is not None and part.at - before.at > limits.gap_s)
            or (limits.max_steps is not None and steps > limits.max_steps)
            or (limits.max_tokens is not None and tokens > limits.max_tokens)
        )


@given(parts=PARTS, limits=LIMITS)
def test_an_item_is_in_the_episode_it_names_and_the_next_goes_on_with_it(
    parts: list[EpisodePart], limits: EpisodeLimits
) -> None:
    ids = assign_episodes(parts, limits)
    assert all(part.episode_id in (None, id) for part, id in zip(parts, ids, strict=True))
    free = assign_episodes(parts, NO_LIMITS)
    assert all(part.episode_id is not None or free[at] == free[at - 1] for at, part in enumerate(parts) if at)


@given(parts=PARTS, limits=LIMITS, cut=st.integers(0, 30))
def test_what_comes_later_moves_no_boundary(parts: list[EpisodePart], limits: EpisodeLimits, cut: int) -> None:
    assert assign_episodes(parts[:cut], limits) == assign_episodes(parts, limits)[:cut]


def make_row(part: EpisodePart, thread_id: str | None) -> Row:
    named = {"thread_id": thread_id, "episode_id": part.episode_id}
    rest = {name: value for name, value in named.items() if value is not None}
    return Row(
        part.id, b'"x"', part.at, part.at, tokens=part.tokens, step_index=part.step, rest=dump_json(rest) or None
    )


@given(
    parts=PARTS,
    threads=st.lists(st.sampled_from([None, "a", 'b"é\n']), min_size=30, max_size=30),
    limits=LIMITS,
)
def test_items_stored_one_by_one_are_grouped_as_the_rule_says(
    parts: list[EpisodePart], threads: list[str | None], limits: EpisodeLimits
) -> None:
    state = State()
    stored: list[Row] = []
    for number, (part, thread_id) in enumerate(zip(parts, threads, strict=False)):
        id = choose_episode(find_open_episode(state, thread_id), part, limits)
        stored.append(make_row(part._replace(episode_id=id), thread_id))
        state.fold(number, [ItemPut(stored[-1])])
    # Whoever reads them has the same episodes, and needs no limits for it.
    for each in (limits, NO_LIMITS):
        episodes = group_episodes(stored, each)
        assert sorted(id for episode in episodes for id in episode.item_ids) == sorted(row.id for row in stored)
    if len(set(threads[: len(parts)])) == 1:
        expected = assign_episodes(parts, limits)
        assert [id for row in stored for id in [to_episode_id(row)]] == expected


def to_episode_id(row: Row) -> str:
    (episode,) = group_episodes([row], NO_LIMITS)
    return episode.id


@given(parts=PARTS, limits=LIMITS)
def test_items_without_an_episode_are_grouped_by_the_rule_thread_by_thread(
    parts: list[EpisodePart], limits: EpisodeLimits
) -> None:
    parts = implicit(parts)
    rows = [make_row(part, None) for part in parts]
    ids = {id: episode.id for episode in group_episodes(rows, limits) for id in episode.item_ids}
    assert list(map(ids.__getitem__, (part.id for part in parts))) == assign_episodes(parts, limits)
    assert [to_part(row, None) for row in rows] == parts


def test_steps_in_a_row_count_once_and_items_without_a_step_each() -> None:
    episode = OpenEpisode.begin("e", EpisodePart("a", None, 0.0, 1, 1))
    for step in (1, 2, 2, None, None, 2):
        episode = episode.extend(EpisodePart("b", None, 0.0, 1, step))
    assert (episode.steps, episode.tokens) == (5, 7)
