"""Reads the service's errors, one string each: by status, inside a stream by message."""

import re

from pondero.canon import Json, ResponseHead
from pondero.errors import (
    AuthFailed,
    ContextTooLong,
    NotFound,
    Overloaded,
    RateLimited,
    ServerFailed,
    ServiceError,
    error_for_status,
)
from pondero.framing import describe_body, parse_json_or_none

_BY_WORDS: tuple[tuple[re.Pattern[str], type[ServiceError]], ...] = (
    (re.compile(r"model .*not found", re.IGNORECASE), NotFound),
    (re.compile(r"unauthori[sz]ed", re.IGNORECASE), AuthFailed),
    (re.compile(r"too many requests|rate limit", re.IGNORECASE), RateLimited),
    (re.compile(r"server busy|overloaded", re.IGNORECASE), Overloaded),
)
_TOO_LONG = re.compile(r"exceeds?\b.{0,40}\bcontext|context length exceeded", re.IGNORECASE)


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error of a response; any body will do, also HTML or none."""
    raw = parse_json_or_none(body)
    return from_error(raw.get("error") if isinstance(raw, dict) else None, head=head, body=body)


def from_error(error: Json, *, head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error of an ``error`` value of any type."""
    told = error.get("message") if isinstance(error, dict) else error  # an object in the /v1 layer
    message = told if isinstance(told, str) and told else describe_body(body, status=head.status)
    kind = _kind(head.status, message)
    return kind(
        message,
        status=head.status,
        retry_after=head.retry_after,
        request_id=head.headers.get("x-request-id"),
        body=body,
    )


def _kind(status: int, message: str) -> type[ServiceError]:
    if status < 400:
        told = (kind for words, kind in _BY_WORDS if words.search(message))
        return ContextTooLong if _TOO_LONG.search(message) else next(told, ServerFailed)
    if status in (400, 413) and _TOO_LONG.search(message):
        return ContextTooLong
    return error_for_status(status)
