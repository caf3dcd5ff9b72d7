"""Which model a request is for, and the same request for another: the service's side."""

import re
from urllib.parse import quote, unquote

import msgspec

from pondero.canon import HttpRequest

_IN_PATH = re.compile(r"(?<=/models/)[^/:?]+(?=:)")


def named(http: HttpRequest) -> str | None:
    """Return the model's name; None where it does not stand in the address."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else None


def renamed(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; its address must have one."""
    url = _IN_PATH.sub(lambda _: quote(model, safe=""), http.url, count=1)
    return msgspec.structs.replace(http, url=url)
