"""Addresses of this API: the model that each names, and whether it streams."""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from msgspec.structs import replace

from pondero.canon import HttpRequest
from pondero.dialects.dialect import OwnPaths

_PATH = re.compile(r".*/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?")
_IN_PATH = re.compile(r"(?<=/model/)[^/?]+(?=/)")

_INVOKE = re.compile(r"/model/[^/]+/invoke(?:-with-response-stream)?$")
_USE_CONVERSE = "InvokeModel has the format of each vendor; use Converse or ConverseStream"
OWN_PATHS = OwnPaths(
    pattern=re.compile(
        r"/model/[^/]+/(?:converse|invoke|count-tokens)"
        r"|/(?:async-invoke|guardrail|guardrail-checks|foundation-models|inference-profiles)(?:/|$)"
    ),
    error_code="UnknownOperationException",
    advice=((_INVOKE, _USE_CONVERSE),),
)
"""The operations of Bedrock's runtime in botocore's service model, and two of its lists."""


class Address(NamedTuple):
    """The model in a path, and whether the path asks for a stream."""

    model: str
    stream: bool


def serves(path: str) -> bool:
    """Return whether a path belongs to this API."""
    return _PATH.fullmatch(path) is not None


def address_of(http: HttpRequest) -> Address | None:
    """Return the parsed address of a request; None if it does not belong to this API."""
    found = _PATH.fullmatch(urlsplit(http.url).path)
    return Address(unquote(found["model"]), found["stream"] is not None) if found else None


def model_of(http: HttpRequest) -> str | None:
    """Return the model in the address; None if it has none."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else None


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; its address must name one already."""
    url = _IN_PATH.sub(lambda _: quote(model, safe=""), http.url, count=1)
    return replace(http, url=url)
