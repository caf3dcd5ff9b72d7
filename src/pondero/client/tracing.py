"""An OpenTelemetry span and log lines for each exchange.

Nothing is imported here: an application that traces or logs has imported OpenTelemetry's API or
``logging`` itself. docs/python.md lists the lines of the logger "pondero". No line contains a key,
a header or any text of a conversation.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from ..canon import Reply
from ..errors import PonderoError, ServiceError
from ..exchange import Exchange

_API = "opentelemetry.trace"
_DEBUG = 10  # logging.DEBUG


def start_span(exchange: Exchange) -> "Span | None":
    """Start the span of an exchange; None if the application neither traces nor logs."""
    api, log = sys.modules.get(_API), _debug(exchange)
    return None if api is None and log is None else Span(exchange, api, log)


class Span:
    """One exchange as a span, by OpenTelemetry's ``gen_ai`` conventions; ends once."""

    def __init__(self, exchange: Exchange, api: Any, log: Callable[..., None] | None) -> None:
        self._log = log
        self._span: Any = None
        if api is not None:
            origin = exchange.origin
            self._span = api.get_tracer("pondero").start_span(
                f"chat {origin.model}",
                kind=api.SpanKind.CLIENT,
                attributes=_request_attributes(exchange),
            )
            self._failed = api.StatusCode.ERROR

    def end(self, reply: Reply | None = None, error: BaseException | None = None) -> None:
        """End the span with the reply, or with the error."""
        log, self._log = self._log, None
        if log is not None:
            log("%s", _outcome(reply, error))
        span, self._span = self._span, None
        if span is None:
            return
        if reply is not None:
            span.set_attributes(_reply_attributes(reply))
        if error is not None and not isinstance(error, GeneratorExit):  # closing early is no error
            span.set_attribute("error.type", type(error).__name__)
            if isinstance(error, ServiceError) and error.status is not None:
                span.set_attribute("http.response.status_code", error.status)
            span.set_status(self._failed)
        span.end()


def _debug(exchange: Exchange) -> Callable[..., None] | None:
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


@cache
def _logger() -> Any:
    import logging  # noqa: PLC0415 - only where the application has imported it

    logger = logging.getLogger("pondero")
    logger.addHandler(logging.NullHandler())  # no lines on stderr unless logging is configured
    return logger


def _outcome(reply: Reply | None, error: BaseException | None) -> str:
    if reply is not None:
        thought, wrote = reply.usage.thinking, reply.usage.output
        return f"answered: {reply.finish}, thinking {thought}, output {wrote}, {reply.verdict}"
    if error is None or isinstance(error, GeneratorExit):
        return "left before its end"
    return f"failed: {_name(error)}"


def _name(error: BaseException) -> str:
    status = f" (HTTP {error.status})" if isinstance(error, ServiceError) and error.status else ""
    return f"{type(error).__name__}{status}"


def _request_attributes(exchange: Exchange) -> dict[str, Any]:
    plan = exchange.plan
    return _drop_none(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": exchange.origin.provider,
            "gen_ai.request.model": exchange.origin.model,
            "gen_ai.request.reasoning.level": plan.level,
            "pondero.asked": None if plan.asked is None else str(plan.asked),
            "pondero.adjustments": [note.code for note in plan.adjustments] or None,
        }
    )


def _reply_attributes(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    read = [n for n in (usage.input, usage.cache_read, usage.cache_write) if n is not None]
    written = [n for n in (usage.output, usage.thinking) if n is not None]
    return _drop_none(
        {
            "gen_ai.response.model": reply.model,
            "pondero.request_id": reply.request_id,
            "gen_ai.response.finish_reasons": [reply.finish],
            "gen_ai.usage.input_tokens": sum(read) if read else None,
            "gen_ai.usage.output_tokens": sum(written) if written else None,
            "gen_ai.usage.reasoning.output_tokens": usage.thinking,
            "pondero.verdict": reply.verdict,
        }
    )


def _drop_none(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
