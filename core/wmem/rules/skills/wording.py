"""Skills as text: what for, and the calls in order."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from wmem.rules.skills.miner import Pattern, Tools
from wmem.rules.skills.shapes import Slot, generalize
from wmem.rules.skills.similarity import to_tool_words

_MAX_TOOL_CHARS = 80


class Skill(NamedTuple):
    """A sequence of tool calls that worked several times.

    Attributes:
        id: Made from the tools: the same skill has the same id in every process.
        content: The text that an agent reads. It holds no value of a user's.
        support: In how many tasks it worked.
        attempts: In how many it was tried.
        failures: How many of the newest attempts failed, one after the other.
        ends: When it had worked in each of these tasks, in UTC epoch seconds, earliest first.
        sources: The ids of the first calls of its newest uses, oldest first.
        variants: Ids of skills that were merged into it.
    """

    id: str
    content: str
    tools: Tools
    support: int
    attempts: int
    failures: int
    ends: tuple[float, ...]
    sources: tuple[str, ...]
    variants: tuple[str, ...] = ()


def to_skill(pattern: Pattern) -> Skill:
    """A frequent sequence of tools as a skill."""
    return Skill(
        to_skill_id(pattern.tools),
        tell(pattern.tools, generalize([example.steps for example in pattern.examples])),
        pattern.tools,
        pattern.support,
        len(pattern.attempts),
        pattern.failures,
        tuple(sorted(pattern.uses.values())),
        tuple(example.steps[0].call_id for example in pattern.examples),
        tuple(map(to_skill_id, pattern.variants)),
    )


def to_skill_id(tools: Sequence[str]) -> str:
    """The id of the skill that these tools in this order are."""
    named = "\n".join(tools).encode("utf-8", "surrogatepass")
    return f"skill_{blake2b(named, digest_size=12).hexdigest()}"


def tell(tools: Tools, slots: Sequence[Sequence[Slot]]) -> str:
    """A skill in words: ``To get user details: 1. find_user_id_by_email(email) 2. get_user_details(…)``."""
    calls = " ".join(
        f"{number}. {_tell_call(tool, each)}" for number, (tool, each) in enumerate(zip(tools, slots, strict=True), 1)
    )
    return f"To {' '.join(to_tool_words(tools[-1]))}: {calls}"


def _tell_call(tool: str, slots: Sequence[Slot]) -> str:
    # Words that a name writes as one are told apart, so that who asks for them finds the skill.
    words = to_tool_words(tool)
    spelled = "" if all(word in tool for word in words) else f" [{' '.join(words)}]"
    return f"{tool[:_MAX_TOOL_CHARS]}({', '.join(map(_tell_slot, slots))}){spelled}"


def _tell_slot(slot: Slot) -> str:
    name = f"{slot.name}?" if slot.is_optional else slot.name
    if slot.constant is not None:
        return f"{name}={slot.constant}"
    if slot.step is None:
        return name
    field = f"'s {slot.field}" if slot.field not in ("", slot.name) else ""
    return f"{name} from {slot.step + 1}{field}"
