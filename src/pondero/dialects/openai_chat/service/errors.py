"""Errors in the shapes that providers of this wire have for them: status, headers and body."""

import re
from collections.abc import Mapping
from typing import Literal, NoReturn

import msgspec

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import TOO_LONG, Rejected

Shape = Literal["nested", "flat", "string", "object", "router"]
_TYPES = {
    403: "permission_error",
    429: "rate_limit_error",
    **dict.fromkeys((503, 529), "service_unavailable_error"),
}
_CODES = {
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
_INVALID = "invalid_value"
_PARTS = ("text", "image_url", "input_audio", "refusal", "audio", "file")


class Saying(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider's own words for one refusal, and what they come with."""

    text: str
    status: int = 400
    code: str | None = None
    kind: str | None = None


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
    """Return an error in one of the shapes this wire has for it.

    ``upstream`` is the error that a router got from the model's own service.
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
        headers["retry-after"] = f"{retry_after:g}"
        headers["retry-after-ms"] = f"{retry_after * 1000:g}"
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
    """Return an error of the service's own, not of the request's making."""
    if code == TOO_LONG:
        message = f"{_TOO_LONG} ({message})"
        return write_error(status, message, code=code, param="messages", retry_after=retry_after)
    return write_error(status, message, code=code or _CODES.get(status), retry_after=retry_after)


class Denier:
    """Raises refusals in the shape and, where it has its own, in the words of one provider."""

    def __init__(self, shape: Shape, says: Mapping[str, Saying]) -> None:
        self._shape = shape
        self._says = says

    def deny(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
        kind: str | None = None,
        upstream: str | None = None,
    ) -> NoReturn:
        """Raise a refusal."""
        raise Rejected(
            write_error(
                status,
                message,
                param=param,
                code=code,
                kind=kind,
                upstream=upstream,
                shape=self._shape,
            )
        )

    def deny_as(self, name: str, *, param: str | None = None, **facts: Json) -> None:
        """Raise the refusal of this name if the provider has words of its own for it."""
        if (own := self._says.get(name)) is not None:
            self._own(own, param, facts)

    def _own(self, own: Saying, param: str | None, facts: dict[str, Json]) -> NoReturn:
        text = own.text.format(param=param, **facts)
        self.deny(text, status=own.status, param=param, code=own.code, kind=own.kind)

    def unknown(self, param: str) -> NoReturn:
        """Refuse an unknown field; OpenAI words it differently at the top than further in."""
        self.deny_as("unknown", param=param)
        if "." in param or "[" in param:
            self.deny(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")
        self.deny(f"Unrecognized request argument supplied: {param}")

    def unsupported(self, param: str, *, model: str = "", instead: str | None = None) -> NoReturn:
        """Refuse a parameter that this model does not take."""
        self.deny_as("unsupported", param=param, model=model)
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        if instead is not None:
            message += f" Use '{instead}' instead."
        self.deny(message, param=param, code="unsupported_parameter")

    def value(self, param: str, value: Json, *, only: str) -> NoReturn:
        """Refuse a value that this model does not take."""
        said = f"'{value}'" if isinstance(value, str) else f"{value:g}"
        message = f"Unsupported value: '{param}' does not support {said} with this model. {only}"
        self.deny(message, param=param, code="unsupported_value")

    def invalid(self, error: str) -> NoReturn:
        """Refuse a body that does not fit the types, from what msgspec says about it."""
        found = _AT.match(error)
        what, path = (found["what"], found["path"] or "") if found else (error, "")
        if unknown := _UNKNOWN.match(what):
            self.unknown(f"{path}.{unknown[1]}" if path else unknown[1])
        if missing := _MISSING.match(what):
            param = f"{path}.{missing[1]}" if path else missing[1]
            message = f"Missing required parameter: '{param}'."
            self.deny(message, param=param, code="missing_required_parameter")
        if wrong := _TYPE.match(what):
            message = f"Invalid type for '{path}': {_types(wrong[1], wrong[2])} instead."
            self.deny(message, param=path, code="invalid_type")
        if value := _VALUE.match(what):
            self.deny(f"Invalid value: {value[1]}.{_supported(path)}", param=path, code=_INVALID)
        if short := _SHORT.match(what):
            kind, article = ("array", "an") if short[1] == "array" else ("string", "a")
            message = (
                f"Invalid '{path}': empty {kind}. Expected {article} {kind} "
                f"with minimum length 1, but got an empty {kind} instead."
            )
            self.deny(message, param=path, code=f"empty_{kind}")
        self.deny(f"Invalid '{path}': {what}.", param=path or None, code=_INVALID)


def _types(expected: str, got: str) -> str:
    named = [_ARTICLES.get(each, each) for each in expected.split(" | ") if each != "null"]
    first = "one of " + " or ".join(named) if len(named) > 1 else named[0]
    if set(named) == {"a string", "an array"}:
        first = "one of a string or array of objects"
    return f"expected {first}, but got {_ARTICLES.get(got, got)}"


def _supported(path: str) -> str:
    known = _PARTS if path.endswith(".type") else _ROLES if path.endswith(".role") else ()
    return f" Supported values are: {join_words(known)}." if known else ""


def join_words(words: tuple[str, ...]) -> str:
    """Return the words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
