"""Network I/O and the waiting between retries."""

from ..lazy import Loader, index_names, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aws_signing import AsyncSigningTransport, SigningTransport
    from .fast_http import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .shell import AsyncShell, Shell

_HOMES = index_names(
    {
        "aws_signing": "AsyncSigningTransport SigningTransport",
        "fast_http": "FastTransport",
        "http": "AsyncHttpTransport HttpTransport",
        "shell": "AsyncShell Shell",
    }
)

__all__ = [
    "AsyncHttpTransport",
    "AsyncShell",
    "AsyncSigningTransport",
    "FastTransport",
    "HttpTransport",
    "Shell",
    "SigningTransport",
]

# Load a transport on first use: each needs another library.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
