"""Cassettes: transports that play a recording in place of a service, or make one.

Both classes are the same few lines with and without ``await``; ``Player`` and ``CassetteRecorder``
do the work.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from ..canon import HttpRequest
from ..errors import UsageError
from ..exchange import AsyncResponse, AsyncTransport, Response, Timeouts, Transport
from .file_format import RecordedExchange, load_cassette
from .player import AsyncPlayedResponse, PlayedResponse, Player
from .recorder import AsyncRecordingResponse, CassetteRecorder, RecordingResponse
from .redaction import Redactor, check_secrets, of_environment
from .request_match import MATCH, check_match

_NO = ("", "0", "false", "no", "off")


class _Tape:
    """What both kinds of cassette share: a file that is played, or recorded."""

    _transport: Transport | AsyncTransport | None

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        record: bool | None,
        match: Iterable[str],
        secrets: Iterable[str],
        source: str | None,
    ) -> None:
        self.path: Path = Path(path)
        self._match = check_match(match)
        self._secrets = check_secrets(secrets)
        if record is None:
            record = os.environ.get("VCR_RECORD", "").strip().lower() not in _NO
        self._recorder = CassetteRecorder(self.path, self._secrets, source) if record else None
        self._player: Player | None = None

    def __repr__(self) -> str:
        doing = "recording" if self.recording else "playing"
        return f"<{type(self).__name__} {doing} {str(self.path)!r}>"

    @property
    def recording(self) -> bool:
        """Return whether requests go out and are recorded, not answered from the file."""
        return self._recorder is not None

    @property
    def needs_key(self) -> bool:
        """Return whether a request must carry a key: none for a file, or for an emulator."""
        inner = self._transport
        return self.recording and (inner is None or inner.needs_key)

    @property
    def left(self) -> tuple[RecordedExchange, ...]:
        """Return the exchanges that were not played yet."""
        return () if self.recording else self._playing().unplayed

    def assert_played(self) -> None:
        """Raise CassetteError where an exchange of the file was not played."""
        if not self.recording:
            self._playing().check()

    def save(self) -> None:
        """Write what was recorded so far; raises, and writes nothing, where a key is left in it."""
        if self._recorder is not None:
            self._recorder.save()

    def rewind(self) -> None:
        """Play from the start; what was recorded until now is saved and then played."""
        self.save()
        self._recorder = self._player = None

    def _playing(self) -> Player:
        if self._player is None:
            secrets = self._secrets | set(of_environment())
            self._player = Player(
                load_cassette(self.path),
                name=str(self.path),
                match=self._match,
                redactor=Redactor(secrets),
            )
        return self._player


class Cassette(_Tape):
    """A transport that answers from a file; with ``VCR_RECORD=1`` it asks another and records.

    ``match`` says what of a request must be as recorded: of method, host, path, query, body,
    body-subset. ``secrets`` are values that never reach the file, wherever they stand; ``source``
    is the base URL of the service, kept in the file.

    >>> from pondero.vcr import Cassette
    >>> with pondero.Client(transport=Cassette("sums.jsonl")) as client:
    ...     client.ask("claude-opus-5/high", "What is 17 * 23?").text
    '17 * 23 = 391'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transport: Transport | None = None,
        *,
        record: bool | None = None,
        match: Iterable[str] = MATCH,
        secrets: Iterable[str] = (),
        source: str | None = None,
    ) -> None:
        super().__init__(path, record=record, match=match, secrets=secrets, source=source)
        self._transport: Transport | None = transport

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Return the recorded answer to this request, or the service's own while recording."""
        if self._recorder is None:
            return PlayedResponse(self._playing().take(request))
        take = self._recorder.take(request)
        try:
            answer = self._inner().send(request, timeouts)
        except UsageError:
            self._recorder.drop(take)
            raise
        except Exception as error:
            take.fail(error)
            raise
        return RecordingResponse(answer, take)

    def close(self) -> None:
        """Write the recording, if this is one, and close the transport it was made through."""
        try:
            self.save()
        finally:
            if self._transport is not None:
                self._transport.close()

    def _inner(self) -> Transport:
        if self._transport is None:
            self._transport = _http()
        return self._transport

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncCassette(_Tape):
    """A cassette for asyncio; its file is the same.

    >>> from pondero.vcr import AsyncCassette
    >>> async with pondero.AsyncClient(transport=AsyncCassette("sums.jsonl")) as client:
    ...     (await client.ask("claude-opus-5/high", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transport: AsyncTransport | None = None,
        *,
        record: bool | None = None,
        match: Iterable[str] = MATCH,
        secrets: Iterable[str] = (),
        source: str | None = None,
    ) -> None:
        super().__init__(path, record=record, match=match, secrets=secrets, source=source)
        self._transport: AsyncTransport | None = transport

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Return the recorded answer to this request, or the service's own while recording."""
        if self._recorder is None:
            return AsyncPlayedResponse(self._playing().take(request))
        take = self._recorder.take(request)
        try:
            answer = await self._inner().send(request, timeouts)
        except UsageError:
            self._recorder.drop(take)
            raise
        except Exception as error:
            take.fail(error)
            raise
        return AsyncRecordingResponse(answer, take)

    async def aclose(self) -> None:
        """Write the recording, if this is one, and close the transport it was made through."""
        try:
            self.save()
        finally:
            if self._transport is not None:
                await self._transport.aclose()

    def _inner(self) -> AsyncTransport:
        if self._transport is None:
            self._transport = _async_http()
        return self._transport

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _http() -> Transport:
    from ..transport import HttpTransport  # noqa: PLC0415 - playing a cassette needs no HTTP library

    return HttpTransport()


def _async_http() -> AsyncTransport:
    from ..transport import AsyncHttpTransport  # noqa: PLC0415 - playing a cassette needs no HTTP library

    return AsyncHttpTransport()
