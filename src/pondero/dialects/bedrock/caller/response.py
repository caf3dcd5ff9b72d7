"""Reads a whole answer into the events of its stream."""

from msgspec import Raw, Struct

from pondero.canon import Event, Json, ResponseHead, Started, get_decoder
from pondero.dialects.dialect import AnswerContext
from pondero.framing import parse_payload

from .parts import block
from .stream import Answer, Ending, Metadata


class _Message(Struct):
    content: list[dict[str, Raw]]


class _Output(Struct):
    message: _Message


class _Whole(Metadata, kw_only=True, rename="camel"):
    output: _Output
    stop_reason: str
    additional_model_response_fields: Json = None


_WHOLE = get_decoder(_Whole)


def decode(_head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer."""
    whole = parse_payload(body, _WHOLE)
    answer = Answer(where.model, where.route)
    events: list[Event] = [Started()]
    begun = 0
    for place, raw in enumerate(whole.output.message.content):
        opened = block(raw, begun, at=f"$.output.message.content[{place}]")
        if opened is not None:
            begun += 1
            events += [*opened.begin(), answer.end_part(opened)]
    ending = Ending(whole.stop_reason, whole.additional_model_response_fields)
    return [*events, answer.finish_answer(ending, whole)]


def match_score(raw: Json, *, stream: bool) -> int:
    """Return how likely this JSON is an answer of this API: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    if stream:
        return 100 if "contentBlockIndex" in raw else 90 * ("stopReason" in raw)
    output = raw.get("output")
    return 100 if isinstance(output, dict) and "stopReason" in raw else 0
