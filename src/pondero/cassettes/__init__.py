"""Recordings of exchanges: the file, playing, recording, redacting and matching requests."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cassette import AsyncCassette, Cassette
    from .file_format import RecordedExchange, load_cassette, parse_cassette
    from .leak_check import Leak, find_leaks
    from .recorder import AsyncTap, Tap
    from .redaction import Redactor, redact_exchange

_NAMES = {
    "cassette": "AsyncCassette Cassette",
    "file_format": "RecordedExchange load_cassette parse_cassette",
    "leak_check": "Leak find_leaks",
    "recorder": "AsyncTap Tap",
    "redaction": "Redactor redact_exchange",
}

__all__ = [
    "AsyncCassette",
    "AsyncTap",
    "Cassette",
    "Leak",
    "RecordedExchange",
    "Redactor",
    "Tap",
    "find_leaks",
    "load_cassette",
    "parse_cassette",
    "redact_exchange",
]

# Load each file on first use: playing needs none of what recording does.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
