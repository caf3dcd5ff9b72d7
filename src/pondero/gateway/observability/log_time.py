"""Puts the time before the gateway's own messages on stderr, as each line of the access log has it.

``server/run.py`` calls it; a program that configured logging keeps its own form of lines.
"""

import logging

from .access_log import format_log_time


class TimedFormatter(logging.Formatter):
    """A message after its time, in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and a traceback below it if there is one."""
        return f"{format_log_time(record.created)} {super().format(record)}"


def write_log_times() -> None:
    """Write messages of the gateway with their time, unless logging is configured already."""
    log = logging.getLogger("pondero.gateway")
    if log.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(TimedFormatter())
    log.addHandler(handler)
