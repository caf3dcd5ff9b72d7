"""Reads error answers of any provider: by the service's code, else the status, else the words."""

import re
from collections.abc import Mapping

import msgspec

from pondero.canon import Json, ResponseHead
from pondero.dialects.account_errors import find_account_error
from pondero.errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextTooLong,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaSpent,
    RateLimited,
    Refused,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
)
from pondero.framing import parse_json_or_none

_BY_CODE: dict[str, type[ServiceError]] = {
    code: kind
    for kind, codes in (
        (QuotaSpent, "insufficient_quota billing_hard_limit_reached credit_balance_exhausted"),
        (QuotaSpent, "organization_spend_limit_exceeded project_spend_limit_exceeded"),
        (QuotaSpent, "organization_usage_limit_exceeded"),
        (BillingFailed, "payment_required billing_not_active 1110 1111 1112 1113"),
        (ContextTooLong, "context_length_exceeded exceed_context_size_error"),
        (ContextTooLong, "too_many_prompt_tokens token_limit_exceeded"),
        (Refused, "content_filter content_policy_violation refusal responsibleaipolicyviolation"),
        (AuthFailed, "invalid_api_key wrong_api_key authentication authentication_error"),
        (AuthFailed, "invalid_authentication account_deactivated"),
        (PermissionDenied, "permission_denied"),
        (NotFound, "model_not_found"),
        (RateLimited, "rate_limit_exceeded rate_limit_error slow_down 1302 1303"),
        (Overloaded, "server_is_overloaded service_unavailable_error provider_overloaded"),
        (Overloaded, "provider_unavailable overloaded_error"),
        (ServiceTimeout, "timeout"),
    )
    for code in codes.split()
}
_BY_STATUS: dict[int, type[ServiceError]] = {
    401: AuthFailed,
    402: BillingFailed,
    403: PermissionDenied,
    404: NotFound,
    408: ServiceTimeout,
    410: NotFound,
    429: RateLimited,
    498: AuthFailed,
    503: Overloaded,
    504: ServiceTimeout,
    524: ServiceTimeout,
    529: Overloaded,
}
_KEY = re.compile(
    r"(incorrect|invalid|wrong|expired|missing|check|not valid)[^.]{0,40}api[ _-]?key"
    r"|api[ _-]?key[^.]{0,40}(incorrect|invalid|wrong|expired|not valid)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"maximum context length|context (window|size|length)|too many tokens|prompt is too long"
    r"|total length of all messages is too long",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"violates (our )?(usage|content)|content management policy|flagged", re.IGNORECASE
)
_NO_MODEL = re.compile(r"supported API model names are", re.IGNORECASE)
# (statuses, pattern of the message, error)
_BY_WORDS: tuple[tuple[tuple[int, ...], re.Pattern[str], type[ServiceError]], ...] = (
    ((400, 413, 422), _CONTEXT, ContextTooLong),
    ((400, 403), _POLICY, Refused),
    ((400, 403), _KEY, AuthFailed),
    ((400,), _NO_MODEL, NotFound),
)
_AGAIN_IN = re.compile(r"(?:try again|retry) (?:in|after) ((?:[\d.]+ ?(?:ms|h|m|s)[a-z]*\s?)+)")
_DURATION = re.compile(r"([\d.]+) ?(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_REQUEST_IDS = ("x-request-id", "request-id", "inference-id", "mistral-correlation-id")


class ErrorWords(msgspec.Struct, frozen=True):
    """The facts of an error, from any shape."""

    message: str = ""
    upstream: str = ""  # the upstream's error, as a router passes it on
    code: str | None = None
    words: tuple[str, ...] = ()
    status: int | None = None
    wait: float | None = None
    request_id: str | None = None
    flagged: bool = False


def error(head: ResponseHead, body: bytes) -> ServiceError:
    """Return the error of a response; accepts HTML, an empty body and any JSON."""
    return _error(_json(body), head=head, body=body)


def error_in(head: ResponseHead, body: bytes) -> ServiceError | None:
    """Return the error in a body that should be an answer; None if it has none."""
    raw = _json(body)
    return _error(raw, head=head, body=body) if _is_error(raw) else None


def _json(body: bytes) -> Json:
    if (raw := parse_json_or_none(body)) is not None:
        return raw
    # Some services answer with an event stream.
    framed = (
        parse_json_or_none(line[5:]) for line in body.splitlines() if line.startswith(b"data:")
    )
    in_event = next((raw for raw in framed if isinstance(raw, dict)), None)
    return in_event or body.decode("utf-8", "replace").strip()


def _error(raw: Json, *, head: ResponseHead, body: bytes) -> ServiceError:
    facts = _read_error(raw[0] if isinstance(raw, list) and raw else raw)
    status = head.status if head.status >= 300 else facts.status
    message = facts.message or f"the service answered with status {status or head.status}"
    return _kind(facts, status, f"{message} {facts.upstream}")(
        message,
        status=status,
        code=facts.code if facts.code is not None or status is None else str(status),
        retry_after=_retry_after(head, facts),
        request_id=_request_id(head.headers) or facts.request_id,
        body=body,
    )


def _is_error(raw: Json) -> bool:
    if not isinstance(raw, dict):
        return False
    if raw.get("error") or raw.get("object") == "error" or "detail" in raw:
        return True
    message = raw.get("message")
    if isinstance(message, dict) and "role" in message:  # an answer of another API
        return False
    return bool(message) and ("code" in raw or "type" in raw)


def _kind(facts: ErrorWords, status: int | None, message: str) -> type[ServiceError]:
    for word in facts.words:
        if word in _BY_CODE:
            return _BY_CODE[word]
    for statuses, pattern, kind in _BY_WORDS:
        if (status is None or status in statuses) and pattern.search(message):
            return kind
    if facts.flagged and status == 403:
        return Refused
    found: type[ServiceError]
    if status is None:
        found = BadRequest if "invalid_request_error" in facts.words else ServerFailed
    elif 300 <= status < 400:  # a redirect
        found = ServiceError
    else:
        found = _BY_STATUS.get(status, ServerFailed if status >= 500 else BadRequest)
    return (find_account_error(message) or found) if found is BadRequest else found


def _read_error(raw: Json) -> ErrorWords:
    if not isinstance(raw, dict):
        return ErrorWords(_plain(raw) if isinstance(raw, str) else "")
    error = raw.get("error")
    inner = error if isinstance(error, dict) else raw
    metadata = inner.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    message = error if isinstance(error, str) else _message(inner)
    code, kind = inner.get("code"), _word(inner.get("type"))
    named = (inner.get("status_code"), raw.get("status_code"), inner.get("raw_status_code"), code)
    own = _word(metadata.get("error_type"))
    word = own or (_word(code) if _status(code) is None else kind or _word(code)) or kind
    given = (own, _word(code), kind)
    return ErrorWords(
        message=message,
        upstream=upstream if isinstance(upstream := metadata.get("raw"), str) else "",
        code=word,
        words=tuple(each.lower() for each in given if each),
        status=next(filter(None, map(_status, named)), None),
        wait=_number(metadata.get("retry_after_seconds", inner.get("retry_after"))),
        request_id=_word(raw.get("request_id")),
        flagged=bool(metadata.get("flagged_input") or metadata.get("reasons")),
    )


def _message(inner: dict[str, Json]) -> str:
    message = inner.get("message", inner.get("detail"))
    if isinstance(message, str):
        return message
    if isinstance(message, list):
        facts = [each.get("msg") for each in message if isinstance(each, dict)]
        return "; ".join(each for each in facts if isinstance(each, str))
    if isinstance(message, dict):
        return _message(message)
    return ""


def _plain(text: str) -> str:
    text = text[:20_000]
    text = re.sub(r"(?is)<(script|style|head)\b.*?(</\1>|$)", " ", text)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())[:500]


def _retry_after(head: ResponseHead, facts: ErrorWords) -> float | None:
    if (wait := head.retry_after) is not None:
        return wait
    if facts.wait is not None:
        return facts.wait
    again = _AGAIN_IN.search(facts.message)
    if again is None:
        return None
    spans = _DURATION.findall(again[1])
    return sum((_number(count) or 0.0) * _SECONDS[unit] for count, unit in spans)


def _request_id(headers: Mapping[str, str]) -> str | None:
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


def _status(value: Json) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 400 <= number < 600 else None


def _word(value: Json) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < 1e9 else None
