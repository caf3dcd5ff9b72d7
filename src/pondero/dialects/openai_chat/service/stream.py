"""Writes a streamed answer, event by event, in the provider's exact shape."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Image,
    Json,
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
    get_decoder,
)
from pondero.dialects.dialect import ReplyContext

from .input.older_functions import older_finish, write_older_call
from .parse import Context
from .parts import (
    Calls,
    CarriedDetail,
    annotations,
    base_of,
    ending,
    finish_reason,
    headers_of,
    is_refusal,
    picture,
    thinking_writer,
    usage_of,
    weigh,
    write_json,
)

_DONE = b"data: [DONE]\n\n"
_MARK = "the delta goes here"
_GIVEN = ("function", "custom")
_LONGEST_USAGE = 64 * 1024  # bytes
_NO_WORDS = {"content": "", "refusal": None}


def streams(answering: ReplyContext[Context], count: int) -> Sequence["Stream"]:
    """Return a writer for each of several answers to one request."""
    return tuple(Stream(answering, number) for number in range(count))


class Stream:
    """Writes events as chunks: feed every event, then call eof().

    ``number`` is which of several answers it writes; only the first tells the counts.
    """

    def __init__(self, answering: ReplyContext[Context], number: int = 0) -> None:
        context = answering.context
        self._number = number
        self._provider = context.provider
        self._writing = Calls(answering)
        self._carried = CarriedDetail(answering)
        self._base = base_of(answering, "chat.completion.chunk", None)
        self._asked_usage = context.include_usage
        self._padded = self._provider.obfuscation and context.include_obfuscation
        self._writer = thinking_writer(answering)
        self._refuses = answering.refuses
        self._older = context.older
        self._around: tuple[bytes, bytes] | None = None  # bytes of a chunk around its delta
        self._answering = answering
        self._weighed: dict[int, int] = {}  # tokens of parts whose log probabilities were told
        self._told: set[int] = set()  # parts that had a delta
        self._signed: set[int] = set()  # parts whose signature was sent at their beginning
        self._calls: dict[int, dict[str, Json]] = {}  # as they began, with the wire's index
        self._handlers: dict[type, Callable[[Any], bytes]] = {
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
        """Return the chunks for one event; empty for events that have none on this wire."""
        handler = self._handlers.get(type(event))
        return handler(event) if handler is not None else b""

    def eof(self) -> bytes:
        """Return the end marker, if the provider has one."""
        return _DONE if self._provider.done else b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the chunk of an error inside a stream."""
        if self._provider.error != "router":
            return b"data: " + error.body + b"\n\n"
        said = msgspec.json.decode(error.body)["error"]
        choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
        told = {"code": error.status, "message": said["message"]}
        return _frame({**self._base, "error": told, "choices": [choice]}) + _DONE

    def _start(self, event: Started) -> bytes:
        self._around = None
        if event.model is not None:
            self._base["model"] = event.model
        words = {"content": None, "refusal": ""} if self._refuses else _NO_WORDS
        first = self._chunk({"role": "assistant", **words})
        comment = self._provider.comment if not self._number else None
        return first if comment is None else f": {comment}\n\n".encode() + first

    def _begin(self, event: PartStart) -> bytes:
        if event.kind != "tool_call":
            return b""
        call = {
            "index": len(self._calls),
            **self._writing.begin(event.id, event.name, event.signature),
        }
        self._calls[event.index] = call
        delta: dict[str, Json] = {"tool_calls": [call]}
        if event.signature is not None:
            self._signed.add(event.index)
            early = ToolCall(event.id or "", event.name or "", "", event.signature)
            if details := self._carried.write(early):
                delta["reasoning_details"] = details
        return self._chunk(delta)

    def _text(self, event: TextDelta) -> bytes:
        self._told.add(event.index)
        delta = {"refusal" if self._refuses else "content": event.text}
        if event.logprobs and (logprobs := self._weigh(event.index, event.logprobs)):
            return self._chunk(delta, choice={"logprobs": logprobs})
        return self._words(delta)

    def _weigh(self, index: int, tokens: Sequence[TokenLogprob]) -> Json:
        self._weighed[index] = self._weighed.get(index, 0) + len(tokens)
        told = ((), tokens) if self._refuses else (tokens, ())
        return weigh(self._answering, *told)

    def _weigh_rest(self, index: int, part: Text) -> bytes:
        """Return the log probabilities that came with no piece of a text."""
        rest = part.logprobs[self._weighed.get(index, 0) :]
        logprobs = self._weigh(index, rest) if rest else None
        return self._chunk({}, choice={"logprobs": logprobs}) if logprobs else b""

    def _thinking(self, event: ThinkingDelta) -> bytes:
        self._told.add(event.index)
        delta = self._writer.more(event.text)
        return b"" if delta is None else self._words(delta)

    def _arguments(self, event: ToolDelta) -> bytes:
        if (begin := self._calls.get(event.index)) is None:
            return b""
        self._told.add(event.index)
        more = {"index": begin["index"], **self._writing.more(begin, event.json)}
        return self._chunk({"tool_calls": [more]})

    def _end(self, event: PartEnd) -> bytes:
        part, told = event.part, event.index in self._told
        match part:
            case Text() if is_refusal(part):
                return self._chunk({"refusal": part.text}) if not told else b""
            case Text():
                missing = not told and part.text
                said = self._text(TextDelta(event.index, part.text)) if missing else b""
                said += self._weigh_rest(event.index, part)
                return said + self._cite(part) + self._carry(part)
            case Thinking():
                return self._end_thinking(event.index, part, told=told)
            case ToolCall():
                return self._end_call(event.index, part, told=told)
            case Image():
                return self._chunk({"images": [{**picture(part), "index": 0}]})
            case _:
                return b""

    def _end_thinking(self, index: int, part: Thinking, *, told: bool) -> bytes:
        missing = not told and part.text
        before = self._thinking(ThinkingDelta(index, part.text)) if missing else b""
        last = self._writer.end(part)
        return before + (b"" if last is None else self._chunk(last)) + self._carry(part)

    def _end_call(self, index: int, call: ToolCall, *, told: bool) -> bytes:
        if (begin := self._calls.get(index)) is None:
            return b""
        whole = self._writing.whole(call)
        said = b""
        if not told:
            given = (
                whole["custom"]["input"] if "custom" in whole else whole["function"]["arguments"]
            )
            said = self._arguments(ToolDelta(index, given))
        if index in self._signed:
            return said
        rest = {key: whole[key] for key in whole if key not in ("id", "type", *_GIVEN)}
        late = {"index": begin["index"], **rest}
        return said + (self._chunk({"tool_calls": [late]}) if rest else b"") + self._carry(call)

    def _cite(self, part: Text) -> bytes:
        cited = annotations(part)
        return self._chunk({"annotations": cited}) if cited and self._provider.carries else b""

    def _carry(self, part: Text | Thinking | ToolCall) -> bytes:
        details = self._carried.write(part)
        return self._chunk({"reasoning_details": details}) if details else b""

    def _finish(self, event: Finished) -> bytes:
        provider = self._provider
        finish = finish_reason(event.finish, event.raw_finish, said_no=self._refuses)
        if self._number or (not self._asked_usage and provider.usage != "always"):
            return self._chunk({}, finish=finish)
        usage = usage_of(event.usage, provider)
        if provider.usage_at == "finish":
            return self._chunk({}, finish=finish, usage=usage)
        if provider.usage_at == "in choice":
            return self._chunk({}, finish=finish, choice={"usage": usage})
        end = self._chunk({}, finish=finish)
        if provider.usage_at == "empty choice":
            return end + self._chunk({"content": ""}, usage=usage)
        return end + _frame({**self._base, "choices": [], "usage": usage})

    def _words(self, delta: Json) -> bytes:
        if self._padded:
            return self._chunk(delta)
        if self._around is None:
            before, _, after = self._chunk(_MARK).rpartition(write_json(_MARK))
            self._around = before, after
        before, after = self._around
        return before + write_json(delta) + after

    def _chunk(
        self, delta: Json, *, finish: str | None = None, choice: Json = None, usage: Json = None
    ) -> bytes:
        if self._older and isinstance(delta, dict):
            before, finish = delta, older_finish(finish) if finish else finish
            if not (delta := write_older_call(delta)) and before:
                return b""  # a further call, which the older form does not have
        own = {"index": self._number, "delta": delta, "logprobs": None, **(choice or {})}
        if finish is not None or self._provider.nulls:
            own |= ending(finish, self._provider)
        chunk = {**self._base, "choices": [own]}
        if self._asked_usage or usage is not None:
            chunk["usage"] = usage
        if self._padded and finish is None:
            chunk["obfuscation"] = "x" * (-len(str(delta)) % 32)
        return _frame(chunk)


class _UsageChunk(msgspec.Struct):
    choices: list[Json]
    usage: dict[str, Json]


_usage_chunk = get_decoder(_UsageChunk)


def is_usage_event(data: bytes) -> bool:
    """Return whether a chunk exists only because the request asked for token counts.

    OpenAI, stream_options: it has the usage, and its choices are always empty.
    """
    if b'"usage"' not in data or len(data) > _LONGEST_USAGE:
        return False
    try:
        return not _usage_chunk.decode(data).choices
    except msgspec.MsgspecError:
        return False


def _frame(chunk: Json) -> bytes:
    return b"data: " + write_json(chunk) + b"\n\n"
