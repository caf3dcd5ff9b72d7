"""Errors in the service's two shapes, and the rejections of rejections.toml.

What the API itself rejects has a word for a code; what Google's servers reject before it has a
number and a status (known issues gemini-cli-deep-research#73, googleapis/js-genai#1735).
"""

import re
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse, Json, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

JSON = "application/json; charset=UTF-8"
RPC = "type.googleapis.com/google.rpc"
BAD_KEY = ((400, "API_KEY_INVALID"),)
"""Status and reason of a rejected key: 400 here, not 401."""
INVALID, BLOCKED = "invalid_request", "content_blocked"

_OWN_CODES = {400: INVALID, 404: "not_found", 413: INVALID, 422: INVALID, 501: "not_implemented"}
_STATUS_WORDS = {
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
# Common code -> Google's own; None if status and message suffice.
_COMMON: dict[str, str | None] = {
    TOO_LONG: None,
    "insufficient_quota": "QUOTA_EXHAUSTED",
    "model_not_found": None,
}
_COUNTS = re.compile(r"(\d+) tokens > (\d+)")


def error(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error that is not a rule's; the emulator and the gateway send these."""
    if code == TOO_LONG:
        message = _too_long(message)
    code = _COMMON.get(code or "", code)
    if status in _OWN_CODES and retry_after is None and code != "API_KEY_INVALID":
        return own_error(status, message, code=code)
    details: list[Json] = []
    if code is not None:
        details.append({"@type": f"{RPC}.ErrorInfo", "reason": code, "domain": "googleapis.com"})
    if retry_after is not None:
        wait = f"{format_seconds(retry_after)}s"
        details.append({"@type": f"{RPC}.RetryInfo", "retryDelay": wait})
    return rpc_error(status, message, details)


def own_error(status: int, message: str, *, code: str | None = None) -> HttpResponse:
    """Return an error in the API's own shape."""
    told = {"error": {"message": message, "code": code or _OWN_CODES.get(status, INVALID)}}
    return HttpResponse(status, {"content-type": JSON}, msgspec.json.encode(told))


def rpc_error(status: int, message: str, details: list[Json]) -> HttpResponse:
    """Return an error in the shape of Google's servers."""
    word = _STATUS_WORDS.get(status, "INVALID_ARGUMENT")
    fault: dict[str, Json] = {"code": status, "message": message, "status": word}
    if details:
        fault["details"] = details
    body = msgspec.json.format(msgspec.json.encode({"error": fault}), indent=2)
    return HttpResponse(status, {"content-type": JSON}, body)


def reject(rule: str, /, **facts: object) -> NoReturn:
    """Raise the rejection of a rule, in the API's own shape; ``facts`` fill its wording."""
    row = load_rules(__package__).rule[rule]
    raise Rejected(own_error(row.status, row.text.format(**facts), code=row.code), rule)


def reject_early(rule: str, /, *, details: list[Json] | None = None, **facts: object) -> NoReturn:
    """Raise the rejection of a rule that Google's servers enforce before the API."""
    row = load_rules(__package__).rule[rule]
    raise Rejected(rpc_error(row.status, row.text.format(**facts), details or []), rule)


def _too_long(message: str) -> str:
    if "exceeds the maximum number of tokens" in message:
        return message
    found = _COUNTS.search(message)
    tokens, most = (f" ({count})" for count in found.groups()) if found else ("", "")
    return f"The input token count{tokens} exceeds the maximum number of tokens allowed{most}."
