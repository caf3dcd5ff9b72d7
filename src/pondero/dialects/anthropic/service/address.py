"""Where requests are sent, whose key they carry, and which model they name.

The model's name stands in the body, or in the address where another cloud hosts the model
(``rawPredict``). ``pondero.sdk`` and the gateway use ``serves`` and ``model_of`` without the rules.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from msgspec.structs import replace

from pondero.canon import HttpRequest, Json
from pondero.dialects import bodies

from .errors import refuse

_IN_PATH = re.compile(r"(?<=/models/)[^/:?]+(?=:)")
_PREDICT = re.compile(
    r".*/publishers/anthropic/models/(?P<model>[^/:]+):(?P<verb>rawPredict|streamRawPredict)"
)


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith("/messages") or predicts(path)


def predicts(path: str) -> bool:
    """Return whether a path is of rawPredict: it names the model and whether to stream."""
    return _PREDICT.fullmatch(path) is not None


def streams(path: str) -> bool:
    """Return whether the verb of a rawPredict path asks for a stream."""
    return path.endswith(":streamRawPredict")


def usual(path: str, body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body of a rawPredict request as /v1/messages takes it, the model first."""
    found = _PREDICT.fullmatch(path)
    named = {"model": unquote(found["model"])} if found else {}
    passed = ("anthropic_version", *named)
    return {**named, **{key: value for key, value in body.items() if key not in passed}}


def model_of(http: HttpRequest) -> str | None:
    """Return the model's name; None where there is none."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else bodies.model_of(http)


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must have one."""
    if not _IN_PATH.search(http.url):
        return bodies.with_model(http, model)
    url = _IN_PATH.sub(lambda _: quote(model, safe="@"), http.url, count=1)
    return replace(http, url=url)


def check_key(http: HttpRequest) -> None:
    """Refuse a request without a key, and one with two."""
    key = http.headers.get("x-api-key")
    bearer = http.headers.get("authorization", "")
    if not key and not bearer.startswith("Bearer "):
        raise refuse("x-api-key header is required", status=401)
    if key and bearer:
        raise refuse("only one of x-api-key and authorization may be sent", status=401)
