"""Errors in the service's shape (recordings cohere/errors of 0xPlaygrounds/rig, maruel/genai)."""

import re
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

_ID = "00000000-0000-4000-8000-000000000000"  # of every request that failed
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Return an error of this status; the code of a prompt too long is said in words."""
    if code == TOO_LONG:
        message = f"too many tokens: {message}"
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = format_seconds(retry_after)
    return HttpResponse(status, headers, msgspec.json.encode({"id": _ID, "message": message}))


def reject(rule: str, **facts: object) -> NoReturn:
    """Raise the rejection of a rule in rejections.toml; ``facts`` fill its wording."""
    row = load_rules(__package__).rule[rule]
    raise Rejected(error(row.status, row.text.format(**facts)), rule)


def reject_types(found: msgspec.ValidationError) -> NoReturn:
    """Reject a request that does not fit the types."""
    why = str(found)
    if unknown := _UNKNOWN.search(why):
        reject("unknown_field", field=unknown[1])
    reject("wrong_type", why=why)
