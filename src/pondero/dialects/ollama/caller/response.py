"""Reads a whole answer into events, and says how likely a piece of JSON is one."""

from pondero.canon import Event, Json, ResponseHead
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed
from pondero.framing import parse_payload

from .errors import from_error
from .parts import CHUNKS, Answer
from .stream import stream


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer; a stream that was read to its end is one too."""
    try:
        chunk = parse_payload(body, CHUNKS)
    except Malformed:
        if b"\n{" not in body:
            raise
        reading = stream(head, where)
        return reading.feed(body) + reading.eof()
    if chunk.error is not None:
        raise from_error(chunk.error, head=head, body=body)
    if chunk.message is None and chunk.response is None:
        raise Malformed("neither message nor response", path="$.message")
    answer = Answer(reads_logprobs=where.logprobs)
    events: list[Event] = []
    answer.take(chunk, events)
    if not answer.over:
        answer.end(chunk, events)
    return events


def match_score(raw: Json, **_stream: bool) -> int:
    """Return how surely this JSON is ours: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    if isinstance(raw.get("done"), bool) and isinstance(raw.get("model"), str):
        spoken = isinstance(raw.get("message"), dict) or isinstance(raw.get("response"), str)
        return 95 if spoken else 40
    return 60 if raw.keys() == {"error"} and isinstance(raw["error"], str) else 0
