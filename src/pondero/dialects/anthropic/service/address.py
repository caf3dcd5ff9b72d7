"""Addresses of this API, the key a request carries, and the model it names."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from msgspec.structs import replace

from pondero.canon import HttpRequest, Json
from pondero.dialects import bodies
from pondero.dialects.dialect import OwnPaths

from .errors import reject

_IN_PATH = re.compile(r"(?<=/models/)[^/:?]+(?=:)")
_PREDICT = re.compile(
    r".*/publishers/anthropic/models/(?P<model>[^/:]+):(?P<verb>rawPredict|streamRawPredict)"
)

OWN_PATHS = OwnPaths(
    pattern=re.compile(
        r"/v1/(?:messages|complete|organizations|skills)(?:/|$)|/publishers/anthropic/"
    )
)
"""Addresses of Anthropic's SDK, and of its models on Vertex AI."""


def serves(path: str) -> bool:
    """Return whether a path belongs to this API."""
    return path.endswith("/messages") or predicts(path)


def predicts(path: str) -> bool:
    """Return whether a path is one of rawPredict."""
    return _PREDICT.fullmatch(path) is not None


def streams(path: str) -> bool:
    """Return whether a rawPredict path asks for a stream."""
    return path.endswith(":streamRawPredict")


def usual(path: str, body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body of a rawPredict request as /v1/messages accepts it, the model first."""
    found = _PREDICT.fullmatch(path)
    named = {"model": unquote(found["model"])} if found else {}
    passed = ("anthropic_version", *named)
    return {**named, **{key: value for key, value in body.items() if key not in passed}}


def model_of(http: HttpRequest) -> str | None:
    """Return the model's name; None if the request has none."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else bodies.model_of(http)


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; it must name one already."""
    if not _IN_PATH.search(http.url):
        return bodies.with_model(http, model)
    url = _IN_PATH.sub(lambda _: quote(model, safe="@"), http.url, count=1)
    return replace(http, url=url)


def check_any_key(http: HttpRequest) -> None:
    """Reject a request without a key in either form."""
    if not http.headers.get("x-api-key") and not http.headers.get("authorization"):
        reject("no_key")


def check_key(http: HttpRequest) -> None:
    """Reject a request without a key, and one with two."""
    key = http.headers.get("x-api-key")
    bearer = http.headers.get("authorization", "")
    if not key and not bearer.startswith("Bearer "):
        reject("no_key")
    if key and bearer:
        reject("two_keys")
