"""Errors in the service's shape, and the wording of its refusals."""

import math
from collections.abc import Iterable
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import TOO_LONG, Rejected

_TYPES = {
    401: "invalid_request_error",
    403: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    **dict.fromkeys((503, 529), "service_unavailable_error"),
}
_CODES = {
    401: "invalid_api_key",
    429: "rate_limit_exceeded",
    500: "server_error",
    **dict.fromkeys((503, 529), "server_is_overloaded"),
}
_TOO_LONG = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)
_OUT_OF_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def body_of(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> HttpResponse:
    """Return the body of an error in the service's shape."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    if code in _OUT_OF_QUOTA:
        kind = code or kind
    told = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return HttpResponse(status, {"content-type": "application/json"}, msgspec.json.encode(told))


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Return an error of this status in the service's shape."""
    if code == TOO_LONG:
        message = f"{_TOO_LONG} ({message})"
    told = body_of(status, message, code=code or _CODES.get(status))
    headers = {"x-request-id": "req_0123456789abcdef0123456789abcdef"}
    if retry_after is not None:
        headers["retry-after"] = str(math.ceil(retry_after))
        headers["retry-after-ms"] = str(round(retry_after * 1000))
        headers["x-ratelimit-remaining-requests"] = "0"
        headers["x-ratelimit-reset-requests"] = f"{retry_after:g}s"
    return msgspec.structs.replace(told, headers={**told.headers, **headers})


def refuse(
    message: str, *, param: str | None, code: str | None = None, status: int = 400
) -> NoReturn:
    """Raise Rejected with this error."""
    raise Rejected(body_of(status, message, param=param, code=code))


def missing(param: str) -> NoReturn:
    """Refuse a request that lacks a parameter."""
    message = f"Missing required parameter: '{param}'."
    refuse(message, param=param, code="missing_required_parameter")


def unknown(param: str) -> NoReturn:
    """Refuse a parameter that the wire does not have."""
    refuse(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")


def invalid(value: object, supported: Iterable[str], *, param: str) -> NoReturn:
    """Refuse a word that the wire does not have."""
    message = f"Invalid value: '{value}'. Supported values are: {join_words(supported)}."
    refuse(message, param=param, code="invalid_value")


def reject_value(value: str, model: str, supported: Iterable[str], *, param: str) -> NoReturn:
    """Refuse a word that this model does not take."""
    message = (
        f"Unsupported value: '{value}' is not supported with the '{model}' model. "
        f"Supported values are: {join_words(supported)}."
    )
    refuse(message, param=param, code="unsupported_value")


def reject_parameter(param: str) -> NoReturn:
    """Refuse a parameter that this model does not take."""
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    refuse(message, param=param, code="unsupported_parameter")


def flat(refusal: HttpResponse, *, model: Json) -> HttpResponse:
    """Return a refusal as xAI writes it: two plain strings, always with status 400."""
    told = msgspec.json.decode(refusal.body)["error"]
    message = told["message"]
    if told["code"] == "model_not_found":
        message = f"Model not found: {model}"
    elif told["code"] == "unsupported_parameter" and told["param"] == "reasoning.effort":
        message = f"Model {model} does not support parameter reasoningEffort."
    body = msgspec.json.encode({"code": "invalid-argument", "error": message})
    return HttpResponse(400, refusal.headers, body)


def join_words(words: Iterable[str]) -> str:
    """Return the words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
