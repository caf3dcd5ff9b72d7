"""Decoders that are wrong: what came is lost, miscounted, or taken for something else."""

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import pytest
from msgspec.structs import replace

from pondero.canon import (
    Event,
    Finished,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
)
from pondero.dialects import Dialect, get_dialect, registry
from pondero.errors import ServerFailed, ServiceError, Truncated
from pondero.exchange import request

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch, Dialect], None]
Edit = Callable[[Event], list[Event]]


class _Edited:
    """A stream whose events are changed on the way out."""

    def __init__(self, stream: Any, edit: Edit) -> None:
        self._stream = stream
        self._edit = edit

    @property
    def ending(self) -> bool:
        return bool(self._stream.ending)

    def feed(self, data: bytes) -> list[Event]:
        return [out for event in self._stream.feed(data) for out in self._edit(event)]

    def eof(self) -> list[Event]:
        return [out for event in self._stream.eof() for out in self._edit(event)]


def misuse(patch: Patch, wire: Dialect, **functions: Any) -> None:
    """Put functions that are wrong into a dialect's caller's side."""
    wrong = replace(get_dialect(wire.name).caller(), **functions)
    patch.setitem(registry._DIALECTS, wire.name, replace(wire, caller=lambda: wrong))
    # Nothing is remembered from before, and nothing after.
    patch.setattr(request, "_find_facts", unwrap(request._find_facts))


def decoding(make: Callable[[], Edit], *, streams_only: bool = False) -> Mutant:
    """Return the mutant that changes each decoded event; ``make`` begins a new answer."""

    def mutate(patch: Patch, wire: Dialect) -> None:
        response, stream = wire.caller().decode, wire.caller().stream

        def edited_response(*args: Any, **named: Any) -> list[Event]:
            edit = make()
            return [out for event in response(*args, **named) for out in edit(event)]

        def edited_stream(*args: Any, **named: Any) -> _Edited:
            return _Edited(stream(*args, **named), make())

        if not streams_only:
            misuse(patch, wire, decode=edited_response)
        misuse(patch, wire, stream=edited_stream)

    return mutate


def each(edit: Edit) -> Mutant:
    """Return the mutant of an edit that remembers nothing."""
    return decoding(lambda: edit)


def ending(**changed: Any) -> Mutant:
    """Return the mutant that ends every answer with these values."""
    return each(lambda e: [replace(e, **changed)] if isinstance(e, Finished) else [e])


def counting(count: Callable[[Usage], Usage]) -> Mutant:
    """Return the mutant that counts otherwise."""
    return each(lambda e: [replace(e, usage=count(e.usage))] if isinstance(e, Finished) else [e])


def lost_delta() -> Edit:
    """The first piece of the text never arrives."""
    lost: list[str] = []

    def edit(event: Event) -> list[Event]:
        if isinstance(event, TextDelta) and event.text and not lost:
            lost.append(event.text)
            return []
        if isinstance(event, PartEnd) and isinstance(event.part, Text):
            missing = lost[0] if lost else event.part.text[:1]
            return [replace(event, part=Text(event.part.text.removeprefix(missing)))]
        return [event]

    return edit


def lost_thinking() -> Edit:
    """Thinking is read and thrown away."""
    gone: set[int] = set()

    def edit(event: Event) -> list[Event]:
        if isinstance(event, PartStart) and event.kind == "thinking":
            gone.add(event.index)
        return [] if getattr(event, "index", None) in gone else [event]

    return edit


def thinking_as_text() -> Edit:
    """Thinking is taken for the answer."""

    def edit(event: Event) -> list[Event]:
        if isinstance(event, PartStart) and event.kind == "thinking":
            return [replace(event, kind="text")]
        if isinstance(event, ThinkingDelta):
            return [TextDelta(event.index, event.text)]
        if isinstance(event, PartEnd) and isinstance(event.part, Thinking):
            return [replace(event, part=Text(event.part.text))]
        return [event]

    return edit


def part(change: Callable[[Any], Any], *, streams_only: bool = False) -> Mutant:
    """Return the mutant that changes every finished part."""

    def edit(event: Event) -> list[Event]:
        return [replace(event, part=change(event.part)) if isinstance(event, PartEnd) else event]

    return decoding(lambda: edit, streams_only=streams_only)


def unsealed(part: Any) -> Any:
    return replace(part, signature=None) if getattr(part, "signature", None) is not None else part


def call(**changed: Any) -> Callable[[Any], Any]:
    return lambda part: replace(part, **changed) if isinstance(part, ToolCall) else part


def half_calls() -> Edit:
    """The pieces of a call's arguments are not put together."""

    def edit(event: Event) -> list[Event]:
        if isinstance(event, ToolDelta):
            return []
        if isinstance(event, PartEnd) and isinstance(event.part, ToolCall):
            return [replace(event, part=replace(event.part, arguments={}))]
        return [event]

    return edit


def lost_call() -> Edit:
    """Of calls made side by side only the first is read."""
    calls: list[int] = []

    def edit(event: Event) -> list[Event]:
        if isinstance(event, PartStart) and event.kind == "tool_call":
            calls.append(event.index)
        return [] if getattr(event, "index", None) in calls[1:] else [event]

    return edit


def all_is_well(event: Event) -> list[Event]:
    """Whatever else an answer ended for is taken for a stop."""
    strange = isinstance(event, Finished) and event.finish == "other"
    return [replace(event, finish="stop")] if strange else [event]


def nameless(event: Event) -> list[Event]:
    return [replace(event, model=None)] if isinstance(event, Started | Finished) else [event]


def misread_bytes(patch: Patch, wire: Dialect) -> None:
    """Each piece of a stream is taken for whole characters, as one network packet often is."""
    stream = wire.caller().stream

    class Hasty:
        def __init__(self, *args: Any, **named: Any) -> None:
            self._stream = stream(*args, **named)

        @property
        def ending(self) -> bool:
            return bool(self._stream.ending)

        def feed(self, data: bytes) -> list[Event]:
            whole = data.decode("utf-8", "ignore").encode() if len(data) == 1 else data
            return self._stream.feed(whole)

        def eof(self) -> list[Event]:
            return self._stream.eof()

    misuse(patch, wire, stream=Hasty)


def cut_is_an_end(patch: Patch, wire: Dialect) -> None:
    """A stream that was cut off is taken for an answer."""
    stream = wire.caller().stream

    class Content:
        def __init__(self, *args: Any, **named: Any) -> None:
            self._stream = stream(*args, **named)
            self.feed = self._stream.feed

        @property
        def ending(self) -> bool:
            return bool(self._stream.ending)

        def eof(self) -> list[Event]:
            try:
                return self._stream.eof()
            except Truncated:
                return [Finished("stop")]

    misuse(patch, wire, stream=Content)


def failing(change: Callable[[ServiceError], ServiceError]) -> Mutant:
    """Return the mutant that takes an error for another."""

    def mutate(patch: Patch, wire: Dialect) -> None:
        error = wire.caller().error
        misuse(patch, wire, error=lambda *args: change(error(*args)))

    return mutate


def all_alike(error: ServiceError) -> ServiceError:
    kept = {name: getattr(error, name) for name in ("status", "code", "retry_after", "body")}
    return ServiceError(error.message, **kept)


def impatient(error: ServiceError) -> ServiceError:
    error.retry_after = None
    return error


def wordless(error: ServiceError) -> ServiceError:
    return ServerFailed("the service failed", status=error.status, body=error.body)
