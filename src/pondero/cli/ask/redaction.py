"""Redacts an answer before it is printed: a model may repeat a key that was in the prompt."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...canon import Event, TextDelta, ThinkingDelta, ToolCall, ToolDelta, ToolResult
from ...store import SecretRedactor, StreamRedactor

if TYPE_CHECKING:
    from .result import AskResult
    from .writers import AnswerWriter

_Delta = TextDelta | ThinkingDelta | ToolDelta


class RedactingWriter:
    """Gives another writer the answer without secrets, also one that spans several pieces."""

    def __init__(self, writer: "AnswerWriter") -> None:
        self._writer = writer
        self._stream: StreamRedactor | None = None
        self._last: _Delta | None = None

    def shows(self, event: Event, /) -> bool:
        """Return what the other writer says."""
        return self._writer.shows(event)

    def write(self, event: Event) -> None:
        """Write one event; an end that may become a secret waits for the next."""
        for each in self._redact(event):
            self._writer.write(each)

    def result(self, call: ToolCall, result: ToolResult) -> None:
        """Write what a tool gave."""
        self._flush()
        redactor = SecretRedactor()
        self._writer.result(redactor.value(call), redactor.value(result))

    def pause(self) -> None:
        """Let go of the screen."""
        self._flush()
        self._writer.pause()

    def end_line(self) -> None:
        """End the last line of the answer."""
        self._flush()
        self._writer.end_line()

    def end(self, answer: "AskResult") -> None:
        """Write the end; the writers redact what they print of it."""
        self._flush()
        self._writer.end(answer)

    def _redact(self, event: Event) -> Iterator[Event]:
        if not isinstance(event, _Delta):
            yield from self._rest()
            yield SecretRedactor().value(event)
            return
        if self._last is not None and _place(self._last) != _place(event):
            yield from self._rest()
        if self._stream is None:
            self._stream = StreamRedactor()
        self._last = event
        if text := self._stream.feed(event.json if isinstance(event, ToolDelta) else event.text):
            yield _with_text(event, text)

    def _rest(self) -> Iterator[Event]:
        last, stream = self._last, self._stream
        self._last = self._stream = None
        if last is not None and stream is not None and (text := stream.end()):
            yield _with_text(last, text)

    def _flush(self) -> None:
        for each in self._rest():
            self._writer.write(each)


def _place(event: _Delta) -> tuple[type, int]:
    return type(event), event.index


def _with_text(event: _Delta, text: str) -> Event:
    if isinstance(event, ToolDelta):
        return replace(event, json=text)
    return replace(event, text=text)
