"""The service answers, in its exact shape: whole, streamed, or with an error."""

import msgspec

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
)
from pondero.dialects.dialect import Answering

from .errors import denial, failure
from .models import Service
from .models import service as service_of
from .parts import base_of, called, counts, headers_of, named, refused, word
from .shown import shower

_DONE = b"data: [DONE]\n\n"

_NO_WORDS = {"content": "", "refusal": None}


def response(accepted: Answering[Json], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    table = service_of(accepted.context["service"])
    parts = reply.message.parts
    texts = [part for part in parts if isinstance(part, Text)]
    refusals = [text for text in texts if refused(text) or reply.finish == "refusal"]
    message: dict[str, Json] = {
        "role": "assistant",
        "content": "".join(text.text for text in texts if text not in refusals) or None,
        "refusal": "".join(text.text for text in refusals) or None,
        "annotations": [each for text in texts for each in text.citations],
    }
    if calls := [called(part, table) for part in parts if isinstance(part, ToolCall)]:
        message["tool_calls"] = calls
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    shower(table, accepted.context["place"], model=accepted.request.model).whole(thoughts, message)
    choice = {"index": 0, "message": message, "logprobs": None}
    choice |= _ended(word(reply.finish, reply.raw_finish), table)
    body = base_of(accepted, "chat.completion", reply.model)
    body |= {"choices": [choice], "usage": counts(reply.usage, table)}
    head = headers_of("application/json", body)
    return HttpResponse(200, head, msgspec.json.encode(body))


def stream(accepted: Answering[Json]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(accepted)


def error(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error of this status in the service's shape."""
    return failure(status, message, code=code, retry_after=retry_after)


def restated(error: HttpResponse, service: str) -> HttpResponse:
    """Return an error in the shape of one service; what is no error of ours stays as it is."""
    shape = service_of(service).error
    if shape == "nested" or not error.body.startswith(b'{"error":{"message"'):
        return error
    said = msgspec.json.decode(error.body)["error"]
    told = denial(error.status, said["message"], code=said["code"], shape=shape)
    return HttpResponse(error.status, error.headers, told.body)


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them."""
    return f"call_{digest[:24]}"


class Stream:
    """Events -> chunks. Feed events as they come, then call eof()."""

    def __init__(self, accepted: Answering[Json]) -> None:
        self._service = service_of(accepted.context["service"])
        self._base = base_of(accepted, "chat.completion.chunk", None)
        self._asked_usage = accepted.context["include_usage"]
        self._padded = self._service.obfuscation and accepted.context["include_obfuscation"]
        self._shower = shower(
            self._service, accepted.context["place"], model=accepted.request.model
        )
        self._refuses = accepted.refuses
        self._told: set[int] = set()  # parts of which a delta was given
        self._calls: dict[int, int] = {}  # our index of a call -> the wire's
        self._handlers = {
            Started: self._start,
            PartStart: self._begin,
            TextDelta: self._text,
            ThinkingDelta: self._thinking,
            ToolDelta: self._arguments,
            PartEnd: self._end,
            Finished: self._finish,
        }

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        return headers_of("text/event-stream; charset=utf-8", self._base)

    def feed(self, event: Event) -> bytes:
        """Return the chunks that say this event; some say nothing."""
        handler = self._handlers.get(type(event))
        return handler(event) if handler is not None else b""  # type: ignore[operator]  # by type

    def eof(self) -> bytes:
        """Return the marker of the end, where there is one."""
        return _DONE if self._service.done else b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the chunk of an error after all was well."""
        if self._service.error != "router":
            return b"data: " + error.body + b"\n\n"
        said = msgspec.json.decode(error.body)["error"]
        choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
        told = {"code": error.status, "message": said["message"]}
        return _framed({**self._base, "error": told, "choices": [choice]}) + _DONE

    def _start(self, event: Started) -> bytes:
        if event.model is not None:
            self._base["model"] = event.model
        words = {"content": None, "refusal": ""} if self._refuses else _NO_WORDS
        first = self._chunk({"role": "assistant", **words})
        comment = self._service.comment
        return first if comment is None else f": {comment}\n\n".encode() + first

    def _begin(self, event: PartStart) -> bytes:
        if event.kind != "tool_call":
            return b""
        number = self._calls[event.index] = len(self._calls)
        function = {"name": event.name, "arguments": ""}
        id_ = named(event.id, self._service)
        call = {"index": number, "id": id_, "type": "function", "function": function}
        return self._chunk({"tool_calls": [call]})

    def _text(self, event: TextDelta) -> bytes:
        self._told.add(event.index)
        return self._chunk({"refusal" if self._refuses else "content": event.text})

    def _thinking(self, event: ThinkingDelta) -> bytes:
        self._told.add(event.index)
        delta = self._shower.more(event.text)
        return b"" if delta is None else self._chunk(delta)

    def _arguments(self, event: ToolDelta) -> bytes:
        self._told.add(event.index)
        call = {"index": self._calls[event.index], "function": {"arguments": event.json}}
        return self._chunk({"tool_calls": [call]})

    def _end(self, event: PartEnd) -> bytes:
        """Say what the deltas did not: a part given whole, a seal, what a call carries along."""
        part, told = event.part, event.index in self._told
        if isinstance(part, Text) and refused(part):
            return self._chunk({"refusal": part.text}) if not told else b""
        if isinstance(part, Text):
            return self._text(TextDelta(event.index, part.text)) if not told and part.text else b""
        if isinstance(part, Thinking):
            before = (
                b""
                if told or not part.text
                else self._thinking(ThinkingDelta(event.index, part.text))
            )
            last = self._shower.end(part)
            return before if last is None else before + self._chunk(last)
        if isinstance(part, ToolCall):
            return self._end_call(event.index, part, told=told)
        return b""

    def _end_call(self, index: int, call: ToolCall, *, told: bool) -> bytes:
        whole = called(call, self._service)
        number = self._calls[index]
        rest = {key: whole[key] for key in whole if key not in ("id", "type", "function")}
        said = b""
        if not told:
            said = self._arguments(ToolDelta(index, whole["function"]["arguments"]))
        return said + (self._chunk({"tool_calls": [{"index": number, **rest}]}) if rest else b"")

    def _finish(self, event: Finished) -> bytes:
        finish, service = word(event.finish, event.raw_finish), self._service
        if not self._asked_usage and service.usage != "always":
            return self._chunk({}, finish=finish)
        usage = counts(event.usage, service)
        if service.usage_at == "finish":
            return self._chunk({}, finish=finish, usage=usage)
        if service.usage_at == "in choice":
            return self._chunk({}, finish=finish, choice={"usage": usage})
        end = self._chunk({}, finish=finish)
        if service.usage_at == "empty choice":
            return end + self._chunk({"content": ""}, usage=usage)
        return end + _framed({**self._base, "choices": [], "usage": usage})

    def _chunk(
        self, delta: Json, *, finish: str | None = None, choice: Json = None, usage: Json = None
    ) -> bytes:
        own = {"index": 0, "delta": delta, "logprobs": None, **(choice or {})}
        if finish is not None or self._service.nulls:
            own |= _ended(finish, self._service)
        chunk = {**self._base, "choices": [own]}
        if self._asked_usage or usage is not None:
            chunk["usage"] = usage
        if self._padded and finish is None:
            chunk["obfuscation"] = "x" * (-len(str(delta)) % 32)
        return _framed(chunk)


def _ended(finish: str | None, service: Service) -> dict[str, Json]:
    own = {"finish_reason": finish}
    return own | {"native_finish_reason": finish} if service.native_finish else own


def _framed(chunk: Json) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
