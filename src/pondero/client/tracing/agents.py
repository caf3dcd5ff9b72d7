"""A chat turn that may run tools as the span of an agent, and each tool as a span inside it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...canon import Message, Reply, Tool, ToolCall, Usage
from ...exchange import usage_attributes
from ...store import load_catalog
from .api import Attributes, get_tracer
from .attributes import drop_none, error_attributes
from .capture import read_capture

if TYPE_CHECKING:
    from . import ToolFacts, ToolNote

# What the conventions list for an agent's span; a model's span has more.
_OF_AGENTS = frozenset(
    (
        *("gen_ai.conversation.id", "gen_ai.output.type", "gen_ai.request.choice.count"),
        *("gen_ai.request.frequency_penalty", "gen_ai.request.max_tokens"),
        *("gen_ai.request.presence_penalty", "gen_ai.request.seed"),
        *("gen_ai.request.stop_sequences", "gen_ai.request.temperature", "gen_ai.request.top_p"),
    )
)
_SYSTEM = "gen_ai.system_instructions"
_REASONING = "gen_ai.usage.reasoning.output_tokens"  # of a model's span only


class AgentSpan:
    """A turn as a span; ``context`` makes other spans its children."""

    def __init__(self, api: Any, provider: str, model: str, messages: Sequence[Message]) -> None:
        self._api = api
        self._messages = messages
        self._asked = False
        self._span = get_tracer(api).start_span(
            "invoke_agent",
            kind=api.SpanKind.INTERNAL,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.provider.name": load_catalog().telemetry_name(provider),
                "gen_ai.request.model": model,
            },
        )
        self.context: Any = api.set_span_in_context(self._span)

    def note_request(self, asked: Attributes) -> None:
        """Take the parameters of the turn from its first request."""
        if not self._asked:
            self._asked = True
            ours = {name: value for name, value in asked.items() if name in _OF_AGENTS}
            self._span.set_attributes(ours)

    def note_texts(self, texts: Attributes) -> None:
        """Take the instructions of the turn from an exchange, if texts are recorded."""
        if (system := texts.get(_SYSTEM)) is not None:
            self._span.set_attribute(_SYSTEM, system)

    def end(
        self,
        tools: Sequence[Tool],
        replies: Sequence[Reply],
        error: BaseException | None = None,
    ) -> None:
        """End the span with the replies of the turn."""
        span, last = self._span, replies[-1] if replies else None
        counts = usage_attributes(sum((reply.usage for reply in replies), Usage()))
        counts.pop(_REASONING, None)
        found: Attributes = {**counts, **error_attributes(error)}
        if last is not None:
            found["gen_ai.response.finish_reasons"] = [last.finish]
        if span.is_recording() and read_capture().in_spans:
            from .content import to_texts, turn_content  # noqa: PLC0415 - few record texts

            message, finish = (last.message, last.finish) if last else (None, None)
            found |= to_texts(turn_content(self._messages, tools, message, finish))
        span.set_attributes(found)
        if "error.type" in found:
            span.set_status(self._api.StatusCode.ERROR)
        span.end()


@contextmanager
def run_in_span(
    api: Any, call: ToolCall, note: "ToolNote", about: "ToolFacts", agent: AgentSpan | None
) -> Iterator["ToolNote"]:
    """Run a tool inside its span, the parent of the spans of the tool itself."""
    span = get_tracer(api).start_span(
        f"execute_tool {call.name}",
        context=None if agent is None else agent.context,
        kind=api.SpanKind.INTERNAL,
        attributes=drop_none(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.type": about.kind,
                "gen_ai.tool.description": about.description or None,
            }
        ),
    )
    try:
        with api.use_span(span, record_exception=False, set_status_on_exception=False):
            yield note
    except BaseException as error:
        note.error = error
        raise
    finally:
        _end_tool(api, span, call, note)


def _end_tool(api: Any, span: Any, call: ToolCall, note: "ToolNote") -> None:
    failed = error_attributes(note.error)
    if not failed and note.result is not None and note.result.error:
        failed = {"error.type": "tool_error"}  # the word of the conventions for an MCP server's
    if span.is_recording() and read_capture().in_spans:
        from .content import call_content, to_texts  # noqa: PLC0415 - few record texts

        span.set_attributes(to_texts(call_content(call, note.result)))
    span.set_attributes(failed)
    if failed:
        span.set_status(api.StatusCode.ERROR)
    span.end()
