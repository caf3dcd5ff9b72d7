"""Message batches: requests in the body, results at a URL; submission checks only names."""

from msgspec import Raw, Struct

from ...canon import HttpResponse, Json
from .call import (
    DAY,
    BatchCall,
    Endpoint,
    check_names,
    date,
    json_response,
    parse_body,
    position_after,
    public_root,
    slice_page,
    split_lines,
)
from .job import BatchJob, ItemResult
from .store import BatchStore

_STATUS = {
    "made": "in_progress",
    "running": "in_progress",
    "cancelling": "canceling",
    "ended": "ended",
}
_OUTCOME = {"cancelled": "canceled"}


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    custom_id: str
    params: Raw


class _Create(Struct, frozen=True, forbid_unknown_fields=True):
    requests: list[_Request]


def _create(store: BatchStore, call: BatchCall) -> HttpResponse:
    if "anthropic-version" not in call.request.headers:
        call.refuse(400, "anthropic-version: header is required")
    asked = call.body(_Create)
    if (wrong := check_names(call, [each.custom_id for each in asked.requests])) is not None:
        call.refuse(400, wrong)
    where = f"{call.root}/messages"
    items = [call.item(each.custom_id, where, bytes(each.params)) for each in asked.requests]
    id = f"msgbatch_01{store.new_id(22)}"
    return json_response(_describe_job(call.make(store, id, items, {}), call))


def _retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    call.look(store, job)
    return json_response(_describe_job(job, call))


def _list(store: BatchStore, call: BatchCall) -> HttpResponse:
    jobs = store.jobs(call.owner, call.provider)
    query, limit = call.query, call.query.get("limit")
    if end := position_after(jobs, query.get("before_id")):
        shown = slice_page(jobs[: end - 1][::-1], 0, limit, usual=20, most=1_000)[::-1]
        more = len(shown) < end - 1
    else:
        start = position_after(jobs, query.get("after_id"))
        shown = slice_page(jobs, start, limit, usual=20, most=1_000)
        more = start + len(shown) < len(jobs)
    ends = (shown[0].id, shown[-1].id) if shown else (None, None)
    data = [_describe_job(job, call) for job in shown]
    return json_response({"data": data, "has_more": more, "first_id": ends[0], "last_id": ends[1]})


def _cancel(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.end is not None:
        call.refuse(400, f"Batch {job.id} has ended and cannot be canceled.")
    store.cancel(job)
    return json_response(_describe_job(job, call))


def _delete(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.end is None:
        call.refuse(400, f"Batch {job.id} has not ended; cancel it before it is deleted.")
    store.drop(job.id)
    return json_response({"id": job.id, "type": "message_batch_deleted"})


def _results(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.end is None:
        call.refuse(404, f"Batch {job.id} has no results yet.")
    headers = {"content-type": "application/x-jsonl"}
    return HttpResponse(200, headers, split_lines(map(_line, job.rows)))


def _describe_job(job: BatchJob, call: BatchCall) -> Json:
    ended = job.end is not None
    counts = {
        "processing": 0 if ended else len(job.items),
        "succeeded": job.count("succeeded"),
        "errored": job.count("errored"),
        "canceled": job.count("cancelled"),
        "expired": job.count("expired"),
    }
    return {
        "id": job.id,
        "type": "message_batch",
        "processing_status": _STATUS[job.stage],
        "request_counts": counts,
        "created_at": date(job.created),
        "expires_at": date(job.created + DAY),
        "ended_at": date(job.ended_at),
        "archived_at": None,
        "cancel_initiated_at": date(job.cancelled_at),
        "results_url": f"{public_root(call)}/messages/batches/{job.id}/results" if ended else None,
    }


def _line(row: ItemResult) -> Json:
    result: dict[str, Json] = {"type": _OUTCOME.get(row.outcome, row.outcome)}
    if row.response is not None:
        result["message" if row.outcome == "succeeded" else "error"] = parse_body(row.response)
    return {"custom_id": row.id, "result": result}


_BATCHES = "/messages/batches"
_ONE = rf"{_BATCHES}/(?P<id>[\w-]+)"
ENDPOINTS = (
    Endpoint("POST", _BATCHES, _create, makes=True),
    Endpoint("GET", _BATCHES, _list),
    Endpoint("GET", _ONE, _retrieve),
    Endpoint("DELETE", _ONE, _delete),
    Endpoint("POST", f"{_ONE}/cancel", _cancel),
    Endpoint("GET", f"{_ONE}/results", _results),
)
