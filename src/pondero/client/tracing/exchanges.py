"""One exchange with a model as a span, with its metrics and its event.

Retries are part of the span; each model of a list of fallbacks has its own.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from ...canon import Assembler, Reply, Usage
from ...exchange import Emit, Exchange, usage_attributes
from .api import Attributes, emit_event, find_metrics, find_tracing, get_tracer, record
from .attributes import base_attributes, failure_attributes, reply_attributes, request_attributes
from .capture import read_capture
from .log import describe_outcome

if TYPE_CHECKING:
    from .agents import AgentSpan

S = TypeVar("S")
_NO_SPAN = nullcontext()
_EVENT = "gen_ai.client.inference.operation.details"


class Span:
    """One exchange as a span, by OpenTelemetry's ``gen_ai`` conventions; ends once."""

    def __init__(
        self,
        exchange: Exchange,
        log: Callable[..., None] | None,
        agent: "AgentSpan | None",
        *,
        shows: bool,
    ) -> None:
        self._exchange = exchange
        self._log = log
        self._agent = agent
        self._has_chunks = exchange.stream and shows  # otherwise all come at once, at the end
        self._api = api = find_tracing()
        self._base = base_attributes(exchange)
        self._measures = find_metrics() is not None
        self._span: Any = None
        self._retries = 0
        self._first: float | None = None
        self._chunks: list[float] = []
        self._ended = False
        self._has_context = False
        self._began = self._last = perf_counter()
        if api is None:
            return
        self._span = get_tracer(api).start_span(
            f"{self._base['gen_ai.operation.name']} {self._base['gen_ai.request.model']}",
            context=None if agent is None else agent.context,
            kind=api.SpanKind.CLIENT,
            attributes=self._base,
        )
        self._has_context = self._span.get_span_context().is_valid  # not without an SDK
        if self._span.is_recording():
            asked = request_attributes(exchange)
            self._span.set_attributes(asked)
            if agent is not None:
                agent.note_request(asked)

    def note_retry(self) -> None:
        """Count a request that is sent again."""
        self._retries += 1

    def run(self, advance: Callable[[], S]) -> S:
        """Advance the exchange inside the span, so that spans of HTTP are inside it too."""
        with self._make_current():
            step = advance()
        self._note_chunk(step)
        return step

    async def arun(self, advance: Callable[[], Awaitable[S]]) -> S:
        """Do the same without blocking the caller's loop."""
        with self._make_current():
            step = await advance()
        self._note_chunk(step)
        return step

    def _make_current(self) -> AbstractContextManager[object]:
        # Never over a yield: the caller's own code must not run inside our span.
        if not self._has_context:
            return _NO_SPAN
        current: AbstractContextManager[object] = self._api.use_span(
            self._span, record_exception=False, set_status_on_exception=False
        )
        return current

    def _note_chunk(self, step: object) -> None:
        if self._has_chunks and isinstance(step, Emit):
            before, self._last = self._last, perf_counter()
            if self._first is None:
                self._first = self._last - before
            elif self._measures:
                self._chunks.append(self._last - before)

    def end(
        self,
        reply: Reply | None = None,
        error: BaseException | None = None,
        so_far: Assembler | None = None,
    ) -> None:
        """End the span with the reply, or with the error and what arrived before it."""
        if self._ended:
            return
        self._ended = True
        if self._log is not None:
            self._log("%s", describe_outcome(reply, error))
        answered, failed = (
            reply_attributes(self._exchange, reply, so_far),
            failure_attributes(error),
        )
        self._record(answered, failed, reply.usage if reply else None)
        if self._span is not None:
            self._end_span({**answered, **failed}, reply, so_far)

    def _end_span(self, found: Attributes, reply: Reply | None, so_far: Assembler | None) -> None:
        span, capture = self._span, read_capture()
        found |= {"pondero.retries": self._retries} if self._retries else {}
        if self._first is not None:
            found["gen_ai.response.time_to_first_chunk"] = self._first
        event: Attributes = {}
        texts: Attributes = {}
        if (capture.in_spans and span.is_recording()) or (capture.in_events and capture.emits):
            from .content import exchange_content, to_texts  # noqa: PLC0415 - few record texts

            message = reply.message if reply else so_far.message() if so_far else None
            content = exchange_content(self._exchange, message, reply.finish if reply else None)
            event = content if capture.in_events else {}
            texts = to_texts(content) if capture.in_spans else {}
        if self._agent is not None:
            self._agent.note_texts(texts)
        if capture.emits:
            event = {**self._base, **request_attributes(self._exchange), **found, **event}
            emit_event(_EVENT, event, self._api.set_span_in_context(span))
        span.set_attributes({**found, **texts})
        if "error.type" in found:
            span.set_status(self._api.StatusCode.ERROR)
        span.end()

    def _record(self, answered: Attributes, failed: Attributes, usage: Usage | None) -> None:
        if not self._measures:
            return
        about = self._base
        if (model := answered.get("gen_ai.response.model")) is not None:
            about = {**about, "gen_ai.response.model": model}
        kind = {name: failed[name] for name in ("error.type",) if name in failed}
        seconds = perf_counter() - self._began
        record("gen_ai.client.operation.duration", seconds, {**about, **kind})
        counts = usage_attributes(usage) if usage is not None else {}
        for token_type in ("input", "output"):
            if (count := counts.get(f"gen_ai.usage.{token_type}_tokens")) is not None:
                typed = {**about, "gen_ai.token.type": token_type}
                record("gen_ai.client.token.usage", count, typed)
        if self._first is not None:
            record("gen_ai.client.operation.time_to_first_chunk", self._first, about)
        for each in self._chunks:
            record("gen_ai.client.operation.time_per_output_chunk", each, about)
