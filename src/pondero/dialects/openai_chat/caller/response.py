"""Wire to canon: what the service answered, in its words or in an error's."""

from pondero.canon import Event, Head, Json
from pondero.dialects.dialect import Where
from pondero.errors import ServiceError

from .builder import Builder
from .errors import error_of
from .quirks import quirks_of
from .stream import Body, Stream

_OBJECTS = ("chat.completion", "chat.completion.chunk")


def response(head: Head, body: bytes, where: Where) -> list[Event]:
    """Return the events of a whole answer, the same a stream would give."""
    whole = Body(
        head, Builder(model=where.model, route=where.route, quirks=quirks_of(where.quirks))
    )
    whole.feed(body)
    return whole.eof()


def stream(head: Head, where: Where) -> Stream:
    """Return a decoder for one streamed answer."""
    known = quirks_of(where.quirks)
    builder = Builder(model=where.model, route=where.route, quirks=known)
    return Stream(head, builder, marked=known.done_marker)


def error(head: Head, body: bytes) -> ServiceError:
    """Return what the service said was wrong; survives HTML and nothing at all."""
    return error_of(head, body)


def recognises(raw: Json, *, stream: bool) -> int:
    """Return how surely this JSON is ours: 0 to 100. Errors look alike on many wires."""
    if not isinstance(raw, dict):
        return 0
    choices = raw.get("choices")
    if raw.get("object") == _OBJECTS[stream]:
        return 95
    if raw.get("object") in _OBJECTS:
        return 90
    if isinstance(choices, list):
        first = choices[0] if choices else None
        return 80 if isinstance(first, dict) and first.keys() & {"message", "delta"} else 50
    return _recognises_error(raw)


def _recognises_error(raw: dict[str, Json]) -> int:
    failed = raw.get("error")
    if isinstance(failed, dict) and "message" in failed:
        if "status" in failed or raw.get("type") == "error":  # another wire's marks
            return 10
        ours = isinstance(failed.get("code"), int) or failed.keys() & {"code", "param", "metadata"}
        return 45 if ours else 20
    if isinstance(failed, str) or raw.get("object") == "error":
        return 30
    told = {"message", "type", "code", "reason"}
    return 15 if "detail" in raw or len(raw.keys() & told) > 1 else 0
