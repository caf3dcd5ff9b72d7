"""Writes an error in the client API's own status, shape and wording, which clients act on.

A client reads one clear sentence and the id of its request. Hosts, ports, bytes and the words of
libraries go to the log, under the same id.
"""

import logging
import re
from collections.abc import Mapping
from math import ceil

import msgspec
from msgspec.structs import replace

from ...canon import HttpResponse, Json, get_path
from ...catalog import ModelEntry
from ...dialects import Rejected, Service
from ...errors import (
    AuthFailed,
    BillingFailed,
    ContextTooLong,
    MissingExtra,
    MissingKey,
    NotFound,
    Overloaded,
    PermissionDenied,
    PonderoError,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    ServiceError,
    ServiceTimeout,
    StoreError,
    Timeout,
    TransportError,
    Truncated,
    UnknownModel,
    UnknownProvider,
    UsageError,
    WireError,
)
from ...store import SecretRedactor, redact_secrets
from ..hooks.bounded_call import HookRejection
from ..observability.receipt import LONGEST_REASON
from .request_id import name_request

LOG = logging.getLogger("pondero.gateway")

SHUTDOWN = Overloaded("the gateway stops; ask again", status=503)
"""What a client is told whose answer is cut by the end of the gateway."""
TOO_LONG = "context_length_exceeded"
"""The code of a prompt that is too long; each client API has its own text for it."""

# A provider that rejects the gateway's key is a 502: a 401 would make the client ask for a key.
_STATUSES: Mapping[type[Exception], int] = {
    ContextTooLong: 400,
    AuthFailed: 502,
    BillingFailed: 502,
    PermissionDenied: 403,
    NotFound: 404,
    QuotaSpent: 429,
    RateLimited: 429,
    ServiceTimeout: 504,
    Timeout: 504,
    Overloaded: 503,
    StoreError: 503,
    ServerFailed: 502,
    TransportError: 502,
    WireError: 502,
    MissingKey: 503,
    MissingExtra: 503,
    UnknownModel: 404,
    UnknownProvider: 404,
    UsageError: 400,
    RecursionError: 400,
}
_CODES: Mapping[type[PonderoError], str] = {
    QuotaSpent: "insufficient_quota",
    UnknownModel: "model_not_found",
    UnknownProvider: "model_not_found",
}
# What happened between the gateway and a service, in words for clients: {} is the provider.
_SENTENCES: tuple[tuple[type[PonderoError], str], ...] = (
    (Timeout, "{} did not answer in time"),
    (TransportError, "{} could not be reached"),
    (Truncated, "{} broke off its answer"),
    (WireError, "{} sent an answer that is not valid"),
    (MissingKey, "the gateway has no key for {}"),
    (MissingExtra, "the gateway lacks a package that this request needs; its log says which"),
)
TOO_DEEP = "the JSON of this request is nested too deeply"
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d{4,}")
_QUOTED = re.compile(r"(['\"`]).*?\1", re.DOTALL)
_SAMPLE = "-"
_AGAIN = ("retry-after", "retry-after-ms", "x-should-retry")


def write_error(
    error: Exception,
    client_dialect: str,
    service: Service[Json],
    entry: ModelEntry | None = None,
    *,
    id: str = "",
) -> HttpResponse:
    """Return an error's response; one in the client API's own format is passed on, key redacted.

    Some services of the client's dialect have error formats of their own: those are translated.

    ``id`` is the request's, and in every place where the API names one.
    """
    if isinstance(error, ServiceError) and is_passed_on(error, client_dialect, service, entry):
        return _pass_on(error, service)
    response = _write(error, service, entry)
    if _is_unquotable(error):
        LOG.warning("request %s: %s: %s", id, type(error).__name__, error)
    return name_request(response, service, id) if id else response


def _pass_on(error: ServiceError, service: Service[Json]) -> HttpResponse:
    headers = {"content-type": "application/json"}
    status = error.status or 500
    shape = service.error(status, "", code=_find_code(error), retry_after=error.retry_after)
    shape = _advise_retry(shape, error)
    headers |= {name: value for name, value in shape.headers.items() if name in _AGAIN}
    return HttpResponse(status, headers, redact_bytes(error.body))


def _write(error: Exception, service: Service[Json], entry: ModelEntry | None) -> HttpResponse:
    if isinstance(error, Rejected):
        return replace(error.response, body=redact_bytes(error.response.body))
    if isinstance(error, ContextTooLong):
        return service.error(400, _describe_too_long(error, entry), code=TOO_LONG, retry_after=None)
    again = error.retry_after if isinstance(error, ServiceError) else None
    status, code = find_status(error, service), _find_code(error)
    response = service.error(status, _message(error, entry), code=code, retry_after=again)
    if isinstance(error, HookRejection) and error.hook is not None:
        response = add_response_headers(response, {"x-pondero-hook": error.hook})
    return _advise_retry(response, error) if isinstance(error, ServiceError) else response


def _find_code(error: Exception) -> str | None:
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), None)


