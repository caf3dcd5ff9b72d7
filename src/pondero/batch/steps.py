"""Steps of work with a batch service, as a generator that yields the I/O to do and does none.

``submission`` and ``collection`` yield them; ``Batch`` has them done here, ``AsyncBatch`` with
``await``. What is kept on disk is written between the steps, by the generators themselves.
"""

import time
from collections.abc import AsyncIterable, Callable, Generator, Iterable
from random import random
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, HttpResponse, Json, ResponseHead
from ..errors import PonderoError, ServiceError, TransportError, Truncated, Unreachable
from ..exchange import AsyncTransport, Retry, Timeouts, Transport, redact_key
from .service_api import BatchEndpoint, BatchWire

T = TypeVar("T")


class SendCall(Struct, frozen=True):
    """Send this; the answer to it is an HttpResponse."""

    request: HttpRequest


class PollDelay(Struct, frozen=True):
    """Wait."""

    seconds: float


Step = SendCall | PollDelay
Steps = Generator[Step, Any, T]


class BatchService(Struct, frozen=True):
    """A provider's batch service: where it is, how it speaks, and how it says no."""

    desk: BatchEndpoint
    wire: BatchWire
    error: Callable[[ResponseHead, bytes], ServiceError]
    retry: Retry = Retry()
    waits: bool = True

    def pause(self, seconds: float) -> Steps[None]:
        """Wait, where anybody waits: an emulator is not waited for."""
        if self.waits and seconds > 0:
            yield PollDelay(seconds)

    def once(self, request: HttpRequest) -> Steps[bytes]:
        """Return the body of the answer to one request that is sent once; raises what it says."""
        try:
            response: HttpResponse = yield SendCall(request)
            if not 200 <= response.status < 300:
                raise self.error(ResponseHead(response.status, response.headers), response.body)
        except PonderoError as error:
            redact_key(error, request)
            raise
        return response.body

    def send_idempotent(self, request: HttpRequest) -> Steps[bytes]:
        """Return the body of the answer to a request that may be sent twice."""
        tries = 0
        while True:
            tries += 1
            try:
                return (yield from self.once(request))
            except PonderoError as error:
                if not self.retry.again(error, tries):
                    raise
                seconds = self.retry.wait(error, tries, random)
            yield from self.pause(seconds)


def read_answer(body: bytes) -> Json:
    """Return what a body says; raises Truncated where it is no JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"the batch service's answer cannot be read: {error}"
        raise Truncated(message) from None


# -- doing them ------------------------------------------------------------------------------------


def run_steps(steps: Steps[T], transport: Transport, timeouts: Timeouts) -> T:
    """Do the steps, one after the other, and return what they come to."""
    try:
        step = next(steps)
        while True:
            try:
                heard = _done(step, transport, timeouts)
            except TransportError as error:
                step = steps.throw(error)
            else:
                step = steps.send(heard)
    except StopIteration as end:
        value: T = end.value
        return value


def _done(step: Step, transport: Transport, timeouts: Timeouts) -> HttpResponse | None:
    if isinstance(step, PollDelay):
        time.sleep(step.seconds)
        return None
    answer = transport.send(step.request, timeouts)
    try:
        return _whole(answer.head, answer)
    finally:
        answer.close()


def _whole(head: ResponseHead, pieces: Iterable[bytes]) -> HttpResponse:
    try:
        return HttpResponse(head.status, head.headers, b"".join(pieces))
    except Unreachable as error:
        raise _cut(error) from error


async def arun_steps(steps: Steps[T], transport: AsyncTransport, timeouts: Timeouts) -> T:
    """Do the steps and await them, and return what they come to."""
    try:
        step = next(steps)
        while True:
            try:
                heard = await _adone(step, transport, timeouts)
            except TransportError as error:
                step = steps.throw(error)
            else:
                step = steps.send(heard)
    except StopIteration as end:
        value: T = end.value
        return value


async def _adone(step: Step, transport: AsyncTransport, timeouts: Timeouts) -> HttpResponse | None:
    if isinstance(step, PollDelay):
        from asyncio import sleep  # noqa: PLC0415 - ``run_steps`` shares this file and needs none

        await sleep(step.seconds)
        return None
    answer = await transport.send(step.request, timeouts)
    try:
        return await _awhole(answer.head, answer)
    finally:
        await answer.aclose()


async def _awhole(head: ResponseHead, pieces: AsyncIterable[bytes]) -> HttpResponse:
    try:
        return HttpResponse(head.status, head.headers, b"".join([piece async for piece in pieces]))
    except Unreachable as error:
        raise _cut(error) from error


def _cut(error: Unreachable) -> Unreachable:
    return Unreachable(f"the answer was cut: {error}")
