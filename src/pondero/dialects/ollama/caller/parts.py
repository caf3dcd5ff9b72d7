"""Turns an answer, or the lines of a streamed one, into events; ``done: true`` ends it."""

import msgspec
from msgspec import UNSET, Struct

from pondero.canon import (
    Event,
    Finish,
    Finished,
    Json,
    PartEnd,
    PartKind,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprob,
    ToolCall,
    ToolDelta,
    Usage,
    dump_json,
    get_decoder,
    known_count,
    make_call_id,
)
from pondero.dialects.token_logprobs import attach_logprobs, fit_logprobs, read_logprobs
from pondero.framing import UNREADABLE


class Function(Struct, gc=False):
    """What is called, and with what."""

    name: str
    arguments: Json = None


class Call(Struct, gc=False):
    """A tool call, always whole; older servers give it no id."""

    function: Function
    id: str | None = None


class StreamedMessage(Struct, gc=False):
    """What one line adds to the answer."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None


class Chunk(Struct, gc=False):
    """A whole answer or a line of one; /api/generate has its text at the top."""

    message: StreamedMessage | None = None
    done: bool | None = None
    model: str | None = None
    created_at: str | None = None
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    response: str | None = None
    thinking: str | None = None
    logprobs: Json = None
    error: Json = None


CHUNKS = get_decoder(Chunk)


_ENDINGS: dict[str | None, Finish] = {None: "stop", "stop": "stop", "length": "length"}


class Answer:
    """The parts of one answer so far; ``over`` once a line said done."""

    def __init__(self, *, reads_logprobs: bool = False) -> None:
        self.over: bool = False
        self._reads_logprobs = reads_logprobs
        self._tokens: tuple[TokenLogprob, ...] = ()  # that no text has had yet
        self._weighed: list[TokenLogprob] = []  # of the text that is open
        self._started = False
        self._next = 0  # the index of the next part
        self._kind = ""  # of the part that is open, thinking or text
        self._texts: list[str] = []
        self._thought = self._answered = self._called = False
        self._logprobs: list[Json] = []
        self._counts: list[Usage] = []  # before the last line, where only other servers count

    def take(self, chunk: Chunk, events: list[Event]) -> None:
        """Take one line, or the whole."""
        if not self._started:
            self._started = True
            events.append(Started(chunk.model))
        begin, message = len(events), chunk.message
        if message is not None:
            if message.thinking:
                self._think(message.thinking, events)
            if message.content:
                self._say(message.content, events)
            if message.tool_calls:
                for call in message.tool_calls:
                    self._call(call, chunk.created_at, events)
        else:
            if chunk.thinking:
                self._think(chunk.thinking, events)
            if chunk.response:
                self._say(chunk.response, events)
        if chunk.logprobs is not None:
            self._weigh(chunk.logprobs, begin, events)
        if chunk.done:
            self.end(chunk, events)
        elif chunk.eval_count is not None or chunk.prompt_eval_count is not None:
            self._counts.append(_usage(chunk.prompt_eval_count, chunk.eval_count))

    def _weigh(self, raw: Json, begin: int, events: list[Event]) -> None:
        """Give the tokens of a line to its text; those of thinking are not told."""
        self._logprobs += raw if isinstance(raw, list) else ()
        if not self._reads_logprobs:
            return
        new, tokens = events[begin:], read_logprobs(raw)
        if any(isinstance(each, ThinkingDelta) for each in new):
            said = "".join(each.text for each in new if isinstance(each, TextDelta))
            tokens = tuple(fit_logprobs(tokens, said))
        self._tokens += tokens
        index = attach_logprobs(events, begin, self._tokens) if self._tokens else None
        if index is not None:
            if index == self._next:  # it is still open
                self._weighed += self._tokens
            self._tokens = ()

    def end(self, chunk: Chunk, events: list[Event]) -> None:
        """End the answer with the counts of its last line."""
        self.over = True
        self._close(events)
        events.append(
            Finished(
                self._finish(chunk.done_reason),
                usage=self._find_usage(chunk),
                raw_finish=chunk.done_reason,
                model=chunk.model,
                extras={"logprobs": self._logprobs} if self._logprobs else None,
            )
        )

    def _find_usage(self, last: Chunk) -> Usage:
        """Return the counts of the last line; they only grow, so smaller ones are not taken."""
        used = _usage(last.prompt_eval_count, last.eval_count)
        for each in self._counts:
            given, made = _larger(used.input, each.input), _larger(used.output, each.output)
            used = _usage(given, made)
        return used

    def _finish(self, reason: str | None) -> Finish:
        ending = _ENDINGS.get(reason, "other")
        if ending == "stop" and self._called:
            return "tool_calls"
        spent = ending == "length" and self._thought and not self._answered and not self._called
        return "exhausted" if spent else ending

    def _think(self, text: str, events: list[Event]) -> None:
        if self._kind != "thinking":
            self._open("thinking", events)
            self._thought = True
        self._texts.append(text)
        events.append(ThinkingDelta(self._next, text))

    def _say(self, text: str, events: list[Event]) -> None:
        if self._kind != "text":
            self._open("text", events)
        self._texts.append(text)
        events.append(TextDelta(self._next, text))

    def _open(self, kind: PartKind, events: list[Event]) -> None:
        self._close(events)
        self._kind = kind
        events.append(PartStart(self._next, kind))

    def _close(self, events: list[Event]) -> None:
        if not self._kind:
            return
        text, self._texts = "".join(self._texts), []
        if self._kind == "text":
            self._answered = self._answered or bool(text.strip())
            tokens, self._weighed = tuple(self._weighed), []
            events.append(PartEnd(self._next, Text(text, tokens=tokens or UNSET)))
        else:
            events.append(PartEnd(self._next, Thinking(text)))
        self._kind = ""
        self._next += 1

    def _call(self, call: Call, at: str | None, events: list[Event]) -> None:
        self._close(events)
        self._called = True
        name, arguments = call.function.name, _arguments(call.function.arguments)
        written = dump_json(arguments)
        id = call.id or make_call_id(
            f"{at} {self._next} {name} {written}".encode("utf-8", "replace")
        )
        events += (
            PartStart(self._next, "tool_call", id, name),
            ToolDelta(self._next, written),
            PartEnd(self._next, ToolCall(id, name, arguments, minted=not call.id)),
        )
        self._next += 1


def _usage(prompt: int | None, generated: int | None) -> Usage:
    given, made = known_count(prompt), known_count(generated)
    total = None if given is None or made is None else given + made
    return Usage(input=given, output=made, total=total)


def _larger(last: int | None, before: int | None) -> int | None:
    return last if last is None or before is None else max(last, before)


def _arguments(raw: Json) -> Json:
    if isinstance(raw, str):
        try:
            read = msgspec.json.decode(raw)
        except UNREADABLE:
            return raw
        return raw if isinstance(read, str) else read
    return {} if raw is None else raw
