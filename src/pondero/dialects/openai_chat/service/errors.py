"""Errors in the shapes of this wire's providers.

The rules and OpenAI's texts are in rejections.toml, others' texts in ``providers/NAME.toml``.
"""

import math
import re
from collections.abc import Mapping
from typing import Literal, NoReturn

import msgspec

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import TOO_LONG, Rejected
from pondero.dialects.rejections import load_rules

Shape = Literal["nested", "flat", "string", "object", "router"]
_TYPES = {
    403: "permission_error",
    429: "rate_limit_error",
    **dict.fromkeys((503, 529), "service_unavailable_error"),
}
_CODES = {
    401: "invalid_api_key",  # OpenAI, a wrong key (public clients, 2026-11-18)
    429: "rate_limit_exceeded",
    500: "server_error",
    **dict.fromkeys((503, 529), "server_is_overloaded"),
}
_ROUTER_TYPES = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    408: "timeout",
    413: "payload_too_large",
    422: "unprocessable",
    429: "rate_limit_exceeded",
    502: "provider_unavailable",
    503: "provider_overloaded",
}

_TOO_LONG = "Your messages exceed this model's maximum context length. Please reduce their length."

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_TYPE = re.compile(r"Expected `(.*)`, got `(.*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.*)")
_SHORT = re.compile(r"Expected `(array|str)` of length >= 1")
_LONG = re.compile(r"Expected `str` of length <= (\d+)")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'")
_ARTICLES = {
    "str": "a string",
    "int": "an integer",
    "float": "a decimal",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
# OpenAI's errors for these name no parameter (public clients, 2026-11-15).
_UNPLACED = frozenset({"unknown_argument", "no_effort", "no_model", "model_id", "no_tools"})
_PARTS = ("text", "image_url", "input_audio", "refusal", "audio", "file")


class RejectionText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider's own text for a rule, with its status, code and type, its source and date.

    ``upstream`` is what a router got from the model's service.
    """

    text: str
    source: str
    checked: str
    status: int = 400
    code: str | None = None
    kind: str | None = None
    upstream: str | None = None


def write_error(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    kind: str | None = None,
    retry_after: float | None = None,
    upstream: str | None = None,
    shape: Shape = "nested",
) -> HttpResponse:
    """Build an error; ``upstream`` is the error that a router got from the model's service.

    Shapes: OpenAI (nested), Cerebras (flat), xAI (string), Mistral (object), OpenRouter (router);
    recordings of 2025 and 2026, read 2026-11-15.
    """
    said: dict[str, Json] = {
        "message": message,
        "type": kind
        or _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        "param": param,
        "code": code,
    }
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    if retry_after is not None:
        headers["retry-after"] = str(math.ceil(retry_after))
        headers["retry-after-ms"] = str(round(retry_after * 1000))
    return HttpResponse(status, headers, msgspec.json.encode(_body(status, said, shape, upstream)))


def _body(status: int, said: dict[str, Json], shape: Shape, upstream: str | None) -> Json:
    message, code = said["message"], said["code"]
    match shape:
        case "nested":
            return {"error": said}
        case "flat":
            return said
        case "string":
            return {"code": code or said["type"], "error": message}
        case "object":
            return _object(status, said)
        case "router":
            kind = _ROUTER_TYPES.get(status, "server" if status >= 500 else "invalid_request")
            metadata = {"error_type": kind}
            if upstream is not None:
                metadata |= {"raw": upstream, "provider_name": "Emulated"}
            error = {"code": status, "message": message, "metadata": metadata}
            return {"error": error, "user_id": "user_emulated"}


def _object(status: int, said: dict[str, Json]) -> Json:
    if status == 401:
        return {"detail": said["message"]}
    if status == 422:
        place = ["body", *str(said["param"] or "").split(".")]
        return {"detail": [{"type": said["type"], "loc": place, "msg": said["message"]}]}
    code = {"code": said["code"] or "3051", "raw_status_code": status}
    return {"object": "error", **said, "param": None, **code}


def error(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Build an error that is not the request's fault; the emulator and the gateway send these."""
    if code == TOO_LONG:  # OpenAI: context_length_exceeded (public clients, 2026-11-15)
        message = f"{_TOO_LONG} ({message})"
        return write_error(status, message, code=code, param="messages", retry_after=retry_after)
    return write_error(status, message, code=code or _CODES.get(status), retry_after=retry_after)


class Rejecter:
    """Raises Rejected in the shape and, if it has its own, the words of one provider."""

    def __init__(self, shape: Shape, says: Mapping[str, RejectionText]) -> None:
        self._shape = shape
        self._says = says

    def knows(self, rule: str) -> bool:
        """Return whether the provider has its own words for a rule that only some have."""
        return rule in self._says

    def reject(
        self,
        rule: str,
        *,
        param: str | None = None,
        code: str | None = None,
        upstream: str | None = None,
        **facts: Json,
    ) -> NoReturn:
        """Raise the rejection of a rule in rejections.toml; ``facts`` fill its wording.

        ``code``: where it depends on the place of the fault, not on the rule alone.
        """
        own = self._says.get(rule)
        if own is not None and own.upstream is not None:
            upstream = own.upstream.format(param=param, **facts)
        row = own or load_rules(__package__).rule[rule]
        error = write_error(
            row.status,
            row.text.format(param=param, **facts),
            param=None if own is None and rule in _UNPLACED else param,
            code=code or row.code,
            kind=row.kind,
            upstream=upstream,
            shape=self._shape,
        )
        raise Rejected(error, rule)

    def reject_unknown(self, param: str) -> NoReturn:
        """Reject an unknown field; OpenAI's text differs at the top level."""
        nested = "." in param or "[" in param
        self.reject("unknown_parameter" if nested else "unknown_argument", param=param)

    def reject_invalid(self, error: str) -> NoReturn:
        """Reject a body that does not fit the types; ``error`` is msgspec's message."""
        found = _AT.match(error)
        problem, path = (found["what"], found["path"] or "") if found else (error, "")
        if unknown := _UNKNOWN.match(problem):
            self.reject_unknown(f"{path}.{unknown[1]}" if path else unknown[1])
        if missing := _MISSING.match(problem):
            self.reject("missing", param=f"{path}.{missing[1]}" if path else missing[1])
        if wrong := _TYPE.match(problem):
            self.reject("wrong_type", param=path, why=_describe_types(wrong[1], wrong[2]))
        if value := _VALUE.match(problem):
            self.reject("wrong_value", param=path, value=value[1], supported=_list_supported(path))
        if short := _SHORT.match(problem):
            self.reject("empty_array" if short[1] == "array" else "empty_string", param=path)
        if pattern := _PATTERN.match(problem):
            self.reject("pattern", param=path, pattern=pattern[1])
        if length := _LONG.match(problem):
            self.reject("long_string", param=path, most=length[1])
        self.reject("wrong_value", param=path or None, value=problem, supported="")


def _describe_types(expected: str, got: str) -> str:
    named = [_ARTICLES.get(each, each) for each in expected.split(" | ") if each != "null"]
    first = "one of " + " or ".join(named) if len(named) > 1 else named[0]
    if set(named) == {"a string", "an array"}:
        first = "one of a string or array of objects"
    return f"expected {first}, but got {_ARTICLES.get(got, got)} instead"


def _list_supported(path: str) -> str:
    known = _PARTS if path.endswith(".type") else _ROLES if path.endswith(".role") else ()
    return f" Supported values are: {join_words(known)}." if known else ""


def join_words(words: tuple[str, ...]) -> str:
    """Format words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
