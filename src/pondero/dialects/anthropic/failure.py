"""What the service said was wrong, as our errors.

The error's code tells most, then its type, then the status. A message is read only where the
service says two things with one type: a prompt too long and an empty account are both
``invalid_request_error``.
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from msgspec import MsgspecError
from msgspec.json import decode

from ...canon import Head, Json
from ...errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextTooLong,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
)

_CODES: Mapping[str, type[ServiceError]] = {
    "enforced_spend_limit_reached": QuotaSpent,
    "ramp_limit_exceeded": RateLimited,
}
_TYPES: Mapping[str, type[ServiceError]] = {
    "invalid_request_error": BadRequest,
    "authentication_error": AuthFailed,
    "billing_error": BillingFailed,
    "permission_error": PermissionDenied,
    "not_found_error": NotFound,
    "request_too_large": BadRequest,
    "rate_limit_error": RateLimited,
    "api_error": ServerFailed,
    "timeout_error": ServiceTimeout,
    "overloaded_error": Overloaded,
    "exceed_context_size_error": ContextTooLong,  # llama.cpp
}
_STATUSES: Mapping[int, type[ServiceError]] = {
    401: AuthFailed,
    402: BillingFailed,
    403: PermissionDenied,
    404: NotFound,
    408: ServiceTimeout,
    429: RateLimited,
    503: Overloaded,
    504: ServiceTimeout,
    529: Overloaded,
}
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (?:the )?(?:model's )?(?:maximum )?context"
    r"|context (?:window|limit)",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"credit balance is too low", re.IGNORECASE)
_TAG = re.compile(rb"<[^>]{0,1000}>")


def error(head: Head, body: bytes) -> ServiceError:
    """Return what a response of another status than 200 says; survives anything."""
    try:
        said = decode(body)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        said = None
    return failure(said, head, body=body, status=head.status)


def failure(said: Json, head: Head, *, body: bytes, status: int | None) -> ServiceError:
    """Return the error a parsed body stands for; ``status`` is None inside a stream."""
    if isinstance(said, list) and said:  # Google's front door speaks in arrays
        said = said[0]
    said = said if isinstance(said, dict) else {}
    inner = said.get("error")
    if not isinstance(inner, dict):
        inner = {"message": inner} if isinstance(inner, str) else said
    details = inner.get("details")
    kind = _word(inner.get("type"))
    code = _word(details.get("error_code")) if isinstance(details, dict) else None
    message = _word(inner.get("message")) or _instead(body, status)
    return _class(code, kind, status, message)(
        message,
        status=status,
        code=code or kind or _word(inner.get("code")) or _word(inner.get("status")),
        retry_after=_retry_after(head.headers) if status is None or status >= 400 else None,
        request_id=head.headers.get("request-id") or _word(said.get("request_id")),
        body=body,
    )


def _class(
    code: str | None, kind: str | None, status: int | None, message: str
) -> type[ServiceError]:
    found = _CODES.get(code or "") or _TYPES.get(kind or "") or _by_status(status)
    if found is BadRequest and _NO_CREDIT.search(message):
        return BillingFailed
    if found is BadRequest and _TOO_LONG.search(message):
        return ContextTooLong
    return found


def _by_status(status: int | None) -> type[ServiceError]:
    if status is None or status >= 500:
        return _STATUSES.get(status or 500, ServerFailed)
    return _STATUSES.get(status, BadRequest)


def _word(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _instead(body: bytes, status: int | None) -> str:
    """Return something to read where there is no message: the body's words, or the status."""
    words = b" ".join(_TAG.sub(b" ", body[:20_000]).split())[:300].decode("utf-8", "replace")
    said = f"HTTP {status}" if status else "an error without a message"
    return f"{said}: {words}" if words else f"{said}, and nothing more"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait; a date counts from the answer's own date."""
    if (waiting := _number(headers.get("retry-after-ms"))) is not None:
        return waiting / 1000
    said = headers.get("retry-after")
    if (waiting := _number(said)) is not None or said is None:
        return waiting
    try:
        then, now = (parsedate_to_datetime(date) for date in (said, headers["date"]))
        return max((then - now).total_seconds(), 0.0)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
