"""``Batch`` and ``AsyncBatch``: many requests to batch services, sent now and collected later.

A client makes them. A batch is on disk, so another process can open it by its id days later.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar, cast

from msgspec import structs

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
    Patience,
    PollDelay,
    State,
    Steps,
    arun_steps,
    batch_terms,
    cancel_chunk,
    collect_chunk,
    give_up_chunk,
    iter_answers,
    recheck_chunk,
    run_steps,
    split_into_chunks,
    submit_chunk,
)
from ..dialects import get_dialect
from ..errors import (
    BadParameter,
    PonderoError,
    ServiceError,
    StoreError,
    TransportError,
    WireError,
)
from ..exchange import AsyncTransport, Prepared, Retry, Timeouts, Transport, auth_header
from ..store import Credentials, load_catalog
from ..thinking import ThinkingLike
from .prompts.messages import Prompt
from .prompts.option_names import explain_unknown
from .prompts.options import OPTION_NAMES, Options
from .prompts.output import output_kind

AskLike = str | Mapping[str, Any]
"""A request: a prompt, or a mapping with ``prompt`` and optionally ``id``, ``model``, ``thinking``
and the options of a question."""

_OWN = ("id", "model", "prompt", "input", "thinking")
_UNFIT = ("stream", "timeout", "headers", "refusals")
_USELESS = ("approve", "last_prompt", "max_steps", "mcp", "retries")  # for one who waits
_FIELDS = (*_OWN, *(each for each in OPTION_NAMES if each not in (*_UNFIT, *_USELESS)))
_WAITING = Timeouts(connect=30.0, first_byte=300.0, between_bytes=300.0)
"""Uploading or fetching a whole batch takes longer than a question."""

_NO_TIME = 0.01
_FAILURES = (ServiceError, TransportError, WireError)
_DAY = 86_400.0

Prepare = Callable[[str, Prompt, ThinkingLike, Options], Prepared]
Progress = Callable[["_Batch[Any]"], None]


def make_draft(
    prepare: Prepare,
    asks: Iterable[AskLike],
    model: str | None,
    thinking: ThinkingLike,
    options: Options,
) -> Draft:
    """Prepare the requests of a batch without sending them; raises UsageError."""
    check_batch_fields(options, kind="option")
    defaults = (model, thinking, options)
    return split_into_chunks(
        [_make_request(prepare, number, each, defaults) for number, each in enumerate(asks)]
    )


def check_batch_fields(given: AskLike | Options, *, kind: str = "field") -> None:
    """Raise BadParameter for a field that a batch does not have; a call has options instead."""
    for name in () if isinstance(given, str) else given:
        if name in _UNFIT:
            raise BadParameter(f"a batch has no option {name!r}; remove it")
        if name not in OPTION_NAMES and name not in _OWN:
            raise BadParameter(explain_unknown(name, _FIELDS, kind=kind))


def _make_request(
    prepare: Prepare,
    number: int,
    given: AskLike,
    defaults: tuple[str | None, ThinkingLike, Options],
) -> BatchRequest:
    own: dict[str, Any] = {"prompt": given} if isinstance(given, str) else dict(given)
    prompt = own.get("prompt", own.get("input"))
    id = str(own.get("id", number))
    model = own.get("model") or defaults[0]
    if prompt is None:
        raise BadParameter(f"request {id!r} has no prompt; add one")
    if model is None:
        raise BadParameter(f"request {id!r} has no model; add one, or name one for all (-m MODEL)")
    options = {**defaults[2], **{name: each for name, each in own.items() if name not in _OWN}}
    try:
        check_batch_fields(options)
    except BadParameter as error:
        raise BadParameter(f"request {id!r}: {error}") from None
    # The batch's level is for requests without a model of their own, whose name may have one.
    thinking = own.get("thinking", None if own.get("model") else defaults[1])
    prepared = prepare(model, prompt, thinking, cast("Options", {**options, "stream": False}))
    entry = load_catalog().entry(prepared.plan.model)
    batch_terms(entry.provider, entry.model)
    most = options.get("max_tokens") or entry.capability.max_output
    return BatchRequest(id, prepared.exchange, most, output_kind(options.get("output")))


class BatchSession:
    """A client's access to the batch services: its keys, addresses and retries."""

    def __init__(self, credentials: Credentials, retry: Retry, *, needed: bool) -> None:
        self._credentials = credentials
        self._retry = retry
        self._needed = needed

    def pause(self, seconds: float) -> float:
        """Return the seconds between two polls; an emulator needs none."""
        return seconds if self._needed else _NO_TIME

    def __call__(self, chunk: BatchChunk) -> BatchService:
        """Return the service of a chunk."""
        provider = load_catalog().provider(chunk.provider)
        terms = batch_terms(provider, chunk.model)
        key = self._credentials.key(provider, needed=self._needed)
        url = self._credentials.url(provider, needed=self._needed, model=chunk.model or "")
        headers = {**chunk.headers, **auth_header(provider, key)}
        return BatchService(
            BatchEndpoint(url, headers),
            WIRES[terms.shape],
            get_dialect(provider.dialect).caller().error,
            self._retry,
            self._needed,
            terms.kept_days * _DAY,
        )


