"""The dialects by name."""

from functools import cache
from importlib import import_module
from urllib.parse import urlsplit

from ..canon import HttpRequest, Json
from .dialect import Caller, Dialect, ReplayChecks, Service

NAMES = (
    "anthropic",
    "openai_responses",
    "openai_chat",
    "gemini",
    "cohere",
    "ollama",
    "bedrock",
    "interactions",
)
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


def guess_dialect(http: HttpRequest) -> str | None:
    """Return the dialect that a request to an address without conversations speaks, if known.

    An address that only one API has decides before headers: the SDK of one vendor's models at
    another vendor's service sends headers of both.
    """
    path = urlsplit(http.url).path
    services = {name: get_dialect(name).service() for name in NAMES}
    for name, service in services.items():
        if service.own_paths.pattern.search(path):
            return name
    sent = http.headers.keys()
    for name, service in services.items():
        asks = service.models.classify(http) if service.models else None
        if asks or service.own_headers & sent:
            return name
    return None
