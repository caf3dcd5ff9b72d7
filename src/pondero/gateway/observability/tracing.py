"""A ``gen_ai`` span for each request, if OpenTelemetry traces the gateway; joins the client's."""

from typing import Any, Protocol, runtime_checkable

from ...exchange import usage_attributes
from ...store import SecretRedactor, load_catalog
from .receipt import Receipt

_PATIENCE = 1_000  # milliseconds: ending has a deadline
_MICROSECONDS = 1_000_000  # a float holds no nanoseconds since 1970


@runtime_checkable
class _Flushing(Protocol):
    """The provider of OpenTelemetry's SDK; its API has no flush."""

    def force_flush(self, timeout_millis: int = ...) -> bool: ...


class Tracing:
    """Makes spans of receipts, with the times of the request."""

    def __init__(self, provider: Any = None) -> None:
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - an extra
            TraceContextTextMapPropagator,
        )

        self._api = trace
        self._provider = provider or trace.get_tracer_provider()
        self._tracer = trace.get_tracer("pondero.gateway", tracer_provider=self._provider)
        self._parents = TraceContextTextMapPropagator()

    def note(self, receipt: Receipt) -> None:
        """Make a span of a finished request."""
        begun = round(receipt.at * _MICROSECONDS) * 1_000
        redactor = SecretRedactor()
        parent = self._parents.extract({"traceparent": receipt.trace}) if receipt.trace else None
        span = self._tracer.start_span(
            redactor.text(f"chat {receipt.model or receipt.front}"),
            context=parent,
            kind=self._api.SpanKind.CLIENT if receipt.model else self._api.SpanKind.SERVER,
            attributes=redactor.value(_attributes(receipt)),
            start_time=begun,
        )
        if receipt.end in ("failed", "refused"):
            span.set_attribute("error.type", str(receipt.status))
            span.set_status(self._api.StatusCode.ERROR)
        span.end(begun + round(receipt.seconds * _MICROSECONDS) * 1_000)

    def close(self) -> None:
        """Flush spans: a forked worker ends without running exit handlers."""
        if isinstance(self._provider, _Flushing):
            self._provider.force_flush(_PATIENCE)


def is_traced() -> bool:
    """Return whether a tracer is set up in this process."""
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra
    except ImportError:
        return False
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _attributes(receipt: Receipt) -> dict[str, Any]:
    provider = receipt.provider
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider and load_catalog().telemetry_name(provider),
        "gen_ai.request.model": receipt.model,
        "gen_ai.request.reasoning.level": receipt.sent,
        "gen_ai.response.finish_reasons": None if receipt.finish is None else [receipt.finish],
        **usage_attributes(receipt.usage),
        "http.response.status_code": receipt.status,
        "pondero.asked": receipt.asked,
        "pondero.level": receipt.sent,
        "pondero.why": receipt.why,
        "pondero.adjustments": list(receipt.adjustments) or None,
        "pondero.verdict": receipt.verdict,
        "pondero.id": receipt.id,
        "pondero.key": receipt.key,
        "pondero.front": receipt.front,
        "pondero.road": receipt.road,
        "pondero.end": receipt.end,
        "pondero.reason": receipt.reason,
        "pondero.estimated": receipt.estimated or None,
        "pondero.first_event_seconds": receipt.first,
        "pondero.cost": None if receipt.cost is None else float(receipt.cost),
    }
    return {name: value for name, value in said.items() if value is not None}
