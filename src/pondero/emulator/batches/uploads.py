"""Files of requests: how they come in, are read line by line, and are given out.

The shapes whose batches stand in files share these endpoints; ``describe_file`` is the one
difference, what each service says about a file.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ...canon import HttpResponse, Json, decode_json
from .job import BatchItem, BatchJob, ValidationProblem
from .store import BatchStore, StoredFile
from .visit import BatchCall, Endpoint, describe_error, json_response, position_after, slice_page

_BOUNDARY = re.compile(r'multipart/form-data;.*?boundary="?([^";,]+)"?', re.IGNORECASE)
_FIELD = re.compile(rb'\bname="?([^";\r\n]*)"?', re.IGNORECASE)
_FILE = re.compile(rb'\bfilename="?([^";\r\n]*)"?', re.IGNORECASE)

Described = Callable[[StoredFile], Json]


class UploadLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One request in a file; its address stands with it, or is the batch's."""

    body: Raw
    custom_id: str | None = None
    method: str | None = None
    url: str | None = None


class ParsedUpload(Struct, frozen=True):
    """The requests of a file, and what is wrong with it."""

    items: list[BatchItem]
    complaints: tuple[ValidationProblem, ...]
    model: str | None = None


def endpoints(
    described: Described, *, purposes: Sequence[str] = ("batch",)
) -> tuple[Endpoint, ...]:
    """Return the endpoints of files; without ``purposes`` none is asked for."""

    def upload(desk: BatchStore, visit: BatchCall) -> HttpResponse:
        fields = _fields(visit)
        if "file" not in fields:
            visit.refuse(400, "'file' is a required property")
        name, data = fields["file"]
        purpose = fields.get("purpose", ("", b""))[1].decode("utf-8", "replace")
        if purposes and purpose not in purposes:
            visit.refuse(400, f"'{purpose}' is not one of {list(purposes)} - 'purpose'")
        if len(data) > (visit.limits.file_bytes or visit.limits.bytes):
            visit.refuse(413, f"The file is larger than {visit.limits.bytes} bytes.")
        id = f"file-{desk.new_id()}"
        file = StoredFile(id, visit.owner, name or "upload", purpose or "batch", data, desk.now())
        return json_response(described(desk.store(file)))

    def retrieve(desk: BatchStore, visit: BatchCall) -> HttpResponse:
        return json_response(described(file_of(desk, visit)))

    def content(desk: BatchStore, visit: BatchCall) -> HttpResponse:
        headers = {"content-type": "application/octet-stream"}
        return HttpResponse(200, headers, file_of(desk, visit).data)

    def delete(desk: BatchStore, visit: BatchCall) -> HttpResponse:
        file = file_of(desk, visit)
        desk.drop(file.id)
        return json_response({"id": file.id, "object": "file", "deleted": True})

    def listed(desk: BatchStore, visit: BatchCall) -> HttpResponse:
        files = desk.files(visit.owner)
        start = position_after(files, visit.query.get("after"))
        shown = slice_page(files, start, visit.query.get("limit"), usual=100, most=10_000)
        more = start + len(shown) < len(files)
        data = [described(file) for file in shown]
        ends = {"first_id": shown[0].id, "last_id": shown[-1].id} if shown else {}
        total = {"object": "list", "has_more": more, "total": len(files)}
        return json_response({"data": data, **total, **ends})

    here = r"(?<!v1beta)/files"  # Gemini's, below v1beta, are another thing
    one = rf"{here}/(?P<id>[\w-]+)"
    return (
        Endpoint("POST", here, upload),
        Endpoint("GET", here, listed),
        Endpoint("GET", one, retrieve),
        Endpoint("DELETE", one, delete),
        Endpoint("GET", f"{one}/content", content),
    )


