"""Requests that stand, recognized in a user's message when it is written."""

from collections.abc import Iterable

from wmem.describe import describe
from wmem.log import find_logger, log_callback_failure
from wmem.model.message import Message
from wmem.model.standing import FindStandingRequests, StandingRequest
from wmem.pack.render import is_note
from wmem.rules.standing import find_standing_requests
from wmem.scope.handle import Handle
from wmem.scope.redaction import redact_text, restore_quote

CUSTOM_RULE = "custom"
"""The rule of a clause that a function of the user's gave as plain text."""
_log = find_logger("wmem.scope")


def find_requests(message: Message, text: str, handle: Handle) -> tuple[StandingRequest, ...]:
    """The requests of a user's message with this text; none if it is a note of a pack."""
    policy = handle.policy
    if not policy.standing_requests:
        return ()
    if policy.find_standing_requests is not None:
        requests = _call(policy.find_standing_requests, text, handle)
    else:
        requests = find_standing_requests(text)
    return requests if requests and not message.recalled and not is_note(text) else ()


def _call(find: FindStandingRequests, text: str, handle: Handle) -> tuple[StandingRequest, ...]:
    """The requests that a user's function finds; the table's if it fails, for a message is marked only once.

    The function gets the redacted text; what it finds is told in the words of the message.
    """
    redaction = handle.settings.redaction
    clean = redact_text(redaction, text)
    try:
        requests = _check_requests(find(clean))
        if redaction is None or clean == text:
            return requests
        return tuple(each._replace(text=restore_quote(redaction, text, clean, each.text)) for each in requests)
    except Exception as exc:  # noqa: BLE001  # a user's function: the message is stored, whatever it raises
        told = "find_standing_requests failed for a message of scope %s; wmem's own table decides"
        log_callback_failure(_log, told, handle.id, exc=exc)
    return find_standing_requests(text)


def _check_requests(value: object) -> tuple[StandingRequest, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"expected several clauses, got {describe(value)}")
    return tuple(map(_check_request, value))


def _check_request(value: object) -> StandingRequest:
    request = StandingRequest(CUSTOM_RULE, value) if isinstance(value, str) else value
    if not isinstance(request, StandingRequest) or not all(isinstance(each, str) and each.strip() for each in request):
        raise TypeError(f"expected a clause, or a StandingRequest of two texts, got {describe(value)}")
    return request
