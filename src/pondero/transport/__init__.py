"""The room that does the network I/O and the waiting between retries; cassettes are here too."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aws_signature import AsyncSigningTransport, SigningTransport
    from .cassette import AsyncCassette, Cassette
    from .cassette_file import RecordedExchange, load_cassette, parse_cassette
    from .fast_http import FastTransport
    from .http import AsyncHttpTransport, HttpTransport
    from .leak_check import Leak, leaks
    from .recorder import AsyncTap, Tap
    from .redaction import redact_exchange
    from .shell import AsyncShell, Shell

_HOMES = {
    "AsyncCassette": "cassette",
    "AsyncHttpTransport": "http",
    "AsyncShell": "shell",
    "AsyncSigningTransport": "aws_signature",
    "AsyncTap": "recorder",
    "Cassette": "cassette",
    "FastTransport": "fast_http",
    "HttpTransport": "http",
    "Leak": "leak_check",
    "RecordedExchange": "cassette_file",
    "Shell": "shell",
    "SigningTransport": "aws_signature",
    "Tap": "recorder",
    "parse_cassette": "cassette_file",
    "leaks": "leak_check",
    "load_cassette": "cassette_file",
    "redact_exchange": "redaction",
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
    "RecordedExchange",
    "Shell",
    "SigningTransport",
    "Tap",
    "leaks",
    "load_cassette",
    "parse_cassette",
    "redact_exchange",
]

# Load a transport on first use: each needs another library.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
