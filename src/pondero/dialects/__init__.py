"""How does each wire say it? One package a wire; none knows another."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import cast

from ..canon import HttpRequest, Json
from ..errors import ServiceError
from .contract import (
    Accept,
    Accepted,
    ByteStream,
    Decode,
    Dialect,
    Encode,
    EventStream,
    Rejected,
    Repair,
    Respond,
)

NAMES = ("anthropic", "openai_responses", "openai_chat", "gemini")


@cache
def dialect(name: str) -> Dialect:
    """Return a dialect by name; its package is imported on first use."""
    return cast("Dialect", import_module(f"{__name__}.{name}"))


def repair(name: str, request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request as this wire would take it, where its refusal names the cure."""
    made: Repair | None = import_module(f"{__name__}.{name}.repair").repair(request, error)
    return made


def takes(name: str, quirks: Mapping[str, Json]) -> dict[str, Json]:
    """Return what one deployment of this wire takes of a past that others made."""
    made: dict[str, Json] = import_module(f"{__name__}.{name}.taking").takes(quirks)
    return made


__all__ = [
    "NAMES",
    "Accept",
    "Accepted",
    "ByteStream",
    "Decode",
    "Dialect",
    "Encode",
    "EventStream",
    "Rejected",
    "Repair",
    "Respond",
    "dialect",
    "repair",
    "takes",
]
