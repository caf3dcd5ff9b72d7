"""Writes events as the service's server-sent events."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.json import decode, encode

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    Part,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
)
from pondero.dialects.dialect import ReplyContext

from .errors import INVALID
from .parse import Context
from .parts import Step, interaction_id, write_arguments, write_interaction, write_step

_HEADS = {"text": "model_output", "thinking": "thought"}


class OpenStep(Struct):
    """A step that is being sent; ``place`` is -1 until it begins."""

    kind: str
    place: int = -1
    texts: list[str] = []
    head: Step = {}


class Stream:
    """Events in, server-sent events out; a step begins with its first piece."""

    headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._answering = answering
        self._shown = answering.shown
        self._written: list[Step] = []
        self._open: dict[int, OpenStep] = {}
        self._begun = False
        self._model: str | None = None

    def feed(self, event: Event) -> bytes:
        """Return the bytes of this event; may be empty."""
        match event:
            case TextDelta():
                return self._more(event.index, event.text)
            case ThinkingDelta():
                return self._more(event.index, event.text) if self._shown else b""
            case ToolDelta():
                return self._more(event.index, event.json)
            case PartStart():
                return self._begin() + self._start(event)
            case PartEnd():
                return self._end(event.index, event.part)
            case Started():
                self._model = event.model
                return self._begin()
            case Finished():
                return self._begin() + self._finish(event)
            case _:
                return b""

    def eof(self) -> bytes:
        """Return the bytes that end the stream: they came with its last event."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes of an error that ends the stream."""
        told = decode(error.body)["error"]
        code = told.get("status") or told.get("code") or INVALID
        fault = {"message": told["message"], "code": str(code).lower()}
        return self._begin() + write_event("error", error=fault)

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        id = interaction_id(self._answering) or ""  # the SDKs' types want one
        model = self._model or self._answering.request.model
        head = {"id": id, "status": "in_progress", "object": "interaction", "model": model}
        return write_event("interaction.created", interaction=head) + write_event(
            "interaction.status_update", interaction_id=id, status="in_progress"
        )

    def _start(self, event: PartStart) -> bytes:
        step = self._open[event.index] = OpenStep(event.kind, texts=[])
        if event.kind == "tool_call":
            step.head = {"type": "function_call", "id": event.id, "name": event.name}
            step.head["arguments"] = {}
            return self._open_step(step)
        return b""

    def _open_step(self, step: OpenStep) -> bytes:
        if step.place >= 0:
            return b""
        step.place = len(self._written)
        head = step.head or {"type": _HEADS[step.kind]}
        self._written.append(head)
        return write_event("step.start", index=step.place, step=head)

    def _more(self, index: int, text: str) -> bytes:
        step = self._open.get(index)
        if step is None or not text:
            return b""
        step.texts.append(text)
        delta: Step = {"type": "text", "text": text}
        if step.kind == "thinking":
            delta = {"type": "thought_summary", "content": delta}
        elif step.kind == "tool_call":
            delta = {"type": "arguments_delta", "arguments": text}
        return self._open_step(step) + self._delta(step, delta)

    def _delta(self, step: OpenStep, delta: Step) -> bytes:
        return write_event("step.delta", index=step.place, delta=delta)

    def _end(self, index: int, part: Part) -> bytes:
        step = self._open.pop(index, None)
        if step is None:
            return b""
        before = self._written[: step.place] if step.place >= 0 else self._written
        whole = write_step(self._answering, part, before)
        if whole is None:
            return self._stop(step) if step.place >= 0 else b""
        data = self._write_rest(step, part, whole)
        self._written[step.place] = whole
        return data + self._stop(step)

    def _stop(self, step: OpenStep) -> bytes:
        return write_event("step.stop", index=step.place)

    def _write_rest(self, step: OpenStep, part: Part, whole: Step) -> bytes:
        """Return what the pieces did not say: the rest of a text, a signature, the arguments."""
        match part:
            case Text():
                content = whole["content"][0]
                data = self._write_text(step, part.text)
                if cited := content.get("annotations"):
                    data += self._delta(
                        step, {"type": "text_annotation_delta", "annotations": cited}
                    )
                return data
            case Thinking():
                data = self._open_step(step)
                data += self._write_text(step, part.text) if whole.get("summary") else b""
                return data + self._write_signature(step, whole)
            case ToolCall():
                if step.texts:
                    return b""
                step.head = {**whole, "arguments": {}}
                written = encode(write_arguments(part.arguments)).decode()
                delta = {"type": "arguments_delta", "arguments": written}
                return self._open_step(step) + self._delta(step, delta)
            case _:
                return self._write_whole(step, whole)

    def _write_text(self, step: OpenStep, text: str) -> bytes:
        sent = "".join(step.texts)
        rest = text[len(sent) :] if text.startswith(sent) else ""
        if not rest:
            return b""
        step.texts.append(rest)
        delta: Step = {"type": "text", "text": rest}
        if step.kind == "thinking":
            delta = {"type": "thought_summary", "content": delta}
        return self._open_step(step) + self._delta(step, delta)

    def _write_signature(self, step: OpenStep, whole: Step) -> bytes:
        value = whole.get("signature")
        if value is None:
            return b""
        return self._delta(step, {"type": "thought_signature", "signature": value})

    def _write_whole(self, step: OpenStep, whole: Step) -> bytes:
        """Return a step that comes in one piece: a medium, or one of a hosted tool."""
        step.place = len(self._written)
        if whole["type"] != "model_output":
            self._written.append(whole)
            return write_event("step.start", index=step.place, step=whole)
        self._written.append(whole)
        start = write_event("step.start", index=step.place, step={"type": "model_output"})
        return start + self._delta(step, whole["content"][0])

    def _finish(self, event: Finished) -> bytes:
        said = write_interaction(
            self._answering,
            finish=event.finish,
            raw=event.raw_finish,
            usage=event.usage,
            model=event.model or self._model,
        )
        said.setdefault("id", "")
        done = b"event: done\ndata: [DONE]\n\n"
        return write_event("interaction.completed", interaction=said) + done


def write_event(event: str, **fields: Json) -> bytes:
    """Return the bytes of one event."""
    data = encode({**fields, "event_type": event})
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
