"""The emulator over HTTP, for any SDK. Needs the extra ``server``."""

import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import msgspec

from ..asgi import address, make_asgi_app
from ..asgi import bind as bind_socket
from ..errors import BadParameter, MissingExtra
from ..extras import install_hint
from .emulator import Emulator
from .paths import ORIGIN
from .responders.script import parse_turns

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    Endpoint = Callable[[Request], Awaitable[Response]]

_BIGGEST = 300 * 1024 * 1024  # more than any service accepts in one batch
_JSON = "application/json"
_CONTROL = "/_emulator/"
_METHODS = {"expect": "POST", "reset": "POST", "log": "GET"}
_ALL_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
SERVER = "pondero-emulator"
"""The name in the ``server`` header, so that a recording shows its origin.

>>> pondero.emulator.SERVER
'pondero-emulator'
"""


def make_app(emulator: Emulator) -> "Starlette":
    """Return the emulator as an ASGI application, with ``/_emulator/`` to control it.

    >>> from pondero.emulator import Emulator, make_app
    >>> application = make_app(Emulator())  # for uvicorn, or any other ASGI server
    """
    _check_extra()
    from starlette.applications import Starlette  # noqa: PLC0415 - an extra
    from starlette.routing import Mount, Route  # noqa: PLC0415 - an extra

    control = _ControlEndpoints(emulator)
    endpoints = {"expect": control.expect, "reset": control.reset, "log": control.log}
    return Starlette(
        routes=[
            *(
                Route(f"{_CONTROL}{name}", _guard_local(endpoints[name]), methods=[method])
                for name, method in _METHODS.items()
            ),
            Route(f"{_CONTROL}{{name:path}}", _guard_local(control.reject), methods=_ALL_METHODS),
            Mount("/", make_asgi_app(emulator, origin=ORIGIN, biggest=_BIGGEST)),
        ]
    )


def run(emulator: Emulator, *, sockets: list[socket.socket]) -> NoReturn:
    """Serve until interrupted; then raise KeyboardInterrupt.

    >>> from pondero.emulator import Emulator, bind, run
    >>> run(Emulator(), sockets=[bind("127.0.0.1", 9100)])  # doctest: +SKIP
    """
    _server(emulator).run(sockets)
    raise KeyboardInterrupt  # uvicorn does not if the process was started to ignore Ctrl-C


@contextmanager
def run_emulator_in_thread(
    emulator: Emulator | None = None, *, host: str = "127.0.0.1", port: int = 0
) -> Iterator[str]:
    """Serve in a thread and yield the base URL; for tests.

    >>> from pondero.emulator import run_emulator_in_thread
    >>> with run_emulator_in_thread() as url:
    ...     elsewhere = pondero.Client(urls={"anthropic": url}, keys={"anthropic": "any"})
    ...     elsewhere.ask("claude-opus-5/low", "What is 17 * 23?").text
    '17 * 23 = 391'
    """
    bound = bind(host, port)
    server = _server(emulator or Emulator())
    ready = Thread(target=server.run, args=([bound],), daemon=True)
    ready.start()
    try:
        yield address(bound)
    finally:
        server.should_exit = True
        ready.join()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises BadParameter if it cannot listen, and MissingExtra.

    >>> from pondero.emulator import address, bind
    >>> with bind("127.0.0.1", 0) as bound:
    ...     print(address(bound))
    http://127.0.0.1:...
    """
    _check_extra()
    return bind_socket(host, port)


class _ControlEndpoints:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    async def expect(self, request: "Request") -> "Response":
        """Add one turn (an object) or several (a list)."""
        try:
            turns = parse_turns(await request.body())
        except BadParameter as error:
            return _make_response({"error": str(error)}, status=400)
        self._emulator.expect(*turns)
        return _make_response({"waiting": len(self._emulator.script)})

    async def reset(self, _request: "Request") -> "Response":
        """Reset the emulator."""
        self._emulator.reset()
        return _make_response({"waiting": 0})

    async def log(self, _request: "Request") -> "Response":
        """Return the log."""
        return _make_response({"exchanges": self._emulator.log.entries})

    async def reject(self, request: "Request") -> "Response":
        """Name the right method, or the endpoints there are."""
        name = request.path_params["name"]
        if (method := _METHODS.get(name)) is not None:
            return _make_response(
                {"error": f"use {method} {_CONTROL}{name}"}, status=405, headers={"allow": method}
            )
        *others, last = (f"{method} {_CONTROL}{known}" for known, method in _METHODS.items())
        listed = f"{', '.join(others)} or {last}"
        return _make_response({"error": f"there is no {_CONTROL}{name}; use {listed}"}, status=404)


def _guard_local(endpoint: "Endpoint") -> "Endpoint":
    async def guard(request: "Request") -> "Response":
        if (why := _find_foreign(request.headers)) is not None:
            return _make_response({"error": why}, status=403)
        return await endpoint(request)

    return guard


def _find_foreign(headers: Mapping[str, str]) -> str | None:
    """Return why a request is not local, or None; names with a dot may be a page's (rebinding)."""
    host = headers.get("host", "")
    name = urlsplit(f"//{host}").hostname or ""
    if "." in name.removesuffix(".localhost") and not _is_address(name):
        return f"the host {host!r} is not a local one"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return f"requests of pages from {origin!r} are not taken"
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return "requests of other sites' pages are not taken"
    if headers.get("content-type", "").startswith("text/plain"):
        return "send JSON as application/json; pages of other origins can send text/plain"
    return None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _make_response(
    value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> "Response":
    from starlette.responses import Response  # noqa: PLC0415 - an extra

    return Response(msgspec.json.encode(value), status, headers, media_type=_JSON)


def _server(emulator: Emulator) -> Any:
    import uvicorn  # noqa: PLC0415 - an extra

    config = uvicorn.Config(
        make_app(emulator),
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
        ws="none",
        headers=[("server", SERVER)],
    )
    return uvicorn.Server(config)


def _check_extra() -> None:
    try:
        import starlette  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra(f"a server needs {error.name}; {install_hint('server')}") from None
