"""The admin API, which the console is drawn from: figures, live requests, keys, and the dial.

``app`` gives it every request under ``/admin`` and ``/console``. Answers are JSON; live requests
come as server-sent events. Errors are ``{"error": {"message": ...}}``. No key is ever in an answer,
but the one just made, once.
"""

from asyncio import Queue, sleep, to_thread, wait_for
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import MsgspecError, json, to_builtins

from ...canon import HttpRequest, HttpResponse, Json
from ...errors import BadParameter, PonderoError, StoreError
from ...store import redact_secrets
from ...thinking import LEVELS
from ..config.model import GatewayKey
from ..observability.feed import KEPT
from ..observability.figures import SPANS, RequestRow, latest, load_figures, load_requests
from ..observability.receipt import Receipt
from ..quotas.quota import BILLION, Quota, bounds_of
from ..requests.response_writer import ResponseWriter
from ..server.context import GatewayContext
from . import console
from .access import AccessDenied, check_admin, check_origin
from .preview import offers, preview

HOME = "/admin"
_JSON = {**console.GUARDED, "content-type": "application/json", "cache-control": "no-store"}
_EVENTS = {**_JSON, "content-type": "text/event-stream", "x-accel-buffering": "no"}
_PING = b": still here\n\n"
_GATHER = 0.2  # seconds: what comes meanwhile is one event, so that a burst does not drown a page
_LOOK = 1.0  # seconds between looks for what other processes wrote into the ledger
_SEEN = 4 * KEPT


