"""Canon's events to the service's stream of server-sent events."""

from msgspec import Struct
from msgspec.json import decode

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    Other,
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
    UsageNow,
)
from pondero.dialects.dialect import Answering

from .parse import Context
from .parts import Item, Writer
from .reply import Ending, answer, ending, written

_TOLD = ("code", "message", "param")
_LAST = {"incomplete": "response.incomplete", "failed": "response.failed"}


class Open(Struct):
    """An item being sent. ``begun``: its first paragraph was announced."""

    place: int
    head: Item
    kind: str
    texts: list[str]
    begun: bool = False


class Stream:
    """Events in, bytes out. An item's end waits for the next event: it may be the answer's end."""

    def __init__(self, answering: Answering[Context]) -> None:
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
        """Return the bytes that say this event; may be empty."""
        if isinstance(event, UsageNow):  # counts come with the end
            return b""
        if isinstance(event, Started):
            self._model = event.model
        said = self._begin()
        if self._held is not None:
            end = ending(event.finish, event.raw_finish) if isinstance(event, Finished) else None
            said += self._close(*self._held, end)
            self._held = None
        match event:
            case TextDelta() | ThinkingDelta():
                return said + self._delta(self._open[event.index], event.text)
            case ToolDelta():
                return said + self._delta(self._open[event.index], event.json)
            case PartStart():
                return said + self._start(event)
            case PartEnd():
                if (item := self._open.pop(event.index, None)) is not None:
                    self._held = (item, event.part)
            case Finished():
                return said + self._end(event)
            case _:
                pass
        return said

    def eof(self) -> bytes:
        """Return the bytes that end the stream: this wire has none after its last event."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the event of an error after all was well."""
        told: Item = decode(error.body)["error"]
        return self._begin() + self._say("error", **{k: told[k] for k in _TOLD})

    def _say(self, kind: str, **fields: Json) -> bytes:
        self._number += 1
        return _event(kind, self._number - 1, fields)

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        whole = answer(self._answering, [], model=self._model)
        return self._say("response.created", response=whole) + self._say(
            "response.in_progress", response=whole
        )

    def _start(self, event: PartStart) -> bytes:
        place = len(self._output)
        if event.kind == "other":  # what it is comes with its end
            self._output.append({})
            self._open[event.index] = Open(place, {}, event.kind, [])
            return b""
        head = self._writer.head(place, event.kind, id=event.id, name=event.name)
        self._output.append(head)
        self._open[event.index] = Open(place, head, event.kind, [])
        first = (
            self._writer.opening(head, self._output[:place]) if event.kind == "thinking" else head
        )
        return self._say("response.output_item.added", output_index=place, item=first)

    def _end(self, event: Finished) -> bytes:
        end = ending(event.finish, event.raw_finish)
        model = event.model or self._model
        whole = answer(self._answering, self._output, end=end, usage=event.usage, model=model)
        return self._say(_LAST.get(end.status, "response.completed"), response=whole)

    # -- deltas ------------------------------------------------------------------------------------

    def _delta(self, item: Open, text: str) -> bytes:
        if not text or (item.kind == "thinking" and not self._shown):
            return b""
        item.texts.append(text)
        at = {"item_id": item.head["id"], "output_index": item.place}
        if item.kind == "tool_call":
            return self._say(f"response.{_argument_events(item.head)}.delta", **at, delta=text)
        if item.kind == "thinking":
            at["summary_index"] = 0
            said = self._open_paragraph(item, {"type": "summary_text", "text": ""}, at)
            return said + self._say("response.reasoning_summary_text.delta", **at, delta=text)
        at["content_index"] = 0
        if self._refuses:
            said = self._open_paragraph(item, {"type": "refusal", "refusal": ""}, at)
            return said + self._say("response.refusal.delta", **at, delta=text)
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        said = self._open_paragraph(item, part, at)
        return said + self._say("response.output_text.delta", **at, delta=text, logprobs=[])

    def _open_paragraph(self, item: Open, part: Item, at: Item) -> bytes:
        if item.begun:
            return b""
        item.begun = True
        return self._say(f"response.{_PARAGRAPH[item.kind]}.added", **at, part=part)

    # -- ends --------------------------------------------------------------------------------------

    def _close(self, item: Open, part: Part, end: Ending | None) -> bytes:
        before = self._output[: item.place]
        cut = end is not None and end.status == "incomplete"
        refused = end is not None and end.refused
        whole = self._writer.whole(item.head, part, before, cut=cut, refused=refused)
        self._output[item.place] = whole
        match part:
            case Thinking():
                said = self._close_thinking(item, part, whole)
            case Text():
                said = self._close_text(item, part, whole)
            case ToolCall():
                said = self._close_call(item, whole)
            case Other():
                said = self._say("response.output_item.added", output_index=item.place, item=whole)
            case _:
                said = b""
        return said + self._say("response.output_item.done", output_index=item.place, item=whole)

    def _rest(self, item: Open, text: str) -> bytes:
        """Say what no delta has said."""
        sent = "".join(item.texts)
        return self._delta(item, text[len(sent) :]) if text.startswith(sent) else b""

    def _close_thinking(self, item: Open, part: Thinking, whole: Item) -> bytes:
        said = self._rest(item, part.text) if whole.get("summary") else b""
        if not item.begun:
            return said
        at = {"item_id": item.head["id"], "output_index": item.place, "summary_index": 0}
        text = "".join(item.texts)
        paragraph = {"type": "summary_text", "text": text}
        said += self._say("response.reasoning_summary_text.done", **at, text=text)
        return said + self._say("response.reasoning_summary_part.done", **at, part=paragraph)

    def _close_text(self, item: Open, part: Text, whole: Item) -> bytes:
        said = self._rest(item, part.text)
        at = {"item_id": item.head["id"], "output_index": item.place, "content_index": 0}
        content = whole["content"][0]
        empty = {**content, "text": "", "annotations": []}
        said += self._open_paragraph(item, empty, at)
        for number, annotation in enumerate(part.citations):
            said += self._say(
                "response.output_text.annotation.added",
                **at,
                annotation_index=number,
                annotation=annotation,
            )
        if content["type"] == "refusal":
            said += self._say("response.refusal.done", **at, refusal=part.text)
        else:
            said += self._say("response.output_text.done", **at, text=part.text, logprobs=[])
        return said + self._say("response.content_part.done", **at, part=content)

    def _close_call(self, item: Open, whole: Item) -> bytes:
        kind = "input" if whole["type"] == "custom_tool_call" else "arguments"
        said = self._rest(item, whole[kind])
        at = {"item_id": item.head["id"], "output_index": item.place}
        return said + self._say(
            f"response.{_argument_events(item.head)}.done", **at, **{kind: whole[kind]}
        )


def stream(answering: Answering[Context]) -> Stream:
    """Return an encoder for one streamed answer."""
    return Stream(answering)


_PARAGRAPH = {"thinking": "reasoning_summary_part", "text": "content_part"}


def _argument_events(head: Item) -> str:
    custom = head["type"] == "custom_tool_call"
    return "custom_tool_call_input" if custom else "function_call_arguments"


def _event(kind: str, number: int, fields: dict[str, Json]) -> bytes:
    """Return one event of a stream."""
    data = written({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)
