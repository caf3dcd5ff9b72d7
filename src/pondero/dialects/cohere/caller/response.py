"""Reads a whole answer into events, and says how likely a piece of JSON is one."""

from pondero.canon import Event, Json, ResponseHead
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed
from pondero.framing import parse_payload

from .errors import error
from .parts import BODIES, Answer, Body, StreamedMessage, raw_part
from .stream import stream

_EVENTS = frozenset(
    {
        *("message-start", "message-end", "content-start", "content-delta", "content-end"),
        *("tool-plan-delta", "tool-call-start", "tool-call-delta", "tool-call-end"),
        *("citation-start", "citation-end"),
    }
)


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer; the body may also be a finished stream."""
    if body.lstrip().startswith((b"data:", b":", b"event:")):
        reading = stream(head, where)
        return reading.feed(body) + reading.eof()
    whole = parse_payload(body, BODIES)
    if isinstance(whole.message, str):
        raise error(head, body)
    if whole.message is None:
        raise Malformed("an answer without a message", path="$.message")
    if whole.id is None and whole.finish_reason is None:  # the service sends both
        raise Malformed("an answer without id and finish_reason", path="$.finish_reason")
    answer = Answer(where.model, where.route)
    events: list[Event] = []
    answer.begin(whole.id, events)
    _take(whole.message, answer, body, events)
    _end(whole, answer, events)
    return events


def match_score(raw: Json, **_: bool) -> int:
    """Return how surely this JSON is ours: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    kind = raw.get("type")
    if isinstance(kind, str) and kind in _EVENTS:
        return 95
    if isinstance(raw.get("message"), dict) and isinstance(raw.get("finish_reason"), str):
        return 90
    told = isinstance(raw.get("message"), str) and isinstance(raw.get("id"), str)
    return 45 if told and len(raw) == 2 else 0


def _take(message: StreamedMessage, answer: Answer, body: bytes, events: list[Event]) -> None:
    content, calls = message.content, message.tool_calls
    for citation in message.citations if isinstance(message.citations, list) else ():
        answer.cite(citation)
    if isinstance(content, str) and content:
        answer.say("text", content, events)
    for number, piece in enumerate(content if isinstance(content, list) else ()):
        if piece.type not in ("text", "thinking", None):
            answer.keep(raw_part(body, number), events)
        if piece.thinking:
            answer.say("thinking", piece.thinking, events)
        if piece.text:
            answer.say("text", piece.text, events)
        answer.close(events)
    if message.tool_plan:
        answer.say("plan", message.tool_plan, events)
    for call in calls if isinstance(calls, list) else ():
        answer.call(call, events)


def _end(whole: Body, answer: Answer, events: list[Event]) -> None:
    if whole.logprobs is not None:
        answer.weigh(whole.logprobs)
    answer.end(whole.finish_reason, whole.usage, events)
