"""Reads errors into ours: by code, then type, then status (anthropic 2.8.0, 2026-11-10)."""

import re
from collections.abc import Mapping

from pondero.canon import Json, ResponseHead
from pondero.dialects.account_errors import find_account_error
from pondero.dialects.rate_limits import LimitNames, LimitUnit, RateLimitHeaders
from pondero.errors import (
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
    error_for_status,
)
from pondero.framing import describe_body, parse_json_or_none


# On every answer (recorded exchanges, wires/anthropic section 8); a reset is a moment.
def _name_limit(unit: LimitUnit, kind: str) -> LimitNames:
    name = f"anthropic-ratelimit-{kind}-{{}}".format
    return LimitNames(unit, name("remaining"), name("limit"), name("reset"))


RATE_LIMITS = RateLimitHeaders(
    (
        _name_limit("requests", "requests"),
        _name_limit("tokens", "tokens"),
        _name_limit("tokens", "input-tokens"),
        _name_limit("output_tokens", "output-tokens"),
    )
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
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (?:the )?(?:model's )?(?:maximum )?context"
    r"|context (?:window|limit)",
    re.IGNORECASE,
)


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error of a response that is not 200, whatever its body."""
    return failure(parse_json_or_none(body), head, body=body, status=head.status)


def failure(said: Json, head: ResponseHead, *, body: bytes, status: int | None) -> ServiceError:
    """Return the error of a parsed body; ``status`` is None inside a stream."""
    if isinstance(said, list) and said:  # Vertex wraps its errors in an array
        said = said[0]
    said = said if isinstance(said, dict) else {}
    inner = said.get("error")
    if not isinstance(inner, dict):
        inner = {"message": inner} if isinstance(inner, str) else said
    details = inner.get("details")
    kind = _word(inner.get("type"))
    code = _word(details.get("error_code")) if isinstance(details, dict) else None
    message = _word(inner.get("message")) or describe_body(body, status=status)
    return _class(code, kind, status, message)(
        message,
        status=status,
        code=code or kind or _word(inner.get("code")) or _word(inner.get("status")),
        retry_after=head.retry_after if status is None or status >= 400 else None,
        request_id=head.headers.get("request-id") or _word(said.get("request_id")),
        body=body,
    )


def _class(
    code: str | None, kind: str | None, status: int | None, message: str
) -> type[ServiceError]:
    found = _CODES.get(code or "") or _TYPES.get(kind or "") or error_for_status(status or 500)
    if found is not BadRequest:
        return found
    if _TOO_LONG.search(message):
        return ContextTooLong
    return find_account_error(message) or found


def _word(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
