"""Puts a request's id into its errors, in the place where each API names a request."""

import msgspec
from msgspec.structs import replace

from ...canon import HttpResponse, Json
from ...dialects import Service

HEADER = "x-pondero-id"


def name_request(response: HttpResponse, service: Service[Json], id: str) -> HttpResponse:
    """Return an error with the request's id in every place where this API has one."""
    place = service.error_id
    headers = {**response.headers, HEADER: id}
    if place.header is not None:
        headers[place.header] = id
    body = response.body if place.field is None else _replace_id(response.body, place.field, id)
    return replace(response, headers=headers, body=body)


def _replace_id(body: bytes, field: str, id: str) -> bytes:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    if not isinstance(value, dict) or field not in value:
        return body
    return msgspec.json.encode({**value, field: id})
