"""Which model a request is for, and the same request for another: the service's side.

The name stands in the body; a wire where it may stand elsewhere has a file of this name.
"""

import msgspec

from ..canon import HttpRequest


def named(http: HttpRequest) -> str | None:
    """Return the model's name; None where there is none."""
    try:
        return msgspec.json.decode(http.body, type=_Named).model
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def renamed(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must have one."""
    body = msgspec.json.decode(http.body) | {"model": model}
    return msgspec.structs.replace(http, body=msgspec.json.encode(body))


class _Named(msgspec.Struct):
    model: str
