"""Errors in the service's shape: the exception's name in a header, the message in the body."""

from collections.abc import Mapping
from hashlib import sha256

from msgspec.json import encode

from pondero.canon import HttpResponse
from pondero.dialects.dialect import TOO_LONG, Rejected

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
        headers["retry-after"] = f"{retry_after:g}"
    return HttpResponse(status, headers, encode({"message": message}))


def reject(message: str, *, status: int = 400, code: str | None = None) -> Rejected:
    """Make the rejection to raise."""
    return Rejected(error(status, message, code=code))


def reject_key(key: str, at: str) -> Rejected:
    """Make the rejection of an unknown key."""
    # AWS, Converse: closed objects (zed-industries/zed#31815, 2025-05-31)
    where = "/".join(["#", *(name for name in at.split(".") if name)])
    return reject(
        f"Malformed input request: {where}: extraneous key [{key}] is not permitted, please "
        "reformat your input and try again."
    )


def reject_value(at: str, constraint: str) -> Rejected:
    """Make the rejection of a value that breaks a constraint."""
    # AWS, Converse: constraints (genkit-ai/aws-bedrock-js-plugin#43, 2025-02-13)
    return reject(
        f"1 validation error detected: Value at '{at}' failed to satisfy constraint: {constraint}"
    )


def reject_by_model(message: str) -> Rejected:
    """Make a rejection by the model, as the service forwards it."""
    # AWS, Converse: the prefix (recording ruby_llm bedrock nova-2-lite context length, 2026-11-15)
    return reject(f"The model returned the following errors: {message}")


def request_id(seed: str | bytes) -> str:
    """Return a request id in the service's form."""
    digest = sha256(seed if isinstance(seed, bytes) else seed.encode("utf-8", "replace"))
    hexed = digest.hexdigest()
    return "-".join((hexed[:8], hexed[8:12], hexed[12:16], hexed[16:20], hexed[20:32]))
