"""The shell that drives a flow and waits for it; ``aio`` is the same lines with ``await``."""

from collections.abc import Generator, Iterator
from time import sleep

from ..canon import Head, Reply
from ..errors import TransportError
from ..exchange import Answer, Emit, Flow, Read, Send, Sleep, Timeouts, Transport


def run(flow: Flow, transport: Transport, timeouts: Timeouts) -> Generator[Emit, None, Reply]:
    """Yield what the flow shows, do what it asks, return its reply; closing it frees the answer."""
    answer: Answer | None = None
    pieces: Iterator[bytes] = iter(())
    heard: Head | bytes | None = None
    try:
        step = next(flow)
        while True:
            try:
                match step:
                    case Emit():
                        yield step
                        heard = next(pieces, None)
                    case Read():
                        heard = next(pieces, None)
                    case Send():
                        if answer is not None:
                            answer.close()
                        answer = transport.send(step.request, timeouts)
                        heard, pieces = answer.head, iter(answer)
                    case Sleep():
                        sleep(step.seconds)
            except TransportError as error:
                step = flow.throw(error)
            else:
                step = flow.send(heard)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    finally:
        if answer is not None:
            answer.close()