class Admin:
    """Answers the requests of the person who runs a gateway."""

    def __init__(self, gate: GatewayContext) -> None:
        self._gate = gate

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether an address is the console's or the admin API's."""
        return path.startswith((f"{console.HOME}/", f"{HOME}/")) or path == console.HOME

    async def answer(self, http: HttpRequest, path: str, outlet: ResponseWriter) -> None:
        """Answer one request."""
        keys = await self._gate.keys.all()
        try:
            check_origin(http, self._gate.config, keys)
            if not path.startswith(f"{HOME}/"):
                await outlet.whole(_page(http, path))
                return
            check_admin(http, keys)
            if path == f"{HOME}/live" and http.method == "GET":
                await _live(self._gate, outlet)
                return
            await outlet.whole(await self._answered(http, path))
        except AccessDenied as no:
            await outlet.whole(_error(no.status, str(no)))
        except StoreError as error:
            await outlet.whole(_error(503, str(error)))
        except PonderoError as error:
            await outlet.whole(_error(400, str(error)))

    async def _answered(self, http: HttpRequest, path: str) -> HttpResponse:
        place, _, name = path.removeprefix(f"{HOME}/").partition("/")
        handler = _PLACES.get((http.method, place, bool(name)))
        if handler is None:
            return _error(404, f"there is no {http.method} {path}")
        return _json(await handler(self._gate, http, unquote(name)))


# -- what goes on ---------------------------------------------------------------------------------


async def _requests(gate: GatewayContext, _http: HttpRequest, _name: str) -> Json:
    """Return the latest requests, of all processes where there is a ledger."""
    rows = {row.id: row for row in load_requests(gate.feed.latest())}
    for row in await _written(gate):
        rows.setdefault(row.id, row)
    newest = sorted(rows.values(), key=lambda row: row.at, reverse=True)
    return {"requests": newest[:KEPT]}


async def _figures(gate: GatewayContext, http: HttpRequest, _name: str) -> Json:
    span = _asked(http, "span") or "day"
    if span not in SPANS:
        message = f"there is no span {span!r}; use {' '.join(SPANS)}"
        raise BadParameter(message)
    database = gate.ledger
    if database is None:
        return {"figures": None}
    found = await to_thread(load_figures, database, span, now=gate.now())
    return {"figures": found}


async def _written(gate: GatewayContext) -> list[RequestRow]:
    """Return the latest requests of the ledger; none while it is away, which it logs itself."""
    if gate.ledger is None:
        return []
    try:
        return await to_thread(latest, gate.ledger)
    except StoreError:
        return []


async def _live(gate: GatewayContext, outlet: ResponseWriter) -> None:
    """Send requests as they end, until the viewer leaves or the server ends."""
    feed = gate.feed
    outlet.streams(_EVENTS, _PING)
    with feed.watch() as queue:
        seen = dict.fromkeys(row.id for row in await _written(gate))
        await outlet.write(b": here\n\n")
        while not feed.is_over():
            rows = load_requests(await _gathered(queue))
            if len(rows) < KEPT:  # a flood of its own is enough to show
                rows += await _written(gate)
            await outlet.write(_event(_unseen(rows, seen)))
    await outlet.end()


# -- keys -----------------------------------------------------------------------------------------


async def _keys(gate: GatewayContext, _http: HttpRequest, _name: str) -> Json:
    every = await gate.keys.all()
    rows = [await _key(gate, key) for key in every]
    return {"keys": rows, "guarded": any(key.admin for key in every)}


async def _key(gate: GatewayContext, key: GatewayKey) -> Json:
    """Return what a key may do and how much of that it has done; its hash stays here."""
    bounds = bounds_of(key, None)
    taken = await gate.state.current_use(bounds)
    rules: dict[str, Json] = to_builtins(key)
    del rules["hash"]
    return {
        **rules,
        "made_here": not gate.keys.is_configured(key.name),
        "bounds": [_bound(*pair) for pair in zip(bounds, taken, strict=True)],
    }


def _bound(bound: Quota, taken: int) -> Json:
    unit = BILLION if bound.unit == "money" else 1
    return {
        "unit": bound.unit,
        "most": bound.most / unit,
        "taken": taken / unit,
        "per": bound.per,
        "rolling": bound.rolling,
    }


async def _make(gate: GatewayContext, http: HttpRequest, _name: str) -> Json:
    rules = dict(_object(http))
    name = rules.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise BadParameter("a key needs a name, which says whose it is")
    made = await gate.keys.make(name.strip(), rules)
    return {"name": name.strip(), "key": made}


async def _change(gate: GatewayContext, http: HttpRequest, name: str) -> Json:
    blocked = _object(http).get("blocked")
    if not isinstance(blocked, bool):
        raise BadParameter('a key is changed with {"blocked": true} or {"blocked": false}')
    await gate.keys.block(name, blocked=blocked)
    return {"name": name, "blocked": blocked}


async def _remove(gate: GatewayContext, _http: HttpRequest, name: str) -> Json:
    await gate.keys.remove(name)
    return {"name": name}


# -- the dial -------------------------------------------------------------------------------------


async def _models(gate: GatewayContext, _http: HttpRequest, _name: str) -> Json:
    return {"models": offers(gate.routing), "levels": LEVELS}


async def _plan(gate: GatewayContext, http: HttpRequest, _name: str) -> Json:
    named = _asked(http, "key")
    key = next((each for each in await gate.keys.all() if each.name == named), None)
    if named and key is None:
        message = f"there is no key called {named!r}"
        raise BadParameter(message)
    wish = _asked(http, "thinking")
    return preview(gate.config, gate.routing, _asked(http, "model") or "", wish, key=key)


Handler = Callable[[GatewayContext, HttpRequest, str], Awaitable[Json]]
_PLACES: dict[tuple[str, str, bool], Handler] = {
    ("GET", "requests", False): _requests,
    ("GET", "figures", False): _figures,
    ("GET", "keys", False): _keys,
    ("POST", "keys", False): _make,
    ("PATCH", "keys", True): _change,
    ("DELETE", "keys", True): _remove,
    ("GET", "models", False): _models,
    ("GET", "plan", False): _plan,
}
"""What is where: method, place, and whether a name follows it."""


async def _gathered(queue: Queue[Receipt]) -> list[Receipt]:
    """Return what comes within a moment after the first; nothing where nothing comes for long."""
    try:
        first = await wait_for(queue.get(), _LOOK)
    except TimeoutError:
        return []
    await sleep(_GATHER)
    return [first, *(queue.get_nowait() for _ in range(queue.qsize()))]


def _unseen(rows: Iterable[RequestRow], seen: dict[str, None]) -> list[RequestRow]:
    """Return the rows that were not sent yet, the oldest first; from now on they were."""
    new = {row.id: row for row in rows if row.id not in seen}
    seen.update(dict.fromkeys(new))
    while len(seen) > _SEEN:
        del seen[next(iter(seen))]
    return sorted(new.values(), key=lambda row: row.at)


def _event(rows: list[RequestRow]) -> bytes:
    return b"data: " + json.encode({"requests": rows}) + b"\n\n" if rows else b""


def _object(http: HttpRequest) -> dict[str, Json]:
    """Return the body. A page of another site cannot send this type without being asked first."""
    if http.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadParameter("send JSON, as content-type application/json")
    try:
        found = json.decode(http.body)
    except MsgspecError:
        found = None
    if not isinstance(found, dict):
        raise BadParameter("the body is no JSON object")
    return found


def _asked(http: HttpRequest, name: str) -> str | None:
    return next(iter(parse_qs(urlsplit(http.url).query).get(name, ())), None)


def _page(http: HttpRequest, path: str) -> HttpResponse:
    found = console.page(path) if http.method in ("GET", "HEAD") else None
    return found or _error(404, f"the console has no {http.method} {path}")


def _json(value: Json) -> HttpResponse:
    return HttpResponse(200, _JSON, json.encode(value))


def _error(status: int, message: str) -> HttpResponse:
    return HttpResponse(status, _JSON, json.encode({"error": {"message": redact_secrets(message)}}))
