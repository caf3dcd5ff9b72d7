"""The answers of a file, found by what of them is sent back later: a call's id, a seal."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ...canon import Json, Message, Other, Part, Seal, Text, Thinking, ToolCall
from ...dialects import Given
from .seen import Seen

_LONG = 20  # letters; a shorter text of a seal is a word of the wire, not a proof
_SEALED = Text | Thinking | ToolCall | Other


class Answers:
    """What all answers of a file gave: the order of the lines says nothing, the content all."""

    def __init__(self, exchanges: Iterable[Seen]) -> None:
        self._calls: dict[str, Given] = {}
        self._functions: dict[bytes, list[Given]] = {}
        self._seals: dict[str, Given] = {}
        self._shared: set[str] = set()
        for each in exchanges:
            if each.answer is not None and each.answer.message.parts:
                self._add(each, each.answer.message)
        for text in self._shared:  # a scrubbed file: it tells none of them from the other
            self._calls.pop(text, None)
            self._seals.pop(text, None)
        self._sorted = sorted(self._seals)

    def of_call(self, id: str) -> Given | None:
        """Return the answer that made a call with this id."""
        return self._calls.get(id)

    def of_function(self, name: str, arguments: Json) -> Sequence[Given]:
        """Return the answers that called this function so, where the service gives no ids."""
        return self._functions.get(_fingerprint(name, arguments), ())

    def of_seal(self, text: str) -> Given | None:
        """Return the answer in one of whose seals this text stands."""
        return self._seals.get(plain(text))

    def cut(self, text: str) -> Given | None:
        """Return the answer one of whose seals begins with this text and goes on."""
        short = plain(text)
        at = bisect_left(self._sorted, short)
        found = self._sorted[at] if at < len(self._sorted) else ""
        return self._seals[found] if found.startswith(short) and found != short else None

    def _add(self, each: Seen, message: Message) -> None:
        given = Given(each.number, each.provider, each.model, each.body, message)
        for part in message.parts:
            if isinstance(part, ToolCall) and part.minted:
                self._functions.setdefault(_fingerprint(part.name, part.arguments), []).append(
                    given
                )
            elif isinstance(part, ToolCall):
                self._put(self._calls, part.id, given)
            for text in sealed_texts(part):
                self._put(self._seals, plain(text), given)

    def _put(self, where: dict[str, Given], text: str, given: Given) -> None:
        if where.setdefault(text, given).message.parts != given.message.parts:
            self._shared.add(text)


def seals(parts: Iterable[Part]) -> Iterator[Seal]:
    """Yield the seals of these parts."""
    for part in parts:
        if isinstance(part, _SEALED) and part.seal is not None:
            yield part.seal


def sealed_texts(part: Part) -> list[str]:
    """Return the texts of a part's seal that are long enough to be a proof, or an id."""
    return [text for seal in seals([part]) for text in texts(seal.value) if len(text) >= _LONG]


def texts(value: Json) -> Iterator[str]:
    """Yield every text of a JSON value that is not a key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


def plain(text: str) -> str:
    """Return base64 in one spelling: SDKs write the one they got in the other."""
    return text.rstrip("=").replace("-", "+").replace("_", "/")


def _fingerprint(name: str, arguments: Json) -> bytes:
    try:
        return msgspec.json.encode([name, arguments or {}], order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError):
        return name.encode("utf-8", "replace")
