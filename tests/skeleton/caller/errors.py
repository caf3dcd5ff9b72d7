"""What the service said was wrong, as one of our errors."""

from pondero.canon import ResponseHead
from pondero.errors import (
    AuthFailed,
    BadRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    RateLimited,
    ServerFailed,
    ServiceError,
)
from pondero.framing import json_of, readable

_BY_STATUS: dict[int, type[ServiceError]] = {
    401: AuthFailed,
    403: PermissionDenied,
    404: NotFound,
    429: RateLimited,
    503: Overloaded,
}


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error; survives HTML and nothing at all."""
    raw = json_of(body)
    said = raw.get("message") if isinstance(raw, dict) else None
    message = said if isinstance(said, str) and said else readable(body, status=head.status)
    kind = _BY_STATUS.get(head.status, ServerFailed if head.status >= 500 else BadRequest)
    return kind(message, status=head.status, retry_after=head.retry_after, body=body)


def in_stream(_head: ResponseHead, message: str) -> ServiceError:
    """Return the error that came in the middle of an answer."""
    return ServerFailed(message or "the service failed in the middle of its answer")
