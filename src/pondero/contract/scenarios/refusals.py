"""Errors: told apart, with what the service said, and what it takes to try again."""

from collections.abc import Iterator

from ...canon import Json
from ...emulator import Fault, Turn
from ...errors import AuthFailed, NotFound, PermissionDenied, PonderoError, ServiceError
from ..bench import Bench, Seen
from ..check import Check, offered, same, true
from ..wire import objects, strings
from .words import QUESTION

_WRONG_KEY = "not-a-key-of-anyone"
_AFTER = 7.0  # seconds; nobody's default
_NO_MODEL = "no-such-model-1"


def error_auth(bench: Bench) -> Iterator[Check]:
    """A key that is wrong, or may not do this, is an error of auth, and travels in a header."""
    for status, code in ((401, None), (403, None), *bench.wire.service().bad_key):
        bench.stage(_refusing(status, code=code))
        seen = bench.tried(QUESTION, key=_WRONG_KEY, stream=False)
        key = any(_WRONG_KEY in value for value in seen.request.headers.values())
        yield true("the key", "in a header", sorted(seen.request.headers), holds=key)
        yield true(
            "the key", "not in the address", "there", holds=_WRONG_KEY not in seen.request.url
        )
        yield offered("the answer", "a refusal", "taken with any key", holds=seen.error is not None)
        yield _is(seen, *((AuthFailed, PermissionDenied) if status == 403 else (AuthFailed,)))
        yield from _told(seen, "auth", status if bench.staged else None)
        if not bench.stages:
            return


def error_rate_limit(bench: Bench) -> Iterator[Check]:
    """Too many requests is a rate limit, with the seconds to wait that the service asks for."""
    bench.stage(_refusing(429, retry_after=_AFTER))
    seen = bench.tried(QUESTION, stream=False)
    yield from _told(seen, "rate_limit", 429)
    told = getattr(seen.error, "retry_after", None)
    if bench.staged or told is not None:
        yield same("error.retry_after", _AFTER, told)


def error_invalid_request(bench: Bench) -> Iterator[Check]:
    """What a service cannot read is a bad request, in the service's own words."""
    cap: Json = "as many as you like"
    for key in reversed(bench.entry.provider.parameters["max_tokens"]):
        cap = {key: cap}
    seen = bench.tried(QUESTION, cap, stream=False)
    refused = seen.error is not None
    yield offered("the answer", "a refusal", "taken as it is", holds=refused)
    yield from _told(seen, "invalid_arg", None)


def error_not_found(bench: Bench) -> Iterator[Check]:
    """A model that is not there is not found, and not taken for another error."""
    bench.stage(_refusing(404, message=f"There is no {_NO_MODEL}."))
    seen = bench.tried(QUESTION, stream=False)
    yield _is(seen, NotFound)
    yield from _told(seen, "not_found", 404)


def error_server(bench: Bench) -> Iterator[Check]:
    """A service that breaks or is overloaded is the server's error, whole or streamed."""
    for status in (500, 503):
        for stream in (False, True):
            bench.stage(_refusing(status))
            seen = bench.tried(QUESTION, stream=stream)
            yield from _told(seen, "server", status)


def error_in_stream(bench: Bench) -> Iterator[Check]:
    """An error after the answer began is an error, and a stream cut off is not an answer."""
    bench.stage(Turn(fault=Fault(kind="error_event", status=500)))
    seen = bench.tried(QUESTION, stream=True)
    yield true("the answer", "an error", seen.reply, holds=seen.error is not None)
    yield same("error.category", "server", _category(seen.error))
    bench.stage(Turn(fault=Fault(kind="no_end")))
    cut = bench.tried(QUESTION, stream=True)
    yield true("the answer", "an error", cut.reply, holds=cut.error is not None)
    yield same("error", "Truncated", type(cut.error).__name__)


def _refusing(
    status: int,
    *,
    code: str | None = None,
    retry_after: float | None = None,
    message: str | None = None,
) -> Turn:
    fault = Fault(kind="status", status=status, code=code, retry_after=retry_after, message=message)
    return Turn(fault=fault)


def _is(seen: Seen, *kinds: type[ServiceError]) -> Check:
    names = " or ".join(kind.__name__ for kind in kinds)
    return true("error", names, type(seen.error).__name__, holds=isinstance(seen.error, kinds))


def _told(seen: Seen, category: str, status: int | None) -> Iterator[Check]:
    """Check that an error is of this kind and keeps what the service said."""
    error = seen.error
    yield true("error", "one of the service", repr(error), holds=isinstance(error, ServiceError))
    assert isinstance(error, ServiceError)  # noqa: S101 - as was just checked
    yield same("error.category", category, _category(error))
    got = seen.exchange.head.status if seen.exchange.head else None
    yield same("error.status", got, error.status)
    if status is not None:
        yield same("status on the wire", status, got)
    said = {word for each in objects(seen.body) for word in strings(each)}
    kept = not said or any(word in str(error) for word in said if " " in word)
    yield true("error.message", "what the service said", str(error), holds=kept)
    yield same("error.body", seen.body, error.body)


def _category(error: PonderoError | None) -> str | None:
    return error.category if error else None
