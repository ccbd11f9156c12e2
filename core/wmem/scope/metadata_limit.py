"""The size limit of what an item, an entry or a message has beside its content."""

from collections.abc import Mapping
from typing import Any

from wmem.errors import CapacityError
from wmem.model.message import Message
from wmem.model.values import dump_json
from wmem.policy import Policy


def check_metadata_size(policy: Policy, rest: bytes | None, columns: Mapping[str, Any]) -> None:
    """Check the fields beside a content, as JSON and as columns.

    Raises:
        CapacityError: Together they take more than the policy allows.
    """
    size = len(rest or b"")
    if columns:  # only these may be long
        texts = "".join((*columns.get("tags", ()), columns.get("turn_id") or ""))
        size += len(texts.encode("utf-8", "surrogatepass"))
    _check_size(policy, size)


def check_message_metadata(policy: Policy, message: Message) -> None:
    """Check the metadata of a message; see `check_metadata_size`."""
    _check_size(policy, len(dump_json(message.metadata)))


def _check_size(policy: Policy, size: int) -> None:
    if size > policy.max_metadata_bytes:
        msg = (
            f"metadata, tags, relations and the like take {size} bytes, more than the "
            f"{policy.max_metadata_bytes} allowed beside a content; store them as contents of their own"
        )
        raise CapacityError(msg)
