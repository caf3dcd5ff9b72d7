"""Which model a request is for, and the same request for another: the service's side."""

import re
from urllib.parse import quote, unquote

from msgspec.structs import replace

from pondero.canon import HttpRequest

_IN_PATH = re.compile(r"(?<=/model/)[^/?]+(?=/)")


def model_of(http: HttpRequest) -> str | None:
    """Return the model's name; None where there is none."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else None


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must have one."""
    url = _IN_PATH.sub(lambda _: quote(model, safe=""), http.url, count=1)
    return replace(http, url=url)
