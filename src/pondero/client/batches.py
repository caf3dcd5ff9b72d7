"""``Batch`` and ``AsyncBatch``: many asks at a provider's batch service, sent now, collected later.

A client makes them. Everything about a batch is on disk, so that another process can open it by
its id, days later.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, cast

from ..batch import (
    EVERY,
    WIRES,
    BatchAnswer,
    BatchChunk,
    BatchEndpoint,
    BatchFile,
    BatchRequest,
    BatchService,
    Draft,
    PollDelay,
    State,
    Steps,
    arun_steps,
    batch_terms,
    cancel_chunks,
    collect_chunk,
    iter_answers,
    run_steps,
    split_into_chunks,
    submit_chunks,
)
from ..dialects import get_dialect
from ..errors import BadParameter, PonderoError, ServiceError, TransportError, WireError
from ..exchange import AsyncTransport, Prepared, Retry, Timeouts, Transport, auth_header
from ..store import Credentials, load_catalog
from ..thinking import ThinkingLike
from .prompts.messages import Prompt
from .prompts.options import Options

AskLike = str | Mapping[str, Any]
"""An ask: its prompt, or a mapping with ``prompt``, and perhaps ``id``, ``model``, ``thinking`` and
the options of a question."""

_OWN = ("id", "model", "prompt", "input", "thinking")
_UNFIT = ("stream", "timeout", "headers", "refusals")
_WAITING = Timeouts(connect=30.0, first_byte=300.0, between_bytes=300.0)
"""A batch is uploaded and fetched whole, and that takes longer than a question."""

_NO_TIME = 0.01

Preparing = Callable[[str, Prompt, ThinkingLike, Options], Prepared]
Progress = Callable[["_Batch"], None]


def draft_of(
    prepare: Preparing,
    asks: Iterable[AskLike],
    model: str | None,
    thinking: ThinkingLike,
    options: Options,
) -> Draft:
    """Return what a batch of these asks would be; nothing is sent. Raises UsageError."""
    made = [
        _ask(prepare, number, each, (model, thinking, options)) for number, each in enumerate(asks)
    ]
    return split_into_chunks(made)


def _ask(
    prepare: Preparing,
    number: int,
    given: AskLike,
    usual: tuple[str | None, ThinkingLike, Options],
) -> BatchRequest:
    own: dict[str, Any] = {"prompt": given} if isinstance(given, str) else dict(given)
    prompt = own.get("prompt", own.get("input"))
    id = str(own.get("id", number))
    model = own.get("model") or usual[0]
    if prompt is None or model is None:
        what = "prompt" if prompt is None else "model"
        message = f"the ask {id!r} has no {what}; give one to it, or a model to the whole batch"
        raise BadParameter(message)
    options = {**usual[2], **{name: each for name, each in own.items() if name not in _OWN}}
    for name in _UNFIT:
        if name in options:
            message = f"{name!r} means nothing in a batch; leave it out of the ask {id!r}"
            raise BadParameter(message)
    # A level in an ask's own model is its own; the batch's is for asks that have none.
    thinking = own.get("thinking", None if own.get("model") else usual[1])
    prepared = prepare(model, prompt, thinking, cast("Options", {**options, "stream": False}))
    entry = load_catalog().entry(prepared.plan.model)
    batch_terms(entry.provider, entry.model)
    most = options.get("max_tokens") or entry.capability.max_output
    return BatchRequest(id, prepared.exchange, most)


class BatchSession:
    """A client's way to the batch services: its keys and addresses, and whether anybody waits."""

    def __init__(self, credentials: Credentials, retry: Retry, *, needed: bool) -> None:
        self._credentials = credentials
        self._retry = retry
        self._needed = needed

    def pause(self, seconds: float) -> float:
        """Return how long to wait between two looks: an emulator needs no time."""
        return seconds if self._needed else _NO_TIME

    def __call__(self, lot: BatchChunk) -> BatchService:
        """Return the service that a lot is for."""
        provider = load_catalog().provider(lot.provider)
        terms = batch_terms(provider, lot.model)
        key = self._credentials.key(provider, needed=self._needed)
        url = self._credentials.url(provider, needed=self._needed)
        headers = {**lot.headers, **auth_header(provider, key)}
        return BatchService(
            BatchEndpoint(url, headers),
            WIRES[terms.shape],
            get_dialect(provider.dialect).caller().error,
            self._retry,
            self._needed,
        )


