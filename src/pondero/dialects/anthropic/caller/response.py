"""The service's answers to events: whole, streamed, or refused."""

from msgspec import Raw
from msgspec.json import Decoder

from pondero.canon import Event, Head, Json
from pondero.dialects.dialect import Where
from pondero.errors import Malformed
from pondero.framing import parse

from .errors import error, failure
from .parts import Delta, block
from .stream import Answer, Opening, Stream

__all__ = ["error", "recognises", "response", "stream"]


class _Whole(Opening):
    type: str = "message"
    content: list[Raw] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Json = None
    context_management: Json = None


_WHOLE = Decoder(_Whole)
_ANY: Decoder[Json] = Decoder()


def response(head: Head, body: bytes, where: Where) -> list[Event]:
    """Return the events of a whole answer; raise what a 200 with an error in it says."""
    whole = parse(body, _WHOLE)
    if whole.type == "error":
        raise failure(parse(body, _ANY), head, body=body, status=None)
    if whole.content is None:
        raise Malformed("a required key is missing", path="$.content")
    answer = Answer(head, where.model, where.route)
    events = answer.started(whole)
    for index, raw in enumerate(whole.content):
        opened = block(raw, index, at=f"$.content[{index}]")
        events += opened.begin()
        events.append(answer.ended(opened))
    ending = Delta(
        stop_reason=whole.stop_reason,
        stop_sequence=whole.stop_sequence,
        stop_details=whole.stop_details,
    )
    answer.noted(ending, whole.usage, whole.context_management)
    events.append(answer.finished())
    return events


def stream(head: Head, where: Where) -> Stream:
    """Return a decoder for one streamed answer."""
    return Stream(head, where.model, where.route)


def recognises(raw: Json, *, stream: bool) -> int:
    """Return how surely this JSON is ours: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    kind = raw.get("type")
    if kind == "error" and isinstance(raw.get("error"), dict):
        return 80
    if stream:
        return {"message_start": 100, "content_block_start": 90, "ping": 50}.get(str(kind), 0)
    return 100 if kind == "message" and isinstance(raw.get("content"), list) else 0
