"""The emulator: a transport that answers as every provider's service."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from ..canon import EMULATOR_HEADER, HttpRequest, HttpResponse, Json, Reply, ResponseHead
from ..dialects import NAMES, AcceptedRequest, Dialect, Rejected, get_dialect
from ..errors import BadParameter, Timeout, Unreachable
from ..exchange import Timeouts
from ..transport import asleep as sleep_in_loop
from .batches import BatchSettings
from .faults import (
    FOREVER,
    OF_BATCHES,
    AsyncSleep,
    Break,
    Fault,
    Faults,
    Pause,
    Sleep,
    make_replacement,
    parse_faults,
)
from .log import LogEntry, RequestLog
from .models import AcceptedModel, accept_as_relative, model_answer, with_default
from .paths import ORIGIN, has_path
from .prompt_cache import PromptCache
from .responders.question import parse_question
from .responders.responder import Responder, count_usage, ponder
from .responders.script import Script, Scripted, Taking
from .response import (
    EmulatedResponse,
    ResponseHandle,
    begin_with,
    whole_response,
    with_ids,
    write_response,
    write_whole,
)
from .routes import EmulatedRoute, find_route, guess_route
from .stored_answers import StoredAnswers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .batches import BatchCall, BatchResponse, BatchRouter, Outcome

_USUAL = Timeouts()
_USUAL_BATCHES = BatchSettings()
_BROKEN = Fault(kind="broken")
_GREETINGS = ("/", "/api/hello")  # Claude Code requests these before its first prompt
_SERVED = "it serves answers, token counts, model lists and batches"
_UPGRADE = HttpResponse(
    426,  # Codex tries a WebSocket first and gives up at once; after a 404 it retries seven times
    {"content-type": "application/json", "upgrade": "HTTP/1.1"},
    b'{"error":{"message":"the emulator has no WebSocket here; use HTTP","type":"not_found"}}',
)


class _Answer(NamedTuple):
    """A request with its cache report, the reply, and what stores its prompt in the cache."""

    accepted: AcceptedRequest[Json]
    reply: Reply
    store: Callable[[], None]


class Emulator:
    """A transport, for sync and asyncio, that answers as any provider would.

    ``responder`` answers requests that match no turn of ``script``; ``waiting`` has the turns that
    no request used. ``faults`` apply in order, None for no fault; those of batches wait for a
    batch. ``service`` is the provider to emulate; by default the URL decides. With ``any_model`` a
    relative answers for an unknown model. ``log.entries`` has the latest exchanges: each with its
    path, body, model, status, fault, and ``refusal``, the body of an error.

    >>> from pondero.emulator import Emulator
    >>> client = pondero.Client(transport=Emulator())
    >>> client.ask("gemini-3-flash-preview/low", "What is 17 * 23?").text
    '17 * 23 = 391'
    """

    needs_key = False
    is_emulator = True

    def __init__(
        self,
        *,
        responder: Responder = ponder,
        script: Iterable[Scripted] = (),
        faults: Faults = (),
        service: str | None = None,
        any_model: bool = False,
        sleep: Sleep = time.sleep,
        asleep: AsyncSleep = sleep_in_loop,
        batches: BatchSettings = _USUAL_BATCHES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.script: Script = Script(script)
        self.faults: deque[Fault | None] = parse_faults(faults)
        self.log: RequestLog = RequestLog()
        self._cache = PromptCache(clock)
        self._stored = StoredAnswers()
        self._batches: BatchRouter | None = None
        self._batch_settings = batches
        self._clock = clock
        self._lock = Lock()
        self._responder = responder
        self._provider = service
        self._any_model = any_model
        self._sleep = sleep
        self._asleep = asleep

    def send(self, request: HttpRequest, timeouts: Timeouts = _USUAL) -> ResponseHandle:
        """Return the answer; for asyncio, await it. Raises Timeout and Unreachable."""
        entry = self.log.add(request)
        played = self._play(request, entry)
        if played is None:
            entry.end = "broken"
            raise Unreachable("connection refused", connected=False)
        delay = 0.0
        if isinstance(played, Pause):
            delay, played = played.seconds, EmulatedResponse(ResponseHead(200), iter((Break(),)))
        if delay > timeouts.first_byte:
            entry.end = "timed out"
            raise Timeout(f"no first byte within {timeouts.first_byte:g} s")
        entry.status = played.head.status
        headers = {**played.head.headers, EMULATOR_HEADER: "1"}
        return ResponseHandle(
            ResponseHead(played.head.status, headers),
            played.pieces,
            entry=entry,
            timeouts=timeouts,
            sleep=self._sleep,
            asleep=self._asleep,
            delay=delay,
        )

    def expect(self, *turns: Scripted) -> None:
        """Add turns to the script."""
        self.script.expect(*turns)

    @property
    def waiting(self) -> tuple[Scripted, ...]:
        """Return the turns that no request has used, in order; a text is a ScriptedTurn."""
        return self.script.waiting

    def reset(self) -> None:
        """Clear script, faults, log, batches, prompt cache and stored answers."""
        self.script.clear()
        self.faults.clear()
        self.log.clear()
        self._cache.clear()
        self._stored.clear()
        with self._lock:
            self._batches = None

    def close(self) -> None:
        """Do nothing: there is no connection."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    # -- one exchange ----------------------------------------------------------------------------

    def _play(self, request: HttpRequest, entry: LogEntry) -> EmulatedResponse | Pause | None:
        if request.headers.get("upgrade", "").lower() == "websocket":
            return _log_rejection(_UPGRADE, entry)
        if request.method == "HEAD" and urlsplit(request.url).path in _GREETINGS:
            return whole_response(HttpResponse(200, {}, b""))
        route = find_route(request.url, provider=self._provider)
        if not has_path(request.url, provider=self._provider, talks=route is not None):
            return self._no_path(request, route, entry)
        if route is None:
            if (about := self._about_stored(request, entry)) is not None:
                return about
            batch = self._batch_services().answer(request, self._provider)
            return (
                self._no_conversation(request, entry)
                if batch is None
                else _play_batch(batch, entry)
            )
        entry.dialect, entry.service = route.wire.name, route.provider
        request = self._stored.resume(request, route.wire)
        try:
            accepted, entry.model = self._accept(request, route)
        except Rejected as rejection:
            return _log_rejection(rejection.response, entry)
        return self._answer(route, with_default(accepted, route.provider), entry, request)

    def _no_path(
        self, request: HttpRequest, route: EmulatedRoute | None, entry: LogEntry
    ) -> EmulatedResponse:
        if route is not None:
            entry.dialect, entry.service = route.wire.name, route.provider
            return _log_rejection(_make_no_path(request, route), entry)
        return _log_rejection(_make_not_found(request, guess_route(request, self._provider)), entry)

    def _no_conversation(self, request: HttpRequest, entry: LogEntry) -> EmulatedResponse:
        answer = model_answer(request, provider=self._provider)
        if answer is None:
            return _log_rejection(
                _make_not_found(request, guess_route(request, self._provider)), entry
            )
        response, entry.dialect, entry.service = answer
        return (
            whole_response(response) if response.status < 400 else _log_rejection(response, entry)
        )

    def _about_stored(self, request: HttpRequest, entry: LogEntry) -> EmulatedResponse | None:
        for wire in map(get_dialect, NAMES):
            try:
                response = self._stored.answer(request, wire)
            except Rejected as rejection:
                response = rejection.response
            if response is not None:
                entry.dialect = wire.name
                entry.service = self._provider or wire.service().default_provider
                refused = response.status >= 400
                return _log_rejection(response, entry) if refused else whole_response(response)
        return None

    def _accept(self, request: HttpRequest, route: EmulatedRoute) -> AcceptedModel:
        try:
            accepted = route.wire.service().accept(request, route.provider)
        except Rejected as rejection:
            if not self._any_model:
                raise
            return accept_as_relative(request, route, rejection)
        return AcceptedModel(accepted, accepted.request.model)

    def _answer(
        self,
        route: EmulatedRoute,
        accepted: AcceptedRequest[Json],
        entry: LogEntry,
        request: HttpRequest,
    ) -> EmulatedResponse | Pause | None:
        turn, fault = self.script.take(
            accepted, dialect=route.wire.name, provider=route.provider, next_fault=self._fault
        )
        entry.scripted = turn is not None
        if fault is not None:
            entry.fault = fault.kind
            if fault.kind == "refused":
                return None
            if fault.kind == "hang" and fault.at is None:
                return Pause(FOREVER)
            if (other := make_replacement(fault, route.wire)) is not None:
                return _log_rejection(_restate_error(other, route), entry)
        accepted, reply, store = self._reply(route, accepted, turn, entry.model)
        later = self._stored.keep(request, accepted, reply, route.wire)
        if later is not None:
            return begin_with(store, whole_response(later, fault))
        return begin_with(store, write_response(route.wire, accepted, reply, fault))

    def _reply(
        self,
        route: EmulatedRoute,
        accepted: AcceptedRequest[Json],
        turn: Taking | None,
        model: str | None,
    ) -> _Answer:
        answer = turn if turn is not None and turn.says else self._responder
        reply = count_usage(accepted, with_ids(answer(accepted), accepted, route.wire))
        store: Callable[[], None] = _use_nothing
        if (turn is None or turn.usage is None) and not reply.usage.cache_read:
            found = self._cache.look_up(accepted, reply.usage, provider=route.provider)
            reply = msgspec.structs.replace(reply, usage=found.usage)
            accepted = msgspec.structs.replace(accepted, cache=found.report)
            store = found.store
        if model != accepted.request.model and reply.model is None:
            reply = msgspec.structs.replace(reply, model=model)
        return _Answer(accepted, reply, store)

    def _fault(self, accepted: AcceptedRequest[Json]) -> Fault | None:
        with suppress(IndexError):
            if not _concerns_batches(self.faults[0]):
                return self.faults.popleft()
        return self._parse_directive(accepted)

    def _parse_directive(self, accepted: AcceptedRequest[Json]) -> Fault | None:
        wish = parse_question(accepted.request.messages).directive("fault")
        if wish is None:
            return None
        try:
            return Fault.parse(wish)
        except BadParameter as error:
            return Fault(kind="status", status=400, message=str(error))

    # -- batches ---------------------------------------------------------------------------------

    def _batch_services(self) -> "BatchRouter":
        from .batches import BatchRouter  # noqa: PLC0415 - see above

        with self._lock:
            if self._batches is None:
                settings = self._batch_settings
                self._batches = BatchRouter(
                    self._answer_item, self._next_fault, self._clock, settings
                )
            return self._batches

    def _answer_item(self, request: HttpRequest) -> "HttpResponse | Outcome":
        route = find_route(request.url, provider=self._provider)
        if route is None:
            return _make_not_found(request, guess_route(request, self._provider))
        if _wants_stream(request.body):
            message = "stream: a request in a batch cannot be streamed"
            return _restate_error(
                route.wire.service().error(400, message, code=None, retry_after=None), route
            )
        request = self._stored.resume(request, route.wire)
        try:
            accepted, name = self._accept(request, route)
        except Rejected as rejection:
            return rejection.response
        accepted = with_default(accepted, route.provider)
        turn, fault = self.script.take(
            accepted,
            dialect=route.wire.name,
            provider=route.provider,
            next_fault=self._parse_directive,
        )
        if fault is not None:
            if fault.kind in ("expired", "cancelled"):
                return fault.kind
            if (other := make_replacement(fault, route.wire)) is not None:
                return _restate_error(other, route)
        accepted, reply, store = self._reply(route, accepted, turn, name)
        store()
        self._stored.keep(request, accepted, reply, route.wire)
        return write_whole(route.wire, accepted, reply)

    def _next_fault(
        self, call: "BatchCall", *, makes: bool
    ) -> tuple[Fault | None, Callable[[], object]]:
        with suppress(IndexError):
            fault = self.faults[0]
            waits = _concerns_batches(fault) and not makes
            return (None, _use_nothing) if waits else (fault, self.faults.popleft)
        if makes:
            turn = self.script.batch_fault(dialect=call.wire.name, provider=call.provider)
            if turn is not None:
                return turn.planned_fault, partial(self.script.drop, turn)
        return None, _use_nothing


