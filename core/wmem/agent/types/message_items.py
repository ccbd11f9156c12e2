"""Items as messages, and messages as items: the conversation is memorized and remembered in the form of all types."""

from collections.abc import Mapping
from typing import Any

from wmem.agent.types.draft import ItemDraft
from wmem.errors import InvalidInputError
from wmem.model.history import Path, to_scope_id
from wmem.model.item import MemoryItem, to_item
from wmem.model.row import Row
from wmem.rules.importance import importance as importance_of
from wmem.rules.routing import find_role

_ITEM_FIELDS = ("tags", "task_id", "agent_id")
"""Fields of an item that a message has no place for: they go into its metadata."""


def to_message_input(draft: ItemDraft) -> Mapping[str, Any]:
    """The message that a draft is.

    Raises:
        InvalidInputError: It is none.
    """
    role = find_role(draft.type)
    if role is None:
        msg = f"the store 'conversation' takes user_message and assistant_message, not items of the type {draft.type!r}"
        raise InvalidInputError(msg)
    fields: Mapping[str, Any] = draft.fields
    beside = {name: fields[name] for name in _ITEM_FIELDS if fields.get(name)}
    message: dict[str, Any] = {"role": role, "content": draft.content}
    for name in ("turn_id", "thread_id", "pinned"):
        if fields.get(name):
            message[name] = fields[name]
    if metadata := {**(fields.get("metadata") or {}), **beside}:
        message["metadata"] = {**metadata, **({"tags": list(metadata["tags"])} if "tags" in beside else {})}
    return message


def to_message_item(path: Path, row: Row, now: float) -> MemoryItem:
    """The item that a message is, with the fields of an item from its metadata; its thread is its session, if none."""
    item = to_item(row, importance_of(row, now))
    assert item.message is not None  # the row is a message
    metadata = dict(item.message.metadata)
    tags, task_id, agent_id = (metadata.pop(name, None) for name in _ITEM_FIELDS)
    return item.model_copy(
        update={
            "metadata": metadata,
            "tags": tuple(tags) if isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags) else (),
            "task_id": task_id if isinstance(task_id, str) else None,
            "agent_id": agent_id if isinstance(agent_id, str) else None,
            "thread_id": item.message.thread_id or to_scope_id(path[1:]) or None,
        }
    )
