"""Faults that a worker plants, so that the checker can be seen to find them."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.chaos.acts import Act

__all__ = ["PLANTS", "Plant"]


class _Planted(Protocol):
    """What a plant knows of a job."""

    @property
    def place(self) -> Path: ...


class Plant:
    """A fault: another call in the place of some.

    Args:
        often: Every so many acts of the kind are wrong.
    """

    name = ""
    often = 4

    def __init__(self, job: _Planted) -> None:
        self.job = job
        self._met = 0

    def around(self, act: Act) -> Callable[[], Any]:
        """The call, or a wrong one."""
        if act.name != self.name:
            return act.call
        self._met += 1
        return act.call if self._met % self.often else lambda: self.wrong(act)

    def wrong(self, act: Act) -> Any:
        raise NotImplementedError


class Skip(Plant):
    """A message is acknowledged, and was never appended."""

    name = "say"

    def wrong(self, act: Act) -> Any:
        return None


class Double(Plant):
    """An increment is made twice."""

    name = "bump"

    def wrong(self, act: Act) -> Any:
        act.call()
        return act.call()


class Leave(Plant):
    """What was erased is left in a file beside the store."""

    name = "erase"
    often = 1

    def wrong(self, act: Act) -> Any:
        tokens = " ".join(token for _, _, token in act.given["things"])
        with (self.job.place / "store.db-left").open("a") as file:
            file.write(tokens)
        return act.call()


class Loose(Plant):
    """An error of no type of ours."""

    name = "bump"

    def wrong(self, act: Act) -> Any:
        raise KeyError("planted")


class Hang(Plant):
    """A call that does not come back."""

    name = "pack"
    often = 1

    def wrong(self, act: Act) -> Any:
        time.sleep(600)


class Stale(Plant):
    """An entry is acknowledged, and was never set."""

    name = "set"

    def wrong(self, act: Act) -> Any:
        return None


PLANTS: Mapping[str, Callable[[_Planted], Plant]] = {
    "skip": Skip,
    "double": Double,
    "leave": Leave,
    "loose": Loose,
    "hang": Hang,
    "stale": Stale,
}
