"""Reads the errors of Google's APIs, for the callers of all of them; a bad key is a 400 there."""

import re
from collections.abc import Iterator

from ..canon import Json, ResponseHead
from ..errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextTooLong,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    Refused,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
    error_for_status,
)
from ..framing import describe_body
from .account_errors import find_account_error

_BY_WORD: dict[str, type[ServiceError]] = {
    "INVALID_ARGUMENT": BadRequest,
    "FAILED_PRECONDITION": BadRequest,
    "OUT_OF_RANGE": BadRequest,
    "UNAUTHENTICATED": AuthFailed,
    "PERMISSION_DENIED": PermissionDenied,
    "NOT_FOUND": NotFound,
    "RESOURCE_EXHAUSTED": RateLimited,
    "CANCELLED": ServerFailed,
    "DEADLINE_EXCEEDED": ServiceTimeout,
    "INTERNAL": ServerFailed,
    "UNKNOWN": ServerFailed,
    "UNAVAILABLE": Overloaded,
    # the Interactions API has words of its own for the same
    "invalid_request": BadRequest,
    "not_found": NotFound,
    "content_blocked": Refused,
}
_BY_REASON: dict[str, type[ServiceError]] = {
    "API_KEY_INVALID": AuthFailed,
    "API_KEY_EXPIRED": AuthFailed,
    "ACCESS_TOKEN_EXPIRED": AuthFailed,
    "ACCESS_TOKEN_TYPE_UNSUPPORTED": AuthFailed,
    "CREDENTIALS_MISSING": AuthFailed,
    "BILLING_DISABLED": BillingFailed,
    "QUOTA_EXHAUSTED": QuotaSpent,
}
_BY_MESSAGE: tuple[tuple[type[ServiceError], str, type[ServiceError]], ...] = (
    (BadRequest, r"input token count.*exceeds|exceeds the maximum number of", ContextTooLong),
    (BadRequest, r"API key (?:not valid|expired|not found)", AuthFailed),
    (BadRequest, r"enable billing", BillingFailed),
    (PermissionDenied, r"unregistered callers|API key", AuthFailed),
    (PermissionDenied, r"\bbilling\b", BillingFailed),
    (RateLimited, r"limit: 0\b", QuotaSpent),
)
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_WAIT = re.compile(
    r"(?:retry in|reset after) ((?:\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms]))+)", re.IGNORECASE
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])", re.IGNORECASE)
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def from_error(error: Json, *, head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error for a value of the field ``error``, whatever its type."""
    fields = error if isinstance(error, dict) else {}
    status = head.status
    if status < 400 and isinstance(fields.get("code"), int):  # inside an answer with status 200
        status = fields["code"]
    word = next(
        (each for each in (fields.get("status"), fields.get("code")) if _is_word(each)), None
    )
    message = fields.get("message") if isinstance(fields.get("message"), str) else None
    if message is None:
        message = error if isinstance(error, str) and error else describe_body(body, status=status)
    details = list(_details(fields))
    return _kind(status, word, message, details)(
        message,
        status=status,
        code=word,
        retry_after=_retry_after(head, details, message),
        request_id=_request_id(head, details),
        body=body,
    )


def _is_word(value: Json) -> bool:
    """Return whether this is a word: ``code`` is one in the Interactions API, else a number."""
    return isinstance(value, str) and bool(value)


def _kind(
    status: int, word: str | None, message: str, details: list[dict[str, Json]]
) -> type[ServiceError]:
    for detail in details:
        if kind := _BY_REASON.get(str(detail.get("reason"))):
            return kind
    coarse = error_for_status(status) if status >= 400 else ServiceError
    kind = _BY_WORD.get(word or "", coarse)
    if kind is RateLimited and any(_daily(detail) for detail in details):
        return QuotaSpent
    for coarser, pattern, finer in _BY_MESSAGE:
        if kind is coarser and re.search(pattern, message, re.IGNORECASE):
            return finer
    return (find_account_error(message) or kind) if kind is BadRequest else kind


def _details(fields: dict[str, Json]) -> Iterator[dict[str, Json]]:
    details = fields.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):
            yield detail


def _daily(detail: dict[str, Json]) -> bool:
    violations = detail.get("violations")
    return isinstance(violations, list) and any(
        isinstance(each, dict) and "PerDay" in str(each.get("quotaId")) for each in violations
    )


def _retry_after(head: ResponseHead, details: list[dict[str, Json]], message: str) -> float | None:
    for detail in details:
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (found := _SECONDS.fullmatch(delay)):
            return float(found[1])
    if (waiting := head.retry_after) is not None:
        return waiting
    if found := _WAIT.search(message):
        return sum(float(count) * _UNITS[unit.lower()] for count, unit in _SPAN.findall(found[1]))
    return None


def _request_id(head: ResponseHead, details: list[dict[str, Json]]) -> str | None:
    for detail in details:
        if isinstance(found := detail.get("requestId"), str):
            return found
    return head.headers.get("x-goog-request-id") or head.headers.get("x-request-id")
