"""Scopes: children, their lives and ends, what a merge brings home, and what stays apart."""

import pytest

import wmem
from wmem import InvalidInputError


@pytest.mark.parametrize("name", ["", " ", "a\x00", "a\nb", "\ud83d", "~trace", 5, None])
def test_a_name_that_is_blank_reserved_or_holds_control_characters_is_refused(name: str) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        with pytest.raises(InvalidInputError):
            memory.scope(name)
        with pytest.raises(InvalidInputError):
            memory.working.child(name)
        with pytest.raises(InvalidInputError):
            memory.scope("s", name)
