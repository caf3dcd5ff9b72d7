"""OpenTelemetry's spans, metrics and events for generative AI, and the lines of the log.

Nothing is imported here: an application that traces, measures or logs has imported OpenTelemetry's
API or ``logging`` itself. Neither a key nor a header is recorded, and texts of a conversation only
if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for them.
"""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct

from ...canon import Message, ToolCall, ToolResult
from ...exchange import Exchange
from .log import log_fallback, log_lost, log_request, log_retry, log_tool

if TYPE_CHECKING:
    from .agents import AgentSpan
    from .exchanges import Span

__all__ = [
    "ToolFacts",
    "ToolNote",
    "is_traced",
    "log_fallback",
    "log_lost",
    "log_retry",
    "log_tool",
    "start_agent",
    "start_span",
    "trace_tool",
]

_TRACES, _METRICS = "opentelemetry.trace", "opentelemetry.metrics"


class ToolFacts(Struct, frozen=True):
    """A tool's description and its kind, in the conventions' words."""

    description: str = ""
    kind: str = "function"


class ToolNote(Struct):
    """How a tool ended: its result, and the exception that the model was told of."""

    result: ToolResult | None = None
    error: BaseException | None = None


def is_traced() -> bool:
    """Return whether the application has imported OpenTelemetry's API of traces."""
    return _TRACES in sys.modules


def start_span(
    exchange: Exchange, agent: "AgentSpan | None" = None, *, shows: bool = True
) -> "Span | None":
    """Start the span of an exchange; None if the application neither observes nor logs.

    ``shows``: the caller gets the parts of the answer as they arrive.
    """
    log = log_request(exchange)
    if log is None and _TRACES not in sys.modules and _METRICS not in sys.modules:
        return None
    from .exchanges import Span  # noqa: PLC0415 - few programs observe

    return Span(exchange, log, agent, shows=shows)


def start_agent(provider: str, model: str, messages: Sequence[Message]) -> "AgentSpan":
    """Start the span of a turn with these messages; the application traces."""
    from .agents import AgentSpan  # noqa: PLC0415 - as above

    return AgentSpan(sys.modules[_TRACES], provider, model, messages)


def trace_tool(
    call: ToolCall, about: ToolFacts, agent: "AgentSpan | None"
) -> AbstractContextManager[ToolNote]:
    """Return the span to run a tool in, and a note of how it ended; no span without tracing."""
    api, note = sys.modules.get(_TRACES), ToolNote()
    if api is None:
        return nullcontext(note)
    from .agents import run_in_span  # noqa: PLC0415 - as above

    return run_in_span(api, call, note, about, agent)
