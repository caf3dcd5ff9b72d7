"""The admin API under ``/admin`` and ``/console``; only the answer that creates a key shows it."""

from asyncio import Queue, sleep, to_thread, wait_for
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import MsgspecError, json, to_builtins

from ...canon import HttpRequest, HttpResponse, Json
from ...errors import BadParameter, PonderoError, StoreError
from ...store import redact_secrets
from ...thinking import LEVELS
from ..answers.response_writer import ResponseWriter
from ..config.model import GatewayKey
from ..observability.feed import KEPT
from ..observability.figures import SPANS, RequestRow, latest, load_figures, load_requests
from ..observability.receipt import Receipt
from ..quotas.quota import BILLION, Quota, find_quotas
from ..quotas.quota_preview import find_lowered_limits
from ..server.context import GatewayContext
from ..state.redis_link import SharedStateLost
from . import console
from .access import check_admin, check_origin
from .preview import list_served_names, preview

HOME = "/admin"
_JSON = {**console.GUARDED, "content-type": "application/json", "cache-control": "no-store"}
_EVENTS = {**_JSON, "content-type": "text/event-stream", "x-accel-buffering": "no"}
_PING = b": still here\n\n"
_GATHER = 0.2  # seconds of receipts in one event, so that a burst does not flood the page
_LOOK = 1.0  # seconds between reads of other processes' rows in the ledger
_SEEN = 4 * KEPT
_LOWERED = 3  # models whose answers a budget shortens, as examples
_PATIENCE = 4.0  # seconds for the ledger; PostgreSQL has fewer of its own, SQLite waits longer

Value = TypeVar("Value")


class Admin:
    """Answers requests to the admin API and the console."""

    def __init__(self, gateway: GatewayContext) -> None:
        self._gateway = gateway

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether an address belongs to the console or the admin API."""
        return path.startswith((f"{console.HOME}/", f"{HOME}/")) or path == console.HOME

    async def check(self, http: HttpRequest, path: str) -> None:
        """Raise AccessDenied if the head of a request says that it may not come in."""
        with suppress(SharedStateLost):  # the keys and the use that are known are shown
            await self._gateway.shared.look()
        keys = await self._gateway.keys.all()
        check_origin(http, self._gateway.config, keys)
        if path.startswith(f"{HOME}/"):
            check_admin(http, keys, self._gateway.now())

    async def answer(self, http: HttpRequest, path: str, writer: ResponseWriter) -> None:
        """Answer one request that ``check`` let in."""
        try:
            if not path.startswith(f"{HOME}/"):
                await writer.whole(_page(http, path))
            elif path == f"{HOME}/live" and http.method == "GET":
                await _stream_live(self._gateway, writer)
            else:
                await writer.whole(await self._route(http, path))
        except (StoreError, SharedStateLost) as error:
            await writer.whole(_error(503, str(error)))
        except PonderoError as error:
            await writer.whole(_error(400, str(error)))

    @staticmethod
    def write_error(status: int, message: str) -> HttpResponse:
        """Return a rejection."""
        return _error(status, message)

    async def _route(self, http: HttpRequest, path: str) -> HttpResponse:
        place, _, name = path.removeprefix(f"{HOME}/").partition("/")
        handler = _HANDLERS.get((http.method, place, bool(name)))
        if handler is None:
            return _error(404, f"there is no {http.method} {path}")
        return _json(await handler(self._gateway, http, unquote(name)))


# -- requests -------------------------------------------------------------------------------------


async def _list_requests(gateway: GatewayContext, _http: HttpRequest, _name: str) -> Json:
    """Return the latest requests; with a ledger, those of all processes."""
    rows = {row.id: row for row in load_requests(gateway.feed.latest())}
    for row in await _load_written(gateway):
        rows.setdefault(row.id, row)
    newest = sorted(rows.values(), key=lambda row: row.at, reverse=True)
    return {"requests": newest[:KEPT]}


async def _load_figures(gateway: GatewayContext, http: HttpRequest, _name: str) -> Json:
    span = _query_value(http, "span") or "day"
    if span not in SPANS:
        message = f"invalid span {span!r}; use {' '.join(SPANS)}"
        raise BadParameter(message)
    database, alarms = gateway.ledger, gateway.dial_watch.alarms
    if database is None:
        return {"figures": None, "alarms": alarms}
    found = await _read_ledger(partial(load_figures, database, span, now=gateway.now()))
    return {"figures": found, "alarms": alarms}


async def _load_written(gateway: GatewayContext) -> list[RequestRow]:
    """Return the latest requests in the ledger; none if it is unreachable, which it logs itself."""
    if gateway.ledger is None:
        return []
    try:
        return await _read_ledger(partial(latest, gateway.ledger))
    except StoreError:
        return []


async def _read_ledger(read: Callable[[], Value]) -> Value:
    """Return what a thread reads; raises StoreError if a database takes too long."""
    try:
        return await wait_for(to_thread(read), _PATIENCE)
    except TimeoutError:
        message = f"the ledger did not answer within {_PATIENCE:g} seconds"
        raise StoreError(message) from None


async def _stream_live(gateway: GatewayContext, writer: ResponseWriter) -> None:
    """Send requests as they end, until the viewer disconnects or the server stops."""
    feed = gateway.feed
    writer.streams(_EVENTS, _PING)
    with feed.watch() as queue:
        seen = dict.fromkeys(row.id for row in await _load_written(gateway))
        await writer.write(b": here\n\n")
        while not feed.is_over():
            rows = load_requests(await _gather(queue))
            if len(rows) < KEPT:  # enough to show already
                rows += await _load_written(gateway)
            await writer.write(_event(_take_unseen(rows, seen)))
    await writer.end()


# -- keys -----------------------------------------------------------------------------------------


async def _list_keys(gateway: GatewayContext, _http: HttpRequest, _name: str) -> Json:
    every = await gateway.keys.all()
    rows = [await _describe_key(gateway, key) for key in every]
    return {"keys": rows, "guarded": any(key.admin for key in every)}


async def _describe_key(gateway: GatewayContext, key: GatewayKey) -> Json:
    """Return a key's rules and quota use, without its hash."""
    bounds = find_quotas(key, None)
    taken = await gateway.state.current_use(bounds)
    rules: dict[str, Json] = to_builtins(key)
    del rules["hash"]
    return {
        **rules,
        "made_here": not gateway.keys.is_configured(key.name),
        "bounds": [_describe_quota(*pair) for pair in zip(bounds, taken, strict=True)],
        "lowered": to_builtins(find_lowered_limits(key, gateway.routing)[:_LOWERED]),
    }


