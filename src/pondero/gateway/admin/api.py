"""The admin API under ``/admin`` and the console: finds the operation, and records each change."""

from asyncio import CancelledError, ensure_future, shield
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote

from msgspec import json
from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...errors import PonderoError, StoreError
from ...store import redact_secrets
from ..answers.response_writer import ResponseWriter
from ..config.model import GatewayKey
from ..observability.audit_log import Outcome
from ..requests.requester import AccessDenied
from ..server.context import GatewayContext
from ..sign_in.sign_in import SignIn
from ..state.keys import KeyConflict, UnknownKey
from ..state.redis_link import SharedStateLost
from . import console
from .access import check_host, check_origin, check_role, describe_viewer, find_actor
from .actor import Actor, AdminCall
from .key_views import read_object
from .long_answer import AccessEnd, hold
from .operation import HOME, JSON, ActionResult, ErrorAnswer, ErrorText, Handler, Operation
from .operations import find_operations
from .request_views import UnknownRequest

_HEADERS = {**console.GUARDED, "content-type": JSON, "cache-control": "no-store"}
_STATUSES: tuple[tuple[type[PonderoError], int], ...] = (
    (StoreError, 503),
    (SharedStateLost, 503),
    (UnknownKey, 404),
    (UnknownRequest, 404),
    (KeyConflict, 409),
)
_READING = ("GET", "HEAD")
_OWN_PATHS = (f"{console.HOME}/", f"{HOME}/")


class Admin:
    """Answers requests to the admin API and the console."""

    def __init__(self, gateway: GatewayContext, sign_in: SignIn) -> None:
        self._gateway = gateway
        self._sign_in = sign_in

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether an address belongs to the console or the admin API."""
        return path.startswith(_OWN_PATHS) or path == console.HOME

    async def check(self, http: HttpRequest, path: str) -> Actor | None:
        """Return who acts, None for a page; raises AccessDenied if that may not come in."""
        keys = await self._load_keys()
        config = self._gateway.config
        if self._sign_in.is_return(http, path):
            check_host(http, config, keys)
        else:
            check_origin(http, config, keys)
        if not path.startswith(f"{HOME}/") or self._sign_in.serves(path):
            return None
        return await self._find_actor(http, keys)

    async def _load_keys(self) -> Sequence[GatewayKey]:
        with suppress(SharedStateLost):  # the keys and the use that are known are shown
            await self._gateway.shared.look()
        return await self._gateway.keys.all()

    async def _find_actor(self, http: HttpRequest, keys: Sequence[GatewayKey]) -> Actor:
        """Return who acts; raises AccessDenied."""
        actor = await self._sign_in.find_actor(http)
        if actor is None:
            local = self._gateway.config.sign_in is None
            actor = find_actor(http, keys, self._gateway.now(), allows_local=local)
        return actor

    async def _find_actor_now(self, http: HttpRequest) -> Actor:
        return await self._find_actor(http, await self._load_keys())

    async def answer(
        self,
        http: HttpRequest,
        path: str,
        writer: ResponseWriter,
        *,
        actor: Actor | None,
        address: str,
    ) -> None:
        """Answer one request that ``check`` let in, of this actor from this address."""
        if self._sign_in.serves(path):
            await self._sign_in.answer(http, path, writer, address=address)
            return
        if actor is None:
            await writer.whole(_page(http, path))
            return
        found, name = find_operations(path)
        operation = found.get(http.method)
        if operation is None:
            await writer.whole(_write_missing(http, path, found, actor))
            return
        call = AdminCall(http, actor, unquote(name), address)
        try:
            check_role(actor, operation.role)
            if operation.stream is not None:
                async with hold(partial(self._find_actor_now, http)):
                    await operation.stream(self._gateway, call, writer)
            elif operation.handler is not None:
                doing = self._do(operation.handler, call)
                answer = await (doing if operation.action is None else _finish(doing))
                await writer.whole(HttpResponse(200, _HEADERS, json.encode(answer)))
        except AccessEnd:
            await writer.end()
        except (PonderoError, AccessDenied) as error:
            status = find_status(error)
            self._record_rejected(call, operation, status, str(error))
            await writer.whole(write_error(status, str(error)))

    async def _do(self, handler: Handler, call: AdminCall) -> Json:
        """Return the answer of an operation; what it changed is recorded."""
        answer = await handler(self._gateway, call)
        if isinstance(answer, ActionResult):
            self._record_done(call, answer)
            return answer.answer
        return answer

    def record_denied(
        self,
        http: HttpRequest,
        path: str,
        address: str,
        denied: AccessDenied,
        *,
        actor: Actor | None = None,
    ) -> None:
        """Record that a client was not let in; a page that was asked for is no action."""
        if not path.startswith(f"{HOME}/"):
            return
        found, name = find_operations(path)
        operation = found.get(http.method)
        action = operation.action if operation is not None else None
        if action is None and http.method not in _READING:
            return  # nothing would have been done
        self._gateway.audit.record(
            actor or denied.key or None,
            action or "read",
            subject=unquote(name) if action else path,
            address=address,
            outcome="rejected",
            reason=str(denied),
        )

    def _record_done(self, call: AdminCall, done: ActionResult) -> None:
        self._gateway.audit.record(
            call.actor,
            done.action,
            subject=done.subject,
            address=call.address,
            before=done.before,
            after=done.after,
        )

    def _record_rejected(
        self, call: AdminCall, operation: Operation, status: int, reason: str
    ) -> None:
        if operation.action is None:
            return
        outcome: Outcome = "failed" if status >= 500 else "rejected"
        self._gateway.audit.record(
            call.actor,
            operation.action,
            subject=call.name or _find_named(call.http),
            address=call.address,
            outcome=outcome,
            reason=reason,
        )


async def _finish(doing: Coroutine[Any, Any, Json]) -> Json:
    """Wait for an operation to its end: a caller who leaves must not leave a change unrecorded."""
    task = ensure_future(doing)
    try:
        return await shield(task)
    except CancelledError:
        with suppress(Exception):
            await task
        raise


def _find_named(http: HttpRequest) -> str:
    """Return the name in a body that was rejected; empty if it has none."""
    try:
        named = read_object(http).get("name")
    except PonderoError:
        return ""
    return named if isinstance(named, str) else ""


def find_status(error: Exception) -> int:
    """Return the status of an error."""
    if isinstance(error, AccessDenied):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)


def write_error(status: int, message: str) -> HttpResponse:
    """Return a rejection."""
    answer = ErrorAnswer(ErrorText(redact_secrets(message)))
    return HttpResponse(status, _HEADERS, json.encode(answer))


def _write_missing(
    http: HttpRequest, path: str, found: Mapping[str, Operation], actor: Actor
) -> HttpResponse:
    if http.method not in _READING and not actor.changes:
        return write_error(403, describe_viewer(actor))
    if not found:
        return write_error(404, f"there is no {http.method} {path}")
    allowed = ", ".join(sorted(found))
    response = write_error(405, f"{path} has no {http.method}; use {allowed}")
    return replace(response, headers={**response.headers, "allow": allowed})


def _page(http: HttpRequest, path: str) -> HttpResponse:
    found = console.page(path) if http.method in _READING else None
    return found or write_error(404, f"the console has no {http.method} {path}")
