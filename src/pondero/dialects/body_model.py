"""Which model a request names in its body, and the same request for another model.

Services whose address names the model have functions of their own.
"""

import msgspec

from ..canon import HttpRequest


def model_of(http: HttpRequest) -> str | None:
    """Return the model's name; None where there is none."""
    try:
        return msgspec.json.decode(http.body, type=_Named).model
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must have one."""
    body = msgspec.json.decode(http.body) | {"model": model}
    return msgspec.structs.replace(http, body=msgspec.json.encode(body))


class _Named(msgspec.Struct):
    model: str
