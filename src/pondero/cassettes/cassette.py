"""Cassettes: transports that play a recording, or make one; ``pondero.vcr`` exports them.

Both classes are the same lines with and without ``await``; ``Player`` and ``CassetteRecorder`` do
the work.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, Self, TypeVar

from ..canon import HttpRequest
from ..errors import UsageError
from ..exchange import (
    AsyncResponse,
    AsyncTransport,
    Response,
    Timeouts,
    Transport,
    is_emulator,
)
from ..store import known_secrets
from .file_format import RecordedExchange, load_cassette
from .player import AsyncPlayedResponse, Player
from .recorder import AsyncRecordingResponse, CassetteRecorder, RecordingResponse
from .redaction import Redactor, check_secrets
from .request_match import MATCH, check_match

T = TypeVar("T", bound=Transport | AsyncTransport)
_NO = ("", "0", "false", "no", "off")


class _BaseCassette(Generic[T]):
    """A file that is played or recorded."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        transport: T | None = None,
        *,
        record: bool | None = None,
        match: Iterable[str] = MATCH,
        secrets: Iterable[str] = (),
        source: str | None = None,
    ) -> None:
        self.path: Path = Path(path)
        self._transport = transport
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
        """Return whether requests are sent and recorded, not answered from the file."""
        return self._recorder is not None

    @property
    def needs_key(self) -> bool:
        """Return whether requests need a key; a file and an emulator need none."""
        inner = self._transport
        return self.recording and (inner is None or inner.needs_key)

    @property
    def is_emulator(self) -> bool:
        """Return whether an emulator is recorded; a file answers as it was recorded."""
        return self.recording and is_emulator(self._transport)

    @property
    def is_played(self) -> bool:
        """Return whether requests are answered from the file."""
        return not self.recording

    @property
    def left(self) -> tuple[RecordedExchange, ...]:
        """Return the exchanges not played yet."""
        return () if self.recording else self._open_player().unplayed

    def assert_played(self) -> None:
        """Raise CassetteError if an exchange of the file was not played."""
        if not self.recording:
            self._open_player().check()

    def save(self) -> None:
        """Write the recording so far; raises CassetteError, and writes nothing, if it has a key."""
        if self._recorder is not None:
            self._recorder.save()

    def rewind(self) -> None:
        """Save the recording, if any, and play from the start."""
        self.save()
        self._recorder = self._player = None

    def _open_player(self) -> Player:
        if self._player is None:
            secrets = self._secrets | known_secrets()
            self._player = Player(
                load_cassette(self.path),
                name=str(self.path),
                match=self._match,
                redactor=Redactor(secrets),
            )
        return self._player


class Cassette(_BaseCassette[Transport]):
    """A transport that answers from a file; with ``VCR_RECORD=1`` it records another transport.

    ``match`` lists the parts of a request that must equal the recording: method, host, path,
    query, body, body-subset. ``secrets`` are values to redact everywhere. ``source`` is the base
    URL of the service, stored in the file.

    >>> from pondero.vcr import Cassette
    >>> with pondero.Client(transport=Cassette("sums.jsonl")) as client:
    ...     client.ask("claude-opus-5/high", "What is 17 * 23?").text
    '17 * 23 = 391'
    """

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Return the recorded response, or the service's own while recording."""
        if self._recorder is None:
            return self._open_player().respond(request)
        recording = self._recorder.start(request)
        try:
            answer = self._inner().send(request, timeouts)
        except UsageError:
            self._recorder.drop(recording)
            raise
        except Exception as error:
            recording.fail(error)
            raise
        return RecordingResponse(answer, recording)

    def close(self) -> None:
        """Write the recording, if any, and close its transport."""
        try:
            self.save()
        finally:
            if self._transport is not None:
                self._transport.close()

    def _inner(self) -> Transport:
        if self._transport is None:
            from ..transport import HttpTransport  # noqa: PLC0415 - only for recording

            self._transport = HttpTransport()
        return self._transport

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncCassette(_BaseCassette[AsyncTransport]):
    """A cassette for asyncio, with the same file format.

    >>> from pondero.vcr import AsyncCassette
    >>> async with pondero.AsyncClient(transport=AsyncCassette("sums.jsonl")) as client:
    ...     (await client.ask("claude-opus-5/high", "What is 17 * 23?")).text
    '17 * 23 = 391'
    """

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Return the recorded response, or the service's own while recording."""
        if self._recorder is None:
            return AsyncPlayedResponse(self._open_player().respond(request))
        recording = self._recorder.start(request)
        try:
            answer = await self._inner().send(request, timeouts)
        except UsageError:
            self._recorder.drop(recording)
            raise
        except Exception as error:
            recording.fail(error)
            raise
        return AsyncRecordingResponse(answer, recording)

    async def aclose(self) -> None:
        """Write the recording, if any, and close its transport."""
        try:
            self.save()
        finally:
            if self._transport is not None:
                await self._transport.aclose()

    def _inner(self) -> AsyncTransport:
        if self._transport is None:
            from ..transport import AsyncHttpTransport  # noqa: PLC0415 - only for recording

            self._transport = AsyncHttpTransport()
        return self._transport

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
