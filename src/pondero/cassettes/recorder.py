"""Records exchanges as they happen: for a cassette, or to show them (``Tap``, ``AsyncTap``).

A cassette is written once it is whole, without its secrets.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ..canon import HttpRequest, ResponseHead
from ..errors import CassetteError, PonderoError
from ..exchange import AsyncResponse, AsyncTransport, Response, Timeouts, Transport
from .file_format import YAML, EarlyEnd, RecordedExchange, dump
from .leak_check import KNOWN, Leak, find_in_text
from .redaction import Redactor, of_environment, of_exchange, redact_exchange

Show = Callable[[RecordedExchange], None]


class Recording:
    """One exchange being recorded; every byte that came is kept, however it ends.

    It is given to ``show`` once, when nothing more can come.
    """

    def __init__(
        self, request: HttpRequest, source: str | None = None, show: Show | None = None
    ) -> None:
        self._request = request
        self._source = source
        self._show = show
        self._head: ResponseHead | None = None
        self._pieces: list[bytes] = []
        self._end: EarlyEnd | None = EarlyEnd(closed=True)  # until it ends in another way

    def begin(self, head: ResponseHead) -> None:
        """Take the head of the answer."""
        self._head = head

    def feed(self, piece: bytes) -> None:
        """Take a piece of the answer; empty pieces are ignored."""
        if piece:
            self._pieces.append(piece)

    def eof(self) -> None:
        """Note that the answer is complete."""
        self._end = None

    def fail(self, error: Exception) -> None:
        """Note that the answer, or the wait for it, ended in an error."""
        named = isinstance(error, PonderoError)
        message = str(error) if named else f"{type(error).__name__}: {error}"
        self._end = EarlyEnd(type(error).__name__ if named else "TransportError", message)

    def close(self) -> None:
        """Note that nothing more can come; may be called twice."""
        show, self._show = self._show, None
        if show is not None:
            show(redact_exchange(self.exchange()))

    def exchange(self) -> RecordedExchange:
        """Return the exchange as far as it was recorded."""
        return RecordedExchange(
            self._request, self._head, tuple(self._pieces), self._end, source=self._source
        )


class RecordingResponse:
    """An answer that is recorded while it is read."""

    def __init__(self, answer: Response, take: Recording) -> None:
        take.begin(answer.head)
        self._answer = answer
        self._take = take

    @property
    def head(self) -> ResponseHead:
        """Return status and headers."""
        return self._answer.head

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces as they come."""
        try:
            for piece in self._answer:
                self._take.feed(piece)
                yield piece
        except Exception as error:
            self._take.fail(error)
            raise
        self._take.eof()

    def close(self) -> None:
        """Let go at once; what came is kept."""
        self._answer.close()
        self._take.close()


class AsyncRecordingResponse:
    """An answer that is recorded while it is read, for asyncio."""

    def __init__(self, answer: AsyncResponse, take: Recording) -> None:
        take.begin(answer.head)
        self._answer = answer
        self._take = take

    @property
    def head(self) -> ResponseHead:
        """Return status and headers."""
        return self._answer.head

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces as they come."""
        try:
            async for piece in self._answer:
                self._take.feed(piece)
                yield piece
        except Exception as error:
            self._take.fail(error)
            raise
        self._take.eof()

    async def aclose(self) -> None:
        """Let go at once; what came is kept."""
        await self._answer.aclose()
        self._take.close()


class Tap:
    """Passes everything on to another transport and shows each exchange, every key taken out."""

    def __init__(self, transport: Transport, show: Show) -> None:
        self._transport = transport
        self._show = show

    @property
    def needs_key(self) -> bool:
        """Return whether the wrapped transport needs a key."""
        return self._transport.needs_key

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it through the wrapped transport."""
        take = Recording(request, show=self._show)
        try:
            answer = self._transport.send(request, timeouts)
        except Exception as error:
            take.fail(error)
            take.close()
            raise
        return RecordingResponse(answer, take)

    def close(self) -> None:
        """Close the wrapped transport."""
        self._transport.close()


class AsyncTap:
    """Passes everything on to another transport; remembers the last exchange, and may show each."""

    def __init__(self, transport: AsyncTransport, show: Show | None = None) -> None:
        self._transport = transport
        self._show = show
        self._take: Recording | None = None

    @property
    def needs_key(self) -> bool:
        """Return whether the wrapped transport needs a key."""
        return self._transport.needs_key

    @property
    def last(self) -> RecordedExchange | None:
        """Return the last exchange, with every key taken out."""
        return None if self._take is None else redact_exchange(self._take.exchange())

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send it through the wrapped transport."""
        take = self._take = Recording(request, show=self._show)
        try:
            answer = await self._transport.send(request, timeouts)
        except Exception as error:
            take.fail(error)
            take.close()
            raise
        return AsyncRecordingResponse(answer, take)

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()


class CassetteRecorder:
    """The takes of one cassette, in the order in which their requests were sent."""

    def __init__(self, path: Path, secrets: frozenset[str], source: str | None = None) -> None:
        if path.suffix.lower() in YAML:
            message = f"{path} can be played, not recorded; record to a file that ends in .jsonl"
            raise CassetteError(message)
        self._path = path
        self._secrets = secrets
        self._source = source
        self._takes: list[Recording] = []

    def take(self, request: HttpRequest) -> Recording:
        """Return a new take."""
        take = Recording(request, self._source)
        self._takes.append(take)
        return take

    def drop(self, take: Recording) -> None:
        """Forget a take: its request was never sent."""
        self._takes.remove(take)

    def save(self) -> None:
        """Replace the file with what was recorded; write nothing where nothing was."""
        taken = [take.exchange() for take in self._takes]
        if not taken:
            return
        secrets = self._secrets | set(of_environment())
        secrets |= {value for exchange in taken for value in of_exchange(exchange)}
        redactor = Redactor(secrets)
        exchanges = [redactor.exchange(exchange) for exchange in taken]
        if found := find_in_text(exchanges, redactor.secrets):
            raise _refused(self._path, found)
        _write(self._path, dump(exchanges))


def _refused(path: Path, found: tuple[Leak, ...]) -> CassetteError:
    lines = [f"{path} was not written: something in it looks like a key"]
    lines += [f"  {leak}" for leak in found[:8]]
    if len(found) > 8:
        lines.append(f"  and {len(found) - 8} more")
    if any(leak.shape == KNOWN for leak in found):
        lines.append("A secret in this form cannot be taken out; record without sending it.")
    else:
        lines.append("Name it in secrets=(...) and it is redacted.")
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
