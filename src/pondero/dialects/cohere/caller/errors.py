"""Reads the service's errors into ours: a message and the request's id, so the status decides."""

import re

from pondero.canon import Json, ResponseHead
from pondero.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    QuotaSpent,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
    error_for_status,
)
from pondero.framing import describe_body, parse_json_or_none

_BAD_TOKEN, _CANCELLED = 498, 499
_TOO_LONG = re.compile(r"^too many tokens", re.IGNORECASE)
_SPENT = re.compile(r"\bmonth(?:ly)?\b", re.IGNORECASE)  # the limit of a trial key
_ASKED_WRONG = re.compile(r"try updating", re.IGNORECASE)


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error that an answer is; survives HTML and an empty body."""
    raw = parse_json_or_none(body)
    fields = raw if isinstance(raw, dict) else {}
    told = fields.get("message")
    message = told if isinstance(told, str) and told else describe_body(body, status=head.status)
    return _make_error(
        _kind(head.status, message), message, head=head, id=fields.get("id"), body=body
    )


def in_stream(message: str, *, code: str | None, head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error that a stream ended with."""
    kind = BadRequest if _ASKED_WRONG.search(message) else ServerFailed
    if _TOO_LONG.search(message):
        kind = ContextTooLong
    return _make_error(kind, message, head=head, code=code, body=body)


def _make_error(
    kind: type[ServiceError],
    message: str,
    *,
    head: ResponseHead,
    code: str | None = None,
    id: Json = None,
    body: bytes,
) -> ServiceError:
    return kind(
        message,
        status=head.status,
        code=code,
        retry_after=head.retry_after,
        request_id=id if isinstance(id, str) else head.headers.get("x-debug-trace-id"),
        body=body,
    )


def _kind(status: int, message: str) -> type[ServiceError]:
    if status == 400 and _TOO_LONG.search(message):
        return ContextTooLong
    if status == 429 and _SPENT.search(message):
        return QuotaSpent
    if status == _BAD_TOKEN:
        return AuthFailed
    return ServiceTimeout if status == _CANCELLED else error_for_status(status)
