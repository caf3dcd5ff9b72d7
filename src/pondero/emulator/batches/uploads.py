"""Files of requests: uploads, lines, downloads. The shapes differ only in ``describe_file``."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ...canon import HttpResponse, Json, decode_json
from .call import BatchCall, Endpoint, describe_error, json_response, position_after, slice_page
from .job import BatchItem, BatchJob, ValidationProblem
from .store import BatchStore, StoredFile

_BOUNDARY = re.compile(r'multipart/form-data;.*?boundary="?([^";,]+)"?', re.IGNORECASE)
_FIELD = re.compile(rb'\bname="?([^";\r\n]*)"?', re.IGNORECASE)
_FILE = re.compile(rb'\bfilename="?([^";\r\n]*)"?', re.IGNORECASE)

DescribeFile = Callable[[StoredFile], Json]


class UploadLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One request in a file; ``url`` defaults to the batch's endpoint."""

    body: Raw
    custom_id: str | None = None
    method: str | None = None
    url: str | None = None


class ParsedUpload(Struct, frozen=True):
    """The requests of a file, and its errors."""

    items: list[BatchItem]
    complaints: tuple[ValidationProblem, ...]
    model: str | None = None


def endpoints(
    describe: DescribeFile, *, purposes: Sequence[str] = ("batch",)
) -> tuple[Endpoint, ...]:
    """Return the endpoints of files; empty ``purposes`` allow any."""

    def upload(store: BatchStore, call: BatchCall) -> HttpResponse:
        fields = _fields(call)
        if "file" not in fields:
            call.refuse(400, "'file' is a required property")
        name, data = fields["file"]
        purpose = fields.get("purpose", ("", b""))[1].decode("utf-8", "replace")
        if purposes and purpose not in purposes:
            call.refuse(400, f"'{purpose}' is not one of {list(purposes)} - 'purpose'")
        if len(data) > (call.limits.file_bytes or call.limits.bytes):
            call.refuse(413, f"The file is larger than {call.limits.bytes} bytes.")
        id = f"file-{store.new_id()}"
        file = StoredFile(id, call.owner, name or "upload", purpose or "batch", data, store.now())
        return json_response(describe(store.add_file(file)))

    def retrieve(store: BatchStore, call: BatchCall) -> HttpResponse:
        return json_response(describe(file_of(store, call)))

    def content(store: BatchStore, call: BatchCall) -> HttpResponse:
        headers = {"content-type": "application/octet-stream"}
        return HttpResponse(200, headers, file_of(store, call).data)

    def delete(store: BatchStore, call: BatchCall) -> HttpResponse:
        file = file_of(store, call)
        store.drop(file.id)
        return json_response({"id": file.id, "object": "file", "deleted": True})

    def list_files(store: BatchStore, call: BatchCall) -> HttpResponse:
        files = store.files(call.owner)
        start = position_after(files, call.query.get("after"))
        shown = slice_page(files, start, call.query.get("limit"), usual=100, most=10_000)
        more = start + len(shown) < len(files)
        data = [describe(file) for file in shown]
        ends = {"first_id": shown[0].id, "last_id": shown[-1].id} if shown else {}
        total = {"object": "list", "has_more": more, "total": len(files)}
        return json_response({"data": data, **total, **ends})

    here = r"(?<!v1beta)/files"  # Gemini's, below v1beta, are another thing
    one = rf"{here}/(?P<id>[\w-]+)"
    return (
        Endpoint("POST", here, upload),
        Endpoint("GET", here, list_files),
        Endpoint("GET", one, retrieve),
        Endpoint("DELETE", one, delete),
        Endpoint("GET", f"{one}/content", content),
    )


def describe_file(file: StoredFile) -> dict[str, Json]:
    """Return the fields of a file that all services share."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.data),
        "created_at": file.created,
        "filename": file.name,
        "purpose": file.purpose,
    }


def file_of(store: BatchStore, call: BatchCall, id: str | None = None) -> StoredFile:
    """Return a file; reject an unknown one, or another key's."""
    found = store.file(id or call.path_names["id"], call.owner)
    if found is None:
        call.refuse(404, f"No such File object: {id or call.path_names['id']}")
    return found


def write_file(store: BatchStore, job: BatchJob, name: str, data: bytes) -> str | None:
    """Store the output of a batch and return the file's id; None for empty output."""
    if not data:
        return None
    id = f"file-{store.new_id()}"
    now, made_by = store.now(), job.provider
    return store.add_file(StoredFile(id, job.owner, name, "batch_output", data, now, made_by)).id


def read_lines(
    call: BatchCall, data: bytes, *, endpoint: str, where: str, model: str | None
) -> ParsedUpload:
    """Parse the requests of a file; lines must name ``endpoint``, and a model without ``model``."""
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
        wrong += _complaints(call, line, number, seen, endpoint)
        if line.custom_id is None:
            continue
        seen.add(line.custom_id)
        item, named = with_model(call, call.item(line.custom_id, where, bytes(line.body)), model)
        items.append(item)
        models |= set() if named is None else {named}
        if named is not None and re.fullmatch(call.limits.without, named):
            message = f"Model {named} is not available in batches."
            wrong.append(ValidationProblem(message, "unsupported_model", number, "body.model"))
        if call.limits.one_model and len(models) > 1:
            message = f"{named!r} is another model than above; a batch has one model"
            wrong.append(ValidationProblem(message, "mismatched_model", number, "body.model"))
    if not items and not wrong:
        wrong.append(ValidationProblem("The file has no requests.", "empty_file"))
    if len(items) > call.limits.requests:
        most = f"{len(items)} requests are more than {call.limits.requests}"
        wrong.append(ValidationProblem(most, "maximum_requests_exceeded"))
    return ParsedUpload(items, tuple(wrong), next(iter(models), None))


def with_model(call: BatchCall, item: BatchItem, model: str | None) -> tuple[BatchItem, str | None]:
    """Return a request with the batch's model if it has none, and its model."""
    named = call.wire.service().requested_model(item.request)
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
    call: BatchCall, line: UploadLine, number: int, seen: set[str], endpoint: str
) -> list[ValidationProblem]:
    found = []
    if line.custom_id is None:
        message = "Missing required parameter: 'custom_id'."
        return [ValidationProblem(message, "missing_required_parameter", number, "custom_id")]
    if re.fullmatch(call.limits.ids, line.custom_id) is None:
        message = f"Invalid 'custom_id': it must match '^{call.limits.ids}$'."
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


def _fields(call: BatchCall) -> dict[str, tuple[str, bytes]]:
    boundary = _BOUNDARY.match(call.request.headers.get("content-type", ""))
    if boundary is None:
        call.refuse(400, "a file is sent as multipart/form-data")
    fields: dict[str, tuple[str, bytes]] = {}
    for part in call.request.body.split(b"--" + boundary[1].encode("latin-1"))[1:]:
        head, found, data = part.partition(b"\r\n\r\n")
        if found and (named := _FIELD.search(head)):
            file = _FILE.search(head)
            name = file[1].decode("utf-8", "replace") if file else ""
            fields[named[1].decode("utf-8", "replace")] = (name, data.removesuffix(b"\r\n"))
    return fields
