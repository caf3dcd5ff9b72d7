"""Writes answers as the service does: whole, server-sent, as an array or one object a line."""

import base64
import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    Part,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprob,
    Usage,
    UsageUpdate,
)
from pondero.dialects.dialect import ReplyContext

from .errors import JSON, pretty
from .parse import Context
from .parts import average, ending_of, feedback_of, part_of, usage_of, weigh

FILTERED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
"""The finish reasons of an answer that a filter withheld."""
_HOLE = "\x00"  # in no name of a model and in no id


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    return reply_several(answering, (reply,))


def reply_several(answering: ReplyContext[Context], replies: Sequence[Reply]) -> HttpResponse:
    """Return several answers to one request; the first has the counts of all."""
    first, *others = (_write_answer(answering, each, number) for number, each in enumerate(replies))
    if "candidates" in first:  # else the prompt was blocked
        first["candidates"] += [each for other in others for each in other.get("candidates", ())]
    return HttpResponse(200, {"content-type": JSON}, pretty(_wrap(answering, first)))


def _write_answer(answering: ReplyContext[Context], reply: Reply, number: int) -> dict[str, Json]:
    told: list[Json] = []
    last = reply.message.parts[-1] if reply.message.parts else None
    for part in reply.message.parts:
        if isinstance(part, Thinking) and not answering.shown:
            continue
        one = part_of(part, _signature(answering, part, told))
        if one is not None:
            told.append(one)
    if (signature := _at_end(answering, last, told)) is not None:
        told[-1]["thoughtSignature"] = signature  # 76 of 79 recorded text answers of Gemini 3
    finished = Finished(
        reply.finish,
        usage=reply.usage,
        raw_finish=reply.raw_finish,
        model=reply.model,
        grounding=reply.grounding,
        safety=reply.safety,
        extras=reply.extras,
    )
    texts = [part for part in reply.message.parts if isinstance(part, Text)]
    cited = [each for text in texts for each in text.citations]
    started = Started(reply.model, reply.request_id)
    answer = _answer(answering, started, told, reply.usage, number)
    tokens = [each for text in texts for each in text.logprobs]
    top = answering.top_logprobs
    answer["candidates"][0] |= weigh(tokens, top) | average(tokens, top)
    return _finish_answer(answer, finished, cited=cited, silent=not told)


