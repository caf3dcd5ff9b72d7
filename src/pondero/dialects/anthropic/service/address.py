"""Which model a request is for, and the same request for another: the service's side.

The name stands in the body, or in the address where another cloud hosts the model.
"""

import re
from urllib.parse import quote, unquote

from msgspec.structs import replace

from pondero.canon import HttpRequest
from pondero.dialects import body_model

_IN_PATH = re.compile(r"(?<=/models/)[^/:?]+(?=:)")


def named(http: HttpRequest) -> str | None:
    """Return the model's name; None where there is none."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else body_model.model_of(http)


def renamed(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must have one."""
    if not _IN_PATH.search(http.url):
        return body_model.with_model(http, model)
    url = _IN_PATH.sub(lambda _: quote(model, safe="@"), http.url, count=1)
    return replace(http, url=url)
