"""Network I/O and the waiting between retries."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aws_signing import AsyncSigningTransport, SigningTransport
    from .event_loop import asleep, gather_results, in_trio, run_in_thread
    from .fast_http import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .settings import ConnectionLimits
    from .shell import AsyncShell, Shell

_NAMES = {
    "aws_signing": "AsyncSigningTransport SigningTransport",
    "event_loop": "asleep in_trio run_in_thread gather_results",
    "fast_http": "FastTransport",
    "http": "AsyncHttpTransport HttpTransport",
    "settings": "ConnectionLimits",
    "shell": "AsyncShell Shell",
}

__all__ = [
    "AsyncHttpTransport",
    "AsyncShell",
    "AsyncSigningTransport",
    "ConnectionLimits",
    "FastTransport",
    "HttpTransport",
    "Shell",
    "SigningTransport",
    "asleep",
    "gather_results",
    "in_trio",
    "run_in_thread",
]

# Load a transport on first use: each needs another library.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
