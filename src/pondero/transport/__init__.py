"""How bytes move between us and a service: the only rooms that wait."""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import AsyncShell
    from .cassette import Recorded, exchanges, load
    from .fast import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .leak import Leak, leaks
    from .redact import presentable
    from .signing import AsyncSigningTransport, SigningTransport
    from .sync import Shell
    from .tap import AsyncTap
    from .vcr import AsyncCassette, Cassette

_HOMES = {
    "AsyncCassette": "vcr",
    "AsyncHttpTransport": "http",
    "AsyncShell": "aio",
    "AsyncSigningTransport": "signing",
    "AsyncTap": "tap",
    "Cassette": "vcr",
    "FastTransport": "fast",
    "HttpTransport": "http",
    "Leak": "leak",
    "Recorded": "cassette",
    "Shell": "sync",
    "SigningTransport": "signing",
    "exchanges": "cassette",
    "leaks": "leak",
    "load": "cassette",
    "presentable": "redact",
}

__all__ = [
    "AsyncCassette",
    "AsyncHttpTransport",
    "AsyncShell",
    "AsyncSigningTransport",
    "AsyncTap",
    "Cassette",
    "FastTransport",
    "HttpTransport",
    "Leak",
    "Recorded",
    "Shell",
    "SigningTransport",
    "exchanges",
    "leaks",
    "load",
    "presentable",
]

# Load a transport on first use: each needs another library.
__getattr__ = lazily(__name__, _HOMES)
