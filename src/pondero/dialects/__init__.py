"""How does each wire say it? One package a wire; none knows another."""

from functools import cache
from importlib import import_module
from typing import cast

from .contract import (
    Accept,
    Accepted,
    ByteStream,
    Decode,
    Dialect,
    Encode,
    EventStream,
    Rejected,
    Respond,
)

NAMES = ("anthropic", "openai_responses", "openai_chat", "gemini")


@cache
def dialect(name: str) -> Dialect:
    """Return a dialect by name; its package is imported on first use."""
    return cast("Dialect", import_module(f"{__name__}.{name}"))


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
    "Respond",
    "dialect",
]
