"""The store: keeps the batches and files of one emulator, moves batches on, and ends them.

Every shape works through it. Whose key made a thing may see it, nobody else. The oldest things are
forgotten where there are too many, or too many bytes.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b

import msgspec
from msgspec import Struct

from ...canon import HttpRequest, HttpResponse, Json
from ..faults import Fault
from .job import (
    BatchItem,
    BatchJob,
    ItemResult,
    Outcome,
    ValidationProblem,
    end_of,
    length_of,
    plan_outcomes,
    shuffle_results,
)

Clock = Callable[[], float]
Answer = Callable[[HttpRequest], HttpResponse | Outcome]
"""Answers one request of a batch as if it had come alone, or says what became of it instead."""

_MOST = 1_000
_MOST_BYTES = 1024 * 1024 * 1024
_FAILED = ValidationProblem("The batch could not be validated.", "invalid_batch", 1)


class StoredFile(Struct, frozen=True):
    """A file. ``source`` is the provider that wrote it, None where the caller handed it in.

    ``done`` is false while it is still being handed in, piece by piece.
    """

    id: str
    owner: str
    name: str
    purpose: str
    data: bytes
    created: int
    source: str | None = None
    done: bool = True


class BatchStore:
    """The batches and files of one emulator."""

    def __init__(self, answer: Answer, clock: Clock, *, looks: int) -> None:
        self._answer = answer
        self._clock = clock
        self._looks = looks
        self._stored: OrderedDict[str, BatchJob | StoredFile] = OrderedDict()
        self._made = self._bytes = 0

    def now(self) -> int:
        """Return the time in seconds."""
        return int(self._clock())

    def new_id(self, length: int = 24) -> str:
        """Return hexadecimal digits that no other thing here has."""
        self._made += 1
        return blake2b(str(self._made).encode(), digest_size=32).hexdigest()[:length]

    # -- batches ---------------------------------------------------------------------------------

    def make(
        self,
        id: str,
        owner: str,
        provider: str,
        *,
        items: list[BatchItem],
        facts: dict[str, Json],
        fault: Fault | None,
        complaints: tuple[ValidationProblem, ...] = (),
    ) -> BatchJob:
        """Return a new job, which is kept."""
        if fault is not None and fault.kind == "failed":
            complaints = complaints or (_FAILED,)
        job = BatchJob(
            id=id,
            owner=owner,
            provider=provider,
            created=self.now(),
            length=length_of(self._looks, fault),
            items=items,
            facts=facts,
            fault=fault,
            complaints=complaints,
        )
        self._keep(job.id, job)
        return job

    def job(self, id: str, owner: str) -> BatchJob | None:
        """Return a job of this owner."""
        found = self._stored.get(id)
        return found if isinstance(found, BatchJob) and found.owner == owner else None

    def jobs(self, owner: str, provider: str) -> list[BatchJob]:
        """Return the jobs of an owner at a provider, the newest first."""
        return [
            each
            for each in reversed(self._stored.values())
            if isinstance(each, BatchJob) and (each.owner, each.provider) == (owner, provider)
        ]

    def add(self, job: BatchJob, items: list[BatchItem]) -> None:
        """Put more requests into a job."""
        job.items.extend(items)
        self._count(sum(len(item.request.body) for item in items))

    def look(self, job: BatchJob, failed: HttpResponse) -> bool:
        """Move a job on, because somebody looks at it; return whether it ended just now.

        ``failed`` is what a request is answered that the service fails to answer.
        """
        if job.end is not None:
            return False
        job.looks += 1
        if not job.due:
            return False
        if job.fault is not None and job.fault.kind == "cancelled" and job.cancelled_at is None:
            job.cancelled_at = self.now()
        job.rows = tuple(self._rows(job, failed))
        job.end, job.ended_at = end_of(job), self.now()
        job.items = [msgspec.structs.replace(i, request=_drop_body(i.request)) for i in job.items]
        self._count(sum(len(row.response.body) for row in job.rows if row.response))
        return True

    def cancel(self, job: BatchJob) -> None:
        """Begin to cancel a job that has not ended."""
        if job.end is None and job.cancelled_at is None:
            job.cancelled_at = self.now()

    def drop(self, id: str) -> None:
        """Forget a job or a file."""
        self._stored.pop(id, None)

    def _rows(self, job: BatchJob, failed: HttpResponse) -> Iterator[ItemResult]:
        order = shuffle_results(job)
        ends = plan_outcomes(job, order)
        for item in order:
            end = ends.get(item.id)
            if end is not None:
                yield ItemResult(item.id, end, failed if end == "errored" else None)
                continue
            said = self._answer(item.request)
            if isinstance(said, str):
                yield ItemResult(item.id, said)
            else:
                yield ItemResult(item.id, "succeeded" if said.status < 400 else "errored", said)

    # -- files -----------------------------------------------------------------------------------

    def add_file(self, file: StoredFile) -> StoredFile:
        """Keep a file, in place of one with the same id."""
        self._keep(file.id, file)
        return file

    def file(self, id: str, owner: str) -> StoredFile | None:
        """Return a file of this owner."""
        found = self._stored.get(id)
        whole = isinstance(found, StoredFile) and found.done and found.owner == owner
        return found if isinstance(found, StoredFile) and whole else None

    def get_upload(self, id: str) -> StoredFile | None:
        """Return a file that is still being handed in."""
        found = self._stored.get(id)
        return found if isinstance(found, StoredFile) and not found.done else None

    def files(self, owner: str) -> list[StoredFile]:
        """Return the files of an owner, the newest first."""
        kept = reversed(self._stored.values())
        return [each for each in kept if isinstance(each, StoredFile) and each.owner == owner]

    def _keep(self, id: str, stored: BatchJob | StoredFile) -> None:
        self._stored[id] = stored
        self._count(_size(stored))
        while len(self._stored) > _MOST:
            self._stored.popitem(last=False)

    def _count(self, more: int) -> None:
        """Count bytes; where they are too many, count again and forget the oldest things."""
        self._bytes += more
        if self._bytes <= _MOST_BYTES:
            return
        self._bytes = sum(map(_size, self._stored.values()))
        while self._bytes > _MOST_BYTES and len(self._stored) > 1:
            self._bytes -= _size(self._stored.popitem(last=False)[1])


def _size(stored: BatchJob | StoredFile) -> int:
    if isinstance(stored, StoredFile):
        return len(stored.data)
    asked = sum(len(item.request.body) for item in stored.items)
    return asked + sum(len(row.response.body) for row in stored.rows if row.response)


def _drop_body(request: HttpRequest) -> HttpRequest:
    """Return a request without its body and its key: it was answered."""
    return msgspec.structs.replace(request, headers={}, body=b"")