def _use_nothing() -> None:
    """Use nothing up."""


def _concerns_batches(fault: Fault | None) -> bool:
    return fault is not None and fault.kind in OF_BATCHES


def _play_batch(served: "BatchResponse", entry: LogEntry) -> EmulatedResponse | Pause | None:
    response, fault, entry.dialect, entry.service = served
    entry.fault = fault.kind if fault is not None else None
    if fault is not None and fault.kind == "refused":
        return None
    if fault is not None and fault.kind == "hang" and fault.at is None:
        return Pause(FOREVER)
    if response.status >= 400:
        return _log_rejection(response, entry)
    return whole_response(
        response, _BROKEN if fault is not None and fault.kind == "lost" else fault
    )


def _wants_stream(body: bytes) -> bool:
    raw = _json(body)
    return isinstance(raw, dict) and bool(raw.get("stream"))


def _restate_error(error: HttpResponse, route: EmulatedRoute) -> HttpResponse:
    restated = route.wire.service().restate_error
    return restated(error, route.provider) if restated is not None else error


def _log_rejection(response: HttpResponse, entry: LogEntry) -> EmulatedResponse:
    entry.refusal = _json(response.body)
    return whole_response(response)


def _json(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode("utf-8", "replace") or None


def _make_no_path(request: HttpRequest, route: EmulatedRoute) -> HttpResponse:
    service = route.wire.service()
    own = service.own_paths
    message = own.not_found.format(method=request.method, path=urlsplit(request.url).path)
    error = service.error(404, message, code=own.error_code, retry_after=None)
    return _restate_error(error, route)


def _make_not_found(request: HttpRequest, wire: Dialect | None) -> HttpResponse:
    # Behind a server the host is a placeholder, and a query may have a key.
    where = request.url.partition("?")[0].removeprefix(ORIGIN)
    message = f"the emulator serves no {request.method} {where}; {_SERVED}"
    if wire is not None:
        service = wire.service()
        return service.error(404, message, code=service.own_paths.error_code, retry_after=None)
    body = msgspec.json.encode({"error": {"message": message, "type": "not_found"}})
    return HttpResponse(404, {"content-type": "application/json"}, body)