T = TypeVar("T", bound=Transport | AsyncTransport)


class _Batch(Generic[T]):
    def __init__(
        self, file: BatchFile, session: BatchSession, transport: T, kind_of: Callable[[str], Any]
    ) -> None:
        self._file = file
        self._session = session
        self._transport = transport
        self._kind_of = kind_of

    @property
    def id(self) -> str:
        """Return the id that opens the batch again, in any process."""
        return self._file.facts.id

    @property
    def state(self) -> State:
        """Return the state on disk: unsent, unsure, running or ended."""
        return self._file.state

    @property
    def lots(self) -> tuple[BatchChunk, ...]:
        """Return the chunks at the services."""
        return self._file.lots()

    @property
    def ids(self) -> list[str]:
        """Return the ids of all requests, in order."""
        return self._file.ids()

    @property
    def answers(self) -> dict[str, BatchAnswer]:
        """Return the answers so far, by request id."""
        return {each.id: self._with_kind(each) for each in iter_answers(self._file)}

    def _with_kind(self, answer: BatchAnswer) -> BatchAnswer:
        """Return an answer whose ``value`` has the type given with ``output=``."""
        kind = self._kind_of(answer.id)
        if answer.reply is None or kind is None:
            return answer
        return structs.replace(answer, reply=structs.replace(answer.reply, kind=kind))

    def __repr__(self) -> str:
        return f"<pondero.{type(self).__name__} {self.id} {self.state}>"

    def _open_chunks(self) -> Iterator[BatchChunk]:
        return (chunk for chunk in self._file.lots() if chunk.state != "ended")

    def _submit_steps(self, *, again: bool) -> Steps[None]:
        with self._file.hold_lock():
            for chunk in self._open_chunks():
                if chunk.state != "sent":
                    service = self._session(chunk)
                    yield from submit_chunk(self._file, chunk, service, again=again)

    def _poll_steps(self, patience: Patience | None) -> Steps[None]:
        with self._file.hold_lock():
            yield from self._recheck_lost()
            yield from self._poll_all(patience)

    def _poll_all(self, patience: Patience | None) -> Steps[None]:
        """Advance every chunk; what one of them meets does not stop the others."""
        failed: PonderoError | None = None
        met: list[PonderoError | None] = []
        for chunk in self._open_chunks():
            try:
                met.append((yield from self._advance(chunk)))
            except _FAILURES as error:
                failed = failed or error
                met.append(error)
        if patience is not None:
            patience.check(failed, met[0] if met and all(met) else None)
        elif failed is not None:
            raise failed

    def _advance(self, chunk: BatchChunk) -> Steps[PonderoError | None]:
        """Send or collect a chunk; return what is in doubt about it."""
        service, doubt = self._session(chunk), None
        if chunk.state != "sent":
            doubt = yield from submit_chunk(self._file, chunk, service)
            chunk = self._file.lots()[chunk.number]
        if chunk.state == "sent":
            doubt = yield from collect_chunk(self._file, chunk, service)
        return doubt

    def _recheck_lost(self) -> Steps[None]:
        for chunk in self._file.lots():
            known = chunk.state == "ended" and chunk.remote is not None
            if known and "lost" in self._file.endings(chunk).values():
                yield from recheck_chunk(self._file, chunk, self._session(chunk))

    def _wait_steps(self, progress: Progress | None) -> Steps[None]:
        (seconds, most), patience = EVERY, Patience()
        with self._file.hold_lock():
            yield from self._recheck_lost()
            while True:
                yield from self._poll_all(patience)
                if progress is not None:
                    progress(self)
                if self.state == "ended":
                    return
                yield PollDelay(self._session.pause(seconds))
                patience.add(seconds)
                seconds = min(most, seconds * 1.5)

    def _cancel_steps(self) -> Steps[None]:
        with self._file.hold_lock():
            for chunk in self._open_chunks():
                yield from cancel_chunk(self._file, chunk, self._session(chunk))

    def _give_up_steps(self) -> Steps[None]:
        with self._file.hold_lock():
            for chunk in self._open_chunks():
                yield from give_up_chunk(self._file, chunk, self._session(chunk))

    def take(self) -> None:
        """Record that the owner has all answers."""
        self._file.take()

    def _note_batch(self, error: PonderoError) -> None:
        """Name the batch in an error: its sent requests must not be sent again."""
        sent = sum(chunk.count for chunk in self.lots if chunk.remote is not None)
        error.add_note(
            f"batch {self.id} is saved, and {sent} of its {self._file.facts.asks} requests are at "
            f"the service; continue with 'pondero batch collect {self.id}'"
        )


