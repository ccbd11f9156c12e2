"""Skills as items of semantic memory: how they are stored, kept up to date and retired."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from wmem.agent.consolidation.tool_traces import parse_place, to_place
from wmem.agent.types.draft import ItemDraft
from wmem.model.change import Change, ItemPut
from wmem.model.removal import SKILLS_JOB, find_current_removal
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.skills.miner import MIN_SUPPORT, is_part
from wmem.rules.skills.wording import Skill
from wmem.scope.items.removal import remove_softly, was_restored
from wmem.state import State

_MAX_FAILURES = 5
"""Attempts that fail one after the other until a skill is retired."""
_MAX_TAGS = 8
_MAX_SOURCES = 16


class _Record(NamedTuple):
    """What a stored skill says of itself.

    Attributes:
        counted_until: When it worked last, of what is counted, in UTC epoch seconds.
        digest: Of the content that the job wrote last.
        sources: Where the first calls of its newest uses are; see `to_place`.
    """

    tools: tuple[str, ...]
    support: int
    success_rate: float
    counted_until: float
    digest: str
    sources: tuple[str, ...]


def to_draft(skill: Skill) -> ItemDraft:
    """A skill as an item that is new."""
    return _to_draft(skill, _to_record(skill))


def _to_record(skill: Skill) -> _Record:
    rate = round(skill.support / skill.attempts, 4)
    sources = skill.sources[-_MAX_SOURCES:]
    return _Record(skill.tools, skill.support, rate, skill.ends[-1], _fingerprint(skill.content), sources)


def _to_draft(skill: Skill, record: _Record) -> ItemDraft:
    example = record.sources[-1]
    return ItemDraft(
        skill.content,
        priority="high",  # before the many traces that it was made of, which have its words
        ttl_s=None,
        fields={
            "type": "skill",
            "source": "system",
            "tags": list(dict.fromkeys(("skill", *skill.tools)))[:_MAX_TAGS],
            "importance": _measure_importance(record),
            "sources": list(_group_sources(record.sources)),
            "metadata": {
                "support": record.support,
                "tools": list(record.tools),
                "success_rate": record.success_rate,
                "example": parse_place(example, "")[1],
                "counted_until": record.counted_until,
                "digest": record.digest,
            },
        },
    )


def _measure_importance(record: _Record) -> float:
    """How much a skill deserves to stay: it grows with its uses, and falls with its failures."""
    return round(record.success_rate * (1 - 1 / (1 + record.support)), 4)


def _fingerprint(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _group_sources(places: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    by_scope: dict[tuple[str, ...], list[str]] = {}
    for place in places:
        path, id = parse_place(place, "")
        by_scope.setdefault(path[1:], []).append(id)
    for names, ids in by_scope.items():
        yield {"scope": list(names), "ids": ids}


def _read_record(row: Row) -> _Record | None:
    """What a stored skill says of itself; None for what the job did not write, or others have changed beyond use."""
    if row.type != "skill" or row.rest is None or b'"counted_until"' not in row.rest:
        return None
    rest = load_json(row.rest)
    match rest.get("metadata"):
        case {
            "tools": [*tools],
            "support": int(support),
            "success_rate": int() | float() as rate,
            "counted_until": int() | float() as until,
            "digest": str(digest),
        }:
            sources = tuple(
                to_place(("", *each["scope"]), id)
                for each in rest.get("sources", ())
                if isinstance(each.get("scope"), list)
                for id in each.get("ids", ())
            )
            return _Record(tuple(map(str, tools)), support, rate, until, digest, sources)
        case _:
            return None


def is_written(row: Row, skill: Skill) -> bool:
    """Whether a stored skill was last written with the text that a mined one has now."""
    record = _read_record(row)
    return record is not None and record.digest == _fingerprint(skill.content)


def list_known(state: State) -> list[tuple[Row, _Record]]:
    """The skills that the job stored and nobody took away; under the lock."""
    rows = (state.rows[id] for id in state.items)
    skills = ((row, _read_record(row)) for row in rows if row.type == "skill" and row.deleted_at is None)
    return [(row, record) for row, record in skills if record is not None]


def list_sources(state: State) -> set[str]:
    """Where the traces of all known skills are; see `to_place`."""
    return {place for _, record in list_known(state) for place in record.sources}


class SkillUpdate:
    """What changes in a semantic memory for what was mined.

    Args:
        skills: What was mined, all of it.
        drafts: Those that may be stored, as rows.
        erased: Sources that were erased.
        now: UTC epoch seconds.
    """

    def __init__(self, skills: Sequence[Skill], drafts: Mapping[str, Row], erased: Collection[str], now: float) -> None:
        self._skills = skills
        self._drafts = drafts
        self._erased = erased
        self._now = now

    def decide(self, state: State) -> tuple[Sequence[Change], Counter[str]]:
        """The changes, and how many skills were ``stored``, ``updated``, ``merged`` and ``retired``."""
        changes: list[Change] = []
        counts: Counter[str] = Counter()
        for skill in self._skills:
            if (draft := self._drafts.get(skill.id)) is not None and skill.id not in state.erased:
                word, made = self._update(state.rows.get(skill.id), skill, draft)
                changes += made
                counts += Counter([word] if made else ())
        mined = {skill.id for skill in self._skills}
        for row, record in list_known(state):
            if row.id not in mined and not was_restored(row, SKILLS_JOB):
                word, made = self._review(row, record)
                changes += made
                counts += Counter([word] if made else ())
        return changes, counts

    def _update(self, row: Row | None, skill: Skill, draft: Row) -> tuple[str, list[Change]]:
        """Store a skill that was mined, or bring it up to date."""
        keeps_failing = skill.failures >= _MAX_FAILURES
        if row is None:
            return "stored", [] if keeps_failing else [ItemPut(draft)]
        record = _read_record(row)
        removal = find_current_removal(row)
        if record is None or (row.deleted_at is not None and (removal is None or removal.job != SKILLS_JOB)):
            return "", []  # somebody else's, or somebody else took it away
        if keeps_failing:
            if row.deleted_at is not None or was_restored(row, SKILLS_JOB):
                return "", []
            return "retired", self._remove(row, "evicted", parts={"failures": float(skill.failures)})
        new = sum(end > record.counted_until for end in skill.ends)
        support = max(skill.support, self._count_left(record) + new)
        renewed = _to_record(skill)._replace(support=support)
        put = self._renew(row, record, renewed, _to_draft(skill, renewed), draft)
        return ("updated" if row.deleted_at is None else "stored"), [] if put is None else [ItemPut(put)]

    def _renew(self, row: Row, record: _Record, renewed: _Record, item: ItemDraft, draft: Row) -> Row | None:
        """The row of a known skill as it is now; None if nothing changed. What others wrote into it stays."""
        rest = load_json(row.rest or b"{}")
        before = dump_json(rest)
        metadata = {**rest["metadata"], **item.fields["metadata"]}
        text: str = load_json(row.content)
        put = row
        if _fingerprint(text) == record.digest:
            put = put._replace(content=draft.content, length=draft.length, tokens=draft.tokens, counter=draft.counter)
        else:
            metadata["digest"] = record.digest
        if row.importance == _measure_importance(record):
            put = put._replace(importance=_measure_importance(renewed))
        rest |= {"metadata": metadata, "sources": item.fields["sources"]}
        if row.deleted_at is not None:
            rest.pop("removal", None)
            put = put._replace(deleted_at=None)
        made = dump_json(rest)
        put = put._replace(rest=made if made != before else row.rest)
        return None if put == row else put._replace(updated_at=self._now)

    def _review(self, row: Row, record: _Record) -> tuple[str, list[Change]]:
        """What becomes of a known skill that was not mined again."""
        for skill in self._skills:
            if row.id in skill.variants or is_part(record.tools, skill.tools):
                return "merged", self._remove(row, "merged", into=skill.id)
        support = self._count_left(record)
        if support == record.support:
            return "", []
        if support < MIN_SUPPORT:
            return "retired", self._remove(row, "evicted", parts={"support": float(support)})
        left = tuple(place for place in record.sources if place not in self._erased)
        weaker = record._replace(support=support, sources=left)
        rest = load_json(row.rest or b"{}")
        rest["metadata"] |= {"support": support}
        rest["sources"] = list(_group_sources(left))
        if left:
            rest["metadata"]["example"] = parse_place(left[-1], "")[1]
        put = row._replace(rest=dump_json(rest), updated_at=self._now)
        if row.importance == _measure_importance(record):
            put = put._replace(importance=_measure_importance(weaker))
        return "updated", [ItemPut(put)]

    def _count_left(self, record: _Record) -> int:
        """The support of a skill without what was erased."""
        return record.support - sum(place in self._erased for place in record.sources)

    def _remove(self, row: Row, kind: Any, *, into: str = "", parts: Mapping[str, float] | None = None) -> list[Change]:
        return remove_softly(row, SKILLS_JOB, kind, self._now, into=into, parts=parts or {})
