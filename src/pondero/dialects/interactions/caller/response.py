"""Reads a whole answer into events, and says how likely a piece of JSON is one."""

from pondero.canon import Event, Json, ResponseHead, Started
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed
from pondero.framing import parse_payload

from .errors import in_stream
from .interaction import answer_decoder, end_answer
from .parts import Steps
from .stream import stream

_OBJECT = "interaction"


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer, the same as of its stream."""
    if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"data:", b":", b"event:")):
        reading = stream(head, where)
        return reading.feed(body) + reading.eof()
    answer = parse_payload(body, answer_decoder)
    if answer.error is not None:
        raise in_stream(head, answer.error)
    if answer.status is None or not (answer.steps or answer.object == _OBJECT):
        raise Malformed("missing required field `status` or `steps`")
    if answer.object not in (None, _OBJECT):
        raise Malformed(f"an object of type {answer.object!r}", path="$.object")
    steps = Steps(where.model or answer.model, where.route)
    steps.answer_id = answer.id
    events: list[Event] = [Started(answer.model, answer.id or None)]
    end_answer(answer, steps, events)
    return events


def match_score(raw: Json, *, stream: bool) -> int:
    """Return how surely a body, or the first object of a stream, is of this wire: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    if stream:
        kind = raw.get("event_type")
        return 100 if isinstance(kind, str) and kind.startswith(("interaction.", "step.")) else 0
    if raw.get("object") == _OBJECT:
        return 100
    if isinstance(raw.get("steps"), list) and isinstance(raw.get("status"), str):
        return 80
    fault = raw.get("error")
    return 20 if isinstance(fault, dict) and fault.keys() == {"message", "code"} else 0
