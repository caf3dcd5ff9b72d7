"""Reads a whole answer into events, and scores how likely JSON is of this wire."""

from typing import Any

from msgspec import UNSET, Raw, Struct
from msgspec.json import Decoder

from pondero.canon import Event, Finish, Finished, Json, ResponseHead, Started, Usage, get_decoder
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed
from pondero.framing import parse_payload

from .errors import in_stream
from .parts import Items, SeenItems
from .usage import usage

_KEPT = ("reasoning", "service_tier", "usage")


class Answer(Struct, gc=False):
    """A response object, as far as the caller reads it.

    ``output`` is decoded on demand: several events of a stream have it, and one needs it.
    """

    id: str | None = None
    model: str | None = None
    status: str | None = None
    error: Json = None
    incomplete_details: Json = None
    usage: Json = None
    reasoning: Json = None
    service_tier: Json = None
    content_filters: Json = None
    store: Json = None
    tools: Raw = Raw()
    output: Raw = Raw()


class WholeAnswer(Answer, gc=False):
    """A response object in one piece, with its output."""

    output: Any = UNSET


answer_decoder: Decoder[Answer] = get_decoder(Answer)
_whole = get_decoder(WholeAnswer)


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer, the same as of its stream."""
    answer = parse_payload(body, _whole)
    if answer.error is not None or answer.status == "failed":
        raise in_stream(head, answer.error)
    output = answer.output
    if output is UNSET:
        raise Malformed("missing required field `output`")
    if not isinstance(output, list):
        raise Malformed(f"expected a list, got {type(output).__name__}", path="$.output")
    items = Items(model=where.model or answer.model, route=where.route)
    items.answer_id = answer.id
    items.reads_logprobs = where.logprobs
    items.stored = answer.store is not False
    items.tools = answer.tools
    events: list[Event] = [Started(answer.model, answer.id)]
    for place, item in enumerate(output):
        if not items.end_text(place, item, events):
            items.end(place, item, events, at=f"$.output[{place}]")
    events.append(make_finished(answer, items.seen))
    return events


def match_score(raw: Json, *, stream: bool) -> int:
    """Return how surely a body, or the first object of a stream, is of this wire: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    if stream:
        kind = raw.get("type")
        return 100 if isinstance(kind, str) and kind.startswith("response.") else 0
    if raw.get("object") == "response":
        return 100
    if isinstance(raw.get("output"), list) and "choices" not in raw:
        return 70
    inner = raw.get("error")
    return 15 if isinstance(inner, dict) and "message" in inner and "param" in inner else 0


def make_finished(answer: Answer, seen: SeenItems) -> Finished:
    """Return the last event of this answer."""
    used = usage(answer.usage)
    raw = reason(answer) or answer.status
    extras: dict[str, Json] = {}
    for key in _KEPT:
        if (value := getattr(answer, key)) is not None:
            extras[key] = value
    return Finished(
        _finish(answer, seen, used),
        usage=used,
        raw_finish=raw,
        model=answer.model,
        safety=answer.content_filters,
        extras=extras or None,
    )


def reason(answer: Answer) -> str | None:
    """Return why the answer is incomplete, in the service's words."""
    details = answer.incomplete_details
    found = details.get("reason") if isinstance(details, dict) else None
    return found if isinstance(found, str) else None


def _finish(answer: Answer, seen: SeenItems, used: Usage) -> Finish:
    if answer.status in ("completed", "complete"):
        if seen.calls:
            return "tool_calls"
        return "refusal" if seen.refusal else "stop"
    if answer.status == "incomplete":
        return _cut(reason(answer), seen, used)
    return "other"


def _cut(why: str | None, seen: SeenItems, used: Usage) -> Finish:
    if why == "content_filter":
        return "content_filter"
    if why != "max_output_tokens":
        return "other"
    thought = seen.thinking or bool(used.thinking)
    return "exhausted" if thought and not (seen.text or seen.calls) else "length"
