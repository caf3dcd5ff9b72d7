"""The shell that drives a flow and awaits it; ``sync`` is the same lines without ``await``."""

from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterator

from msgspec import Struct

from ..canon import Head, Reply
from ..errors import TransportError
from ..exchange import AsyncAnswer, AsyncTransport, Emit, Flow, Read, Send, Sleep, Timeouts


class Done(Struct, frozen=True):
    """The last thing an async run yields: a generator that awaits cannot return."""

    reply: Reply


async def arun(
    flow: Flow, transport: AsyncTransport, timeouts: Timeouts
) -> AsyncGenerator[Emit | Done, None]:
    """Yield what the flow shows, do what it asks, then its reply; closing it frees the answer."""
    answer: AsyncAnswer | None = None
    pieces: AsyncIterator[bytes] = _Nothing()
    heard: Head | bytes | None = None
    try:
        step = next(flow)
        while True:
            try:
                match step:
                    case Emit():
                        yield step
                        heard = await anext(pieces)
                    case Read():
                        heard = await anext(pieces)
                    case Send():
                        if answer is not None:
                            await answer.aclose()
                        answer = await transport.send(step.request, timeouts)
                        heard, pieces = answer.head, aiter(answer)
                    case Sleep():
                        await sleep(step.seconds)
            except StopAsyncIteration:  # cheaper than a default for each piece
                step = flow.send(None)
            except TransportError as error:
                step = flow.throw(error)
            else:
                step = flow.send(heard)
    except StopIteration as end:
        yield Done(end.value)
    finally:
        if answer is not None:
            await answer.aclose()


class _Nothing:
    """An answer before there is one."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration
