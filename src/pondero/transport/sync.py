"""The shell that drives a flow and waits for it; ``aio`` is the same lines with ``await``."""

from collections.abc import Iterator
from time import sleep

from ..canon import Head, Reply
from ..errors import TransportError
from ..exchange import Answer, Emit, Flow, Read, Send, Step, Timeouts, Transport

_READ = Read()


class Shell:
    """One exchange on its way: ``next`` until it has its reply, then ``close``."""

    def __init__(self, flow: Flow, transport: Transport, timeouts: Timeouts) -> None:
        self._flow = flow
        self._transport = transport
        self._timeouts = timeouts
        self._answer: Answer | None = None
        self._pieces: Iterator[bytes] | None = None

    def next(self) -> Emit | Reply:
        """Do what the flow asks for until it shows something, or has its reply."""
        flow = self._flow
        heard: Head | bytes | None = None
        try:
            step: Step = _READ if self._pieces else next(flow)
            while not isinstance(step, Emit):
                try:
                    if isinstance(step, Read):
                        heard = next(self._pieces, None)  # type: ignore[arg-type]  # Send was first
                    elif isinstance(step, Send):
                        heard = self._sent(step)
                    else:
                        sleep(step.seconds)
                except TransportError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(heard)
        except StopIteration as end:
            reply: Reply = end.value
            return reply
        return step

    def close(self) -> None:
        """Let go of the answer, read to the end or not; may be called twice."""
        if self._answer is not None:
            self._answer.close()

    def _sent(self, step: Send) -> Head:
        self.close()
        answer = self._answer = self._transport.send(step.request, self._timeouts)
        self._pieces = iter(answer)
        return answer.head
