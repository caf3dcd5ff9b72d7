"""Reads the service's errors into ours: by the exception's name in a header, then the message."""

import re
from collections.abc import Mapping

from pondero.canon import Json, ResponseHead
from pondero.dialects.account_errors import find_account_error
from pondero.errors import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
    error_for_status,
)
from pondero.framing import describe_body, parse_json_or_none

_NAMES: Mapping[str, type[ServiceError]] = {
    "validationexception": BadRequest,
    "accessdeniedexception": PermissionDenied,
    "unrecognizedclientexception": AuthFailed,
    "expiredtokenexception": AuthFailed,
    "invalidsignatureexception": AuthFailed,
    "incompletesignatureexception": AuthFailed,
    "missingauthenticationtokenexception": AuthFailed,
    "resourcenotfoundexception": NotFound,
    "modeltimeoutexception": ServiceTimeout,
    "modelerrorexception": ServerFailed,
    "modelstreamerrorexception": ServerFailed,
    "throttlingexception": RateLimited,
    "servicequotaexceededexception": QuotaSpent,
    "modelnotreadyexception": Overloaded,
    "internalserverexception": ServerFailed,
    "serviceunavailableexception": Overloaded,
}
_OF_THE_MODEL = 424  # the model failed, not the request
_TOO_LONG = re.compile(
    r"input is too long|input tokens exceeded|too many input tokens|prompt is too long"
    r"|exceeds? (?:the )?(?:model's )?(?:maximum )?context|exceeds maximum length",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model identifier is invalid", re.IGNORECASE)
_NO_KEY = re.compile(r"security token|signature|authentication|api key", re.IGNORECASE)
_BY_DAY = re.compile(r"too many tokens per day", re.IGNORECASE)


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error of a response that is not 200, whatever its body."""
    # ThrottlingException:http://internal... : the name ends at the colon
    name = head.headers.get("x-amzn-errortype", "").partition(":")[0] or None
    return failure(name, head, body=body, status=head.status)


def failure(
    name: str | None, head: ResponseHead, *, body: bytes, status: int | None
) -> ServiceError:
    """Return the error of this name and body; ``status`` is None inside a stream."""
    said = parse_json_or_none(body)
    said = said if isinstance(said, dict) else {}
    told = said.get("message") or said.get("Message") or said.get("originalMessage")
    message = told if isinstance(told, str) and told else describe_body(body, status=status)
    return _class(name, status, message, said.get("originalStatusCode"))(
        message,
        status=status,
        code=name,
        retry_after=head.retry_after if status is None or status >= 400 else None,
        request_id=head.headers.get("x-amzn-requestid"),
        body=body,
    )


def _class(
    name: str | None, status: int | None, message: str, original: Json
) -> type[ServiceError]:
    by_number = ServerFailed if status == _OF_THE_MODEL else error_for_status(status or 500)
    found = _NAMES.get((name or "").lower(), by_number)
    if found is BadRequest:
        if _TOO_LONG.search(message):
            return ContextTooLong
        return NotFound if _NO_MODEL.search(message) else find_account_error(message) or found
    if found is PermissionDenied and _NO_KEY.search(message):
        return AuthFailed
    if found is RateLimited and _BY_DAY.search(message):
        return QuotaSpent
    if found is ServerFailed and isinstance(original, int) and 400 <= original < 500:
        return RateLimited if original == 429 else BadRequest
    return found
