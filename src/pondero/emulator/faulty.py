"""Any transport, with things going wrong on the way."""

import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator

from ..canon import Head, HttpRequest, HttpResponse
from ..errors import BadParameter, Timeout, Unreachable
from ..exchange import Answer, AsyncAnswer, AsyncTransport, Timeouts, Transport
from .fault import Damage, Fault, instead
from .playing import AsyncSleep, Sleep, asyncio_sleep, waited
from .routes import route

_OF_EVENTS = ("error_event", "no_end")  # only who makes the events can leave one out

Faults = Iterable[Fault | str | int | None]


class Faulty:
    """A transport whose next exchanges go wrong, one fault each; None for one that goes well."""

    needs_key = False

    def __init__(self, transport: Transport, faults: Faults, *, sleep: Sleep = time.sleep) -> None:
        self._transport = transport
        self._faults = _checked(faults)
        self._sleep = sleep

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Answer:
        """Send it, or not."""
        fault = self._faults.popleft() if self._faults else None
        if fault is None:
            return self._transport.send(request, timeouts)
        if (other := _without(fault, request, timeouts)) is not None:
            return _Whole(other)
        answer = self._transport.send(request, timeouts)
        return _Damaged(answer, Damage(fault), timeouts, self._sleep)

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()


class AsyncFaulty:
    """The same for asyncio."""

    needs_key = False

    def __init__(
        self, transport: AsyncTransport, faults: Faults, *, asleep: AsyncSleep = asyncio_sleep
    ) -> None:
        self._transport = transport
        self._faults = _checked(faults)
        self._asleep = asleep

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncAnswer:
        """Send it, or not."""
        fault = self._faults.popleft() if self._faults else None
        if fault is None:
            return await self._transport.send(request, timeouts)
        if (other := _without(fault, request, timeouts)) is not None:
            return _Whole(other)
        answer = await self._transport.send(request, timeouts)
        return _AsyncDamaged(answer, Damage(fault), timeouts, self._asleep)

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


def _checked(faults: Faults) -> deque[Fault | None]:
    found = deque(fault if fault is None else Fault.of(fault) for fault in faults)
    for fault in found:
        if fault is not None and fault.kind in _OF_EVENTS:
            message = f"a fault {fault.kind!r} needs an Emulator(faults=...); bytes have no events"
            raise BadParameter(message)
    return found


def _without(fault: Fault, request: HttpRequest, timeouts: Timeouts) -> HttpResponse | None:
    """Return what comes without anything being sent; None where it is sent after all."""
    if fault.kind == "refused":
        raise Unreachable("nobody answers there: connection refused")
    if fault.kind == "hang" and fault.at is None:
        raise Timeout(f"no first byte within {timeouts.first_byte:g} s")
    to = route(request.url)
    return instead(fault, to.wire if to else None)


class _Whole:
    """An answer that is there already."""

    def __init__(self, response: HttpResponse) -> None:
        self.head = Head(response.status, response.headers)
        self._body = response.body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        """Do nothing: there is no connection."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""


class _Damaged:
    """An answer with a fault in it."""

    def __init__(self, answer: Answer, damage: Damage, timeouts: Timeouts, sleep: Sleep) -> None:
        self.head = answer.head
        self._answer = answer
        self._damage = damage
        self._timeouts = timeouts
        self._sleep = sleep

    def __iter__(self) -> Iterator[bytes]:
        for whole in self._answer:
            for piece in self._damage.feed(whole):
                if isinstance(piece, bytes):
                    yield piece
                else:
                    self._sleep(waited(piece, self._timeouts))
            if self._damage.over:
                return

    def close(self) -> None:
        """Let go at once."""
        self._answer.close()


class _AsyncDamaged:
    """The same for asyncio."""

    def __init__(
        self, answer: AsyncAnswer, damage: Damage, timeouts: Timeouts, asleep: AsyncSleep
    ) -> None:
        self.head = answer.head
        self._answer = answer
        self._damage = damage
        self._timeouts = timeouts
        self._asleep = asleep

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for whole in self._answer:
            for piece in self._damage.feed(whole):
                if isinstance(piece, bytes):
                    yield piece
                else:
                    await self._asleep(waited(piece, self._timeouts))
            if self._damage.over:
                return

    async def aclose(self) -> None:
        """Let go at once."""
        await self._answer.aclose()
