"""Batches as long-running operations; requests in the body may omit their key and keep order."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from ...canon import HttpResponse, Json
from .call import (
    DAY,
    BatchCall,
    Endpoint,
    check_names,
    date,
    json_response,
    parse_body,
    public_root,
    slice_page,
    split_lines,
)
from .job import BatchItem, BatchJob, ItemResult, ValidationProblem
from .store import BatchStore, StoredFile

_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
_STATE = {"made": "PENDING", "running": "RUNNING", "cancelling": "RUNNING"}
_END = {
    "completed": "SUCCEEDED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 413: 3, 429: 8, 500: 13, 503: 14, 504: 4}
_INTERNAL, _CANCELLED, _DEADLINE = 13, 1, 4
_SNAKE = re.compile(r"_([a-z])")


class _Config(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    requests: dict[str, list[dict[str, Json]]] | None = None
    file_name: str | None = None


class _Batch(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    input_config: dict[str, Json]
    display_name: str = ""
    model: str | None = None
    priority: Json = None
    webhook_config: Json = None


class _Create(Struct, frozen=True, forbid_unknown_fields=True):
    batch: dict[str, Json]


def _create(store: BatchStore, call: BatchCall) -> HttpResponse:
    batch: _Batch = _camel(call, call.body(_Create).batch, _Batch)
    config: _Config = _camel(call, batch.input_config, _Config)
    model = call.path_names["model"]
    where = f"{call.root}/models/{model}:generateContent"
    if (config.requests is None) is (config.file_name is None):
        call.refuse(400, "input_config: one of requests and file_name is needed, and not both")
    complaints: tuple[ValidationProblem, ...] = ()
    if config.requests is not None:
        items, keyed = _inline(call, config.requests.get("requests", []), where)
    else:
        items, complaints = _from_file(store, call, config.file_name or "", where)
        keyed = True
    facts = {
        "model": f"models/{model}",
        "display_name": batch.display_name,
        "file": config.file_name,
        "keyed": keyed,
    }
    job = call.make(store, store.new_id(32), items, facts, complaints)
    return json_response(_describe_job(job, call))


def _camel(call: BatchCall, raw: dict[str, Json], kind: type[Any]) -> Any:
    named = {_SNAKE.sub(lambda found: found[1].upper(), key): value for key, value in raw.items()}
    return call.read(msgspec.json.encode(named), kind)


def _inline(
    call: BatchCall, requests: list[dict[str, Json]], where: str
) -> tuple[list[BatchItem], bool]:
    keys = []
    for at, each in enumerate(requests):
        if unknown := each.keys() - {"request", "metadata"}:
            call.refuse(400, f"requests[{at}]: unknown name {min(unknown)!r}")
        if not isinstance(each.get("request"), dict):
            call.refuse(400, f"requests[{at}].request: an object is needed")
        metadata = each.get("metadata") or {}
        keys.append(metadata.get("key") if isinstance(metadata, dict) else None)
    keyed = any(key is not None for key in keys)
    ids = [str(at) if key is None else str(key) for at, key in enumerate(keys)]
    if (wrong := check_names(call, ids, "metadata.key")) is not None:
        call.refuse(400, wrong)
    bodies = [_encode_without_model(call, each["request"]) for each in requests]
    return [call.item(id, where, body) for id, body in zip(ids, bodies, strict=True)], keyed


def _from_file(
    store: BatchStore, call: BatchCall, name: str, where: str
) -> tuple[list[BatchItem], tuple[ValidationProblem, ...]]:
    file = store.file(name.removeprefix("files/"), call.owner)
    if file is None:
        call.refuse(404, f"File {name!r} was not found.")
    items: list[BatchItem] = []
    for number, text in enumerate(file.data.splitlines(), 1):
        if not text.strip():
            continue
        try:
            raw = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return [], (ValidationProblem(f"Line {number} is not JSON.", line=number),)
        if not isinstance(raw, dict) or not isinstance(raw.get("request"), dict):
            return [], (ValidationProblem(f"Line {number} has no request.", line=number),)
        key = str(raw.get("key", number - 1))
        items.append(call.item(key, where, _encode_without_model(call, raw["request"])))
    wrong = check_names(call, [item.id for item in items], "key")
    return items, () if wrong is None else (ValidationProblem(wrong),)


def _encode_without_model(call: BatchCall, request: dict[str, Json]) -> bytes:
    named = str(request.get("model", "")).removeprefix("models/")
    if named not in ("", call.path_names["model"]):
        call.refuse(400, f"request.model: {named!r} is not the batch's model")
    return msgspec.json.encode({key: value for key, value in request.items() if key != "model"})


def _retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
    job = call.job(store)
    if call.look(store, job) and job.facts["file"] is not None:
        rows = [{"key": row.id, **_result(row)} for row in _list_results(job)]
        id = store.new_id()
        file = StoredFile(id, job.owner, id, "output", split_lines(rows), store.now(), job.provider)
        job.facts["responses_file"] = f"files/{store.add_file(file).id}"
    return json_response(_describe_job(job, call))


def _list(store: BatchStore, call: BatchCall) -> HttpResponse:
    jobs = store.jobs(call.owner, call.provider)
    token = call.query.get("pageToken", "")
    start = int(token) if token.isdecimal() else 0
    shown = slice_page(jobs, start, call.query.get("pageSize"), usual=10, most=100)
    told: dict[str, Json] = {"operations": [_describe_job(job, call) for job in shown]}
    if start + len(shown) < len(jobs):
        told["nextPageToken"] = str(start + len(shown))
    return json_response(told)


def _cancel(store: BatchStore, call: BatchCall) -> HttpResponse:
    store.cancel(call.job(store))
    return json_response({})


def _delete(store: BatchStore, call: BatchCall) -> HttpResponse:
    store.drop(call.job(store).id)
    return json_response({})


def _end(job: BatchJob) -> str:
    if job.end == "expired" and job.count("expired") < len(job.rows):
        return _END["completed"]
    return _END[job.end or "completed"]


def _list_results(job: BatchJob) -> tuple[ItemResult, ...]:
    if job.end is None or _end(job) != _END["completed"]:
        return ()
    if job.facts["keyed"]:
        return job.rows
    return tuple(sorted(job.rows, key=lambda row: int(row.id)))


def _describe_job(job: BatchJob, call: BatchCall) -> Json:
    ended = job.end is not None
    state = _STATE.get(job.stage) or _end(job)
    done, failed = job.count("succeeded"), job.count("errored")
    metadata: dict[str, Json] = {
        "@type": _TYPE,
        "model": job.facts["model"],
        "displayName": job.facts["display_name"],
        "state": f"{call.settings.states}_{state}",
        "createTime": date(job.created),
        "updateTime": date(job.ended_at or job.created),
        "name": f"batches/{job.id}",
        "batchStats": {
            "requestCount": str(len(job.items)),
            "pendingRequestCount": str(len(job.items) - done - failed),
            "successfulRequestCount": str(done),
            "failedRequestCount": str(failed),
        },
    }
    told: dict[str, Json] = {"name": f"batches/{job.id}", "metadata": metadata}
    if not ended:
        return told
    told["done"], metadata["endTime"] = True, date(job.ended_at)
    if state == _END["failed"]:
        told["error"] = {"code": 3, "message": job.complaints[0].message}
    elif state == _END["completed"]:
        metadata["output"] = _output(job)
        told["response"] = {"@type": f"{_TYPE}Output", **_output(job)}
    return told


def _output(job: BatchJob) -> dict[str, Json]:
    if job.facts["file"] is not None:
        return {"responsesFile": job.facts.get("responses_file")}
    named = job.facts["keyed"]
    rows = [
        {**_result(row), **({"metadata": {"key": row.id}} if named else {})}
        for row in _list_results(job)
    ]
    return {"inlinedResponses": {"inlinedResponses": rows}}


def _result(row: ItemResult) -> dict[str, Json]:
    if row.response is None:
        late = row.outcome == "expired"
        code, message = (_DEADLINE, "expired") if late else (_CANCELLED, "cancelled")
        return {"error": {"code": code, "message": f"The request was {message}."}}
    raw = parse_body(row.response)
    if row.outcome == "succeeded":
        return {"response": raw}
    error = raw.get("error", {}) if isinstance(raw, dict) else {}
    code = _CODES.get(row.response.status, _INTERNAL)
    return {"error": {"code": code, "message": error.get("message", str(raw))}}


# -- files ---------------------------------------------------------------------------------------


class _Upload(Struct, frozen=True):
    file: dict[str, Json] = {}


def _begin(store: BatchStore, call: BatchCall) -> HttpResponse:
    if call.request.headers.get("x-goog-upload-protocol") != "resumable":
        call.refuse(400, "only resumable uploads are served here")
    asked = call.read(call.request.body or b"{}", _Upload)
    id, facts = store.new_id(), asked.file
    name = str(facts.get("displayName") or facts.get("display_name") or "")
    store.add_file(StoredFile(id, call.owner, name, "batch", b"", store.now(), None, done=False))
    where = f"{public_root(call)}/files/{id}/upload"
    headers = {"content-type": "application/json", "x-goog-upload-url": where}
    return HttpResponse(200, {**headers, "x-goog-upload-status": "active"}, b"{}")


def _continue(store: BatchStore, call: BatchCall) -> HttpResponse:
    file = store.get_upload(call.path_names["id"])
    command = call.request.headers.get("x-goog-upload-command", "")
    if file is None or "upload" not in command:
        call.refuse(404, "no such upload")
    data = file.data + call.request.body
    if len(data) > (call.limits.file_bytes or call.limits.bytes):
        call.refuse(413, f"The file is larger than {call.limits.file_bytes} bytes.")
    done = "finalize" in command
    file = store.add_file(msgspec.structs.replace(file, data=data, done=done))
    answer = json_response({"file": _describe_file(file, call)} if done else {})
    status = {"x-goog-upload-status": "final" if done else "active"}
    return msgspec.structs.replace(answer, headers={**answer.headers, **status})


def _file(store: BatchStore, call: BatchCall) -> StoredFile:
    found = store.file(call.path_names["id"], call.owner)
    if found is None:
        call.refuse(404, f"File {call.path_names['id']!r} was not found.")
    return found


def _file_facts(store: BatchStore, call: BatchCall) -> HttpResponse:
    return json_response(_describe_file(_file(store, call), call))


def _file_content(store: BatchStore, call: BatchCall) -> HttpResponse:
    headers = {"content-type": "application/octet-stream"}
    return HttpResponse(200, headers, _file(store, call).data)


def _file_delete(store: BatchStore, call: BatchCall) -> HttpResponse:
    store.drop(_file(store, call).id)
    return json_response({})


def _file_list(store: BatchStore, call: BatchCall) -> HttpResponse:
    return json_response(
        {"files": [_describe_file(file, call) for file in store.files(call.owner)]}
    )


def _describe_file(file: StoredFile, call: BatchCall) -> Json:
    return {
        "name": f"files/{file.id}",
        "displayName": file.name,
        "mimeType": "application/jsonl",
        "sizeBytes": str(len(file.data)),
        "createTime": date(file.created),
        "updateTime": date(file.created),
        "expirationTime": date(file.created + 2 * DAY),
        "uri": f"{public_root(call).replace('/upload/', '/')}/files/{file.id}",
        "state": "ACTIVE",
        "source": "UPLOADED" if file.source is None else "GENERATED",
    }


_BATCHES, _FILES = "/batches", "/files"
_ONE, _ONE_FILE = rf"{_BATCHES}/(?P<id>\w+)", rf"{_FILES}/(?P<id>\w+)"
_MODEL = r"/(?:models|tunedModels)/(?P<model>[^/:]+)"
ENDPOINTS = (
    Endpoint("POST", f"{_MODEL}:batchGenerateContent", _create, makes=True),
    Endpoint("GET", _BATCHES, _list),
    Endpoint("GET", _ONE, _retrieve),
    Endpoint("DELETE", _ONE, _delete),
    Endpoint("POST", f"{_ONE}:cancel", _cancel),
    Endpoint("POST", _FILES, _begin),
    Endpoint("POST", f"{_ONE_FILE}/upload", _continue, keyless=True),
    Endpoint("GET", _FILES, _file_list),
    Endpoint("GET", _ONE_FILE, _file_facts),
    Endpoint("GET", f"{_ONE_FILE}:download", _file_content),
    Endpoint("DELETE", _ONE_FILE, _file_delete),
)
