"""Writes events as the service's server-sent events."""

from collections.abc import Sequence

from msgspec import DecodeError, Struct
from msgspec.json import decode

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
    TokenLogprob,
    ToolCall,
    ToolDelta,
    UsageUpdate,
)
from pondero.dialects.dialect import ReplyContext

from .parse import Context
from .parts import Item, Writer
from .reply import Ending, answer, ending, write_json

_TOLD = ("code", "message", "param")
_LAST = {"incomplete": "response.incomplete", "failed": "response.failed"}


class Open(Struct):
    """An item being sent; ``begun`` is whether its content was announced."""

    place: int
    head: Item
    kind: str
    texts: list[str]
    begun: bool = False


class Stream:
    """Events in, bytes out; an item's end waits for the next event, which may set its status."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._shown = answering.shown
        self._refuses = answering.refuses
        self._answering = answering
        self._writer = Writer(answering)
        self._output: list[Item] = []
        self._open: dict[int, Open] = {}
        self._held: tuple[Open, Part] | None = None
        self._begun = False
        self._model: str | None = None
        self._number = 0

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        kind = "text/event-stream; charset=utf-8"
        return {"content-type": kind, "x-request-id": self._writer.request_id}

    def feed(self, event: Event) -> bytes:
        """Return the bytes of this event; may be empty."""
        if isinstance(event, UsageUpdate):  # this wire sends counts with the end
            return b""
        if isinstance(event, Started):
            self._model = event.model
        data = self._begin()
        if self._held is not None:
            end = ending(event.finish, event.raw_finish) if isinstance(event, Finished) else None
            data += self._close(*self._held, end)
            self._held = None
        match event:
            case TextDelta():
                return data + self._delta(event.index, event.text, event.logprobs)
            case ThinkingDelta():
                return data + self._delta(event.index, event.text)
            case ToolDelta():
                return data + self._delta(event.index, event.json)
            case PartStart():
                return data + self._start(event)
            case PartEnd():
                if (item := self._open.pop(event.index, None)) is not None:
                    self._held = (item, event.part)
            case Finished():
                return data + self._end(event)
            case _:
                pass
        return data

    def eof(self) -> bytes:
        """Return the bytes that end the stream: this wire has none after its last event."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the error events: OpenAI's SDK reads only the first, Codex only the second."""
        told = _read_error(error)
        data = self._begin() + self._emit("error", **told)
        failed = answer(self._answering, self._output, end=Ending("failed"), model=self._model)
        failed["error"] = {k: told[k] for k in ("code", "message")}
        return data + self._emit("response.failed", response=failed)

    def _emit(self, kind: str, **fields: Json) -> bytes:
        self._number += 1
        return _event(kind, self._number - 1, fields)

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        whole = answer(self._answering, [], model=self._model)
        return self._emit("response.created", response=whole) + self._emit(
            "response.in_progress", response=whole
        )

    def _start(self, event: PartStart) -> bytes:
        place = len(self._output)
        if self._writer.comes_whole(
            event.kind, event.name
        ):  # it comes whole, and gets its place then
            self._open[event.index] = Open(-1, {}, event.kind, [])
            return b""
        head = self._writer.head(place, event.kind, id=event.id, name=event.name)
        self._output.append(head)
        self._open[event.index] = Open(place, head, event.kind, [])
        first = (
            self._writer.announce(head, self._output[:place]) if event.kind == "thinking" else head
        )
        return self._emit("response.output_item.added", output_index=place, item=first)

    def _end(self, event: Finished) -> bytes:
        end = ending(event.finish, event.raw_finish)
        model = event.model or self._model
        whole = answer(self._answering, self._output, end=end, usage=event.usage, model=model)
        return self._emit(_LAST.get(end.status, "response.completed"), response=whole)

    # -- deltas ------------------------------------------------------------------------------------

    def _delta(self, index: int, text: str, tokens: Sequence[TokenLogprob] = ()) -> bytes:
        item = self._open.get(index)
        return b"" if item is None or item.place < 0 else self._more(item, text, tokens)

    def _more(self, item: Open, text: str, tokens: Sequence[TokenLogprob] = ()) -> bytes:
        if not text or (item.kind == "thinking" and not self._shown):
            return b""
        item.texts.append(text)
        at = {"item_id": item.head["id"], "output_index": item.place}
        if item.kind == "tool_call":
            return self._emit(f"response.{_argument_events(item.head)}.delta", **at, delta=text)
        if item.kind == "thinking":
            at["summary_index"] = 0
            data = self._open_paragraph(item, {"type": "summary_text", "text": ""}, at)
            return data + self._emit("response.reasoning_summary_text.delta", **at, delta=text)
        at["content_index"] = 0
        if self._refuses:
            data = self._open_paragraph(item, {"type": "refusal", "refusal": ""}, at)
            return data + self._emit("response.refusal.delta", **at, delta=text)
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        data = self._open_paragraph(item, part, at)
        logprobs = self._writer.weigh(tokens)
        return data + self._emit("response.output_text.delta", **at, delta=text, logprobs=logprobs)

    def _open_paragraph(self, item: Open, part: Item, at: Item) -> bytes:
        if item.begun:
            return b""
        item.begun = True
        return self._emit(f"response.{_PARAGRAPH[item.kind]}.added", **at, part=part)

    # -- ends --------------------------------------------------------------------------------------

    def _close(self, item: Open, part: Part, end: Ending | None) -> bytes:
        if item.place < 0:
            return self._add(part)
        before = self._output[: item.place]
        cut = end is not None and end.status == "incomplete"
        # Text that was sent as an answer stays one, even if the answer ends as a refusal.
        refused = end is not None and end.refused and (self._refuses or not item.begun)
        whole = self._writer.whole(item.head, part, before, cut=cut, refused=refused)
        self._output[item.place] = whole
        match part:
            case Thinking():
                data = self._close_thinking(item, part, whole)
            case Text():
                data = self._close_text(item, part, whole)
            case ToolCall():
                data = self._close_call(item, whole)
            case _:
                data = b""
        return data + self._emit("response.output_item.done", output_index=item.place, item=whole)

    def _add(self, part: Part) -> bytes:
        place = len(self._output)
        item = self._writer.write_whole(place, part)
        if item is None:
            return b""
        self._output.append(item)
        data = self._emit("response.output_item.added", output_index=place, item=item)
        return data + self._emit("response.output_item.done", output_index=place, item=item)

    def _rest(self, item: Open, text: str) -> bytes:
        sent = "".join(item.texts)
        return self._more(item, text[len(sent) :]) if text.startswith(sent) else b""

    def _close_thinking(self, item: Open, part: Thinking, whole: Item) -> bytes:
        data = self._rest(item, part.text) if whole.get("summary") else b""
        if not item.begun:
            return data
        at = {"item_id": item.head["id"], "output_index": item.place, "summary_index": 0}
        text = "".join(item.texts)
        paragraph = {"type": "summary_text", "text": text}
        data += self._emit("response.reasoning_summary_text.done", **at, text=text)
        return data + self._emit("response.reasoning_summary_part.done", **at, part=paragraph)

    def _close_text(self, item: Open, part: Text, whole: Item) -> bytes:
        data = self._rest(item, part.text)
        at = {"item_id": item.head["id"], "output_index": item.place, "content_index": 0}
        content = whole["content"][0]
        empty = {"refusal": ""} if content["type"] == "refusal" else {"text": "", "annotations": []}
        data += self._open_paragraph(item, {**content, **empty}, at)
        for number, annotation in enumerate(content.get("annotations", ())):
            data += self._emit(
                "response.output_text.annotation.added",
                **at,
                annotation_index=number,
                annotation=annotation,
            )
        if content["type"] == "refusal":
            data += self._emit("response.refusal.done", **at, refusal=part.text)
        else:
            logprobs = content["logprobs"]
            data += self._emit("response.output_text.done", **at, text=part.text, logprobs=logprobs)
        return data + self._emit("response.content_part.done", **at, part=content)

    def _close_call(self, item: Open, whole: Item) -> bytes:
        kind = "input" if whole["type"] == "custom_tool_call" else "arguments"
        data = self._rest(item, whole[kind])
        at = {"item_id": item.head["id"], "output_index": item.place}
        return data + self._emit(
            f"response.{_argument_events(item.head)}.done", **at, **{kind: whole[kind]}
        )


_PARAGRAPH = {"thinking": "reasoning_summary_part", "text": "content_part"}


def _read_error(error: HttpResponse) -> dict[str, Json]:
    """Return what an error tells; another service of this API may tell less than OpenAI's."""
    try:
        body = decode(error.body)
    except (DecodeError, UnicodeDecodeError):
        body = None
    told = body.get("error") if isinstance(body, dict) else None
    fields = told if isinstance(told, dict) else {"message": told}
    message = fields.get("message")
    known = {name: fields.get(name) for name in _TOLD}
    if not isinstance(message, str):
        known["message"] = f"the service answered with status {error.status}"
    return known


def _argument_events(head: Item) -> str:
    custom = head["type"] == "custom_tool_call"
    return "custom_tool_call_input" if custom else "function_call_arguments"


def _event(kind: str, number: int, fields: dict[str, Json]) -> bytes:
    data = write_json({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)
