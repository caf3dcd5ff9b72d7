"""The service answers, in its exact shape: whole, server-sent, as an array or an object a line."""

import base64
import hashlib

import msgspec

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
    ToolCall,
    Usage,
    UsageNow,
)
from pondero.dialects.dialect import Answering

from . import models
from .parts import ending_of, feedback_of, part_of, signature_of, usage_of
from .seals import sign

FILTERED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
"""What this service says at the end of an answer that a filter took away."""

BAD_KEY = ((400, "API_KEY_INVALID"),)
"""How else this service refuses a key: a status that means another thing, and a code."""


def reply(accepted: Answering[Json], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    parts = [p for p in reply.message.parts if accepted.shown or not isinstance(p, Thinking)]
    told: list[Json] = []
    signed = False
    for part in parts:
        signature = signature_of(part)
        if signature is None and not signed and _is_signed(part, accepted):
            signature = _signature(accepted, part)
        signed = signed or signature is not None
        told.append(part_of(part, signature))
    finished = Finished(
        *(reply.finish, reply.usage, reply.raw_finish, reply.model),
        *(reply.grounding, reply.safety, reply.extras),
    )
    answer = _answer(
        accepted, Started(reply.model, reply.request_id), [p for p in told if p], reply.usage
    )
    body = models.pretty(_ended(accepted, answer, finished))
    return HttpResponse(200, {"content-type": models.JSON}, body)


def stream(accepted: Answering[Json]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(accepted)


def error(
    status: int, message: str, *, code: str | None, retry_after: float | None
) -> HttpResponse:
    """Return an error in the service's shape; a code that is no status word is a reason."""
    google = "type.googleapis.com/google.rpc"
    details: list[Json] = []
    if code is not None and not models.is_status_word(code):
        details.append({"@type": f"{google}.ErrorInfo", "reason": code, "domain": "googleapis.com"})
    if retry_after is not None:
        details.append({"@type": f"{google}.RetryInfo", "retryDelay": f"{retry_after:g}s"})
    word = code if models.is_status_word(code) else None
    return models.error(status, message, word=word, details=details)


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them."""
    return digest[:8]


class Stream:
    """Events to the pieces of an answer.

    The last piece is held back until the next: a seal that comes with the part's end belongs on
    it, and a part that came in several pieces is sealed by an empty one behind them.
    """

    def __init__(self, accepted: Answering[Json]) -> None:
        self._accepted = accepted
        self._started = Started()
        self._usage = Usage()
        self._waiting: list[Json] = []
        self._pieces = 0  # of the part that is open
        self._signed = False
        self._frames = 0

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        sse = self._accepted.context["framing"] == "sse"
        return {"content-type": "text/event-stream" if sse else models.JSON}

    def feed(self, event: Event) -> bytes:
        """Return the bytes that say this event; often those of the one before."""
        match event:
            case TextDelta():
                return self._piece({"text": event.text})
            case ThinkingDelta():
                shown = self._accepted.shown
                return self._piece({"text": event.text, "thought": True}) if shown else b""
            case PartStart():
                self._pieces = 0
            case PartEnd():
                return self._end(event.part)
            case UsageNow():
                self._usage = event.usage
            case Started():
                self._started = event
            case Finished():
                return self._finish(event)
            case _:
                pass
        return b""

    def eof(self) -> bytes:
        """Return the bytes that end the stream: an array has a bracket to close."""
        if self._accepted.context["framing"] != "array":
            return b""
        return b"\n]" if self._frames else b"[]"

    def fail(self, error: HttpResponse) -> bytes:
        """Return the piece of an error after all was well, behind what was held back."""
        return self._flush() + self._framed(msgspec.json.decode(error.body)) + self.eof()

    def _piece(self, piece: Json) -> bytes:
        # Two texts that are two parts stay two only where they stand in one piece of the stream.
        apart = self._pieces == 0 and self._waiting and _is_alike(self._waiting[-1], piece)
        said = b"" if apart else self._flush()
        self._waiting.append(piece)
        self._pieces += 1
        return said

    def _end(self, part: Part) -> bytes:
        if isinstance(part, Thinking) and not self._accepted.shown:
            return b""
        signature = signature_of(part)
        if signature is None and not self._signed and _is_signed(part, self._accepted):
            signature = _signature(self._accepted, part)
        self._signed = self._signed or signature is not None
        if self._pieces == 0:  # it came whole
            one = part_of(part, signature)
            return self._piece(one) if one is not None else b""
        return self._sign(part, signature) if signature is not None else b""

    def _sign(self, part: Part, signature: str) -> bytes:
        said = b""
        if self._pieces > 1:
            said = self._flush()
            self._waiting = [
                {"text": ""} | ({"thought": True} if isinstance(part, Thinking) else {})
            ]
        self._waiting[-1]["thoughtSignature"] = signature
        return said

    def _finish(self, finished: Finished) -> bytes:
        answer = _answer(self._accepted, self._started, self._waiting, finished.usage)
        self._waiting = []
        return self._framed(_ended(self._accepted, answer, finished))

    def _flush(self) -> bytes:
        if not self._waiting:
            return b""
        parts, self._waiting = self._waiting, []
        answer = _answer(self._accepted, self._started, parts, self._usage)
        return self._framed(_wrapped(self._accepted, answer))

    def _framed(self, answer: Json) -> bytes:
        self._frames += 1
        framing = self._accepted.context["framing"]
        if framing == "sse":
            return b"data: " + msgspec.json.encode(answer) + b"\r\n\r\n"
        if framing == "ndjson":
            return msgspec.json.encode(answer) + b"\n"
        return (b"[" if self._frames == 1 else b"\n,\r\n") + models.pretty(answer)


def _answer(
    accepted: Answering[Json], started: Started, parts: list[Json], usage: Usage
) -> dict[str, Json]:
    content: dict[str, Json] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
    answer: dict[str, Json] = {"candidates": [{"content": content, "index": 0}]}
    if (counts := usage_of(usage)) is not None:
        answer["usageMetadata"] = counts
    answer["modelVersion"] = started.model or accepted.request.model
    answer["responseId"] = started.id or _response_id(accepted)
    return answer


def _ended(
    accepted: Answering[Json], answer: dict[str, Json], finished: Finished
) -> dict[str, Json]:
    candidate = answer["candidates"][0]
    if (feedback := feedback_of(finished)) is not None and "parts" not in candidate["content"]:
        del answer["candidates"]
        return _wrapped(accepted, {"promptFeedback": feedback, **answer})
    if finished.finish == "content_filter" and "parts" not in candidate["content"]:
        candidate["content"] = {}
    candidate |= ending_of(finished)
    return _wrapped(accepted, answer)


def _wrapped(accepted: Answering[Json], answer: dict[str, Json]) -> dict[str, Json]:
    return (
        {"response": answer, "traceId": answer["responseId"]}
        if accepted.context["wrapped"]
        else answer
    )


def _is_signed(part: Part, accepted: Answering[Json]) -> bool:
    """Return whether the service signs such a part, the first of its kind in an answer.

    It signs words too, in an empty part behind them; a mind that wants that says an empty text.
    """
    signs: bool = accepted.context["signs"]
    return signs and (isinstance(part, ToolCall) or part == Text(""))


def _signature(accepted: Answering[Json], part: Part) -> str:
    about = msgspec.json.encode([accepted.request.model, part]).decode()
    return sign(accepted.context["service"], about)


def _response_id(accepted: Answering[Json]) -> str:
    asked = msgspec.json.encode(accepted.context["body"])
    return base64.urlsafe_b64encode(hashlib.blake2b(asked, digest_size=16).digest())[:22].decode()


def _is_alike(one: Json, other: Json) -> bool:
    """Return whether a reader would take two unsigned texts for one."""
    return (
        "text" in one
        and "text" in other
        and "thoughtSignature" not in one
        and ("thought" in one) == ("thought" in other)
    )
