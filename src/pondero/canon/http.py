"""HTTP as values; who moves the bytes is not known here."""

from collections.abc import Mapping

from msgspec import Struct


class HttpRequest(Struct, frozen=True):
    """A request ready to be sent; header names are lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Head(Struct, frozen=True):
    """The beginning of a response; header names are lower case."""

    status: int
    headers: Mapping[str, str] = {}


class HttpResponse(Struct, frozen=True):
    """A whole response."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
