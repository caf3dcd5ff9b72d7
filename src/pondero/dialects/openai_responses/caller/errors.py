"""Converts an error of the service, in a body or a stream, to a ServiceError."""

import re
from typing import Any

from pondero.canon import Json, ResponseHead, dump_json, parse_duration
from pondero.dialects.account_errors import find_account_error
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
    Refused,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
    error_for_status,
)
from pondero.framing import describe_body, parse_json_or_none

# Branch on the code, then on the type, then on the status.
_BY_WORD: dict[str, type[ServiceError]] = {
    word: kind
    for kind, words in (
        (AuthFailed, "authentication authentication_error invalid_api_key account_deactivated"),
        (BillingFailed, "billing_hard_limit_reached credit_balance_exhausted payment_required"),
        (BillingFailed, "billing_not_active"),
        (ContextTooLong, "context_length_exceeded"),
        (ContextTooLong, "exceed_context_size_error"),  # llama.cpp
        (NotFound, "model_not_found not_found"),
        (Overloaded, "overloaded_error provider_overloaded server_is_overloaded"),
        (Overloaded, "service_unavailable_error"),
        (PermissionDenied, "permission_denied permission_error"),
        (QuotaSpent, "insufficient_quota organization_spend_limit_exceeded"),
        (QuotaSpent, "organization_usage_limit_exceeded project_spend_limit_exceeded"),
        (RateLimited, "rate_limit_error rate_limit_exceeded slow_down"),
        (Refused, "bio_policy content_filter content_policy_violation invalid_prompt refusal"),
        (Refused, "image_content_policy_violation misalignment_policy_violation"),
        (ServerFailed, "server server_error"),
        (ServiceTimeout, "timeout vector_store_timeout"),
    )
    for word in words.split()
}
# If the code says nothing: some deployments answer 400 to everything.
_BY_MESSAGE: tuple[tuple[re.Pattern[str], type[ServiceError]], ...] = (
    (
        re.compile(r"(?i)context (window|length)|maximum context|too many input tokens"),
        ContextTooLong,
    ),
    (re.compile(r"(?i)incorrect api key|invalid api key|authentication token"), AuthFailed),
    (re.compile(r"(?i)^model not found|model .{1,200} does not exist"), NotFound),
)
_AGAIN_IN = re.compile(r"(?:try|retry)(?: again)? (?:in|after) ([\d.hms ]{1,24})", re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)")
_LONGEST = 32  # characters of a duration
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SNIPPET = 200
_IDS = ("x-request-id", "apim-request-id", "x-generation-id", "x-ds-trace-id")


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error in a body, which can be HTML or empty."""
    raw = parse_json_or_none(body)
    details = (
        {"message": describe_body(body, status=head.status)} if raw is None else _read_details(raw)
    )
    return _build(head, details, body)


def in_stream(head: ResponseHead, raw: Json) -> ServiceError:
    """Return the error in a stream that began with status 200."""
    details = _read_details({"error": raw})
    return _build(head, details, dump_json(raw).encode(), started=True)


def _read_details(raw: Json) -> dict[str, Any]:
    if isinstance(raw, list) and raw:
        raw = raw[0]
    if not isinstance(raw, dict):
        return {"message": str(raw)[:_SNIPPET]}
    inner = raw.get("error")
    if isinstance(inner, dict):
        return inner
    if isinstance(inner, str):
        return {"message": inner, "code": raw.get("code")}
    detail = raw.get("detail")
    if isinstance(detail, str):
        return {"message": detail}
    return raw


def _build(
    head: ResponseHead, details: dict[str, Any], body: bytes, *, started: bool = False
) -> ServiceError:
    words = _words(details)
    message = _text(details.get("message")) or (words[0] if words else "the service gave no reason")
    kind = _kind(head.status, words, message, started=started)
    return kind(
        message,
        status=head.status,
        code=words[0] if words else None,
        retry_after=_retry_after(head, details, message),
        request_id=_header(head, *_IDS),
        body=body,
    )


def _words(details: dict[str, Any]) -> list[str]:
    metadata = details.get("metadata")
    words = [details.get("code"), details.get("type")]
    if isinstance(metadata, dict):
        words.append(metadata.get("error_type"))
    return [str(word) for word in words if isinstance(word, str | int) and word != ""]


def _kind(status: int, words: list[str], message: str, *, started: bool) -> type[ServiceError]:
    for word in words:
        if found := _BY_WORD.get(word):
            return found
        if word.isdecimal() and len(word) == 3 and started:
            status = int(word)
    for pattern, found in _BY_MESSAGE:
        if status < 500 and pattern.search(message):
            return found
    found = error_for_status(status)
    if found is BadRequest:
        found = find_account_error(message) or found
    if started and found is BadRequest:
        return ServerFailed
    return found if status >= 400 else ServiceError


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _retry_after(head: ResponseHead, details: dict[str, Any], message: str) -> float | None:
    if (waiting := head.retry_after) is not None:
        return waiting
    metadata = details.get("metadata")
    hint = metadata.get("retry_after_seconds") if isinstance(metadata, dict) else None
    if isinstance(hint, int | float) and not isinstance(hint, bool):
        return max(0.0, float(hint))
    if found := _AGAIN_IN.search(message):
        return _duration(found[1])
    if head.status == 429:
        return _until_reset(head)
    return None


def _until_reset(head: ResponseHead) -> float | None:
    waits = {
        kind: _duration(_header(head, f"x-ratelimit-reset-{kind}") or "")
        for kind in ("requests", "tokens")
    }
    spent = [
        wait
        for kind, wait in waits.items()
        if wait is not None and _header(head, f"x-ratelimit-remaining-{kind}") in ("0", None)
    ]
    return max(spent, default=None)


def _duration(text: str) -> float | None:
    if len(text) > _LONGEST:
        return None
    steps = _DURATION.findall(text)
    if steps:
        return sum(float(number) * _SECONDS[unit] for number, unit in steps)
    return parse_duration(text.strip(" ."))


def _header(head: ResponseHead, *names: str) -> str | None:
    return next((head.headers[name] for name in names if name in head.headers), None)
