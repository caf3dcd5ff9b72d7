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
from pondero.framing import describe_body, parse_json_or_none

_BY_STATUS: dict[int, type[ServiceError]] = {
    401: AuthFailed,
    403: PermissionDenied,
    404: NotFound,
    429: RateLimited,
    503: Overloaded,
}


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error; survives HTML and nothing at all."""
    raw = parse_json_or_none(body)
    said = raw.get("message") if isinstance(raw, dict) else None
    message = said if isinstance(said, str) and said else describe_body(body, status=head.status)
    kind = _BY_STATUS.get(head.status, ServerFailed if head.status >= 500 else BadRequest)
    return kind(message, status=head.status, retry_after=head.retry_after, body=body)


def in_stream(_head: ResponseHead, message: str) -> ServiceError:
    """Return the error that came in the middle of an answer."""
    return ServerFailed(message or "the service failed in the middle of its answer")
