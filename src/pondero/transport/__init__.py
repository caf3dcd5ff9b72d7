"""How bytes move between us and a service: the only rooms that wait."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import Done, arun
    from .fast import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .leak import Leak, leaks
    from .sync import run
    from .vcr import AsyncCassette, Cassette

_HOMES = {
    "AsyncCassette": "vcr",
    "AsyncHttpTransport": "http",
    "Cassette": "vcr",
    "Done": "aio",
    "FastTransport": "fast",
    "HttpTransport": "http",
    "Leak": "leak",
    "arun": "aio",
    "leaks": "leak",
    "run": "sync",
}

__all__ = [
    "AsyncCassette",
    "AsyncHttpTransport",
    "Cassette",
    "Done",
    "FastTransport",
    "HttpTransport",
    "Leak",
    "arun",
    "leaks",
    "run",
]


def __getattr__(name: str) -> object:
    """Load a transport on first use: each needs another library."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415 - see above

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
