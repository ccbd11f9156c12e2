"""Fingerprint of an agent's id."""

import hashlib

_HEX_DIGITS = 16


def agent_fingerprint(agent_id: str | None) -> str | None:
    """The first 16 hex digits of an agent id's SHA-256; None for no id.

    Equal ids have equal fingerprints. It hides a long id from a reader; a short one can be guessed.

    Source: buffer document, "Agent Fingerprint".
    """
    if not agent_id:
        return None
    return hashlib.sha256(agent_id.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX_DIGITS]