class Batch(_Batch[Transport]):
    """A batch of ``Client.batch`` or ``Client.open_batch``.

    >>> batch = client.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000)
    >>> [answer.text for answer in batch.wait().values()]
    ['17 * 23 = 391']
    """

    def look(self, patience: Patience | None = None) -> State:
        """Poll the services once and save the results of ended chunks.

        With ``patience``, an error that may pass is raised only when it has lasted too long.
        """
        self._do(self._poll_steps(patience))
        return self.state

    def wait(self, progress: Progress | None = None) -> dict[str, BatchAnswer]:
        """Wait until all chunks have ended, for hours if necessary; return the answers by id."""
        self._do(self._wait_steps(progress))
        return self.answers

    def cancel(self) -> State:
        """Cancel the batch; requests answered by then are billed, and can be collected."""
        self._do(self._cancel_steps())
        return self.state

    def give_up(self) -> State:
        """Look once more, and end as lost what the service does not show; what runs goes on."""
        self._do(self._give_up_steps())
        return self.state

    def send(self, *, again: bool = False) -> Self:
        """Send the chunks not sent yet and return the batch.

        ``again``: also those that the service may have and does not show. They may be paid twice.
        """
        self._do(self._submit_steps(again=again))
        return self

    def _do(self, steps: Steps[None]) -> None:
        try:
            run_steps(steps, self._transport, _WAITING)
        except (*_FAILURES, StoreError) as error:
            self._note_batch(error)
            raise
        finally:
            steps.close()  # an error that is kept must not keep the lock

    def close(self) -> None:
        """Close the file; the batch continues at the service. May be called twice."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class AsyncBatch(_Batch[AsyncTransport]):
    """The async twin of Batch.

    >>> batch = await aclient.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000)
    >>> [answer.text for answer in (await batch.wait()).values()]
    ['17 * 23 = 391']
    """

    async def look(self, patience: Patience | None = None) -> State:
        """Poll the services once and save the results of ended chunks.

        With ``patience``, an error that may pass is raised only when it has lasted too long.
        """
        await self._do(self._poll_steps(patience))
        return self.state

    async def wait(self, progress: Progress | None = None) -> dict[str, BatchAnswer]:
        """Wait until all chunks have ended, for hours if necessary; return the answers by id."""
        await self._do(self._wait_steps(progress))
        return self.answers

    async def cancel(self) -> State:
        """Cancel the batch; requests answered by then are billed, and can be collected."""
        await self._do(self._cancel_steps())
        return self.state

    async def give_up(self) -> State:
        """Look once more, and end as lost what the service does not show; what runs goes on."""
        await self._do(self._give_up_steps())
        return self.state

    async def send(self, *, again: bool = False) -> Self:
        """Send the chunks not sent yet and return the batch.

        ``again``: also those that the service may have and does not show. They may be paid twice.
        """
        await self._do(self._submit_steps(again=again))
        return self

    async def _do(self, steps: Steps[None]) -> None:
        try:
            await arun_steps(steps, self._transport, _WAITING)
        except (*_FAILURES, StoreError) as error:
            self._note_batch(error)
            raise
        finally:
            steps.close()  # a cancelled wait must release the lock

    async def aclose(self) -> None:
        """Close the file; the batch continues at the service. May be called twice."""
        self._file.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._file.close()
