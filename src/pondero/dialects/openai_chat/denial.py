"""How a service of this wire says no: status, headers and body as it would send them."""

from typing import Literal, NoReturn

import msgspec

from ...canon import HttpResponse, Json
from ..contract import Rejected

Shape = Literal["nested", "flat", "string"]
_TYPES = {
    403: "permission_error",
    429: "rate_limit_error",
    503: "service_unavailable_error",
    **dict.fromkeys((500, 502, 504), "server_error"),
}
_CODES = {429: "rate_limit_exceeded", 503: "server_is_overloaded", 500: "server_error"}


def denial(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    retry_after: float | None = None,
    shape: Shape = "nested",
) -> HttpResponse:
    """Return an error in one of the shapes this wire has for it."""
    said: dict[str, Json] = {
        "message": message,
        "type": _TYPES.get(status, "invalid_request_error"),
        "param": param,
        "code": code,
    }
    if shape == "nested":
        body: Json = {"error": said}
    else:
        body = said if shape == "flat" else {"code": code or said["type"], "error": message}
    headers = {"content-type": "application/json", "x-request-id": "req_emulated"}
    if retry_after is not None:
        headers["retry-after"] = f"{retry_after:g}"
        headers["retry-after-ms"] = f"{retry_after * 1000:g}"
    return HttpResponse(status, headers, msgspec.json.encode(body))


def failure(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error of the service's own, not of the request's making."""
    return denial(status, message, code=code or _CODES.get(status), retry_after=retry_after)


class Denier:
    """Says no the way one service does."""

    def __init__(self, shape: Shape) -> None:
        self._shape: Shape = shape

    def deny(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
    ) -> NoReturn:
        """Raise the refusal."""
        answer = denial(status, message, param=param, code=code, shape=self._shape)
        raise Rejected(answer)

    def unknown(self, param: str) -> NoReturn:
        """Refuse a field that is not there: at the top in old words, further in in newer ones."""
        if "." in param or "[" in param:
            self.deny(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")
        self.deny(f"Unrecognized request argument supplied: {param}")

    def unsupported(self, param: str, *, instead: str | None = None) -> NoReturn:
        """Refuse a parameter that this model does not take."""
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        if instead is not None:
            message += f" Use '{instead}' instead."
        self.deny(message, param=param, code="unsupported_parameter")

    def value(self, param: str, value: Json, *, only: str) -> NoReturn:
        """Refuse a value that this model does not take."""
        said = f"'{value}'" if isinstance(value, str) else f"{value:g}"
        message = f"Unsupported value: '{param}' does not support {said} with this model. {only}"
        self.deny(message, param=param, code="unsupported_value")


def listed(words: tuple[str, ...]) -> str:
    """Return the words as the service lists them: 'a', 'b', and 'c'."""
    quoted = [f"'{word}'" for word in words]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
