"""How bytes move between us and a service: the only rooms that wait."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import AsyncShell
    from .cassette import Recorded, exchanges, load
    from .fast import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .leak import Leak, leaks
    from .redact import presentable
    from .sync import Shell
    from .vcr import AsyncCassette, Cassette

_HOMES = {
    "AsyncCassette": "vcr",
    "AsyncHttpTransport": "http",
    "AsyncTap": "tap",
    "AsyncShell": "aio",
    "Cassette": "vcr",
    "FastTransport": "fast",
    "HttpTransport": "http",
    "Leak": "leak",
    "Recorded": "cassette",
    "Shell": "sync",
    "exchanges": "cassette",
    "leaks": "leak",
    "load": "cassette",
    "presentable": "redact",
}

__all__ = [
    "AsyncCassette",
    "AsyncHttpTransport",
    "AsyncTap",
    "AsyncShell",
    "Cassette",
    "FastTransport",
    "HttpTransport",
    "Leak",
    "Recorded",
    "Shell",
    "exchanges",
    "leaks",
    "load",
    "presentable",
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
