"""Receipts of prompts: made from what a pack used, looked up in the trace, and rendered again from what is stored."""

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, timedelta, timezone, tzinfo
from itertools import islice
from typing import Any, NamedTuple

from wmem.codec.layouts import decode_layout, encode_layout
from wmem.codec.traces import decode_events
from wmem.engine.replica import Replica
from wmem.errors import CorruptionError, InvalidInputError, NotFoundError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.change import TurnTraced
from wmem.model.context import Context
from wmem.model.history import Path, is_trace, to_scope_id
from wmem.model.layout import RECALLED, Layout
from wmem.model.message import parse_messages
from wmem.model.prompt import DroppedUnits
from wmem.model.recall_profile import RecallProfile
from wmem.model.receipt import DIGEST_BYTES, Receipt, Sealed, scope_digest
from wmem.model.sendable import to_sendable
from wmem.model.trace import PackTraced, RecallTraced
from wmem.model.values import dump_model
from wmem.model.zones import to_zone
from wmem.pack.layout import PackedPrompt, build_layout, checksum, list_refs, render_layout
from wmem.pack.selection import Selection
from wmem.scope.handle import Handle
from wmem.scope.messages.flows import MessageInput, pair_live
from wmem.scope.messages.standing import find_requests
from wmem.scope.sources import LiveMessage, Missing, RowLoader, SourceFinder

_MAX_SCORES = 5  # of the memories in a note whose scores the trace tells
_UNSENT = {"created_at", "turn_id", "thread_id", "pinned", "complete"}
"""Fields of a message that are not sent."""


class Replay(NamedTuple):
    """A prompt that was rendered again, or what of it cannot be.

    Attributes:
        context: The prompt, equal to the one that was sent; None if anything of it is missing. It has no reports: see
            `AgentMemory.trace`.
        missing: What was erased, removed or changed since, or was never stored. What was promoted, or merged into
            another item, is not missing while its text is there.
    """

    context: Context | None
    missing: tuple[Missing, ...] = ()


# -- from a pack


def seal_prompt(  # noqa: PLR0917  # the first five are bound by the pack
    replicas: Sequence[Replica[Any]],
    identity: int,
    live: Mapping[str, LiveMessage],
    now: float,
    scoring: RecallProfile | None,
    packed: PackedPrompt,
    context: Context,
) -> Sealed:
    """The receipt of a prompt, and what its trace tells.

    Args:
        replicas: Of the scope that was packed, and of others that it recalls from.
        identity: Of the scope when it was packed; 0 if there was none.
        live: Messages that the caller passed in, by the ids of their candidates.
        now: When it was packed.
        scoring: By what recall ranked; None without a query.
    """
    own, selection = replicas[0], packed.selection
    identity = identity or own.identity  # it may have been created since
    finder = SourceFinder(replicas, live, selection.options.profile)
    layout = build_layout(packed, finder.find, finder.list_scopes, zone_text(selection.request.zone))
    data = encode_layout(layout)
    found = [each.candidate.id for each in packed.list_entries() if each.rule == RECALLED]
    parts = _sample_parts(selection, frozenset(found))
    receipt = str(Receipt(scope_digest(own.path), _compute_digest(data, layout, identity, context)))
    event = PackTraced(
        receipt=receipt,
        at=now,
        tokens=context.tokens,
        budget=context.budget,
        recalled=tuple(RecallTraced(id, parts.get(id, {})) for id in found),
        scoring=scoring,
        layout=data,
    )
    return Sealed(receipt, own.path, identity, event)


