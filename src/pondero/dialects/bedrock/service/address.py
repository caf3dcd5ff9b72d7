"""Addresses of this wire: which are served, which model each names, and what it asks for."""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from msgspec.structs import replace

from pondero.canon import HttpRequest

_PATH = re.compile(r".*/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?")
_IN_PATH = re.compile(r"(?<=/model/)[^/?]+(?=/)")


class Address(NamedTuple):
    """What the path of a conversation says."""

    model: str
    stream: bool


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return _PATH.fullmatch(path) is not None


def address_of(http: HttpRequest) -> Address | None:
    """Return what a request's address says; None where it is not one of this wire's."""
    found = _PATH.fullmatch(urlsplit(http.url).path)
    return Address(unquote(found["model"]), found["stream"] is not None) if found else None


def model_of(http: HttpRequest) -> str | None:
    """Return the model that the address names; None where it names none."""
    found = _IN_PATH.search(http.url)
    return unquote(found[0]) if found else None


def with_model(http: HttpRequest, model: str) -> HttpRequest:
    """Return the request for another model; its address must name one."""
    url = _IN_PATH.sub(lambda _: quote(model, safe=""), http.url, count=1)
    return replace(http, url=url)
