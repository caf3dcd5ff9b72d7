"""Shells run an exchange's flow: they do the I/O that each step requests.

``Shell`` blocks, ``AsyncShell`` awaits; they are the same lines with and without ``await``, but an
asynchronous response may know a shorter way to its end, ``read_all``. The flow makes every
decision. The client makes one shell per exchange.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterator
from time import sleep

from ..canon import Reply, ResponseHead
from ..errors import PonderoError, TransportError
from ..exchange import (
    AsyncResponse,
    AsyncTransport,
    Emit,
    Flow,
    ReadAll,
    ReadBytes,
    Response,
    Send,
    Step,
    Timeouts,
    Transport,
    note_recording,
)
from .event_loop import asleep

_READ = ReadBytes()


class Shell:
    """One exchange: call ``next`` until it returns the reply, then ``close``."""

    def __init__(self, flow: Flow, transport: Transport, timeouts: Timeouts) -> None:
        self._flow = flow
        self._transport = transport
        self._timeouts = timeouts
        self._answer: Response | None = None
        self._pieces: Iterator[bytes] | None = None

    def next(self) -> Emit | Reply:
        """Run the flow until it emits events or returns the reply."""
        flow = self._flow
        result: ResponseHead | bytes | None = None
        try:
            step: Step = _READ if self._pieces else next(flow)
            while not isinstance(step, Emit):
                try:
                    if isinstance(step, ReadBytes):
                        result = next(self._pieces, None)  # type: ignore[arg-type]  # Send was first
                    elif isinstance(step, ReadAll):
                        result = self._read_all(step.most)
                    elif isinstance(step, Send):
                        result = self._send(step)
                    else:  # Sleep
                        sleep(step.seconds)
                except TransportError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
        except PonderoError as error:
            note_recording(error, getattr(self._answer, "recorded_in", None))
            raise
        return step

    def close(self) -> None:
        """Close the response, read or not; may be called twice."""
        if self._answer is not None:
            self._answer.close()

    def _read_all(self, left: int) -> bytes:
        pieces: list[bytes] = []
        for piece in self._pieces or ():
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                break
        return b"".join(pieces)

    def _send(self, step: Send) -> ResponseHead:
        if self._answer is not None:  # of the previous attempt
            self._answer.close()
        answer = self._answer = self._transport.send(step.request, self._timeouts)
        self._pieces = iter(answer)
        return _add_date(answer.head) if "retry-after" in answer.head.headers else answer.head


class AsyncShell:
    """One exchange: call ``next`` until it returns the reply, then ``aclose``."""

    def __init__(self, flow: Flow, transport: AsyncTransport, timeouts: Timeouts) -> None:
        self._flow = flow
        self._transport = transport
        self._timeouts = timeouts
        self._answer: AsyncResponse | None = None
        self._pieces: AsyncIterator[bytes] | None = None
        self._has_more = False

    async def next(self) -> Emit | Reply:
        """Run the flow until it emits events or returns the reply."""
        flow = self._flow
        result: ResponseHead | bytes | None = None
        try:
            step: Step = _READ if self._has_more else flow.send(None)
            while not isinstance(step, Emit):
                try:
                    if isinstance(step, ReadBytes):
                        result = await anext(self._pieces)  # type: ignore[arg-type]  # Send was first
                    elif isinstance(step, ReadAll):
                        result = await self._read_all(step.most)
                    elif isinstance(step, Send):
                        result = await self._send(step)
                    else:  # Sleep
                        await asleep(step.seconds)
                except StopAsyncIteration:  # cheaper than a default for each piece
                    self._has_more = False
                    step = flow.send(None)
                except TransportError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
        except PonderoError as error:
            note_recording(error, getattr(self._answer, "recorded_in", None))
            raise
        return step

    async def aclose(self) -> None:
        """Close the response, read or not; may be called twice."""
        if self._answer is not None:
            await self._answer.aclose()

    async def _read_all(self, most: int) -> bytes:
        self._has_more = False
        read_all = getattr(self._answer, "read_all", None)
        if read_all is None:
            return await read_body_until(self._pieces, most)  # type: ignore[arg-type]  # Send was first
        body: bytes = await read_all(most)
        return body

    async def _send(self, step: Send) -> ResponseHead:
        if self._answer is not None:  # of the previous attempt
            await self._answer.aclose()
        answer = self._answer = await self._transport.send(step.request, self._timeouts)
        self._pieces = aiter(answer)
        self._has_more = True
        return _add_date(answer.head) if "retry-after" in answer.head.headers else answer.head


async def read_body_until(body: AsyncIterable[bytes], most: int) -> bytes:
    """Return all pieces of a body, or the first ones if they have more than ``most`` bytes."""
    pieces: list[bytes] = []
    async for piece in body:
        pieces.append(piece)
        most -= len(piece)
        if most < 0:
            break
    return b"".join(pieces)


def _add_date(head: ResponseHead) -> ResponseHead:
    """Add the current date to a head whose retry-after is a date and that has none."""
    if head.headers["retry-after"][:1].isdigit() or "date" in head.headers:
        return head
    from email.utils import formatdate  # noqa: PLC0415 - dates are rare

    return ResponseHead(head.status, {**head.headers, "date": formatdate(usegmt=True)})
