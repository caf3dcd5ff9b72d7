"""Errors in the service's shape; the wording of rejections is in rejections.toml."""

import math
from collections.abc import Iterable
from typing import NoReturn

import msgspec

from pondero.canon import HttpResponse, Json, format_seconds
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

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
_XAI = {
    ("unknown_model", "model"): "xai_unknown_model",
    ("unsupported_parameter", "reasoning.effort"): "xai_effort",
}
# What does not fit its types, whatever is wrong with it (xAI, 422); an item is named by its type.
_XAI_MISFITS = ("missing", "invalid_type", "invalid_value")
_XAI_ITEM = "data did not match any variant of untagged enum ModelInput"
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
        headers["x-ratelimit-reset-requests"] = f"{format_seconds(retry_after)}s"
    return msgspec.structs.replace(told, headers={**told.headers, **headers})


def build_rejection(
    rule: str, *, param: str | None = None, code: str | None = None, **facts: object
) -> HttpResponse:
    """Build the answer of a rule in rejections.toml; ``facts`` fill its wording."""
    row = load_rules(__package__).rule[rule]
    message = row.text.format(param=param, **facts)
    return build_error(row.status, message, param=param, code=code or row.code)


def reject(
    rule: str, *, param: str | None = None, code: str | None = None, **facts: object
) -> NoReturn:
    """Raise the rejection of a rule in rejections.toml; ``code`` if it has several."""
    raise Rejected(build_rejection(rule, param=param, code=code, **facts), rule)


def reject_invalid(value: object, supported: Iterable[str], *, param: str) -> NoReturn:
    """Reject a word that the wire does not have."""
    reject("invalid_value", param=param, value=value, supported=join_words(supported))


def reject_value(value: str, model: str, supported: Iterable[str], *, param: str) -> NoReturn:
    """Reject a word that this model does not take."""
    words = join_words(supported)
    reject("unsupported_value", param=param, value=value, model=model, supported=words)


def restate(rejection: Rejected, shape: str, *, model: Json) -> Rejected:
    """Restate a rejection as a deployment writes its errors."""
    if shape == "openai":
        return rejection
    told = msgspec.json.decode(rejection.response.body)["error"]
    rule, message, status = rejection.rule, told["message"], rejection.response.status
    said: Json = {"detail": message}  # ChatGPT (a recorded 401)
    if shape == "xai":
        return _restate_xai(rule, told, model)
    if shape == "openrouter":  # openrouter wire types (2026-11-15)
        said = {"error": {"code": status, "message": message}}
    body = msgspec.json.encode(said)
    return Rejected(HttpResponse(status, rejection.response.headers, body), rule)


def _restate_xai(rule: str, told: Json, model: Json) -> Rejected:
    """Restate a rejection in xAI's words: 400, or 422 for what does not fit its types."""
    param, message = told["param"], told["message"]
    if rule in _XAI_MISFITS:
        why = _XAI_ITEM if str(param).startswith("input") else message
        rule, message = "xai_types", _text_of("xai_types").format(why=why)
    elif (rule, param) in _XAI:
        rule = _XAI[rule, param]
        message = _text_of(rule).format(model=model)
    status = load_rules(__package__).rule[rule].status
    # Other statuses are OpenAI's: rig recordings xai/response_identity have 400 (2026-11-15).
    said = {"error": message} if status == 422 else {"code": "invalid-argument", "error": message}
    status = 422 if status == 422 else 400
    headers = {"content-type": "application/json"}
    return Rejected(HttpResponse(status, headers, msgspec.json.encode(said)), rule)


def _text_of(rule: str) -> str:
    return load_rules(__package__).rule[rule].text


def join_words(words: Iterable[str]) -> str:
    """Format words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
