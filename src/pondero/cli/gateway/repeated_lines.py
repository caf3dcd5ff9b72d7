"""The gateway's warnings while ``launch`` runs a client: a line that comes again is counted."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..command import warn

_ID = re.compile(r"^request \S+: (?:[A-Z]\w+: )?")  # and the kind of error, for administrators
_AGAIN = "the same error again; the client keeps retrying, and Ctrl+C stops it"


class RepeatedLines(logging.Handler):
    """Prints each warning once, a hint when it comes again, and at the end how often it came."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._counts: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line that is new; the ids of requests do not make it another one."""
        line = _ID.sub("", self.format(record))
        count = self._counts[line] = self._counts.get(line, 0) + 1
        if count == 1:
            warn(line)
        elif count == 2 and max(self._counts.values()) == count:
            warn(_AGAIN)

    def say_counts(self) -> None:
        """Print how often each line came that came more than once."""
        for line, count in self._counts.items():
            if count > 1:
                warn(f"{line} (repeated {count:,} times)")


@contextmanager
def say_repeats_once() -> Iterator[None]:
    """Print the gateway's warnings with ``RepeatedLines`` during this block."""
    log, handler = logging.getLogger("pondero.gateway"), RepeatedLines()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.say_counts()
