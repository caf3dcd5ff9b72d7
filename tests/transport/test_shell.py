"""What the two shells do for a flow."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pondero.canon import Assembler, HttpRequest, ResponseHead
from pondero.errors import Unreachable
from pondero.exchange import Emit, Flow, ReadAll, Send, Timeouts
from pondero.transport import AsyncShell, Shell


class _Service:
    """A transport, and its only response, whose pieces are counted while they are read."""

    needs_key = False
    head = ResponseHead(200)

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = pieces
        self.read = 0

    def _take(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.read += 1
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def send(self, _request: HttpRequest, _timeouts: Timeouts) -> "_Service":
        return self

    def __iter__(self) -> Iterator[bytes]:
        return self._take()

    def close(self) -> None:
        pass


class _AsyncService(_Service):
    async def send(self, _request: HttpRequest, _timeouts: Timeouts) -> "_AsyncService":  # type: ignore[override]
        return self

    async def __aiter__(self) -> Any:
        for piece in self._take():
            yield piece

    async def aclose(self) -> None:
        pass


def _read(most: int, found: list[bytes]) -> Flow:
    yield Send(HttpRequest("POST", "http://a/", {}))
    found.append((yield ReadAll(most)))
    yield Emit([], Assembler())
    raise AssertionError


def _run(most: int, *pieces: bytes | Exception) -> tuple[bytes, int]:
    found: list[bytes] = []
    service = _Service(*pieces)
    Shell(_read(most, found), service, Timeouts()).next()
    return found[0], service.read


def _run_async(most: int, *pieces: bytes | Exception) -> tuple[bytes, int]:
    found: list[bytes] = []
    service = _AsyncService(*pieces)
    asyncio.run(AsyncShell(_read(most, found), service, Timeouts()).next())
    return found[0], service.read


BOTH = pytest.mark.parametrize("run", [_run, _run_async], ids=["sync", "async"])
Run = Callable[..., tuple[bytes, int]]


@BOTH
def test_all_of_an_answer_is_read_to_its_end(run: Run):
    assert run(100, b"one ", b"", b"two") == (b"one two", 3)


@BOTH
def test_of_an_answer_that_is_too_long_no_more_is_read(run: Run):
    assert run(5, b"one ", b"two ", b"three") == (b"one two ", 2)


@BOTH
def test_an_answer_that_breaks_off_is_an_error_in_the_flow(run: Run):
    with pytest.raises(Unreachable, match="reset"):
        run(100, b"one", Unreachable("reset"))