def stream(answering: ReplyContext[Context]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(answering)


def streams(answering: ReplyContext[Context], count: int) -> Sequence["Stream"]:
    """Return an encoder for each of several streamed answers to one request."""
    frames = _FrameCount()
    return tuple(Stream(answering, number, frames) for number in range(count))


def call_id(digest: str) -> str:
    """Return an id of a call as the service makes them."""
    return digest[:8]


class _FrameCount(Struct):
    """The number of frames of a stream so far: the first of an array begins it."""

    frames: int = 0


class Stream:
    """Events to pieces; a whole part waits: some readers drop a last piece without parts.

    ``number`` is which of several answers it writes; ``count`` counts the frames of all.
    """

    def __init__(
        self,
        answering: ReplyContext[Context],
        number: int = 0,
        count: _FrameCount | None = None,
    ) -> None:
        self._answering = answering
        self._number = number
        self._count = count or _FrameCount()
        self._started = Started()
        self._usage = Usage()
        self._written: list[Json] = []  # the first piece of every part, and what was signed
        self._waiting: list[Json] = []
        self._pieces = 0  # of the part that is open
        self._signature: Json = None  # of the part that is open, until it is sent
        self._asked = False  # whether the open part was signed already
        self._around: dict[bool, tuple[bytes, bytes]] = {}  # the bytes around a piece of text
        self._last: Part | None = None  # of those that ended
        self._cited: list[Json] = []  # by the texts that ended
        self._tokens: list[TokenLogprob] = []  # whose log probabilities are not told yet
        self._of_part: list[TokenLogprob] = []  # of the open text, whose were told
        self._all_tokens: list[TokenLogprob] = []  # of the texts that ended

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        sse = self._answering.context.framing == "sse"
        return {"content-type": "text/event-stream" if sse else JSON}

    def feed(self, event: Event) -> bytes:
        """Return the bytes of this event, and of a part that waited for it."""
        match event:
            case TextDelta():
                self._tokens += event.logprobs
                return self._piece(event.text, thought=False)
            case ThinkingDelta():
                return self._piece(event.text, thought=True) if self._answering.shown else b""
            case PartStart():
                return self._begin(event)
            case PartEnd():
                return self._end(event.part)
            case UsageUpdate():
                self._usage = event.usage
                self._around.clear()
            case Started():
                self._started = event
                self._around.clear()
            case Finished():
                return self._finish(event)
            case _:
                pass
        return b""

    def eof(self) -> bytes:
        """Return the bytes that end the stream: an array has a bracket to close."""
        if self._answering.context.framing != "array":
            return b""
        return b"\n]" if self._count.frames else b"[]"

    def fail(self, error: HttpResponse) -> bytes:
        """Return what was held back, and the error after it."""
        return self._flush() + self._frame(msgspec.json.decode(error.body)) + self.eof()

    def _begin(self, event: PartStart) -> bytes:
        self._pieces, self._signature = 0, None
        self._asked = event.kind == "text" and event.signature is not None
        if self._asked:
            self._signature = self._answering.sign(Text("", event.signature), "", self._written)
        return self._flush()

    def _piece(self, text: str, *, thought: bool) -> bytes:
        if not text:
            return b""
        self._pieces += 1
        if self._pieces > 1 and self._answering.context.framing == "sse" and not self._tokens:
            return self._next_piece(text, thought=thought)
        piece: dict[str, Json] = {"text": text, "thought": True} if thought else {"text": text}
        if self._signature is not None:
            piece["thoughtSignature"], self._signature = self._signature, None
        if self._pieces == 1:
            self._written.append(piece)
        self._waiting.append(piece)
        return self._flush()

    def _next_piece(self, text: str, *, thought: bool) -> bytes:
        if thought not in self._around:
            piece: dict[str, Json] = {"text": _HOLE} | ({"thought": True} if thought else {})
            answer = self._answer([piece], self._usage)
            frame = self._frame(_wrap(self._answering, answer))
            before, _, after = frame.partition(msgspec.json.encode(_HOLE))
            self._around[thought] = before, after
        before, after = self._around[thought]
        return before + msgspec.json.encode(text) + after

    def _end(self, part: Part) -> bytes:
        self._last = part
        if isinstance(part, Text):
            self._cited += part.citations
            self._tokens += part.logprobs[len(self._of_part) + len(self._tokens) :]
            self._all_tokens += part.logprobs
            self._of_part = []
        if isinstance(part, Thinking) and not self._answering.shown:
            return b""
        before = self._written[:-1] if self._pieces else self._written
        signature = self._signature
        if not self._asked:
            signature = _signature(self._answering, part, before)
        if self._pieces == 0:  # it came whole
            one = part_of(part, signature)
            if one is not None:
                self._hold(one)
        elif signature is not None:
            empty = {"text": ""} | ({"thought": True} if isinstance(part, Thinking) else {})
            self._hold({**empty, "thoughtSignature": signature})
        return b""

    def _hold(self, piece: Json) -> None:
        self._waiting.append(piece)
        self._written.append(piece)

    def _finish(self, finished: Finished) -> bytes:
        said = b""
        if (signature := _at_end(self._answering, self._last, self._written)) is not None:
            said = self._flush()
            self._hold({"text": "", "thoughtSignature": signature})
        answer = self._answer(self._waiting, finished.usage)
        self._waiting = []
        silent = not self._written
        answer["candidates"][0] |= average(self._all_tokens, self._answering.top_logprobs)
        ended = _finish_answer(answer, finished, cited=self._cited, silent=silent)
        if self._number and "candidates" not in ended:
            return said  # the first says why the prompt was blocked
        return said + self._frame(_wrap(self._answering, ended))

    def _answer(self, parts: list[Json], usage: Usage) -> dict[str, Json]:
        answer = _answer(self._answering, self._started, parts, usage, self._number)
        if self._tokens:
            answer["candidates"][0] |= weigh(self._tokens, self._answering.top_logprobs)
            self._of_part += self._tokens
            self._tokens = []
        return answer

    def _flush(self) -> bytes:
        if not self._waiting:
            return b""
        parts, self._waiting = self._waiting, []
        answer = self._answer(parts, self._usage)
        return self._frame(_wrap(self._answering, answer))

    def _frame(self, answer: Json) -> bytes:
        self._count.frames += 1
        framing = self._answering.context.framing
        if framing == "sse":
            return b"data: " + msgspec.json.encode(answer) + b"\r\n\r\n"
        if framing == "ndjson":
            return msgspec.json.encode(answer) + b"\n"
        return (b"[" if self._count.frames == 1 else b"\n,\r\n") + pretty(answer)


def _answer(
    answering: ReplyContext[Context],
    started: Started,
    parts: list[Json],
    usage: Usage,
    number: int,
) -> dict[str, Json]:
    content: dict[str, Json] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
    answer: dict[str, Json] = {"candidates": [{"content": content, "index": number}]}
    if (counts := usage_of(usage)) is not None:
        answer["usageMetadata"] = counts
    answer["modelVersion"] = started.model or answering.request.model
    answer["responseId"] = started.id or _response_id(answering)
    return answer


def _finish_answer(
    answer: dict[str, Json], finished: Finished, *, cited: Sequence[Json], silent: bool
) -> dict[str, Json]:
    candidate = answer["candidates"][0]
    if silent and (feedback := feedback_of(finished)) is not None:
        del answer["candidates"]
        return {"promptFeedback": feedback, **answer}
    if silent and finished.finish == "content_filter":
        candidate["content"] = {}
    elif "parts" not in candidate["content"]:
        candidate["content"]["parts"] = [{"text": ""}]
    candidate |= ending_of(finished, cited)
    return answer


def _wrap(answering: ReplyContext[Context], answer: dict[str, Json]) -> dict[str, Json]:
    return (
        {"response": answer, "traceId": answer["responseId"]}
        if answering.context.wrapped
        else answer
    )


def _signature(answering: ReplyContext[Context], part: Part, before: list[Json]) -> Json:
    text = part.text if isinstance(part, Text | Thinking) else ""
    return answering.sign(part, text, before)


def _at_end(answering: ReplyContext[Context], last: Part | None, said: list[Json]) -> Json:
    """Return the signature that an answer ends with; None unless it ends in unsigned text."""
    if not isinstance(last, Text) or not last.text or not said:
        return None
    if any("thoughtSignature" in each for each in said):
        return None
    return answering.sign(last, "", said)


def _response_id(answering: ReplyContext[Context]) -> str:
    digest = hashlib.blake2b(answering.seed, digest_size=16).digest()
    return base64.urlsafe_b64encode(digest)[:22].decode()
