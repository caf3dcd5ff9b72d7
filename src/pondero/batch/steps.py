"""Steps of work with a batch service: generators yield the I/O to do, and runners do it."""

import math
import time
from collections.abc import Callable, Generator
from random import random
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, HttpResponse, Json, ResponseHead
from ..errors import PonderoError, ServiceError, Truncated, Unreachable
from ..exchange import AsyncTransport, Retry, Timeouts, Transport, redact_key
from ..framing import MAX_FRAME, OversizedAnswer
from ..transport import asleep
from .service_api import BatchEndpoint, BatchWire

T = TypeVar("T")


class SendCall(Struct, frozen=True):
    """Send this request; the result is an HttpResponse whose body has at most ``limit`` bytes."""

    request: HttpRequest
    limit: int = MAX_FRAME


class PollDelay(Struct, frozen=True):
    """Wait."""

    seconds: float


Step = SendCall | PollDelay
Steps = Generator[Step, Any, T]
ReadError = Callable[[ResponseHead, bytes], ServiceError]


class BatchService(Struct, frozen=True):
    """A provider's batch service: its URL, its API, and the decoder of its errors.

    ``kept`` is how many seconds after its creation a batch is deleted.
    """

    endpoint: BatchEndpoint
    wire: BatchWire
    error: ReadError
    retry: Retry = Retry()
    waits: bool = True
    kept: float = math.inf

    def pause(self, seconds: float) -> Steps[None]:
        """Wait, unless the service is an emulator."""
        if self.waits and seconds > 0:
            yield PollDelay(seconds)

    def send_once(self, request: HttpRequest, limit: int = MAX_FRAME) -> Steps[bytes]:
        """Send a request once and return the body of the answer; raise the service's error."""
        return send_once(request, self.error, limit=limit)

    def send_idempotent(self, request: HttpRequest, limit: int = MAX_FRAME) -> Steps[bytes]:
        """Send a request, with retries, and return the body of the answer."""
        return send_idempotent(request, self.error, retry=self.retry, waits=self.waits, limit=limit)


def send_once(
    request: HttpRequest, read_error: ReadError, *, limit: int = MAX_FRAME
) -> Steps[bytes]:
    """Send a request once and return the body of the answer; raise the service's error."""
    try:
        response: HttpResponse = yield SendCall(request, limit)
        if not 200 <= response.status < 300:
            raise read_error(ResponseHead(response.status, response.headers), response.body)
    except PonderoError as error:
        redact_key(error, request)
        raise
    return response.body


def send_idempotent(
    request: HttpRequest,
    read_error: ReadError,
    *,
    retry: Retry,
    waits: bool = True,
    limit: int = MAX_FRAME,
) -> Steps[bytes]:
    """Send a request, with retries, and return the body of the answer."""
    tries = 0
    while True:
        tries += 1
        try:
            return (yield from send_once(request, read_error, limit=limit))
        except PonderoError as error:
            if not retry.again(error, tries):
                raise
            seconds = retry.wait(error, tries, random)
        if waits and seconds > 0:
            yield PollDelay(seconds)


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
            except PonderoError as error:
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
    body = bytearray()
    try:
        for piece in answer:
            _grow(body, piece, step.limit)
        return HttpResponse(answer.head.status, answer.head.headers, bytes(body))
    except Unreachable as error:
        raise Unreachable(f"the answer was cut: {error}") from error
    finally:
        answer.close()


def _grow(body: bytearray, piece: bytes, limit: int) -> None:
    """Add a piece to a body; a few compressed kilobytes can contain gigabytes."""
    body += piece
    if len(body) > limit:
        raise OversizedAnswer(f"a body of more than {limit:,} bytes", path=None)


async def arun_steps(steps: Steps[T], transport: AsyncTransport, timeouts: Timeouts) -> T:
    """Run the steps with ``await`` and return their result."""
    try:
        step = next(steps)
        while True:
            try:
                result = await _arun_step(step, transport, timeouts)
            except PonderoError as error:
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
        await asleep(step.seconds)
        return None
    answer = await transport.send(step.request, timeouts)
    body = bytearray()
    try:
        async for piece in answer:
            _grow(body, piece, step.limit)
        return HttpResponse(answer.head.status, answer.head.headers, bytes(body))
    except Unreachable as error:
        raise Unreachable(f"the answer was cut: {error}") from error
    finally:
        await answer.aclose()
