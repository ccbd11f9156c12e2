"""The part of an exported scope that is no row: policy, tombstones, merges done, decisions and turns."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from wmem.errors import InvalidInputError
from wmem.model.change import Change, Decided, DecisionKind, Erased, ScopeMerged, TurnEnded
from wmem.model.checks import check_id
from wmem.model.history import Cursor, Path
from wmem.model.validation import describe_error
from wmem.policy import Policy
from wmem.state import State

_Id: TypeAlias = Annotated[str, AfterValidator(check_id)]

_FIELDS = ("policy", "erased", "merged", "decisions", "turns")


class _Merge(BaseModel):
    """How far a scope was merged into the exported one; `source` names the segments below that one."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)

    source: tuple[str, ...]
    overwrite: bool
    items: bool
    version: int = Field(ge=0, lt=2**53)
    chain: int = Field(ge=0, lt=2**53)


class _Decision(BaseModel):
    """See `wmem.state.Decision`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True, allow_inf_nan=False)

    id: _Id
    rule: str
    tokens: int = Field(ge=0, lt=2**53)
    at: float
    parts: Mapping[str, float]
    kind: DecisionKind = "evicted"
    into: str = ""


class History(BaseModel):
    """What a document says of a scope beside its rows; an empty one where it says nothing."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    policy: Policy | None = None
    erased: tuple[_Id, ...] = ()
    merged: tuple[_Merge, ...] = ()
    decisions: tuple[_Decision, ...] = ()
    turns: tuple[_Id, ...] = ()

    def to_changes(self, path: Path, now: float) -> list[Change]:
        """The changes that give a new scope this history; they come before those that store its rows."""
        return [
            *(
                Decided(each.kind, each.id, each.rule, each.tokens, each.at, each.parts, each.into)
                for each in self.decisions
            ),
            *([Erased(self.erased)] if self.erased else ()),
            *(TurnEnded(turn_id, now) for turn_id in self.turns),  # the document's step has them: it comes after
            *(
                ScopeMerged(
                    (*path, *each.source),
                    Cursor(each.version, each.chain),
                    0,
                    now,
                    overwrite=each.overwrite,
                    with_items=each.items,
                )
                for each in self.merged
            ),
        ]


def export_history(state: State, path: Path) -> dict[str, Any]:
    """What a state holds beside its rows, as JSON; nothing for a scope that does not exist."""
    if state.policy is None:
        return {}
    policy = json.loads(state.policy)
    policy.pop("lease_s", None)  # it belongs to the block that works in the scope
    merged = [
        _Merge(source=source[len(path) :], overwrite=overwrite, items=items, version=cursor.version, chain=cursor.chain)
        for (source, overwrite, items), cursor in state.merged.items()
        if source[: len(path)] == path
    ]
    decisions = [each._asdict() | {"parts": dict(each.parts)} for each in state.decisions]
    return {
        "policy": policy,
        "erased": list(state.erased),
        "merged": [each.model_dump(mode="json") for each in merged],
        "decisions": decisions,
        **({"turns": list(state.turns)} if state.turns else {}),
    }


def parse_history(document: Mapping[str, Any]) -> History:
    """Read what `export_history` wrote.

    Raises:
        InvalidInputError: It does not read.
    """
    history, fault = None, ""
    try:
        history = History.model_validate_json(
            json.dumps({name: document[name] for name in _FIELDS if name in document})
        )
    except (ValidationError, ValueError, TypeError, RecursionError) as exc:
        fault = describe_error(exc)
    if history is None:  # raised here: the chain would hold the document
        raise InvalidInputError(f"the document does not read: {fault}; nothing was imported")
    return history
