"""Batches in two steps: create one, then add requests; done if it has some and none pending."""

import re

from msgspec import Raw, Struct

from ...canon import HttpResponse, Json
from . import uploads
from .call import DAY, BatchCall, Endpoint, check_names, date, json_response, parse_body, slice_page
from .job import BatchItem, BatchJob, ItemResult, ValidationProblem
from .store import BatchStore

_ENDPOINT = "/v1/chat/completions"
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 413: 3, 422: 3, 429: 8, 503: 14}
_INTERNAL = 13


class _Create(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    input_file_id: str | None = None


class _Kinds(Struct, frozen=True, forbid_unknown_fields=True):
    chat_get_completion: Raw


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    batch_request_id: str
    batch_request: _Kinds


class _Add(Struct, frozen=True, forbid_unknown_fields=True):
    batch_requests: list[_Request]


def _create(store: BatchStore, call: BatchCall) -> HttpResponse:
    asked = call.body(_Create)
    items: list[BatchItem] = []
    complaints: tuple[ValidationProblem, ...] = ()
    if asked.input_file_id is not None:
        data = uploads.file_of(store, call, asked.input_file_id).data
        where = _where(call)
        read = uploads.read_lines(call, data, endpoint=_ENDPOINT, where=where, model=None)
        items, complaints = read.items, read.complaints
    facts = {"name": asked.name, "input_file_id": asked.input_file_id}
    job = call.make(store, f"batch_{store.new_id()}", items, facts, complaints)
    return json_response(_describe_job(job))


def _add(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.stage in ("cancelling", "ended"):
        call.refuse(400, f"Batch {job.id} takes no more requests.")
    asked = call.body(_Add).batch_requests
    ids = [each.batch_request_id for each in asked]
    known = [item.id for item in job.items]
    if (wrong := check_names(call, [*known, *ids], "batch_request_id")) is not None:
        call.refuse(400, wrong)
    if not asked:
        call.refuse(400, "batch_requests: at least one request is needed")
    where = _where(call)
    made = [
        call.item(each.batch_request_id, where, bytes(each.batch_request.chat_get_completion))
        for each in asked
    ]
    for item in made:
        model = call.wire.service().requested_model(item.request)
        if model is not None and re.fullmatch(call.limits.without, model):
            call.refuse(400, f"Model {model} is not available in batches.")
    store.add(job, made)
    return json_response({})


def _requests(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    states = {row.id: row.outcome for row in job.rows if row.outcome != "expired"}
    rows = [
        {
            "batch_request_id": item.id,
            "endpoint": _ENDPOINT,
            "state": states.get(item.id, "pending"),
        }
        for item in job.items
    ]
    return json_response(_make_page(call, rows, "batch_request_metadata"))


def _retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.items or job.complaints or job.cancelled_at is not None:
        call.look(store, job)
    return json_response(_describe_job(job))


def _list(store: BatchStore, call: BatchCall) -> HttpResponse:
    jobs = [_describe_job(job) for job in store.jobs(call.owner, call.provider)]
    return json_response(_make_page(call, jobs, "batches"))


def _cancel(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if job.end is not None:
        call.refuse(400, f"Batch {job.id} has ended.")
    store.cancel(job)
    return json_response(_describe_job(job))


def _results(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    rows = job.rows if job.end != "failed" else ()
    return json_response(
        _make_page(call, [_result(row) for row in rows if row.outcome != "expired"], "results")
    )


def _where(call: BatchCall) -> str:
    return f"{call.root}/chat/completions"


def _make_page(call: BatchCall, values: list[Json], field: str) -> Json:
    token = call.query.get("pagination_token", "")
    start = int(token) if token.isdecimal() else 0
    shown = slice_page(values, start, call.query.get("limit"), usual=100, most=1_000)
    more = start + len(shown)
    return {field: shown, "pagination_token": str(more) if more < len(values) else None}


def _result(row: ItemResult) -> Json:
    if row.response is not None and row.outcome == "succeeded":
        result: Json = {"response": {"chat_get_completion": parse_body(row.response)}}
    elif row.response is not None:
        code = _CODES.get(row.response.status, _INTERNAL)
        result = {"error": {"code": code, "message": _message(row.response)}}
    else:
        result = {"error": {"code": 1, "message": "The request was cancelled."}}
    return {"batch_request_id": row.id, "batch_result": result}


def _message(response: HttpResponse) -> str:
    raw = parse_body(response)
    error = raw.get("error", raw) if isinstance(raw, dict) else raw
    return str(error.get("message", error) if isinstance(error, dict) else error)


def _describe_job(job: BatchJob) -> Json:
    failed = job.end == "failed"
    pending = 0 if failed else len(job.items) - len(job.rows) + job.count("expired")
    expired = job.count("expired") > 0
    return {
        "batch_id": job.id,
        "name": job.facts["name"],
        "create_time": date(job.created),
        "expire_time": date(job.ended_at if expired and job.ended_at else job.created + DAY),
        "create_api_key_id": job.owner[:16],
        "cancel_time": date(job.ended_at if failed else job.cancelled_at),
        "cancel_by_xai_message": job.complaints[0].message if failed else None,
        "input_file_id": job.facts["input_file_id"],
        "state": {
            "num_requests": 0 if failed else len(job.items),
            "num_pending": pending,
            "num_success": job.count("succeeded"),
            "num_error": 0 if failed else job.count("errored"),
            "num_cancelled": job.count("cancelled"),
        },
        "cost_breakdown": None,
    }


_BATCHES = r"(?<!v1beta)(?<!messages)/batches"
_ONE = rf"{_BATCHES}/(?P<id>[\w-]+)"
ENDPOINTS = (
    Endpoint("POST", _BATCHES, _create, makes=True),
    Endpoint("GET", _BATCHES, _list),
    Endpoint("GET", _ONE, _retrieve),
    Endpoint("POST", f"{_ONE}/requests", _add),
    Endpoint("GET", f"{_ONE}/requests", _requests),
    Endpoint("GET", f"{_ONE}/results", _results),
    Endpoint("POST", f"{_ONE}:cancel", _cancel),
    *uploads.endpoints(uploads.describe_file, purposes=()),
)
