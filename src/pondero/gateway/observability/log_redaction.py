"""Redacts the gateway's own log: a traceback may quote a request or a key."""

import logging

from ...store import redact_secrets

_FORMAT = logging.Formatter()


class LogRedaction(logging.Filter):
    """Lets every record pass, without secrets in its message and its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record in place; handlers print ``exc_text`` if it is there."""
        record.msg, record.args = redact_secrets(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = redact_secrets(_FORMAT.formatException(record.exc_info))
        return True


def redact_log() -> None:
    """Redact everything that the gateway logs from now on."""
    log = logging.getLogger("pondero.gateway")
    if not any(isinstance(each, LogRedaction) for each in log.filters):
        log.addFilter(LogRedaction())