def _sample_parts(selection: Selection, ids: AbstractSet[str]) -> dict[str, Mapping[str, float]]:
    """The parts of the scores of about five memories of a note, from the best to the least."""
    ranked = {each.candidate.id: each for each in selection.request.recalled if each.candidate.id in ids}
    step = -(-len(ranked) // _MAX_SCORES) or 1
    return {id: dict(each.parts()) for id, each in islice(ranked.items(), 0, None, step)}


def _compute_digest(data: bytes, layout: Layout, identity: int, context: Context) -> bytes:
    """The digest of a prompt and its layout; of what it is made of, with the identity of its scope."""
    digest = hashlib.blake2b(data, digest_size=DIGEST_BYTES)
    if identity and any(ref.kind == "row" and not ref.scope for ref in list_refs(layout)):
        digest.update(b"%d" % identity)
    for message in context.prompt():
        said = dump_model(message, exclude=_UNSENT)
        digest.update(b"\n%d " % len(said))
        digest.update(said)
    return digest.digest()


def zone_text(zone: tzinfo) -> str:
    """A zone as a layout tells it: its IANA name, or its offset in seconds and its name; "" for any other."""
    if (key := getattr(zone, "key", None)) is not None:
        return str(key)
    if zone is UTC:
        return "UTC"
    if not isinstance(zone, timezone):
        return ""
    offset, name = zone.utcoffset(None), zone.tzname(None)
    return f"{offset.total_seconds():+.6f} {name}"


def _read_zone(text: str) -> tzinfo:
    if text[:1] not in ("+", "-"):
        return to_zone(text)
    seconds, _, name = text.partition(" ")
    return timezone(timedelta(seconds=float(seconds)), name)


# -- from the trace


def replay(root: Handle, receipt: str, system: str, messages: Sequence[MessageInput] | None) -> Flow[Replay]:
    """Render a prompt again; see `AgentMemory.replay`."""
    if not isinstance(system, str):
        raise InvalidInputError(f"system must be text, not {type(system).__name__!r}")
    system = to_sendable(system)
    wanted = Receipt.parse(receipt)
    path, event = yield from _find_pack(root, wanted)
    layout = _read_layout(path, event)
    handle = root
    for name in path[1:]:
        handle = handle.child(name)
    paths = [path, *((path[0], *each.path) for each in layout.scopes)]
    replicas = dict(zip(paths, (yield from root.engine.sync(paths)), strict=True))
    own = replicas[path]
    handle.bind(own)
    now = root.settings.clock()
    loader = RowLoader(layout, path, replicas, _list_live(handle, messages, own), now)
    loader.find(list_refs(layout))
    if loader.has_lost:
        loader.follow((yield from root.engine.sync_readable(handle.long_term_paths())))
    missing = [*_check_system(layout, system), *loader.list_missing()]
    if not layout.zone:
        missing.append(Missing("", "", "time zone", "not stored"))
    if missing:
        return Replay(None, tuple(dict.fromkeys(missing)))
    context = _render(layout, loader, event, system, to_scope_id(path))
    if _compute_digest(event.layout, layout, own.identity, context) != wanted.digest:
        # The instant of a pack is its process's, and a write may come right after it.
        changed = loader.list_changed(event.at) or [Missing("", to_scope_id(path), "text", "changed")]
        return Replay(None, tuple(changed))
    return Replay(context)


def _find_pack(root: Handle, receipt: Receipt) -> Flow[tuple[Path, PackTraced]]:
    """The pack of a receipt, and the scope that was packed."""
    listed = yield from ask(Journal.paths, root.path)
    paths = [path for path in listed if is_trace(path) and scope_digest(path[:-1]) == receipt.scope]
    for replica in (yield from root.engine.sync(paths)) if paths else ():
        with replica.lock:
            traces = () if replica.state.disposed else tuple(replica.state.traces)
        for event in _decode_packs(replica.path, traces, receipt):
            return replica.path[:-1], event
    raise NotFoundError(f"no trace has the receipt {str(receipt)!r}: it was not recorded, or is too long ago")


def _decode_packs(path: Path, traces: Sequence[TurnTraced], receipt: Receipt) -> Sequence[PackTraced]:
    for turn in reversed(traces):
        if receipt.digest in turn.events:  # receipts stand in them as they are: the others need not be decoded
            try:
                events = decode_events(turn.events, path[:-1], turn.at)
            except (ValueError, LookupError) as exc:
                raise CorruptionError(f"the trace of scope {to_scope_id(path[:-1])!r} reads as none") from exc
            found = [each for each in events if isinstance(each, PackTraced) and each.receipt == str(receipt)]
            if found:
                return found
    return ()


def _read_layout(path: Path, event: PackTraced) -> Layout:
    try:
        return decode_layout(event.layout)
    except (ValueError, LookupError) as exc:
        raise CorruptionError(f"a layout in the trace of scope {to_scope_id(path)!r} reads as none") from exc


def _list_live(handle: Handle, messages: Sequence[MessageInput] | None, own: Replica[Any]) -> list[LiveMessage]:
    live = pair_live(to_sendable(parse_messages([] if messages is None else messages)), own)
    return [
        LiveMessage(place, message, find_requests(message, message.text, handle) if message.role == "user" else ())
        for place, message in enumerate(live)
    ]


def _check_system(layout: Layout, system: str) -> list[Missing]:
    if layout.system is None:
        return []
    if not system:
        return [Missing("", "", "system text", "not stored")]
    return [] if checksum(system) == layout.system else [Missing("", "", "system text", "changed")]


def _render(layout: Layout, loader: RowLoader, event: PackTraced, system: str, scope: str) -> Context:
    note, made = render_layout(layout, loader.load, _read_zone(layout.zone))
    return Context(
        messages=made.messages,
        note=note,
        system="" if layout.system is None else system,
        tokens=event.tokens,
        budget=event.budget,
        included=(),
        truncated=(),
        dropped=DroppedUnits(totals={}, best=()),
        sizes={},
        note_before=made.note_before,
        note_role=layout.note_role,
        roles=layout.roles,
        is_fitted=made.is_fitted,
        scope=scope,
    )
