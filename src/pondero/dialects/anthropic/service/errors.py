"""Errors in the service's shape (anthropic 2.8.0 types, 2026-11-10), and the rules' rejections."""

from collections.abc import Mapping
from hashlib import sha256
from typing import NoReturn

from msgspec.json import encode

from pondero.canon import HttpResponse, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_SPENT = "enforced_spend_limit_reached"  # a 429 that another try does not help
# Codes that all dialects share: the service's own code, or None if type and message say it.
_COMMON: Mapping[str, str | None] = {
    TOO_LONG: None,
    "insufficient_quota": _SPENT,
    "model_not_found": None,
}
_TOO_LONG = "prompt is too long"


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Return an error; ``code`` is an error type, a finer code, or one that all dialects share."""
    kind, details = _TYPES.get(status, "api_error" if status >= 500 else _TYPES[400]), None
    if code == TOO_LONG and _TOO_LONG not in message:
        message = f"{_TOO_LONG}: {message}"
    code = _COMMON.get(code or "", code)
    if code is not None and code in _TYPES.values():
        kind = code
    elif code is not None:
        details = {"error_code": code}
    request_id = "req_" + sha256(f"{status}{message}".encode()).hexdigest()[:24]
    body = {
        "type": "error",
        "error": {"type": kind, "message": message, "details": details},
        "request_id": request_id,
    }
    headers = {"content-type": "application/json", "request-id": request_id}
    is_worth = code != _SPENT and (status in (408, 409, 429) or status >= 500)
    headers["x-should-retry"] = "true" if is_worth else "false"
    if retry_after is not None:
        headers["retry-after"] = format_seconds(retry_after)
    return HttpResponse(status, headers, encode(body))


def reject(rule: str, /, **facts: object) -> NoReturn:
    """Raise the rejection of a rule in rejections.toml; ``facts`` fill its wording."""
    row = load_rules(__package__).rule[rule]
    raise Rejected(error(row.status, row.text.format(**facts)), rule)
