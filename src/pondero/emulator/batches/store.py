"""Holds an emulator's batches and files, visible to the key that made them; drops the oldest."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b

from msgspec import Struct

from ...canon import HttpRequest, HttpResponse
from .job import BatchItem, BatchJob, ItemResult, Outcome, end_of, plan_outcomes, shuffle_results

Clock = Callable[[], float]
Answer = Callable[[HttpRequest], HttpResponse | Outcome]
"""Answers one request of a batch as if it were sent alone, or returns its outcome."""

_ANSWERED = HttpRequest("POST", "", {}, b"")  # frees the body and the key
_MOST = 1_000
_MOST_BYTES = 1024 * 1024 * 1024


class StoredFile(Struct, frozen=True):
    """A file; ``source``: its provider, None for an upload; ``done``: all pieces are uploaded."""

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

    def __init__(self, answer: Answer, clock: Clock) -> None:
        self._answer = answer
        self._clock = clock
        self._stored: OrderedDict[str, BatchJob | StoredFile] = OrderedDict()
        self._made = self._bytes = 0

    def now(self) -> int:
        """Return the time in seconds."""
        return int(self._clock())

    def new_id(self, length: int = 24) -> str:
        """Return a new id of hexadecimal digits."""
        self._made += 1
        return blake2b(str(self._made).encode(), digest_size=32).hexdigest()[:length]

    # -- batches ---------------------------------------------------------------------------------

    def add_job(self, job: BatchJob) -> BatchJob:
        """Store a job."""
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
        """Add requests to a job."""
        job.items.extend(items)
        self._count(sum(len(item.request.body) for item in items))

    def look(self, job: BatchJob, failed: HttpResponse) -> bool:
        """Advance a polled job; return whether it ended. ``failed``: the response to a fault."""
        if job.end is not None:
            return False
        job.looks += 1
        if not job.due:
            return False
        if job.fault is not None and job.fault.kind == "cancelled" and job.cancelled_at is None:
            job.cancelled_at = self.now()
        job.rows = tuple(self._rows(job, failed))
        job.end, job.ended_at = end_of(job), self.now()
        job.items = [BatchItem(item.id, _ANSWERED) for item in job.items]
        self._count(sum(len(row.response.body) for row in job.rows if row.response))
        return True

    def cancel(self, job: BatchJob) -> None:
        """Begin to cancel a job that has not ended."""
        if job.end is None and job.cancelled_at is None:
            job.cancelled_at = self.now()

    def drop(self, id: str) -> None:
        """Remove a job or a file."""
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
        """Store a file, in place of one with the same id."""
        self._keep(file.id, file)
        return file

    def file(self, id: str, owner: str) -> StoredFile | None:
        """Return a file of this owner."""
        found = self._stored.get(id)
        whole = isinstance(found, StoredFile) and found.done and found.owner == owner
        return found if isinstance(found, StoredFile) and whole else None

    def get_upload(self, id: str) -> StoredFile | None:
        """Return an unfinished upload."""
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
