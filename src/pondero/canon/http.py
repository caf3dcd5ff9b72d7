"""HTTP as values; who moves the bytes is not known here."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class HttpRequest(Struct, frozen=True):
    """A request ready to be sent; header names are lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        """Say what it is without the values of its headers: a key is among them."""
        return (
            f"HttpRequest({self.method!r}, {self.url!r}, headers={sorted(self.headers)}, "
            f"body={len(self.body)} bytes)"
        )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("method", self.method), ("url", self.url), ("headers", sorted(self.headers))]


class Head(Struct, frozen=True):
    """The beginning of a response; header names are lower case."""

    status: int
    headers: Mapping[str, str] = {}


class HttpResponse(Struct, frozen=True):
    """A whole response."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
