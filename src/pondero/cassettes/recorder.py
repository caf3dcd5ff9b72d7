"""Records exchanges, redacted, for a cassette or to show them (``Tap``, ``AsyncTap``)."""

import os
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from ..canon import HttpRequest, ResponseHead
from ..errors import CassetteError, PonderoError, TransportError
from ..exchange import (
    AsyncResponse,
    AsyncTransport,
    Response,
    Timeouts,
    Transport,
    is_emulator,
)
from ..store import known_secrets
from .file_format import YAML, EarlyEnd, RecordedExchange, dump
from .leak_check import KNOWN, Leak, find_in_exchanges
from .redaction import Redactor, exchange_secrets, redact_exchange

Show = Callable[[RecordedExchange], None]


class Recording:
    """One exchange under way; keeps every byte received and calls ``show`` once, at the end."""

    def __init__(
        self, request: HttpRequest, source: str | None = None, show: Show | None = None
    ) -> None:
        self._request = request
        self._source = source
        self._show = show
        self._head: ResponseHead | None = None
        self._pieces: list[bytes] = []
        self._end: EarlyEnd | None = EarlyEnd(closed=True)  # unless eof() or fail() follows

    def begin(self, head: ResponseHead) -> None:
        """Set the head of the response."""
        self._head = head

    def feed(self, piece: bytes) -> None:
        """Add a piece of the response; ignores an empty one."""
        if piece:
            self._pieces.append(piece)

    def eof(self) -> None:
        """Mark the response as complete."""
        self._end = None

    def fail(self, error: Exception) -> None:
        """Mark the response as failed."""
        named = isinstance(error, PonderoError)
        message = str(error) if named else f"{type(error).__name__}: {error}"
        kind = type(error).__name__ if named else "TransportError"
        connected = error.connected if isinstance(error, TransportError) else True
        self._end = EarlyEnd(kind, message, connected=connected)

    def close(self) -> None:
        """Show the exchange, once."""
        show, self._show = self._show, None
        if show is not None:
            show(redact_exchange(self.exchange()))

    def exchange(self) -> RecordedExchange:
        """Return the exchange so far."""
        return RecordedExchange(
            self._request, self._head, tuple(self._pieces), self._end, source=self._source
        )


class RecordingResponse:
    """A response that is recorded while it is read."""

    def __init__(self, answer: Response, recording: Recording) -> None:
        recording.begin(answer.head)
        self.head: ResponseHead = answer.head
        self._answer = answer
        self._recording = recording

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._answer:
                self._recording.feed(piece)
                yield piece
        except Exception as error:
            self._recording.fail(error)
            raise
        self._recording.eof()

    def close(self) -> None:
        """Close the connection; the received bytes stay recorded."""
        self._answer.close()
        self._recording.close()


class AsyncRecordingResponse:
    """A response that is recorded while it is read, for asyncio."""

    def __init__(self, answer: AsyncResponse, recording: Recording) -> None:
        recording.begin(answer.head)
        self.head: ResponseHead = answer.head
        self._answer = answer
        self._recording = recording

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._answer:
                self._recording.feed(piece)
                yield piece
        except Exception as error:
            self._recording.fail(error)
            raise
        self._recording.eof()

    async def aclose(self) -> None:
        """Close the connection; the received bytes stay recorded."""
        await self._answer.aclose()
        self._recording.close()


T = TypeVar("T", bound=Transport | AsyncTransport)
_KEY_REJECTED = (401, 403)  # statuses


class _BaseTap(Generic[T]):
    def __init__(self, transport: T, show: Show | None = None) -> None:
        self._transport = transport
        self._show = show
        self._recording: Recording | None = None

    @property
    def needs_key(self) -> bool:
        """Return whether the wrapped transport needs a key."""
        return self._transport.needs_key

    @property
    def is_emulator(self) -> bool:
        """Return whether the wrapped transport is an emulator."""
        return is_emulator(self._transport)

    @property
    def last(self) -> RecordedExchange | None:
        """Return the last exchange, redacted."""
        return None if self._recording is None else redact_exchange(self._recording.exchange())


class Tap(_BaseTap[Transport]):
    """Forwards to another transport; keeps the last exchange and may show each, redacted."""

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it through the wrapped transport."""
        recording = self._recording = Recording(request, show=self._show)
        try:
            answer = self._transport.send(request, timeouts)
        except Exception as error:
            recording.fail(error)
            recording.close()
            raise
        return RecordingResponse(answer, recording)

    def close(self) -> None:
        """Close the wrapped transport."""
        self._transport.close()


class AsyncTap(_BaseTap[AsyncTransport]):
    """The async twin of Tap."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send it through the wrapped transport."""
        recording = self._recording = Recording(request, show=self._show)
        try:
            answer = await self._transport.send(request, timeouts)
        except Exception as error:
            recording.fail(error)
            recording.close()
            raise
        return AsyncRecordingResponse(answer, recording)

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()


class CassetteRecorder:
    """The recordings of one cassette, in the order of their requests."""

    def __init__(self, path: Path, secrets: frozenset[str], source: str | None = None) -> None:
        if path.suffix.lower() in YAML:
            message = f"{path} can be played, not recorded; record to a file that ends in .jsonl"
            raise CassetteError(message)
        self._path = path
        self._secrets = secrets
        self._source = source
        self._recordings: list[Recording] = []

    def start(self, request: HttpRequest) -> Recording:
        """Return the recording of a new exchange."""
        recording = Recording(request, self._source)
        self._recordings.append(recording)
        return recording

    def drop(self, recording: Recording) -> None:
        """Remove a recording whose request was never sent."""
        self._recordings.remove(recording)

    def save(self) -> None:
        """Replace the file with the recorded exchanges, if there are any.

        An old file stays if none of them was answered, or only the key was rejected.
        """
        exchanges_so_far = [recording.exchange() for recording in self._recordings]
        if not exchanges_so_far:
            return
        if self._path.exists() and not any(map(_is_answered, exchanges_so_far)):
            message = (
                f"{self._path} stays as it was: no request of this recording was answered; "
                "delete the file to record that"
            )
            warnings.warn(message, stacklevel=2)
            return
        secrets = self._secrets | known_secrets()
        secrets |= {value for exchange in exchanges_so_far for value in exchange_secrets(exchange)}
        redactor = Redactor(secrets)
        exchanges = [redactor.exchange(exchange) for exchange in exchanges_so_far]
        if found := find_in_exchanges(exchanges, redactor.secrets):
            raise _leak_error(self._path, found)
        _write(self._path, dump(exchanges))


def _is_answered(exchange: RecordedExchange) -> bool:
    return exchange.head is not None and exchange.head.status not in _KEY_REJECTED


def _leak_error(path: Path, found: tuple[Leak, ...]) -> CassetteError:
    lines = [f"{path} was not written: something in it looks like a key"]
    lines += [f"  {leak}" for leak in found[:8]]
    if len(found) > 8:
        lines.append(f"  and {len(found) - 8} more")
    if any(leak.shape == KNOWN for leak in found):
        lines.append("A secret in this form cannot be redacted; record without sending it.")
    else:
        lines.append("Name it in secrets=(...) to redact it.")
    return CassetteError("\n".join(lines))


def _write(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(data)
        fresh.replace(path)
    except OSError as error:
        message = f"the cassette {path} cannot be written: {error.strerror}"
        raise CassetteError(message) from None
    finally:
        with suppress(OSError):
            fresh.unlink()
