"""The service's errors, in its own shape."""

from msgspec.json import encode

from pondero.canon import HttpResponse, format_seconds
from pondero.dialects.dialect import Rejected


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Return an error of this status."""
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = format_seconds(retry_after)
    return HttpResponse(status, headers, encode({"message": message, "code": code}))


def refuse(message: str, *, status: int = 400) -> Rejected:
    """Return the refusal to raise."""
    return Rejected(error(status, message))
