"""A span for each exchange, where the application traces with OpenTelemetry; nothing otherwise.

An application that traces has imported OpenTelemetry's API itself: as long as nobody has, nothing
is imported here.
"""

import sys
from typing import Any

from ..canon import Reply
from ..errors import ServiceError
from ..exchange import Exchange

_API = "opentelemetry.trace"


class Span:
    """One exchange as a span by the conventions of ``gen_ai``; ends once."""

    def __init__(self, exchange: Exchange) -> None:
        api = sys.modules.get(_API)
        self._span: Any = None
        if api is not None:
            origin = exchange.origin
            self._span = api.get_tracer("pondero").start_span(
                f"chat {origin.model}", kind=api.SpanKind.CLIENT, attributes=_asked(exchange)
            )
            self._failed = api.StatusCode.ERROR

    def end(self, reply: Reply | None = None, error: BaseException | None = None) -> None:
        """End the span with the reply, or with the error."""
        span, self._span = self._span, None
        if span is None:
            return
        if reply is not None:
            span.set_attributes(_answered(reply))
        if error is not None and not isinstance(error, GeneratorExit):  # left early is no failure
            span.set_attribute("error.type", type(error).__name__)
            if isinstance(error, ServiceError) and error.status is not None:
                span.set_attribute("http.response.status_code", error.status)
            span.set_status(self._failed)
        span.end()


def _asked(exchange: Exchange) -> dict[str, Any]:
    plan = exchange.plan
    return _said(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": exchange.origin.provider,
            "gen_ai.request.model": exchange.origin.model,
            "gen_ai.request.reasoning.level": plan.level,
            "pondero.asked": None if plan.asked is None else str(plan.asked),
            "pondero.adjustments": [note.code for note in plan.adjustments] or None,
        }
    )


def _answered(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    read = [n for n in (usage.input, usage.cache_read, usage.cache_write) if n is not None]
    written = [n for n in (usage.output, usage.thinking) if n is not None]
    return _said(
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


def _said(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
