"""Errors in the shapes of this wire's providers; their own texts are in ``providers/NAME.toml``."""

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


class RejectionText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider's own text for one rejection, with its status, code and type."""

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

    def reject(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
        kind: str | None = None,
        upstream: str | None = None,
    ) -> NoReturn:
        """Raise Rejected; each caller names the source of its rule."""
        error = write_error(
            status, message, param=param, code=code, kind=kind, upstream=upstream, shape=self._shape
        )
        raise Rejected(error)

    def reject_as(self, name: str, *, param: str | None = None, **facts: Json) -> None:
        """Raise the rejection of this name if the provider's table has a text for it."""
        if (own := self._says.get(name)) is not None:  # the table names the source
            text = own.text.format(param=param, **facts)
            self.reject(text, status=own.status, param=param, code=own.code, kind=own.kind)

    def reject_unknown(self, param: str) -> NoReturn:
        """Reject an unknown field; OpenAI's text differs at the top level."""
        self.reject_as("unknown", param=param)
        # OpenAI, errors: unknown_parameter, Unrecognized ... (public clients, 2026-11-15)
        if "." in param or "[" in param:
            self.reject(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")
        self.reject(f"Unrecognized request argument supplied: {param}")

    def reject_unsupported(
        self, param: str, *, model: str = "", instead: str | None = None
    ) -> NoReturn:
        """Reject a parameter that this model does not take."""
        self.reject_as("unsupported", param=param, model=model)
        # OpenAI, models: unsupported_parameter (mirascope recording
        # test_call_with_params/openai_gpt_5_mini_completions, 2026-01-27)
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        if instead is not None:
            message += f" Use '{instead}' instead."
        self.reject(message, param=param, code="unsupported_parameter")

    def reject_value(self, param: str, value: Json, *, only: str) -> NoReturn:
        """Reject a value that this model does not take."""
        # OpenAI, models: unsupported_value (Kilo-Org/cloud#3807, 2026-11-15)
        said = f"'{value}'" if isinstance(value, str) else f"{value:g}"
        message = f"Unsupported value: '{param}' does not support {said} with this model. {only}"
        self.reject(message, param=param, code="unsupported_value")

    def reject_invalid(self, error: str) -> NoReturn:
        """Reject a body that does not fit the types; ``error`` is msgspec's message."""
        # OpenAI, errors: codes and texts (public clients quote them, 2026-11-16)
        found = _AT.match(error)
        problem, path = (found["what"], found["path"] or "") if found else (error, "")
        if unknown := _UNKNOWN.match(problem):
            self.reject_unknown(f"{path}.{unknown[1]}" if path else unknown[1])
        if missing := _MISSING.match(problem):
            param = f"{path}.{missing[1]}" if path else missing[1]
            message = f"Missing required parameter: '{param}'."
            self.reject(message, param=param, code="missing_required_parameter")
        if wrong := _TYPE.match(problem):
            message = f"Invalid type for '{path}': {_describe_types(wrong[1], wrong[2])} instead."
            self.reject(message, param=path, code="invalid_type")
        if value := _VALUE.match(problem):
            message = f"Invalid value: {value[1]}.{_list_supported(path)}"
            self.reject(message, param=path, code=_INVALID)
        if short := _SHORT.match(problem):
            kind, article = ("array", "an") if short[1] == "array" else ("string", "a")
            message = (
                f"Invalid '{path}': empty {kind}. Expected {article} {kind} "
                f"with minimum length 1, but got an empty {kind} instead."
            )
            self.reject(message, param=path, code=f"empty_{kind}")
        self.reject(f"Invalid '{path}': {problem}.", param=path or None, code=_INVALID)


def _describe_types(expected: str, got: str) -> str:
    named = [_ARTICLES.get(each, each) for each in expected.split(" | ") if each != "null"]
    first = "one of " + " or ".join(named) if len(named) > 1 else named[0]
    if set(named) == {"a string", "an array"}:
        first = "one of a string or array of objects"
    return f"expected {first}, but got {_ARTICLES.get(got, got)}"


def _list_supported(path: str) -> str:
    known = _PARTS if path.endswith(".type") else _ROLES if path.endswith(".role") else ()
    return f" Supported values are: {join_words(known)}." if known else ""


def join_words(words: tuple[str, ...]) -> str:
    """Format words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