def describe_file(file: StoredFile) -> dict[str, Json]:
    """Return what every service says about a file."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.data),
        "created_at": file.created,
        "filename": file.name,
        "purpose": file.purpose,
    }


def file_of(desk: BatchStore, visit: BatchCall, id: str | None = None) -> StoredFile:
    """Return the file that is named; refuse what is not there for this key."""
    found = desk.file(id or visit.named["id"], visit.owner)
    if found is None:
        visit.refuse(404, f"No such File object: {id or visit.named['id']}")
    return found


def write_file(desk: BatchStore, job: BatchJob, name: str, data: bytes) -> str | None:
    """Keep what came out of a batch as a file and return its id; None where it is nothing."""
    if not data:
        return None
    id = f"file-{desk.new_id()}"
    now, made_by = desk.now(), job.provider
    return desk.store(StoredFile(id, job.owner, name, "batch_output", data, now, made_by)).id


def read_lines(
    visit: BatchCall, data: bytes, *, endpoint: str, where: str, model: str | None
) -> ParsedUpload:
    """Return the requests of a file, each bound for ``where``.

    ``endpoint`` is what a line must say where it says an address at all; with a ``model`` the
    requests need not name one.
    """
    items: list[BatchItem] = []
    wrong: list[ValidationProblem] = []
    seen: set[str] = set()
    models: set[str] = set() if model is None else {model}
    for number, text in enumerate(data.splitlines(), 1):
        if not text.strip():
            continue
        try:
            line: UploadLine = decode_json(text, UploadLine)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            wrong.append(ValidationProblem(describe_error(error), "invalid_json_line", number))
            continue
        wrong += _complaints(visit, line, number, seen, endpoint)
        if line.custom_id is None:
            continue
        seen.add(line.custom_id)
        item, named = with_model(visit, visit.item(line.custom_id, where, bytes(line.body)), model)
        items.append(item)
        models |= set() if named is None else {named}
        if named is not None and re.fullmatch(visit.limits.without, named):
            message = f"Model {named} is not available in batches."
            wrong.append(ValidationProblem(message, "unsupported_model", number, "body.model"))
        if visit.limits.one_model and len(models) > 1:
            message = f"{named!r} is another model than above; a batch has one model"
            wrong.append(ValidationProblem(message, "mismatched_model", number, "body.model"))
    if not items and not wrong:
        wrong.append(ValidationProblem("The file has no requests.", "empty_file"))
    if len(items) > visit.limits.requests:
        most = f"{len(items)} requests are more than {visit.limits.requests}"
        wrong.append(ValidationProblem(most, "maximum_requests_exceeded"))
    return ParsedUpload(items, tuple(wrong), next(iter(models), None))


def with_model(
    visit: BatchCall, item: BatchItem, model: str | None
) -> tuple[BatchItem, str | None]:
    """Return a request with the batch's model where it names none, and the model it is for."""
    named = visit.wire.service().requested_model(item.request)
    if named is not None or model is None:
        return item, named
    try:
        raw: Any = msgspec.json.decode(item.request.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return item, None
    if not isinstance(raw, dict) or "model" in raw:
        return item, None
    body = msgspec.json.encode({"model": model, **raw})
    request = msgspec.structs.replace(item.request, body=body)
    return msgspec.structs.replace(item, request=request), model


def _complaints(
    visit: BatchCall, line: UploadLine, number: int, seen: set[str], endpoint: str
) -> list[ValidationProblem]:
    found = []
    if line.custom_id is None:
        message = "Missing required parameter: 'custom_id'."
        return [ValidationProblem(message, "missing_required_parameter", number, "custom_id")]
    if re.fullmatch(visit.limits.ids, line.custom_id) is None:
        message = f"Invalid 'custom_id': it must match '^{visit.limits.ids}$'."
        found.append(ValidationProblem(message, "invalid_custom_id", number, "custom_id"))
    if line.custom_id in seen:
        message = f"The custom_id {line.custom_id!r} is used twice; it must be unique in a batch."
        found.append(ValidationProblem(message, "duplicate_custom_id", number, "custom_id"))
    if line.method not in (None, "POST"):
        message = f"Invalid method {line.method!r}; only 'POST' is supported."
        found.append(ValidationProblem(message, "invalid_method", number, "method"))
    if line.url not in (None, endpoint):
        message = f"The url {line.url!r} does not match the batch's endpoint {endpoint!r}."
        found.append(ValidationProblem(message, "mismatched_url", number, "url"))
    return found


def _fields(visit: BatchCall) -> dict[str, tuple[str, bytes]]:
    """Return the fields of a form by their names, each with the name of its file."""
    boundary = _BOUNDARY.match(visit.request.headers.get("content-type", ""))
    if boundary is None:
        visit.refuse(400, "a file is sent as multipart/form-data")
    fields: dict[str, tuple[str, bytes]] = {}
    for part in visit.request.body.split(b"--" + boundary[1].encode("latin-1"))[1:]:
        head, found, data = part.partition(b"\r\n\r\n")
        if found and (named := _FIELD.search(head)):
            file = _FILE.search(head)
            name = file[1].decode("utf-8", "replace") if file else ""
            fields[named[1].decode("utf-8", "replace")] = (name, data.removesuffix(b"\r\n"))
    return fields
