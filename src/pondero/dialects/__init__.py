"""How does each wire say it? One package a wire; none knows another."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

from ..canon import HttpRequest, Json
from ..errors import ServiceError
from . import naming
from .contract import (
    Accept,
    Accepted,
    Beside,
    ByteStream,
    Decode,
    Dialect,
    Encode,
    EventStream,
    Given,
    Listed,
    Past,
    Rejected,
    Repair,
    Respond,
    Sent,
    Trap,
)

NAMES = ("anthropic", "openai_responses", "openai_chat", "gemini", "cohere", "ollama", "bedrock")


@cache
def dialect(name: str) -> Dialect:
    """Return a dialect by name; its package is imported on first use."""
    return cast("Dialect", import_module(f"{__name__}.{name}"))


def repair(name: str, request: HttpRequest, error: ServiceError) -> Repair | None:
    """Return the request as this wire would take it, where its refusal names the cure."""
    made: Repair | None = _file(name, "repair").repair(request, error)
    return made


def takes(name: str, quirks: Mapping[str, Json]) -> dict[str, Json]:
    """Return what one deployment of this wire takes of a past that others made."""
    made: dict[str, Json] = _file(name, "taking").takes(quirks)
    return made


def named(name: str, request: HttpRequest) -> str | None:
    """Return the model a request of this wire is for, as the service reads it."""
    found: str | None = _naming(name).named(request)
    return found


def renamed(name: str, request: HttpRequest, model: str) -> HttpRequest:
    """Return a request of this wire as it would be for another model."""
    made: HttpRequest = _naming(name).renamed(request, model)
    return made


@cache
def _naming(name: str) -> Any:
    try:
        return _file(name, "naming")
    except ModuleNotFoundError:  # the name stands where it does on most wires
        return naming


@cache
def beside(name: str) -> Beside | None:
    """Return what a wire answers beside conversations, where that is known."""
    try:
        return cast("Beside", _file(name, "beside"))
    except ModuleNotFoundError:
        return None


@cache
def _file(name: str, noun: str) -> Any:
    return import_module(f"{__name__}.{name}.{noun}")


def traps(name: str, sent: Sent) -> list[Trap]:
    """Return where a request of this wire is refused for its past, or loses thinking."""
    made: list[Trap] = import_module(f"{__name__}.{name}.traps").traps(sent)
    return made


def has_past(name: str, body: Mapping[str, Json]) -> bool:
    """Return whether a request of this wire sends back what a model said."""
    found: bool = import_module(f"{__name__}.{name}.traps").has_past(body)
    return found


__all__ = [
    "NAMES",
    "Accept",
    "Accepted",
    "Beside",
    "ByteStream",
    "Decode",
    "Dialect",
    "Encode",
    "EventStream",
    "Given",
    "Listed",
    "Past",
    "Rejected",
    "Repair",
    "Respond",
    "Sent",
    "Trap",
    "beside",
    "dialect",
    "has_past",
    "named",
    "renamed",
    "repair",
    "takes",
    "traps",
]
