"""Errors in the service's shape: the exception's name in a header, the message in the body."""

from collections.abc import Mapping
from hashlib import sha256
from typing import NoReturn

from msgspec.json import encode

from pondero.canon import HttpResponse, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

_NAMES: Mapping[int, str] = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
# Codes that all dialects share: the same exception here, or None for the status's own.
_COMMON: Mapping[str, str | None] = {
    TOO_LONG: None,
    "insufficient_quota": "ServiceQuotaExceededException",
    "model_not_found": None,
}
_TOO_LONG = "Input is too long for requested model."


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Return an error of this status; ``code`` is the exception's name or a shared code."""
    if code == TOO_LONG and not message.startswith(_TOO_LONG):
        message = f"{_TOO_LONG} {message}"
    code = _COMMON.get(code or "", code)
    usual = _NAMES[503] if status == 529 else _NAMES[500 if status >= 500 else 400]
    headers = {
        "content-type": "application/json",
        "x-amzn-requestid": request_id(f"{status}{message}"),
        "x-amzn-errortype": code or _NAMES.get(status, usual),
    }
    if retry_after is not None:
        headers["retry-after"] = format_seconds(retry_after)
    return HttpResponse(status, headers, encode({"message": message}))


def reject(rule: str, /, **facts: object) -> NoReturn:
    """Raise the rejection of a rule in rejections.toml; ``facts`` fill its wording."""
    row = load_rules(__package__).rule[rule]
    raise Rejected(error(row.status, row.text.format(**facts), code=row.code), rule)


def reject_key(key: str, at: str) -> NoReturn:
    """Reject an unknown key."""
    where = "/".join(["#", *(name for name in at.split(".") if name)])
    reject("extra_key", where=where, key=key)


def request_id(seed: str | bytes) -> str:
    """Return a request id in the service's form."""
    digest = sha256(seed if isinstance(seed, bytes) else seed.encode("utf-8", "replace"))
    hexed = digest.hexdigest()
    return "-".join((hexed[:8], hexed[8:12], hexed[12:16], hexed[16:20], hexed[20:32]))
