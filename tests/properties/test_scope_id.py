"""The id of a scope: one text for each path, which reads as the path does."""

from urllib.parse import unquote

from hypothesis import example, given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.model.history import Path, to_scope_id

# What names of scopes are made of; few characters, so that paths meet.
segments = st.text("ab/%2Fé\u2028\u200d ", min_size=1, max_size=5)
paths = st.lists(segments, min_size=1, max_size=4).map(tuple)


@given(paths, paths)
@example(("a/b",), ("a", "b"))
@example(("a%2Fb",), ("a/b",))
@example(("a/",), ("a", "/"))
@examples(8)
def test_two_paths_have_two_ids(one: Path, other: Path) -> None:
    assert (to_scope_id(one) == to_scope_id(other)) == (one == other)


@given(paths)
@examples(2)
def test_an_id_is_read_back_and_is_one_printable_line(path: Path) -> None:
    id = to_scope_id(path)
    assert tuple(map(unquote, id.split("/"))) == path
    assert id.isprintable()


def test_an_id_reads_as_its_path() -> None:
    assert to_scope_id(("agent", "Jürgens Büro", "日本")) == "agent/Jürgens Büro/日本"
    assert to_scope_id(("agent", "s/1", "100%")) == "agent/s%2F1/100%25"
