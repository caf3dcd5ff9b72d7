"""Errors in the service's shape (recordings cohere/errors of 0xPlaygrounds/rig, maruel/genai)."""

import re
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse
from pondero.dialects.dialect import TOO_LONG, Rejected

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
        headers["retry-after"] = f"{retry_after:g}"
    return HttpResponse(status, headers, msgspec.json.encode({"id": _ID, "message": message}))


def reject(message: str, *, status: int = 400) -> NoReturn:
    """Raise the rejection."""
    raise Rejected(error(status, message))


def invalid(why: str) -> NoReturn:
    """Reject a request that is JSON and breaks a rule."""
    reject(f"invalid request: {why}")


def reject_types(found: msgspec.ValidationError) -> NoReturn:
    """Reject a request that does not fit the types."""
    why = str(found)
    unknown = _UNKNOWN.search(why)
    invalid(f"unknown field '{unknown[1]}'" if unknown else why)
