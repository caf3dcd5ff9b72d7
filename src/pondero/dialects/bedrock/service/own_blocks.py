"""Texts of blocks that only this service has, so that other models can read them."""

from collections.abc import Callable, Iterator, Mapping

from pondero.canon import Json, dump_json


def describe_block(kind: str, fields: Json) -> str | None:
    """Return the text of a block; None if it has none that other models can read."""
    reading = _READINGS.get(kind)
    told = reading(fields) if reading is not None else ()
    return "\n".join(each for each in told if isinstance(each, str) and each) or None


def _json(fields: Json) -> Iterator[Json]:
    yield dump_json(fields)


def _search_result(fields: Json) -> Iterator[Json]:
    if isinstance(fields, dict):
        yield from (fields.get("title"), fields.get("source"))
        yield from _texts(fields.get("content"))


def _guard_content(fields: Json) -> Iterator[Json]:
    inside = fields.get("text") if isinstance(fields, dict) else None
    yield inside.get("text") if isinstance(inside, dict) else None


def _document(fields: Json) -> Iterator[Json]:
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
    "guardContent": _guard_content,
    "document": _document,
}
