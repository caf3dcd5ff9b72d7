"""Recordings of exchanges: the file, playing, recording, redacting and matching requests."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cassette import AsyncCassette, Cassette
    from .file_format import RecordedExchange, load_cassette, parse_cassette
    from .leak_check import Leak, find_leaks
    from .recorder import AsyncTap, Tap
    from .redaction import redact_exchange

_HOMES = {
    "AsyncCassette": "cassette",
    "AsyncTap": "recorder",
    "Cassette": "cassette",
    "Leak": "leak_check",
    "RecordedExchange": "file_format",
    "Tap": "recorder",
    "find_leaks": "leak_check",
    "load_cassette": "file_format",
    "parse_cassette": "file_format",
    "redact_exchange": "redaction",
}

__all__ = [
    "AsyncCassette",
    "AsyncTap",
    "Cassette",
    "Leak",
    "RecordedExchange",
    "Tap",
    "find_leaks",
    "load_cassette",
    "parse_cassette",
    "redact_exchange",
]

# Load each file on first use: playing needs none of what recording does.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
