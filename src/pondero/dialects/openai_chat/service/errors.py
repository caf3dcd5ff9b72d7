"""How a service of this wire says no: status, headers and body as it would send them."""

from typing import Literal, NoReturn

import msgspec

from pondero.canon import HttpResponse, Json
from pondero.dialects.dialect import Rejected

from .models import Saying, Service

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


def denial(
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

    ``upstream`` is what a router was told by whoever it asked.
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
    return HttpResponse(
        status, headers, msgspec.json.encode(_shaped(status, said, shape, upstream))
    )


def _shaped(status: int, said: dict[str, Json], shape: Shape, upstream: str | None) -> Json:
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


def failure(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error of the service's own, not of the request's making."""
    return denial(status, message, code=code or _CODES.get(status), retry_after=retry_after)


class Denier:
    """Says no the way one service does."""

    def __init__(self, service: Service) -> None:
        self._shape: Shape = service.error
        self._says = service.says

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
        """Raise the refusal."""
        raise Rejected(
            denial(
                status,
                message,
                param=param,
                code=code,
                kind=kind,
                upstream=upstream,
                shape=self._shape,
            )
        )

    def say(self, name: str, *, param: str | None = None, **facts: Json) -> None:
        """Raise the refusal of this name in the service's own words, where it has any."""
        if (own := self._says.get(name)) is not None:
            self._own(own, param, facts)

    def _own(self, own: Saying, param: str | None, facts: dict[str, Json]) -> NoReturn:
        text = own.text.format(param=param, **facts)
        self.deny(text, status=own.status, param=param, code=own.code, kind=own.kind)

    def unknown(self, param: str) -> NoReturn:
        """Refuse a field that is not there: at the top in old words, further in in newer ones."""
        self.say("unknown", param=param)
        if "." in param or "[" in param:
            self.deny(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")
        self.deny(f"Unrecognized request argument supplied: {param}")

    def unsupported(self, param: str, *, model: str = "", instead: str | None = None) -> NoReturn:
        """Refuse a parameter that this model does not take."""
        self.say("unsupported", param=param, model=model)
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
