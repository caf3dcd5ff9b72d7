"""What an answer of an endpoint says about its use: tokens, or units of another kind."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..canon import Json, MediaKind, MediaTokens, Usage, fit_media, get_path, known_count
from .endpoints import Endpoint, MediaPlaces, UsagePlaces
from .media_counts import read_media

_LINES = ("text/event-stream", "ndjson", "stream+json", "jsonl")
_LONGEST = 32 << 20
"""Bytes of an answer that are kept to read its counts, which are at its end."""
_LONGEST_TOKEN = 8
"""Characters per token of an answer, which no service exceeds on average."""


class AnswerUsage(Struct, frozen=True):
    """The use that an answer reports; ``units`` in words, such as ``search_units=2``."""

    usage: Usage | None = None
    units: str | None = None

    def __bool__(self) -> bool:
        """Return whether anything is reported."""
        return self.usage is not None or self.units is not None


def add_answer_usages(first: AnswerUsage, second: AnswerUsage) -> AnswerUsage:
    """Return the use of two answers together."""
    usages = [each.usage for each in (first, second) if each.usage is not None]
    counts: dict[str, float] = {}
    for each in (first, second):
        for unit in (each.units or "").split():
            name, _, count = unit.partition("=")
            counts[name] = counts.get(name, 0) + float(count)
    units = " ".join(f"{name}={count:g}" for name, count in counts.items()) or None
    return AnswerUsage(sum(usages[1:], usages[0]) if usages else None, units)


def read_event_usage(text: str | bytes, endpoint: Endpoint) -> AnswerUsage:
    """Return the use that a message of a socket reports."""
    data = text.encode() if isinstance(text, str) else text
    if not any(mark.encode() in data for mark in endpoint.usage_marks):
        return AnswerUsage()
    return read_answer_usage(_parse(data), endpoint.usage)


def read_answer_usage(raw: Json, places: UsagePlaces) -> AnswerUsage:
    """Return the use in a piece of JSON."""
    prompt, written = _find(raw, places.input), _find(raw, places.output)
    if (beside := _find(raw, places.input_beside)) is not None:
        prompt = (prompt or 0) + beside
    if (other := _find(raw, places.output_beside)) is not None:
        written = (written or 0) + other
    if prompt is None and written is None:
        return AnswerUsage(None, _read_units(raw, places))
    cached, inside = _find(raw, places.cache_read), _find(raw, places.thinking)
    usage = Usage(
        input=None if prompt is None else max(0, prompt - (cached or 0)),
        cache_read=cached,
        output=(written or 0) - min(inside or 0, written or 0),
        thinking=inside if inside is not None else _find(raw, places.thinking_beside),
    )
    if places.media is not None:
        usage = replace(usage, media=_find_media(raw, places, places.media, usage))
    return AnswerUsage(usage, _read_units(raw, places))


def _find_media(
    raw: Json, places: UsagePlaces, media: MediaPlaces, usage: Usage
) -> MediaTokens | None:
    new, cached, output = usage.input or 0, usage.cache_read or 0, usage.output or 0
    prompt, written = _read_details(raw, media.input), _read_details(raw, media.output)
    if prompt is None:
        prompt = _assume_usual(raw, places.input, media, new + cached)
    if written is None:
        other = _find(raw, places.output_beside) or 0
        written = _assume_usual(raw, places.output, media, output - other)
    return fit_media(
        input=new,
        cache_read=cached,
        output=output,
        prompt=prompt,
        cached=_read_details(raw, media.cache_read) or {},
        written=written,
    )


def _read_details(raw: Json, paths: tuple[str, ...]) -> dict[MediaKind, int] | None:
    """Return the tokens of each medium; None if the answer does not say them."""
    for path in paths:
        details = get_path(raw, path.split("."))
        if isinstance(details, dict | list):
            return read_media(details)
    return None


def _assume_usual(
    raw: Json, paths: tuple[str, ...], media: MediaPlaces, whole: int
) -> dict[MediaKind, int]:
    found = next((path for path in paths if _find(raw, (path,)) is not None), "")
    return {media.usual[found]: whole} if found in media.usual else {}


def _read_units(raw: Json, places: UsagePlaces) -> str | None:
    found = {name: get_path(raw, path.split(".")) for name, path in places.units.items()}
    said = [f"{name}={value:g}" for name, value in found.items() if known_count(value) is not None]
    return " ".join(said) or None


def _find(raw: Json, paths: tuple[str, ...]) -> int | None:
    for path in paths:
        if (count := known_count(get_path(raw, path.split(".")))) is not None:
            return count
    return None


def find_texts(raw: Json, path: str) -> Iterator[str]:
    """Yield the texts at a path; ``*`` is every item of a list."""
    name, _, rest = path.partition(".")
    if name == "*":
        inner = raw if isinstance(raw, list) else []
    else:
        inner = [raw[name]] if isinstance(raw, dict) and name in raw else []
    for each in inner:
        if rest:
            yield from find_texts(each, rest)
        elif isinstance(each, str):
            yield each


class AnswerUsageReader:
    """Reads the use from an answer that passes; ``whole`` is its JSON, if it is one piece."""

    def __init__(self, endpoint: Endpoint, kind: str) -> None:
        self._places = endpoint.usage
        kind = kind.lower()
        self._in_lines = any(word in kind for word in _LINES)
        self._reads = self._in_lines or "json" in kind
        self._held = bytearray()
        self.found: AnswerUsage = AnswerUsage()
        self.whole: Json = None
        self._characters = 0

    @property
    def written(self) -> int:
        """Return the tokens that the text so far has at least."""
        return self._characters // _LONGEST_TOKEN

    def feed(self, data: bytes) -> None:
        """Take a piece of the answer."""
        if not self._reads:
            return
        self._held += data
        if self._in_lines:
            *lines, rest = self._held.split(b"\n")
            self._held = bytearray(rest)
            for line in lines:
                self._read_line(bytes(line))
        if len(self._held) > _LONGEST:
            self._reads = False
            self._held.clear()

    def end(self) -> None:
        """Read what is left."""
        if not self._reads:
            return
        if self._in_lines:
            self._read_line(bytes(self._held))
            return
        self.whole = _parse(bytes(self._held))
        self.found = read_answer_usage(self.whole, self._places)
        self._add_text(self.whole)

    def _read_line(self, line: bytes) -> None:
        text = line.strip().removeprefix(b"data:").strip()
        if text.startswith(b"{"):
            raw = _parse(text)
            self.found = read_answer_usage(raw, self._places) or self.found
            self._add_text(raw)

    def _add_text(self, raw: Json) -> None:
        for path in self._places.text:
            self._characters += sum(map(len, find_texts(raw, path)))


def _parse(data: bytes) -> Json:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
