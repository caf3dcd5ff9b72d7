"""The admin API under ``/admin`` and ``/console``; only the answer that creates a key shows it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import unquote

from msgspec import MsgspecError, json, to_builtins
from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...errors import BadParameter, PonderoError, StoreError
from ...store import redact_secrets
from ...thinking import LEVELS
from ..answers.response_writer import ResponseWriter
from ..config.model import GatewayKey
from ..quotas.quota import BILLION, Quota, find_quotas
from ..quotas.quota_preview import find_lowered_limits
from ..server.context import GatewayContext
from ..sign_in.sign_in import SessionEnded, SignIn
from ..state.redis_link import SharedStateLost
from . import console
from .access import check_host, check_origin, check_role, find_actor, is_guarded
from .actor import Actor, AdminCall
from .alerts import find_alerts
from .preview import list_served_names, preview
from .request_views import (
    count_requests,
    list_choices,
    list_requests,
    read_query,
    show_request,
    stream_csv,
    stream_live,
)

HOME = "/admin"
_JSON = {**console.GUARDED, "content-type": "application/json", "cache-control": "no-store"}
_LOWERED = 3  # models whose answers a budget shortens, as examples


class Admin:
    """Answers requests to the admin API and the console."""

    def __init__(self, gateway: GatewayContext, sign_in: SignIn) -> None:
        self._gateway = gateway
        self._sign_in = sign_in

    @staticmethod
    def serves(path: str) -> bool:
        """Return whether an address belongs to the console or the admin API."""
        return path.startswith((f"{console.HOME}/", f"{HOME}/")) or path == console.HOME

    async def check(self, http: HttpRequest, path: str) -> Actor | None:
        """Return who acts, None for a page; raises AccessDenied if that may not come in."""
        with suppress(SharedStateLost):  # the keys and the use that are known are shown
            await self._gateway.shared.look()
        keys = await self._gateway.keys.all()
        config = self._gateway.config
        if self._sign_in.is_return(http, path):
            check_host(http, config, keys)
        else:
            check_origin(http, config, keys)
        if not path.startswith(f"{HOME}/") or self._sign_in.serves(path):
            return None
        actor = await self._sign_in.find_actor(http)
        if actor is None:
            local = config.sign_in is None
            actor = find_actor(http, keys, self._gateway.now(), allows_local=local)
        check_role(actor, http.method)
        return actor

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
        try:
            if self._sign_in.serves(path):
                await self._sign_in.answer(http, path, writer, address=address)
                return
            if actor is None:
                await writer.whole(_page(http, path))
                return
            call = AdminCall(http, actor, address=address)
            if (stream := _STREAMS.get((http.method, path.removeprefix(f"{HOME}/")))) is not None:
                async with self._sign_in.hold(http, actor):
                    await stream(self._gateway, call, writer)
            else:
                await writer.whole(await self._route(call, path))
        except SessionEnded:
            await writer.end()
        except (StoreError, SharedStateLost) as error:
            await writer.whole(_error(503, str(error)))
        except PonderoError as error:
            await writer.whole(_error(400, str(error)))

    @staticmethod
    def write_error(status: int, message: str) -> HttpResponse:
        """Return a rejection."""
        return _error(status, message)

    async def _route(self, call: AdminCall, path: str) -> HttpResponse:
        place, _, name = path.removeprefix(f"{HOME}/").partition("/")
        handler = _HANDLERS.get((call.http.method, place, bool(name)))
        if handler is None:
            return _error(404, f"there is no {call.http.method} {path}")
        return _json(await handler(self._gateway, replace(call, name=unquote(name))))


# -- keys -----------------------------------------------------------------------------------------


async def _list_keys(gateway: GatewayContext, _call: AdminCall) -> Json:
    every = await gateway.keys.all()
    rows = [await _describe_key(gateway, key) for key in every]
    return {"keys": rows, "guarded": is_guarded(gateway.config, every)}


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


async def _make_key(gateway: GatewayContext, call: AdminCall) -> Json:
    rules = dict(_object(call.http))
    name = rules.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise BadParameter("a key needs a name that says whose it is")
    made = await gateway.keys.make(name.strip(), rules)
    return {"name": name.strip(), "key": made}


async def _change_key(gateway: GatewayContext, call: AdminCall) -> Json:
    rules = _object(call.http)
    if not rules:
        raise BadParameter('name what to change, such as {"blocked": true}')
    if rules.keys() == {"blocked"}:  # also possible for a key of gateway.toml
        if not isinstance(rules["blocked"], bool):
            raise BadParameter('invalid blocked; use {"blocked": true} or {"blocked": false}')
        await gateway.keys.block(call.name, blocked=rules["blocked"])
    else:
        await gateway.keys.change(call.name, rules)
    return {"name": call.name}


async def _remove_key(gateway: GatewayContext, call: AdminCall) -> Json:
    await gateway.keys.remove(call.name)
    return {"name": call.name}


# -- the dial -------------------------------------------------------------------------------------


async def _list_models(gateway: GatewayContext, _call: AdminCall) -> Json:
    return {"models": list_served_names(gateway.routing), "levels": LEVELS}


async def _plan(gateway: GatewayContext, call: AdminCall) -> Json:
    named = _query_value(call.http, "key")
    key = next((each for each in await gateway.keys.all() if each.name == named), None)
    if named and key is None:
        message = f"unknown key {named!r}"
        raise BadParameter(message)
    wish = _query_value(call.http, "thinking")
    return preview(
        gateway.config, gateway.routing, _query_value(call.http, "model") or "", wish, key=key
    )


async def _list_alerts(gateway: GatewayContext, _call: AdminCall) -> Json:
    return {"alerts": await find_alerts(gateway)}


async def _describe_actor(_gateway: GatewayContext, call: AdminCall) -> Json:
    return {"actor": to_builtins(call.actor)}


Handler = Callable[[GatewayContext, AdminCall], Awaitable[Json]]
_HANDLERS: dict[tuple[str, str, bool], Handler] = {
    ("GET", "requests", False): list_requests,
    ("GET", "requests", True): show_request,
    ("GET", "figures", False): count_requests,
    ("GET", "choices", False): list_choices,
    ("GET", "alerts", False): _list_alerts,
    ("GET", "keys", False): _list_keys,
    ("POST", "keys", False): _make_key,
    ("PATCH", "keys", True): _change_key,
    ("DELETE", "keys", True): _remove_key,
    ("GET", "models", False): _list_models,
    ("GET", "plan", False): _plan,
    ("GET", "session", False): _describe_actor,
}
"""By method, path, and whether a name follows it."""
Stream = Callable[[GatewayContext, AdminCall, ResponseWriter], Awaitable[None]]
_STREAMS: dict[tuple[str, str], Stream] = {
    ("GET", "live"): stream_live,
    ("GET", "requests.csv"): stream_csv,
}


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
    return read_query(http).get(name)


def _page(http: HttpRequest, path: str) -> HttpResponse:
    found = console.page(path) if http.method in ("GET", "HEAD") else None
    return found or _error(404, f"the console has no {http.method} {path}")


def _json(value: Json) -> HttpResponse:
    return HttpResponse(200, _JSON, json.encode(value))


def _error(status: int, message: str) -> HttpResponse:
    return HttpResponse(status, _JSON, json.encode({"error": {"message": redact_secrets(message)}}))
