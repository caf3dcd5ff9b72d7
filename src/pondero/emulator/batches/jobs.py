"""Batch jobs: one model and endpoint for all requests, which are in files or in the body."""

from uuid import UUID

from msgspec import Raw, Struct

from ...canon import HttpResponse, Json
from . import uploads
from .call import BatchCall, Endpoint, check_names, json_response, slice_page
from .files import line, write_results
from .job import BatchItem, BatchJob, ValidationProblem
from .store import BatchStore, StoredFile

_STATUS = {"made": "QUEUED", "running": "RUNNING", "cancelling": "CANCELLATION_REQUESTED"}
_END = {
    "completed": "SUCCESS",
    "failed": "FAILED",
    "expired": "TIMEOUT_EXCEEDED",
    "cancelled": "CANCELLED",
}
_MOST_HOURS = 168


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    body: Raw
    custom_id: str | None = None


class _Create(Struct, frozen=True, forbid_unknown_fields=True):
    endpoint: str
    input_files: list[str] | None = None
    requests: list[_Request] | None = None
    model: str | None = None
    agent_id: str | None = None
    metadata: dict[str, str] | None = None
    timeout_hours: int = 24


def _create(store: BatchStore, call: BatchCall) -> HttpResponse:
    asked = call.body(_Create)
    if asked.endpoint not in call.limits.endpoints:
        call.refuse(400, f"Invalid endpoint {asked.endpoint!r}.")
    if asked.model is None:
        call.refuse(400, "model: a batch job needs one")
    if bool(asked.input_files) == bool(asked.requests):
        call.refuse(400, "one of input_files and requests is needed, and not both")
    if not 1 <= asked.timeout_hours <= _MOST_HOURS:
        call.refuse(400, f"timeout_hours: from 1 to {_MOST_HOURS}")
    where = call.root.removesuffix("/v1") + asked.endpoint
    items, complaints = (
        _from_files(store, call, asked, where) if asked.input_files else _inline(call, asked, where)
    )
    facts = {
        "endpoint": asked.endpoint,
        "model": asked.model,
        "agent_id": asked.agent_id,
        "metadata": asked.metadata,
        "input_files": asked.input_files or [],
    }
    job = call.make(store, str(UUID(store.new_id(32))), items, facts, complaints)
    return json_response(_describe_job(job))


def _from_files(
    store: BatchStore, call: BatchCall, asked: _Create, where: str
) -> tuple[list[BatchItem], tuple[ValidationProblem, ...]]:
    data = b"\n".join(uploads.file_of(store, call, id).data for id in asked.input_files or ())
    endpoint = asked.endpoint
    read = uploads.read_lines(call, data, endpoint=endpoint, where=where, model=asked.model)
    return read.items, read.complaints


def _inline(
    call: BatchCall, asked: _Create, where: str
) -> tuple[list[BatchItem], tuple[ValidationProblem, ...]]:
    requests = asked.requests or []
    ids = [each.custom_id or str(at) for at, each in enumerate(requests)]
    if (wrong := check_names(call, ids)) is not None:
        call.refuse(400, wrong)
    items = []
    for id, each in zip(ids, requests, strict=True):
        bare = call.item(id, where, bytes(each.body))
        item, named = uploads.with_model(call, bare, asked.model)
        if named not in (None, asked.model):
            call.refuse(400, f"requests: {named!r} is not the job's model {asked.model!r}")
        items.append(item)
    return items, ()


def _retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store, "batch job")
    if call.look(store, job) and job.end != "failed":
        write_results(store, job, {"output_file": "output_file", "error_file": "error_file"})
    return json_response(_describe_job(job, inline=call.query.get("inline") == "true"))


def _list(store: BatchStore, call: BatchCall) -> HttpResponse:
    query = call.query
    jobs = [
        job
        for job in store.jobs(call.owner, call.provider)
        if query.get("model") in (None, job.facts["model"])
        and query.get("status") in (None, _status(job))
    ]
    size = query.get("page_size", "100")
    number = int(query["page"]) if query.get("page", "").isdecimal() else 0
    per = int(size) if size.isdecimal() else 100
    shown = slice_page(jobs, number * per, size, usual=100, most=1_000)
    return json_response(
        {"object": "list", "data": [_describe_job(job) for job in shown], "total": len(jobs)}
    )


def _cancel(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store, "batch job")
    if job.end is not None:
        call.refuse(400, f"The job has ended with status {_status(job)}.")
    store.cancel(job)
    return json_response(_describe_job(job))


def _delete(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store, "batch job")
    if job.end is None:
        call.refuse(400, "The job has not ended; cancel it before it is deleted.")
    store.drop(job.id)
    return json_response({"id": job.id, "object": "batch", "deleted": True})


def _status(job: BatchJob) -> str:
    return _STATUS.get(job.stage) or _END[job.end or "completed"]


def _describe_job(job: BatchJob, *, inline: bool = False) -> Json:
    done = job.count("succeeded")
    failed = 0 if job.end == "failed" else len(job.rows) - done
    told = {
        "id": job.id,
        "object": "batch",
        "input_files": job.facts["input_files"],
        "metadata": job.facts["metadata"],
        "endpoint": job.facts["endpoint"],
        "model": job.facts["model"],
        "agent_id": job.facts["agent_id"],
        "output_file": job.facts.get("output_file"),
        "error_file": job.facts.get("error_file"),
        "errors": [
            {"message": each.message, "count": 1}
            for each in (job.complaints if job.end == "failed" else ())
        ],
        "outputs": None,
        "status": _status(job),
        "created_at": job.created,
        "started_at": job.created if job.looks else None,
        "completed_at": job.ended_at,
        "total_requests": len(job.items),
        "completed_requests": done + failed,
        "succeeded_requests": done,
        "failed_requests": failed,
    }
    if inline and job.end not in (None, "failed"):
        told["outputs"] = [line(job, row) for row in job.rows]
    return told


def _describe_file(file: StoredFile) -> Json:
    output = file.source is not None
    return {
        **uploads.describe_file(file),
        "purpose": "batch",
        "sample_type": "batch_result" if output else "batch_request",
        "source": file.source or "upload",
        "num_lines": len(file.data.splitlines()),
        "mimetype": "application/jsonl",
        "signature": None,
        "deleted": False,
    }


_JOBS = "/batch/jobs"
_ONE = rf"{_JOBS}/(?P<id>[\w-]+)"
ENDPOINTS = (
    Endpoint("POST", _JOBS, _create, makes=True),
    Endpoint("GET", _JOBS, _list),
    Endpoint("GET", _ONE, _retrieve),
    Endpoint("DELETE", _ONE, _delete),
    Endpoint("POST", f"{_ONE}/cancel", _cancel),
    *uploads.endpoints(_describe_file),
)
