"""How a turn's prompt is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_count
from wmem.model.context import ProviderProfile
from wmem.model.recall_profile import Scoring
from wmem.model.sendable import to_sendable
from wmem.pack.request import PackOptions
from wmem.scope.messages.flows import MessageInput
from wmem.tokens.counter import Counter

NO_TEMPLATE = "{memories}"
"""Where a template has the note; alone it changes nothing."""
_JOINTS = 2  # tokens that two joints of texts may add


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """What `Turn.assemble_context` takes beside the prompt and filters; it describes them."""

    budget: int
    system: str = ""
    mandates: Sequence[str] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    reserve: int = 0
    profile: ProviderProfile = "any"
    messages: Sequence[MessageInput] | None = None
    scoring: Scoring | None = None
    pools: Mapping[str, int] | None = None
    zone: tzinfo | str | None = None
    template: str = NO_TEMPLATE

    def __post_init__(self) -> None:
        if not isinstance(self.template, str) or self.template.count(NO_TEMPLATE) != 1:
            raise InvalidInputError(f"a template has {NO_TEMPLATE} in it once, got {describe(self.template)}")

    def count_template(self, count: Counter) -> int:
        """Tokens that the template adds to a note at most."""
        if self.template == NO_TEMPLATE:
            return 0
        return sum(map(count, self.template.split(NO_TEMPLATE))) + _JOINTS

    def to_pack_options(self, budget: int) -> PackOptions:
        """The same for a pack, within another budget."""
        return PackOptions(
            budget=budget,
            system=_join(self.system, self.mandates),
            tools=self.tools,
            reserve=self.reserve,
            tail=0.5,
            recent=4,
            profile=self.profile,
            roles="free",
            orphans="drop",
            note_role="user",
            stable=False,
            summary=False,
            prompt_counter=None,
            reasoning="tools",
        )

    def size_pools(self, defaults: Mapping[str, int]) -> dict[str, int]:
        """How many candidates each memory type gives at most.

        Raises:
            InvalidInputError: There is no such type, or it is no number.
        """
        pools = {} if self.pools is None else self.pools
        if not isinstance(pools, Mapping):
            raise InvalidInputError(f"pools must be numbers by memory type, got {describe(pools)}")
        if unknown := [name for name in pools if name not in defaults]:
            known = ", ".join(defaults)
            raise InvalidInputError(f"pools has an unknown memory type {describe(unknown[0])}; known: {known}")
        return {**defaults, **{name: check_count(size, f"pools[{name!r}]") for name, size in pools.items()}}


def _join(system: str, mandates: Sequence[str]) -> str:
    if isinstance(mandates, str) or not isinstance(mandates, Sequence):
        raise InvalidInputError(f"mandates must be a list of texts, got {describe(mandates)}")
    if bad := [each for each in mandates if not isinstance(each, str) or not each.strip()]:
        raise InvalidInputError(f"a mandate must be text that is not blank, got {describe(bad[0])}")
    return to_sendable("\n\n".join(filter(None, (system, *mandates)))) if mandates else to_sendable(system)
