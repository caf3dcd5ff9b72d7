"""Batches in files: requests, answers, errors. One bad line fails the batch at the first poll."""

import re
from hashlib import blake2b

import msgspec
from msgspec import Struct

from ...canon import HttpResponse, Json
from . import uploads
from .call import (
    DAY,
    BatchCall,
    Endpoint,
    json_response,
    parse_body,
    position_after,
    slice_page,
    split_lines,
)
from .job import BatchJob, ItemResult
from .store import BatchStore, StoredFile

_STATUS = {"made": "validating", "running": "in_progress", "cancelling": "cancelling"}
_LOST = {
    "expired": (
        "batch_expired",
        "This request could not be executed before the completion window expired.",
    ),
    "cancelled": ("batch_cancelled", "This request was cancelled before it was executed."),
}


class _Create(Struct, frozen=True, forbid_unknown_fields=True):
    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None = None
    output_expires_after: dict[str, Json] | None = None


def _create(store: BatchStore, call: BatchCall) -> HttpResponse:
    asked = call.body(_Create)
    limits = call.limits
    if asked.endpoint not in limits.endpoints:
        call.refuse(
            400, f"Invalid endpoint {asked.endpoint!r}; use {' or '.join(limits.endpoints)}."
        )
    if re.fullmatch(limits.windows, asked.completion_window) is None:
        call.refuse(400, f"Invalid completion_window {asked.completion_window!r}.")
    file = store.file(asked.input_file_id, call.owner)
    if file is None or file.purpose != "batch":
        call.refuse(400, f"Invalid input_file_id {asked.input_file_id!r}: no file for batches.")
    where = call.root.removesuffix("/v1") + asked.endpoint
    read = uploads.read_lines(call, file.data, endpoint=asked.endpoint, where=where, model=None)
    facts = {**msgspec.to_builtins(asked), "model": read.model}
    job = call.make(store, f"batch_{store.new_id(32)}", read.items, facts, read.complaints)
    return json_response(_describe_job(job))


def _retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if call.look(store, job) and job.end != "failed":
        write_results(store, job, {"output_file_id": "output", "error_file_id": "error"})
    return json_response(_describe_job(job))


def _list(store: BatchStore, call: BatchCall) -> HttpResponse:
    jobs = store.jobs(call.owner, call.provider)
    start = position_after(jobs, call.query.get("after"))
    shown = slice_page(jobs, start, call.query.get("limit"), usual=20, most=100)
    ends = (shown[0].id, shown[-1].id) if shown else (None, None)
    return json_response(
        {
            "object": "list",
            "data": [_describe_job(job) for job in shown],
            "first_id": ends[0],
            "last_id": ends[1],
            "has_more": start + len(shown) < len(jobs),
        }
    )


def _cancel(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.end is not None:
        call.refuse(400, f"Cannot cancel a batch with status '{job.end}'.")
    store.cancel(job)
    return json_response(_describe_job(job))


def write_results(store: BatchStore, job: BatchJob, names: dict[str, str]) -> None:
    """Write the answers and the errors of an ended job; ``names`` are its facts and files."""
    for (fact, name), good in zip(names.items(), (True, False), strict=True):
        rows = [row for row in job.rows if (row.outcome == "succeeded") is good]
        data = split_lines(line(job, row) for row in rows)
        job.facts[fact] = uploads.write_file(store, job, f"{job.id}_{name}.jsonl", data)


def line(job: BatchJob, row: ItemResult) -> Json:
    """Return the result of one request, in the line format of these services."""
    response, error = None, None
    if row.response is not None:
        said = row.response
        request_id = said.headers.get("x-request-id") or f"req_{job.id[-12:]}"
        body = parse_body(said)
        response = {"status_code": said.status, "request_id": request_id, "body": body}
    else:
        code, message = _LOST[row.outcome]
        error = {"code": code, "message": message}
    digest = blake2b(f"{job.id} {row.id}".encode("utf-8", "surrogatepass"), digest_size=12)
    return {
        "id": f"batch_req_{digest.hexdigest()}",
        "custom_id": row.id,
        "response": response,
        "error": error,
    }


def _describe_job(job: BatchJob) -> Json:
    ended = {f"{job.end}_at": job.ended_at} if job.end is not None else {}
    times = {
        "in_progress_at": job.created if job.looks else None,
        "expires_at": job.created + DAY,
        "finalizing_at": job.ended_at if job.end in ("completed", "expired") else None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelling_at": job.cancelled_at,
        "cancelled_at": None,
        **ended,
    }
    done = job.count("succeeded")
    counted = 0 if job.complaints or not job.looks else len(job.items)
    return {
        "id": job.id,
        "object": "batch",
        "endpoint": job.facts["endpoint"],
        "model": job.facts["model"],
        "errors": {"object": "list", "data": msgspec.to_builtins(job.complaints)}
        if job.end == "failed"
        else None,
        "input_file_id": job.facts["input_file_id"],
        "completion_window": job.facts["completion_window"],
        "status": _status(job),
        "output_file_id": job.facts.get("output_file_id"),
        "error_file_id": job.facts.get("error_file_id"),
        "created_at": job.created,
        **times,
        "request_counts": {
            "total": counted,
            "completed": done,
            "failed": 0 if job.complaints else len(job.rows) - done,
        },
        "metadata": job.facts["metadata"],
    }


def _status(job: BatchJob) -> str | None:
    if job.stage == "running" and 1 < job.looks == job.length - 1:
        return "finalizing"
    return _STATUS.get(job.stage, job.end)


def _describe_file(file: StoredFile) -> Json:
    return {**uploads.describe_file(file), "status": "processed", "expires_at": None}


_BATCHES = r"(?<!v1beta)(?<!messages)/batches"
_ONE = rf"{_BATCHES}/(?P<id>[\w-]+)"
ENDPOINTS = (
    Endpoint("POST", _BATCHES, _create, makes=True),
    Endpoint("GET", _BATCHES, _list),
    Endpoint("GET", _ONE, _retrieve),
    Endpoint("POST", f"{_ONE}/cancel", _cancel),
    *uploads.endpoints(_describe_file),
)
