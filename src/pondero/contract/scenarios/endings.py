"""How an answer ends: finish reasons, filters and what comes with them, and every kind of error."""

from typing import Any

from ...canon import Json
from ...emulator import Fault, ScriptedTurn
from ...errors import AuthFailed, NotFound, PermissionDenied, PonderoError, ServiceError
from ..bench import ObservedExchange, Testbed
from ..scenario import Checks, ScenarioCheck, not_supported, optional, same, true
from ..wire import objects, says, strings
from .shared_checks import ANSWER, CALL, QUESTION, TOOL, WEATHER

_ENDS = {
    "stop": ScriptedTurn(text=ANSWER, finish="stop"),
    "length": ScriptedTurn(text=ANSWER, finish="length"),
    "tool_calls": ScriptedTurn(tool_calls=(CALL,)),
    "other": ScriptedTurn(text=ANSWER, finish="other"),
}
_FILTERED = ("content_filter", "refusal")
_SOURCE = "https://example.org/four"
_RATING = "HARM_OF_NO_KIND"
_METADATA = {"grounding": "grounding", "safety": "safety ratings"}


def finish_reasons(bench: Testbed) -> Checks:
    """Why an answer ended is one of our words, along with the service's own word."""
    usual: str | None = None
    for finish, turn in _ENDS.items():
        calls = finish == "tool_calls"
        options: dict[str, Any] = {"tools": [TOOL], "thinking": "off"} if calls else {}
        for stream in (False, True):
            bench.stage(turn)
            seen = bench.ask(WEATHER if calls else QUESTION, stream=stream, **options)
            reply, raw = seen.answer, seen.answer.raw_finish
            if finish == "stop":
                usual = raw
            elif finish == "other" and raw == usual:
                return  # this dialect has no such reason
            yield same("reply.finish", finish, reply.finish)
            found = raw is not None and says(seen.body, raw)
            yield true("reply.raw_finish", "the service's own word", raw, holds=found)


def content_filter(bench: Testbed) -> Checks:
    """An answer that a filter took away is that, whatever the word for it, and no error."""
    bench.stage(ScriptedTurn(finish="stop"))
    plain = bench.ask(QUESTION, stream=False)
    # A dialect with several reasons names them; for the others the usual one is staged.
    for word in bench.wire.service().filter_reasons:
        for stream in (False, True):
            bench.stage(ScriptedTurn(finish="content_filter", raw_finish=word))
            seen = bench.ask(QUESTION, stream=stream)
            if not stream and _words(seen) <= _words(plain):
                raise not_supported("this dialect has no word for it")
            reply = seen.answer
            filtered = reply.finish in _FILTERED
            yield true("reply.finish", " or ".join(_FILTERED), reply.finish, holds=filtered)
            if word is not None and bench.is_staged:
                yield same("reply.raw_finish", word, reply.raw_finish)


def _words(seen: ObservedExchange) -> set[str]:
    return {word for each in objects(seen.body) for word in strings(each)}


def check_grounding(bench: Testbed) -> Checks:
    """The sources of an answer are kept unchanged."""
    staged: Json = {"groundingChunks": [{"web": {"uri": _SOURCE, "title": "Four"}}]}
    yield from _check_metadata(
        bench, ScriptedTurn(text=ANSWER, grounding=staged), "grounding", staged, _SOURCE
    )


def safety_ratings(bench: Testbed) -> Checks:
    """The safety ratings of an answer are kept unchanged."""
    staged: Json = [{"category": _RATING, "probability": "NEGLIGIBLE"}]
    yield from _check_metadata(
        bench, ScriptedTurn(text=ANSWER, safety=staged), "safety", staged, _RATING
    )


def _check_metadata(
    bench: Testbed, turn: ScriptedTurn, field: str, staged: Json, mark: str
) -> Checks:
    for stream in (False, True):
        bench.stage(turn)
        seen = bench.ask(QUESTION, stream=stream)
        if not says(seen.body, mark):
            raise not_supported(f"answers come without {_METADATA[field]} here")
        yield same(f"reply.{field}", staged, getattr(seen.answer, field))
        yield same("reply.text", ANSWER, seen.answer.text)


_WRONG_KEY = "not-a-key-of-anyone"
_AFTER = 7.0  # seconds; no service's default
_NO_MODEL = "no-such-model-1"


