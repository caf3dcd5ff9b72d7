"""Reads errors of both shapes: the API's own, and that of Google's servers before it."""

from pondero.canon import Json, ResponseHead, dump_json
from pondero.dialects.google_errors import from_error
from pondero.errors import BadRequest, ServerFailed, ServiceError
from pondero.framing import parse_json_or_none


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error that an answer is; survives HTML and an empty body."""
    raw = parse_json_or_none(body)
    if isinstance(raw, list) and raw:
        raw = raw[0]
    fault = raw.get("error") if isinstance(raw, dict) else None
    return from_error(fault, head=head, body=body)


def in_stream(head: ResponseHead, fault: Json) -> ServiceError:
    """Return the error in a stream that began with status 200."""
    found = from_error(fault, head=head, body=dump_json(fault).encode())
    if type(found) in (BadRequest, ServiceError):  # the request was accepted: it is not to blame
        return ServerFailed(
            found.message,
            status=found.status,
            code=found.code,
            retry_after=found.retry_after,
            request_id=found.request_id,
            body=found.body,
        )
    return found
