"""Steps of work with a batch service: generators yield the I/O to do, and runners do it."""

import time
from collections.abc import Callable, Generator
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
    """Send this request; the result is an HttpResponse."""

    request: HttpRequest


class PollDelay(Struct, frozen=True):
    """Wait."""

    seconds: float


Step = SendCall | PollDelay
Steps = Generator[Step, Any, T]


class BatchService(Struct, frozen=True):
    """A provider's batch service: its URL, its API, and the decoder of its errors."""

    endpoint: BatchEndpoint
    wire: BatchWire
    error: Callable[[ResponseHead, bytes], ServiceError]
    retry: Retry = Retry()
    waits: bool = True

    def pause(self, seconds: float) -> Steps[None]:
        """Wait, unless the service is an emulator."""
        if self.waits and seconds > 0:
            yield PollDelay(seconds)

    def send_once(self, request: HttpRequest) -> Steps[bytes]:
        """Send a request once and return the body of the answer; raise the service's error."""
        try:
            response: HttpResponse = yield SendCall(request)
            if not 200 <= response.status < 300:
                raise self.error(ResponseHead(response.status, response.headers), response.body)
        except PonderoError as error:
            redact_key(error, request)
            raise
        return response.body

    def send_idempotent(self, request: HttpRequest) -> Steps[bytes]:
        """Send a request, with retries, and return the body of the answer."""
        tries = 0
        while True:
            tries += 1
            try:
                return (yield from self.send_once(request))
            except PonderoError as error:
                if not self.retry.again(error, tries):
                    raise
                seconds = self.retry.wait(error, tries, random)
            yield from self.pause(seconds)


def read_answer(body: bytes) -> Json:
    """Return the JSON of a body; raise Truncated if it is invalid."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"invalid JSON from the batch service: {error}"
        raise Truncated(message) from None


def run_steps(steps: Steps[T], transport: Transport, timeouts: Timeouts) -> T:
    """Run the steps and return their result."""
    try:
        step = next(steps)
        while True:
            try:
                result = _run_step(step, transport, timeouts)
            except TransportError as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value


def _run_step(step: Step, transport: Transport, timeouts: Timeouts) -> HttpResponse | None:
    if isinstance(step, PollDelay):
        time.sleep(step.seconds)
        return None
    answer = transport.send(step.request, timeouts)
    try:
        return HttpResponse(answer.head.status, answer.head.headers, b"".join(answer))
    except Unreachable as error:
        raise Unreachable(f"the answer was cut: {error}") from error
    finally:
        answer.close()


async def arun_steps(steps: Steps[T], transport: AsyncTransport, timeouts: Timeouts) -> T:
    """Run the steps with ``await`` and return their result."""
    try:
        step = next(steps)
        while True:
            try:
                result = await _arun_step(step, transport, timeouts)
            except TransportError as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value


async def _arun_step(
    step: Step, transport: AsyncTransport, timeouts: Timeouts
) -> HttpResponse | None:
    if isinstance(step, PollDelay):
        from asyncio import sleep  # noqa: PLC0415 - ``run_steps`` needs none

        await sleep(step.seconds)
        return None
    answer = await transport.send(step.request, timeouts)
    try:
        body = b"".join([piece async for piece in answer])
        return HttpResponse(answer.head.status, answer.head.headers, body)
    except Unreachable as error:
        raise Unreachable(f"the answer was cut: {error}") from error
    finally:
        await answer.aclose()
