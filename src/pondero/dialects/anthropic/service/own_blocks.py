"""Texts of blocks that only this service has, so that other models can read them."""

from collections.abc import Callable, Iterator, Mapping

from pondero.canon import Json


def describe_block(raw: Mapping[str, Json]) -> str | None:
    """Return the text of a block; None if it has none that other models can read."""
    reading = _READINGS.get(str(raw.get("type")))
    return (reading(raw) or None) if reading is not None else None


def _reference(raw: Mapping[str, Json]) -> str:
    # Other services have no deferred tools: they offer it from the start.
    name = raw.get("tool_name")
    return f"[The tool {name} can be called now.]" if isinstance(name, str) else ""


def _search_result(raw: Mapping[str, Json]) -> str:
    told = (raw.get("title"), raw.get("source"), *_texts(raw.get("content")))
    return "\n".join(each for each in told if isinstance(each, str) and each)


def _summary(raw: Mapping[str, Json]) -> str:
    return "\n".join(_texts(raw.get("content")))


def _document(raw: Mapping[str, Json]) -> str:
    source = raw.get("source")
    inside = source.get("content") if isinstance(source, dict) else None
    told = (raw.get("title"), raw.get("context"), *_texts(inside))
    return "\n".join(each for each in told if isinstance(each, str)) if inside else ""


def _texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for each in content if isinstance(content, list) else ():
        if isinstance(each, dict) and isinstance(each.get("text"), str):
            yield each["text"]


_READINGS: Mapping[str, Callable[[Mapping[str, Json]], str]] = {
    "tool_reference": _reference,
    "search_result": _search_result,
    "compaction": _summary,
    "document": _document,
}
