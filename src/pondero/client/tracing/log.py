"""The lines of the logger "pondero", which docs/guides/tracing.md lists.

``logging`` is not imported here: an application that logs has done so itself. No line contains a
key, a header or any text of a conversation.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from ...canon import Reply
from ...errors import PonderoError, ServiceError
from ...exchange import Exchange

_DEBUG = 10  # logging.DEBUG


def log_request(exchange: Exchange) -> Callable[..., None] | None:
    """Log a request and return the function that logs its end; None if DEBUG is off."""
    if "logging" not in sys.modules or not (logger := _logger()).isEnabledFor(_DEBUG):
        return None
    plan, http = exchange.plan, exchange.http
    level = plan.level if plan.budget is None else f"{plan.level}, {plan.budget} tokens"
    address = http.url.partition("?")[0].rpartition("@")[2]
    logger.debug("%s %s: %s at level %s", http.method, address, plan.model, level)
    for note in plan.adjustments:
        logger.debug("%s: %s (%s)", plan.model, note.why, note.code)
    log: Callable[..., None] = logger.debug
    return log


def log_retry(exchange: Exchange, error: PonderoError, seconds: float) -> None:
    """Log that a request failed and is retried after this many seconds."""
    if "logging" in sys.modules:
        origin = exchange.origin
        _logger().info(
            "%s %s: %s, tried again after %.1f s",
            *(origin.provider, origin.model, _name(error), seconds),
        )


def log_fallback(before: str, after: str, error: PonderoError) -> None:
    """Log a fallback to the next model, and the failure of the one before."""
    if "logging" in sys.modules:
        _logger().info("%s: %s, asking %s", before, _name(error), after)


def log_tool(name: str, *, error: bool) -> None:
    """Log that a tool ran, without its arguments and result."""
    if "logging" in sys.modules and (logger := _logger()).isEnabledFor(_DEBUG):
        logger.debug("tool %s: %s", name, "error" if error else "done")


def log_lost(server: str) -> None:
    """Log that an MCP server was lost."""
    if "logging" in sys.modules:
        _logger().warning("the MCP server %s was lost", server)


def log_bad_switch(name: str, known: str) -> None:
    """Log that a variable has a value that we do not know, without the value."""
    if "logging" in sys.modules:
        _logger().warning("%s has an unknown value and is ignored; use %s", name, known)


@cache
def _logger() -> Any:
    import logging  # noqa: PLC0415 - only where the application has imported it

    logger = logging.getLogger("pondero")
    logger.addHandler(logging.NullHandler())  # no lines on stderr unless logging is configured
    logger.addFilter(_redact)
    return logger


def _redact(record: Any) -> bool:
    """Take keys out of a line: a user may have given one as a model's name."""
    from ...store import redact_secrets  # noqa: PLC0415 - only for those who log

    line = record.getMessage()
    if (clean := redact_secrets(line)) != line:
        record.msg, record.args = clean, ()
    return True


def describe_outcome(reply: Reply | None, error: BaseException | None) -> str:
    """Return how an exchange ended."""
    if reply is not None:
        thought, wrote = reply.usage.thinking, reply.usage.output
        return f"answered: {reply.finish}, thinking {thought}, output {wrote}, {reply.verdict}"
    if error is None or isinstance(error, GeneratorExit):
        return "left before its end"
    return f"failed: {_name(error)}"


def _name(error: BaseException) -> str:
    status = f" (HTTP {error.status})" if isinstance(error, ServiceError) and error.status else ""
    return f"{type(error).__name__}{status}"
