"""A snapshot as one JSON document: all scopes of an agent, with the checksum of what it says of them.

``{"format":"wmem-snapshot","version":1,"sha256":"…","content":{…}}``: the SHA-256 is that of the bytes of ``content``,
as they stand. A scope is its path and its state, as a checkpoint has it; the JSON of a value, and of what a row has
beside its columns, is text in it, and a trace is in base64. `codec/encryption.py` encrypts the document as a whole.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from wmem.codec.codec import build_checkpoint, build_row, encode_row
from wmem.codec.traces import decode_turn, encode_turn
from wmem.errors import CorruptionError, InvalidInputError, StoreError
from wmem.model.change import Checkpoint, ScopeContent
from wmem.model.checks import check_path
from wmem.model.values import dump_json, load_json
from wmem.policy import parse_policy

SNAPSHOT_VERSION = 1
_HEAD = re.compile(rb'\{"format":"wmem-snapshot","version":(\d{1,8}),"sha256":"([0-9a-f]{64})","content":')
_START = b'{"format":"wmem-snapshot",'


class SnapshotContent(NamedTuple):
    """What a snapshot says; its scopes are in the order in which they are restored."""

    agent_id: str
    created_at: float
    is_redacted: bool
    redactions: Mapping[str, int]
    scopes: tuple[ScopeContent, ...]


def encode_snapshot(content: SnapshotContent) -> bytes:
    """The document in clear."""
    document = {
        **content._asdict(),
        "scopes": [{"path": path, "state": _encode_state(state)} for path, state in content.scopes],
    }
    body = dump_json(document)
    digest = hashlib.sha256(body).hexdigest().encode()
    return b"".join((_START, b'"version":%d,"sha256":"%s","content":' % (SNAPSHOT_VERSION, digest), body, b"}"))


def decode_snapshot(document: bytes) -> SnapshotContent:
    """Check a document in clear and read it.

    Raises:
        InvalidInputError: It is no snapshot.
        StoreError: A newer version of wmem wrote it.
        CorruptionError: It is damaged, or not whole.
    """
    document = document.rstrip()
    if not document.startswith(_START):
        raise InvalidInputError("this is no snapshot of wmem")
    head = _HEAD.match(document)
    if head is None:
        raise _to_damage("its head does not read")
    if (version := int(head[1])) > SNAPSHOT_VERSION:
        raise StoreError(
            f"this snapshot is of version {version}; this version of wmem reads up to {SNAPSHOT_VERSION}: upgrade it"
        )
    body = document[head.end() : -1]
    if not document.endswith(b"}") or hashlib.sha256(body).hexdigest().encode() != head[2]:
        raise _to_damage("its checksum does not match: it was changed, or cut off")
    try:
        return _decode_content(load_json(body))
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        fault = type(exc).__name__
    raise _to_damage(f"it reads as no memory: {fault}")


def _to_damage(what: str) -> CorruptionError:
    return CorruptionError(f"this snapshot is damaged and was not restored: {what}")


def _decode_content(stored: Mapping[str, Any]) -> SnapshotContent:
    agent_id = str(stored["agent_id"])
    scopes = []
    for each in stored["scopes"]:
        path = check_path(each["path"], reserved=True)
        if path[:1] != (agent_id,):
            raise ValueError("path")
        state = _decode_state(each["state"])
        if state.policy is not None:
            parse_policy(state.policy)
        scopes.append(ScopeContent(path, state))
    if len({scope.path for scope in scopes}) < len(scopes):
        raise ValueError("path")
    redactions = {str(kind): int(count) for kind, count in stored["redactions"].items()}
    return SnapshotContent(
        agent_id, float(stored["created_at"]), bool(stored["is_redacted"]), redactions, tuple(scopes)
    )


def _encode_state(state: Checkpoint) -> dict[str, Any]:
    document = state._asdict()
    rows = []
    for row in state.rows:
        blobs: list[bytes] = []
        fields = encode_row(row, blobs)
        for name, blob in zip(("content", "rest"), blobs, strict=False):
            fields[name] = blob.decode("utf-8", "surrogateescape")
        rows.append(fields)
    document["rows"] = rows
    document["traces"] = [base64.b64encode(encode_turn(turn)).decode("ascii") for turn in state.traces]
    for name in ("applied", "replaces", "intent"):  # of the journal that it was in
        del document[name]
    return document


def _decode_state(stored: Mapping[str, Any]) -> Checkpoint:
    rows = []
    for fields in stored["rows"]:
        for name in ("content", "rest"):
            if name in fields:
                fields[name] = fields[name].encode("utf-8", "surrogateescape")
        rows.append(build_row(fields))
    traces = [decode_turn(base64.b64decode(turn, validate=True)) for turn in stored["traces"]]
    return build_checkpoint({**stored, "applied": ()}, rows, traces)
