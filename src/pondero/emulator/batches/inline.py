"""Batches in one body: endpoint and model must come first; the batch contains its results."""

from msgspec import Raw, Struct

from ...canon import HttpResponse, Json
from . import uploads
from .call import (
    DAY,
    BatchCall,
    Endpoint,
    check_names,
    json_response,
    parse_body,
    position_after,
    slice_page,
)
from .files import line
from .job import BatchJob, ItemResult
from .store import BatchStore

_STATUS = {"made": "validating", "running": "in_progress", "cancelling": "cancelling"}
_VARIANT = ":batch"  # the service's name for a model in batches


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    custom_id: str
    body: Raw


class _Create(Struct, frozen=True, forbid_unknown_fields=True):
    endpoint: str
    model: str
    requests: list[_Request]
    completion_window: str = "24h"
    metadata: dict[str, str] | None = None
    provider: dict[str, Json] | None = None


def _create(store: BatchStore, call: BatchCall) -> HttpResponse:
    asked = call.body(_Create)
    order = list(call.read(call.request.body, dict[str, Raw]))
    if order.index("requests") < max(order.index("endpoint"), order.index("model")):
        call.refuse(400, "endpoint and model must stand before requests")
    if asked.endpoint not in call.limits.endpoints or asked.completion_window != "24h":
        call.refuse(400, f"Invalid endpoint {asked.endpoint!r} or completion_window.")
    if (wrong := check_names(call, [each.custom_id for each in asked.requests])) is not None:
        call.refuse(400, wrong)
    model, where = asked.model.removesuffix(_VARIANT), f"{call.root}/chat/completions"
    items = []
    for each in asked.requests:
        bare = call.item(each.custom_id, where, bytes(each.body))
        item, named = uploads.with_model(call, bare, model)
        if named is not None and named.removesuffix(_VARIANT) != model:
            call.refuse(400, f"requests: {named!r} is not the batch's model {asked.model!r}")
        if named is not None and named != model:
            request = call.wire.service().with_model(item.request, model)
            item = call.item(item.id, where, request.body)
        items.append(item)
    facts = {"endpoint": asked.endpoint, "model": asked.model, "metadata": asked.metadata}
    job = call.make(store, f"batch_{store.new_id()}", items, facts)
    return json_response(_describe_job(job), 202)


def _retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    call.look(store, job)
    return json_response(_describe_job(job, results=True))


def _list(store: BatchStore, call: BatchCall) -> HttpResponse:
    jobs = store.jobs(call.owner, call.provider)
    start = position_after(jobs, call.query.get("after"))
    shown = slice_page(jobs, start, call.query.get("limit"), usual=20, most=100)
    more = start + len(shown) < len(jobs)
    return json_response(
        {"object": "list", "data": [_describe_job(job) for job in shown], "has_more": more}
    )


def _cancel(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.end is not None:
        call.refuse(400, f"Cannot cancel a batch with status '{job.end}'.")
    store.cancel(job)
    return json_response(_describe_job(job))


def _describe_job(job: BatchJob, *, results: bool = False) -> Json:
    done = job.count("succeeded")
    failed = job.end == "failed"
    shown = results and job.end is not None and not failed
    return {
        "id": job.id,
        "object": "batch",
        "endpoint": job.facts["endpoint"],
        "model": job.facts["model"],
        "metadata": job.facts["metadata"],
        "provider": None,
        "completion_window": "24h",
        "status": _STATUS.get(job.stage, job.end),
        "created_at": job.created,
        "expires_at": job.created + DAY,
        "finalized_at": job.ended_at,
        "request_counts": {
            "total": len(job.items),
            "completed": done,
            "failed": 0 if failed else len(job.rows) - done,
        },
        "results": [_result(job, row) for row in job.rows] if shown else None,
        "usage": None,
        "error": {"message": job.complaints[0].message} if failed else None,
    }


def _result(job: BatchJob, row: ItemResult) -> Json:
    told = line(job, row)
    if row.outcome == "errored" and row.response is not None:
        raw = parse_body(row.response)
        error = raw.get("error", raw) if isinstance(raw, dict) else {"message": str(raw)}
        code = row.response.status
        told |= {"response": None, "error": {"code": code, "type": None, "param": None, **error}}
    return told


_BATCHES = r"(?<!v1beta)(?<!messages)/batches"
_ONE = rf"{_BATCHES}/(?P<id>[\w-]+)"
ENDPOINTS = (
    Endpoint("POST", _BATCHES, _create, makes=True),
    Endpoint("GET", _BATCHES, _list),
    Endpoint("GET", _ONE, _retrieve),
    Endpoint("POST", f"{_ONE}/cancel", _cancel),
)