def _describe_quota(bound: Quota, taken: int) -> Json:
    unit = BILLION if bound.unit == "money" else 1
    return {
        "unit": bound.unit,
        "most": bound.most / unit,
        "taken": taken / unit,
        "per": bound.per,
        "rolling": bound.rolling,
    }


async def _make_key(gateway: GatewayContext, http: HttpRequest, _name: str) -> Json:
    rules = dict(_object(http))
    name = rules.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise BadParameter("a key needs a name that says whose it is")
    made = await gateway.keys.make(name.strip(), rules)
    return {"name": name.strip(), "key": made}


async def _change_key(gateway: GatewayContext, http: HttpRequest, name: str) -> Json:
    blocked = _object(http).get("blocked")
    if not isinstance(blocked, bool):
        raise BadParameter('a key is changed with {"blocked": true} or {"blocked": false}')
    await gateway.keys.block(name, blocked=blocked)
    return {"name": name, "blocked": blocked}


async def _remove_key(gateway: GatewayContext, _http: HttpRequest, name: str) -> Json:
    await gateway.keys.remove(name)
    return {"name": name}


# -- the dial -------------------------------------------------------------------------------------


async def _list_models(gateway: GatewayContext, _http: HttpRequest, _name: str) -> Json:
    return {"models": list_served_names(gateway.routing), "levels": LEVELS}


async def _plan(gateway: GatewayContext, http: HttpRequest, _name: str) -> Json:
    named = _query_value(http, "key")
    key = next((each for each in await gateway.keys.all() if each.name == named), None)
    if named and key is None:
        message = f"unknown key {named!r}"
        raise BadParameter(message)
    wish = _query_value(http, "thinking")
    return preview(
        gateway.config, gateway.routing, _query_value(http, "model") or "", wish, key=key
    )


Handler = Callable[[GatewayContext, HttpRequest, str], Awaitable[Json]]
_HANDLERS: dict[tuple[str, str, bool], Handler] = {
    ("GET", "requests", False): _list_requests,
    ("GET", "figures", False): _load_figures,
    ("GET", "keys", False): _list_keys,
    ("POST", "keys", False): _make_key,
    ("PATCH", "keys", True): _change_key,
    ("DELETE", "keys", True): _remove_key,
    ("GET", "models", False): _list_models,
    ("GET", "plan", False): _plan,
}
"""By method, path, and whether a name follows it."""


async def _gather(queue: Queue[Receipt]) -> list[Receipt]:
    """Return the first receipt and those shortly after it; none after a second of silence."""
    try:
        first = await wait_for(queue.get(), _LOOK)
    except TimeoutError:
        return []
    await sleep(_GATHER)
    return [first, *(queue.get_nowait() for _ in range(queue.qsize()))]


def _take_unseen(rows: Iterable[RequestRow], seen: dict[str, None]) -> list[RequestRow]:
    """Return the rows not sent yet, oldest first, and add them to ``seen``."""
    new = {row.id: row for row in rows if row.id not in seen}
    seen.update(dict.fromkeys(new))
    while len(seen) > _SEEN:
        del seen[next(iter(seen))]
    return sorted(new.values(), key=lambda row: row.at)


def _event(rows: list[RequestRow]) -> bytes:
    return b"data: " + json.encode({"requests": rows}) + b"\n\n" if rows else b""


def _object(http: HttpRequest) -> dict[str, Json]:
    """Return the JSON body; its content type makes browsers ask before other sites send it."""
    if http.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadParameter("send JSON, as content-type application/json")
    try:
        found = json.decode(http.body)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadParameter("the body is not a JSON object")
    return found


def _query_value(http: HttpRequest, name: str) -> str | None:
    return next(iter(parse_qs(urlsplit(http.url).query).get(name, ())), None)


def _page(http: HttpRequest, path: str) -> HttpResponse:
    found = console.page(path) if http.method in ("GET", "HEAD") else None
    return found or _error(404, f"the console has no {http.method} {path}")


def _json(value: Json) -> HttpResponse:
    return HttpResponse(200, _JSON, json.encode(value))


def _error(status: int, message: str) -> HttpResponse:
    return HttpResponse(status, _JSON, json.encode({"error": {"message": redact_secrets(message)}}))
