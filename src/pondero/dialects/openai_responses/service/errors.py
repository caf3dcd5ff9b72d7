"""Errors in the service's shape; texts are OpenAI's, from recordings and reports (2026-11-15)."""

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


def build_error(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> HttpResponse:
    """Build an error in the service's shape (OpenAI: recorded errors, 2026-11-15)."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    if code in _OUT_OF_QUOTA:
        kind = code or kind
    told = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return HttpResponse(status, {"content-type": "application/json"}, msgspec.json.encode(told))


def error(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> HttpResponse:
    """Build an error that is not the request's fault; the emulator and the gateway send these."""
    if code == TOO_LONG:  # OpenAI: context_length_exceeded (public clients, 2026-11-16)
        message = f"{_TOO_LONG} ({message})"
    told = build_error(status, message, code=code or _CODES.get(status))
    headers = {"x-request-id": "req_0123456789abcdef0123456789abcdef"}
    if retry_after is not None:
        headers["retry-after"] = str(math.ceil(retry_after))
        headers["retry-after-ms"] = str(round(retry_after * 1000))
        headers["x-ratelimit-remaining-requests"] = "0"
        headers["x-ratelimit-reset-requests"] = f"{retry_after:g}s"
    return msgspec.structs.replace(told, headers={**told.headers, **headers})


def reject(
    message: str, *, param: str | None, code: str | None = None, status: int = 400
) -> NoReturn:
    """Raise Rejected; each caller names the source of its rule."""
    raise Rejected(build_error(status, message, param=param, code=code))


def reject_missing(param: str) -> NoReturn:
    """Reject a request that lacks a parameter."""
    # OpenAI, errors: missing_required_parameter (public clients, 2026-11-16)
    message = f"Missing required parameter: '{param}'."
    reject(message, param=param, code="missing_required_parameter")


def reject_unknown(param: str) -> NoReturn:
    """Reject a parameter that the wire does not have."""
    # OpenAI, errors: unknown_parameter for a field the API lacks (public clients, 2026-11-16)
    reject(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")


def reject_invalid(value: object, supported: Iterable[str], *, param: str) -> NoReturn:
    """Reject a word that the wire does not have."""
    # OpenAI, errors: invalid_value lists the words of an enum (public clients, 2026-11-16)
    message = f"Invalid value: '{value}'. Supported values are: {join_words(supported)}."
    reject(message, param=param, code="invalid_value")


def reject_value(value: str, model: str, supported: Iterable[str], *, param: str) -> NoReturn:
    """Reject a word that this model does not take."""
    # OpenAI, reasoning effort: each model has its own words
    # (mirascope recording openai_responses/encodes-thoughts-as-text, 2026-01-30; opencode#4451)
    message = (
        f"Unsupported value: '{value}' is not supported with the '{model}' model. "
        f"Supported values are: {join_words(supported)}."
    )
    reject(message, param=param, code="unsupported_value")


def reject_parameter(param: str) -> NoReturn:
    """Reject a parameter that this model does not take."""
    # OpenAI, models: unsupported_parameter
    # (vercel/ai recording reasoning-model-temperature-error, 2026-11-15)
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    reject(message, param=param, code="unsupported_parameter")


def flatten_error(rejection: HttpResponse, *, model: Json) -> HttpResponse:
    """Restate a rejection as xAI writes it: two plain strings, always with status 400."""
    # xAI, errors: {"code", "error"} (rig recordings xai/response_identity, 2026-11-15)
    told = msgspec.json.decode(rejection.body)["error"]
    message = told["message"]
    if told["code"] == "model_not_found":
        message = f"Model not found: {model}"  # rig recording xai/response_identity, 2026-11-15
    elif told["code"] == "unsupported_parameter" and told["param"] == "reasoning.effort":
        # xAI, reasoning_effort: rejected by models without it (grok2api#814, 2026-11-15)
        message = f"Model {model} does not support parameter reasoningEffort."
    body = msgspec.json.encode({"code": "invalid-argument", "error": message})
    return HttpResponse(400, rejection.headers, body)


def join_words(words: Iterable[str]) -> str:
    """Format words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