def _advise_retry(response: HttpResponse, error: ServiceError) -> HttpResponse:
    """Return the response with a wait in whole seconds, and without another try of spent quotas.

    The SDKs of Anthropic and OpenAI try a 429 again unless ``x-should-retry`` says that they shall
    not, also if there is no room for days.
    """
    more: dict[str, str] = {}
    if error.retry_after is not None and "retry-after" in response.headers:
        more["retry-after"] = str(ceil(error.retry_after))
    if isinstance(error, QuotaSpent):
        more["x-should-retry"] = "false"
    return add_response_headers(response, more)


def find_status(error: Exception, service: Service[Json]) -> int:
    """Return the HTTP status of an error for a client API; unexpected ones are 500."""
    if isinstance(error, Overloaded):
        return service.overloaded_status
    found = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
    if isinstance(error, ServiceError) and error.status is not None:
        return next(found, error.status if error.status >= 400 else 502)  # no redirect is passed on
    return next(found, 500)


def error_response(
    service: Service[Json], status: int, message: str, *, code: str | None = None
) -> HttpResponse:
    """Return the gateway's own rejection in the client API's shape."""
    return service.error(status, _redact_words(message), code=code, retry_after=None)


def describe_reason(error: Exception) -> str:
    """Return what was wrong in one line for the records, without content of the conversation.

    A service may quote the conversation in its error, so of those only kind and status are told.
    """
    if isinstance(error, Rejected):
        return read_reason(error.response)
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if not isinstance(error, PonderoError):
        return f"the gateway failed: {type(error).__name__}"
    if isinstance(error, ServiceError) and error.body:
        return f"{type(error).__name__} of the service, status {error.status}"
    if isinstance(error, WireError):
        return f"{type(error).__name__} of the service"
    if isinstance(error, HookRejection) and error.hook is not None:
        return _shorten(f"rejected by the hook {error.hook}: {_message(error, None)}")
    return _shorten(_message(error, None))


def read_reason(response: HttpResponse) -> str:
    """Return the message of a rejection in one line, without the values that it quotes."""
    try:
        body = msgspec.json.decode(response.body)
    except msgspec.MsgspecError:
        body = None
    found = body
    for name in ("error", "message"):
        if isinstance(found, dict):
            found = found.get(name, found)
    text = found if isinstance(found, str) else f"status {response.status}"
    return _shorten(_QUOTED.sub(r"\1...\1", redact_secrets(text)))


def _shorten(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_REASON].split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."


def add_response_headers(response: HttpResponse, more: Mapping[str, str]) -> HttpResponse:
    """Return the response with further headers."""
    return replace(response, headers={**response.headers, **more})


def is_passed_on(
    error: ServiceError, client_dialect: str, service: Service[Json], entry: ModelEntry | None
) -> bool:
    """Return whether the client gets a service's error as it is: it has the client's format."""
    same = entry is not None and entry.provider.dialect == client_dialect
    if not same or isinstance(error, AuthFailed | BillingFailed | ContextTooLong):
        return False
    return (error.status or 500) >= 400 and _has_format(error.body, service)


def _has_format(body: bytes, service: Service[Json]) -> bool:
    """Return whether an error has its message where the client's API has it."""
    if not isinstance(sent := _parse(body), dict):
        return False
    usual = msgspec.json.decode(service.error(500, _SAMPLE, code=None, retry_after=None).body)
    return isinstance(get_path(sent, _find_message(usual)), str)


def _find_message(usual: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the path of the message in an API's error."""
    for name, value in usual.items():
        if value == _SAMPLE:
            return (name,)
        if isinstance(value, dict) and (path := _find_message(value)):
            return (name, *path)
    return ()


def _parse(body: bytes) -> Json:
    """Return a service's error; None if it is no JSON: a proxy on the way may send a web page."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def redact_bytes(body: bytes) -> bytes:
    """Return a service's error without the gateway's key, which some services quote."""
    return redact_secrets(body.decode("utf-8", "surrogateescape")).encode(
        "utf-8", "surrogateescape"
    )


def _is_unquotable(error: Exception) -> bool:
    """Return whether an error's words are a library's, a service's bytes, or name a file."""
    if isinstance(error, ServiceError):
        return bool(error.body) and not isinstance(_parse(error.body), dict | list)
    return isinstance(error, TransportError | WireError | MissingKey | MissingExtra)


def _redact_words(message: str) -> str:
    """Return a message without secrets; a step of a path it quotes may be a key too."""
    redactor = SecretRedactor()
    return "/".join(map(redactor.text, redactor.text(message).split("/")))


def _message(error: Exception, entry: ModelEntry | None) -> str:
    provider = entry.provider.label if entry is not None else "the model's service"
    for kind, sentence in _SENTENCES:
        if isinstance(error, kind):
            return sentence.format(provider)
    if isinstance(error, ServiceError) and _is_unquotable(error):
        return f"{provider} failed with status {error.status}"
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, PonderoError):
        return _redact_words(str(error)) or type(error).__name__
    return "the gateway failed; its log says why"


def _describe_too_long(error: ContextTooLong, entry: ModelEntry | None) -> str:
    """Return the sentence that makes agents shorten their conversation and retry."""
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(error.message)]
    limit = entry.capability.context if entry is not None else None
    if len(numbers) >= 2:
        limit, tokens = min(numbers[:2]), max(numbers[:2])
    else:
        limit = limit or (numbers[0] if numbers else 0)
        tokens = limit + 1
    return f"prompt is too long: {tokens} tokens > {limit} maximum"
