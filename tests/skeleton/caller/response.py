"""Wire to canon: a whole answer to the events that a stream would give."""

from msgspec import Struct

from pondero.canon import Event, Json, ResponseHead, Started, get_decoder
from pondero.dialects.dialect import AnswerContext
from pondero.framing import parse_payload

from .parts import Counts, Parts, Piece, finished


class Answer(Struct):
    """The body of an answer."""

    id: str
    model: str
    parts: list[Piece]
    finish: str
    counts: Counts = Counts()


_ANSWER = get_decoder(Answer)


def decode(_head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer."""
    answer = parse_payload(body, _ANSWER)
    events: list[Event] = [Started(answer.model, answer.id)]
    parts = Parts(where)
    for piece in answer.parts:
        parts.begin(piece, events)
        parts.end(events)
    events.append(finished(answer.finish, answer.counts, answer.model, parts.ended))
    return events


def match_score(raw: Json, *, stream: bool) -> int:
    """Return how surely this is an answer of ours."""
    if not isinstance(raw, dict):
        return 0
    return 90 if (raw.get("event") == "begin" if stream else {"parts", "finish"} <= set(raw)) else 0