def error_auth(bench: Testbed) -> Checks:
    """A key that is wrong, or may not do this, is an error of auth, and travels in a header."""
    for status, code in ((401, None), (403, None), *bench.wire.service().bad_key_errors):
        bench.stage(_make_rejection(status, code=code))
        seen = bench.try_ask(QUESTION, key=_WRONG_KEY, stream=False)
        key = any(_WRONG_KEY in value for value in seen.request.headers.values())
        yield true("the key", "in a header", sorted(seen.request.headers), holds=key)
        yield true(
            "the key", "not in the address", "there", holds=_WRONG_KEY not in seen.request.url
        )
        yield optional(
            "the answer", "a refusal", "taken with any key", holds=seen.error is not None
        )
        yield _check_kind(
            seen, *((AuthFailed, PermissionDenied) if status == 403 else (AuthFailed,))
        )
        yield from _check_error(seen, "auth", status if bench.is_staged else None)
        if not bench.stages:
            return


def error_rate_limit(bench: Testbed) -> Checks:
    """Too many requests is a rate limit, with the seconds to wait that the service asks for."""
    bench.stage(_make_rejection(429, retry_after=_AFTER))
    seen = bench.try_ask(QUESTION, stream=False)
    yield from _check_error(seen, "rate_limit", 429)
    wait = getattr(seen.error, "retry_after", None)
    if bench.is_staged or wait is not None:
        yield same("error.retry_after", _AFTER, wait)


def error_invalid_request(bench: Testbed) -> Checks:
    """What a service cannot read is a bad request, in the service's own words."""
    cap: Json = "as many as you like"
    for key in reversed(bench.entry.provider.parameters["max_tokens"]):
        cap = {key: cap}
    seen = bench.try_ask(QUESTION, cap, stream=False)
    rejected = seen.error is not None
    yield optional("the answer", "a refusal", "taken as it is", holds=rejected)
    yield from _check_error(seen, "invalid_arg", None)


def error_not_found(bench: Testbed) -> Checks:
    """A model that is not there is not found, and not taken for another error."""
    bench.stage(_make_rejection(404, message=f"There is no {_NO_MODEL}."))
    seen = bench.try_ask(QUESTION, stream=False)
    yield _check_kind(seen, NotFound)
    yield from _check_error(seen, "not_found", 404)


def error_server(bench: Testbed) -> Checks:
    """A service that breaks or is overloaded is the server's error, whole or streamed."""
    for status in (500, 503):
        for stream in (False, True):
            bench.stage(_make_rejection(status))
            seen = bench.try_ask(QUESTION, stream=stream)
            yield from _check_error(seen, "server", status)


def error_in_stream(bench: Testbed) -> Checks:
    """An error after the answer began is an error, and a stream cut off is not an answer."""
    bench.stage(ScriptedTurn(fault=Fault(kind="error_event", status=500)))
    seen = bench.try_ask(QUESTION, stream=True)
    yield true("the answer", "an error", seen.reply, holds=seen.error is not None)
    yield same("error.category", "server", _category(seen.error))
    bench.stage(ScriptedTurn(fault=Fault(kind="no_end")))
    cut = bench.try_ask(QUESTION, stream=True)
    yield true("the answer", "an error", cut.reply, holds=cut.error is not None)
    yield same("error", "Truncated", type(cut.error).__name__)


def _make_rejection(
    status: int,
    *,
    code: str | None = None,
    retry_after: float | None = None,
    message: str | None = None,
) -> ScriptedTurn:
    fault = Fault(kind="status", status=status, code=code, retry_after=retry_after, message=message)
    return ScriptedTurn(fault=fault)


def _check_kind(seen: ObservedExchange, *kinds: type[ServiceError]) -> ScenarioCheck:
    names = " or ".join(kind.__name__ for kind in kinds)
    return true("error", names, type(seen.error).__name__, holds=isinstance(seen.error, kinds))


def _check_error(seen: ObservedExchange, category: str, status: int | None) -> Checks:
    error = seen.error
    yield true("error", "one of the service", repr(error), holds=isinstance(error, ServiceError))
    if not isinstance(error, ServiceError):
        return  # the check above has failed
    yield same("error.category", category, _category(error))
    got = seen.exchange.head.status if seen.exchange.head else None
    yield same("error.status", got, error.status)
    if status is not None:
        yield same("status on the wire", status, got)
    words = {word for each in objects(seen.body) for word in strings(each)}
    found = not words or any(word in str(error) for word in words if " " in word)
    yield true("error.message", "what the service said", str(error), holds=found)
    yield same("error.body", seen.body, error.body)


def _category(error: PonderoError | None) -> str | None:
    return error.category if error else None
