"""The dialects by name."""

from functools import cache
from importlib import import_module

from ..canon import Json
from .dialect import Caller, Dialect, ReplayChecks, Service

NAMES = ("anthropic", "openai_responses", "openai_chat", "gemini", "cohere", "ollama", "bedrock")
COMMON = "openai_chat"
"""The dialect that a program most likely uses if nothing says which."""


def make_dialect(name: str, package: str) -> Dialect:
    """Make the dialect of a package; each of its sides is imported when first used."""

    @cache
    def caller() -> Caller:
        found: Caller = import_module(f"{package}.caller").CALLER
        return found

    @cache
    def service() -> Service[Json]:
        found: Service[Json] = import_module(f"{package}.service").SERVICE
        return found

    @cache
    def replay_checks() -> ReplayChecks:
        found: ReplayChecks = import_module(f"{package}.replay_checks").REPLAY_CHECKS
        return found

    return Dialect(name, caller, service, replay_checks)


_DIALECTS = {name: make_dialect(name, f"{__package__}.{name}") for name in NAMES}


def get_dialect(name: str) -> Dialect:
    """Return a dialect by name."""
    return _DIALECTS[name]
