"""Blocks that only this service has, as the words in them: other services can read those.

The lenient road asks ``words`` for the text of such a block, so that a conversation that goes on
with another model keeps it. Blocks in which only the service itself can read are left as they are.
"""

from collections.abc import Callable, Iterator, Mapping

from pondero.canon import Json, dump_json


def words(kind: str, fields: Json) -> str | None:
    """Return what a block of the service's own says; None where it says nothing to others."""
    reading = _READINGS.get(kind)
    told = reading(fields) if reading is not None else ()
    return "\n".join(each for each in told if isinstance(each, str) and each) or None


def _json(fields: Json) -> Iterator[Json]:
    """Yield a tool's result that is JSON, as its text."""
    yield dump_json(fields)


def _search_result(fields: Json) -> Iterator[Json]:
    if isinstance(fields, dict):
        yield from (fields.get("title"), fields.get("source"))
        yield from _texts(fields.get("content"))


def _guarded(fields: Json) -> Iterator[Json]:
    inside = fields.get("text") if isinstance(fields, dict) else None
    yield inside.get("text") if isinstance(inside, dict) else None


def _document(fields: Json) -> Iterator[Json]:
    """Yield the words of a document that is given as text or as blocks of text."""
    source = fields.get("source") if isinstance(fields, dict) else None
    if isinstance(source, dict):
        yield source.get("text")
        yield from _texts(source.get("content"))


def _texts(blocks: Json) -> Iterator[Json]:
    for each in blocks if isinstance(blocks, list) else ():
        yield each.get("text") if isinstance(each, dict) else None


_READINGS: Mapping[str, Callable[[Json], Iterator[Json]]] = {
    "json": _json,
    "searchResult": _search_result,
    "guardContent": _guarded,
    "document": _document,
}
