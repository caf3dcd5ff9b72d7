"""The service answers, in its exact shape: whole, streamed, or with an error."""

from pondero.canon import HttpResponse, Json, Other, PartKind, Reply, Text, Thinking, ToolCall
from pondero.dialects.dialect import Answering

from .parts import Item, Scribe, ending, written

_KINDS: dict[type, PartKind] = {
    Text: "text",
    Thinking: "thinking",
    ToolCall: "tool_call",
    Other: "other",
}


def reply(accepted: Answering[Json], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    scribe = Scribe(accepted)
    end = ending(reply.finish, reply.raw_finish)
    output: list[Item] = []
    parts = [part for part in reply.message.parts if type(part) in _KINDS]
    for place, part in enumerate(parts):
        name = part.name if isinstance(part, ToolCall) else None
        head = scribe.head(place, _KINDS[type(part)], name=name)
        output.append(scribe.whole(head, part, end=end if part is parts[-1] else None))
    headers = {
        "content-type": "application/json",
        "openai-processing-ms": "1",
        "openai-version": "2020-10-01",
        "x-request-id": scribe.request_id,
    }
    said = scribe.answer(output, end=end, usage=reply.usage, model=reply.model)
    return HttpResponse(200, headers, written(said))


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them."""
    return f"call_{digest[:24]}"