class _Batch:
    """What both have: the file on disk, and what is to be done next."""

    def __init__(self, file: BatchFile, counter: BatchSession) -> None:
        self._file = file
        self._counter = counter

    @property
    def id(self) -> str:
        """Return the id by which the batch can be opened again, in any process."""
        return self._file.facts.id

    @property
    def state(self) -> State:
        """Return how far it is, as known on disk: unsent, unsure, running or ended."""
        return self._file.state

    @property
    def lots(self) -> tuple[BatchChunk, ...]:
        """Return the batches at the services that this one is made of."""
        return self._file.lots()

    @property
    def ids(self) -> list[str]:
        """Return the ids of all asks, in the order they were given."""
        return self._file.ids()

    @property
    def answers(self) -> dict[str, BatchAnswer]:
        """Return the answers that have come so far, by the ids of their asks."""
        return {each.id: each for each in iter_answers(self._file)}

    def __repr__(self) -> str:
        return f"<pondero.{type(self).__name__} {self.id} {self.state}>"

    def _submitting(self) -> Steps[None]:
        with self._file.hold_lock():
            yield from submit_chunks(self._file, self._counter)

    def _looking(self) -> Steps[None]:
        """Send what is not sent, look at every lot once, and keep what has ended."""
        with self._file.hold_lock():
            yield from self._round()

    def _round(self) -> Steps[None]:
        yield from submit_chunks(self._file, self._counter)
        for lot in self._file.lots():
            if lot.state == "sent":
                yield from collect_chunk(self._file, lot, self._counter(lot))

    def _waiting(self, progress: Progress | None) -> Steps[None]:
        seconds, most = EVERY
        with self._file.hold_lock():
            while True:
                yield from self._round()
                if progress is not None:
                    progress(self)
                if self.state == "ended":
                    return
                yield PollDelay(self._counter.pause(seconds))
                seconds = min(most, seconds * 1.5)

    def _cancelling(self) -> Steps[None]:
        with self._file.hold_lock():
            yield from cancel_chunks(self._file, self._counter)

    def take(self) -> None:
        """Write down that its owner has taken over all its answers."""
        self._file.take()

    def _close(self) -> None:
        self._file.close()

    def _noted(self, error: PonderoError) -> None:
        """Say in an error where the batch is: what was sent of it must not be sent again."""
        sent = sum(lot.count for lot in self.lots if lot.remote is not None)
        error.add_note(
            f"batch {self.id} is kept, and {sent} of its {self._file.facts.asks} asks are at the "
            f"service; 'pondero batch collect {self.id}' goes on"
        )


class Batch(_Batch):
    """A batch whose methods wait; ``Client.batch`` sends it, ``Client.open_batch`` opens it.

    >>> batch = client.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000)
    >>> [answer.text for answer in batch.wait().values()]
    ['17 * 23 = 391']
    """

    def __init__(self, file: BatchFile, counter: BatchSession, transport: Transport) -> None:
        super().__init__(file, counter)
        self._transport = transport

    def look(self) -> State:
        """Ask the services once how far it is, and keep the results of what has ended."""
        self._do(self._looking())
        return self.state

    def wait(self, progress: Progress | None = None) -> dict[str, BatchAnswer]:
        """Wait until all has ended, for hours if need be, and return the answers by id."""
        self._do(self._waiting(progress))
        return self.answers

    def cancel(self) -> State:
        """Ask the services to stop. What was answered by then is billed, and can be collected."""
        self._do(self._cancelling())
        return self.state

    def send(self) -> Self:
        """Send what is not at its service yet, and return the batch."""
        self._do(self._submitting())
        return self

    def _do(self, steps: Steps[None]) -> None:
        try:
            run_steps(steps, self._transport, _WAITING)
        except (ServiceError, TransportError, WireError) as error:
            self._noted(error)
            raise

    def close(self) -> None:
        """Close the file; the batch stays at the service. May be called twice."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class AsyncBatch(_Batch):
    """A batch whose methods are awaited; the async twin of Batch.

    >>> batch = await aclient.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000)
    >>> [answer.text for answer in (await batch.wait()).values()]
    ['17 * 23 = 391']
    """

    def __init__(self, file: BatchFile, counter: BatchSession, transport: AsyncTransport) -> None:
        super().__init__(file, counter)
        self._transport = transport

    async def look(self) -> State:
        """Ask the services once how far it is, and keep the results of what has ended."""
        await self._do(self._looking())
        return self.state

    async def wait(self, progress: Progress | None = None) -> dict[str, BatchAnswer]:
        """Wait until all has ended, for hours if need be, and return the answers by id."""
        await self._do(self._waiting(progress))
        return self.answers

    async def cancel(self) -> State:
        """Ask the services to stop. What was answered by then is billed, and can be collected."""
        await self._do(self._cancelling())
        return self.state

    async def send(self) -> Self:
        """Send what is not at its service yet, and return the batch."""
        await self._do(self._submitting())
        return self

    async def _do(self, steps: Steps[None]) -> None:
        try:
            await arun_steps(steps, self._transport, _WAITING)
        except (ServiceError, TransportError, WireError) as error:
            self._noted(error)
            raise
        finally:
            steps.close()  # cancelled while it waited: the lock is let go of at once

    async def aclose(self) -> None:
        """Close the file; the batch stays at the service. May be called twice."""
        self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()
