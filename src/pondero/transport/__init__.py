"""Network I/O and the waiting between retries."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aws_signing import AsyncSigningTransport, SigningTransport, check_signing
    from .batched_writes import BatchedTransport, WriteBatch
    from .departure import announce_departure, watch_departure
    from .event_loop import asleep, gather_results, in_trio, run_in_thread
    from .fast_http import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .settings import ConnectionLimits
    from .shell import AsyncShell, Shell
    from .web_socket import (
        ServiceSocket,
        ServiceSocketEnd,
        SocketRejection,
        can_send,
        open_service_socket,
    )

_NAMES = {
    "aws_signing": "AsyncSigningTransport SigningTransport check_signing",
    "batched_writes": "BatchedTransport WriteBatch",
    "departure": "announce_departure watch_departure",
    "event_loop": "asleep in_trio run_in_thread gather_results",
    "fast_http": "FastTransport",
    "http": "AsyncHttpTransport HttpTransport",
    "settings": "ConnectionLimits",
    "shell": "AsyncShell Shell",
    "web_socket": "ServiceSocket ServiceSocketEnd SocketRejection can_send open_service_socket",
}

__all__ = [
    "AsyncHttpTransport",
    "AsyncShell",
    "AsyncSigningTransport",
    "BatchedTransport",
    "ConnectionLimits",
    "FastTransport",
    "HttpTransport",
    "ServiceSocket",
    "ServiceSocketEnd",
    "Shell",
    "SigningTransport",
    "SocketRejection",
    "WriteBatch",
    "announce_departure",
    "asleep",
    "can_send",
    "check_signing",
    "gather_results",
    "in_trio",
    "open_service_socket",
    "run_in_thread",
    "watch_departure",
]

# Load a transport on first use: each needs another library.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
