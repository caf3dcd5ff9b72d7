"""Runs the gateway: in this process, in several that share a socket, or in a thread for tests.

``pondero serve`` calls ``run``, ``pondero launch`` and tests use ``run_gateway_in_thread``. SIGHUP
reads the configuration again; SIGTERM and Ctrl-C let open answers end first, a second Ctrl-C does
not.
"""

import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Any

from ...asgi import address, bind
from ...errors import MissingExtra, PonderoError
from ...exchange import AsyncTransport
from ...store import load_catalog
from ..config.model import GatewayConfig
from ..config.reader import check_exposure, check_sharing, reload_config
from ..config.secrets import forget
from ..observability.ledger_database import LedgerDatabase
from ..observability.observers import Observers, open_observers
from ..observability.receipt import Observer
from ..state.keys import FileKeys
from ..state.shared_state import make_shared_state
from .app import App
from .context import GatewayContext
from .workers import END, Workers, hold_signals, let_through

LOG = logging.getLogger("pondero.gateway")

Ready = Callable[[str], None]

_YOUNG = 20_000  # objects
_ONCE = 1.0  # second: what comes within it is the same Ctrl-C


def run(
    config: GatewayConfig,
    *,
    transport: AsyncTransport | None = None,
    ready: Ready | None = None,
    observers: Sequence[Observer] = (),
) -> None:
    """Serve until told to stop, which raises; ``ready`` is called with the address."""
    _check_extra()
    check_exposure(config)
    check_sharing(config)
    bound = bind(config.server.host, config.server.port)
    hold_signals()
    if ready is not None:
        ready(address(bound))
    if config.server.workers > 1:
        from ..observability.metrics import share_between_processes  # noqa: PLC0415 - an extra

        with share_between_processes():
            _run_workers(config, bound, transport, observers)
    else:
        ending = _Ending()
        _serve(config, bound, transport, observers, ending)
        if ending.told == signal.SIGTERM:
            raise SystemExit(0)
        raise KeyboardInterrupt


@contextmanager
def run_gateway_in_thread(
    config: GatewayConfig,
    *,
    transport: AsyncTransport | None = None,
    observers: Sequence[Observer] = (),
    ledger: LedgerDatabase | None = None,
) -> Iterator[str]:
    """Serve in a thread of this process and yield the base address."""
    bound = bind(config.server.host, config.server.port)
    way = transport or _over_network()
    server = _server(GatewayContext(config, way, observers=observers, ledger=ledger))
    thread = Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        sleep(0.01)
    try:
        yield address(bound)
    finally:
        server.should_exit = True
        thread.join()


def _serve(
    config: GatewayConfig,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
    ending: "_Ending",
) -> None:
    with open_observers(config.server) as seen:
        told = (*observers, *seen.told)
        ledger = seen.ledger.database if seen.ledger is not None else None
        shared, way = (
            make_shared_state(config.server, keys=FileKeys()),
            transport or _over_network(),
        )
        gate = GatewayContext(config, way, observers=told, shared=shared, ledger=ledger)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: _read_again(gate))
            let_through({signal.SIGHUP})
        server = _server(gate, seen)
        ending.ends(server)
        # The catalog and the modules live as long as the process: the collector that walks through
        # them again and again would cost a tenth of every request. What a request makes is gone
        # with it; to look for cycles in that after every 700 objects costs as much.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG)
        server.run([bound])


class _Ending:
    """Ends the server of this process in order when a signal says so; ``told`` is the first one.

    It raises nothing: an exception may come up where Python passes over it, as in the callback of a
    weak reference. uvicorn's own handler would raise the signal again when its last answer has
    ended, and end the process with what observers have yet to write.
    """

    def __init__(self) -> None:
        self.told: int | None = None
        self._since = 0.0
        self._server: Any = None
        for name in END:
            signal.signal(name, self._hear)
        let_through(END)

    def ends(self, server: Any) -> None:
        """Let this server end when a signal comes, or has come."""
        self._server = server
        server.handle_exit = self._hear
        server.should_exit = self.told is not None

    def _hear(self, number: int, _frame: Any) -> None:
        if self.told is None:
            self.told, self._since = number, monotonic()
        if self._server is not None:
            self._server.should_exit = True
            # A terminal sends Ctrl-C to a worker and to its parent, which passes it on.
            if number == signal.SIGINT and monotonic() - self._since > _ONCE:
                self._server.force_exit = True


def _read_again(gate: GatewayContext) -> None:
    """Read the configuration anew; a wrong one is reported, and the old one stays."""
    forget()
    new = _newest(gate.config, gate.transport)
    if new is not gate.config:
        gate.reconfigure(new)
        LOG.info("the configuration was read again")


def _newest(config: GatewayConfig, transport: AsyncTransport | None) -> GatewayConfig:
    try:
        return reload_config(
            config, load_catalog(), offline=bool(transport and not transport.needs_key)
        )
    except PonderoError as error:
        LOG.error("the configuration stays as it was: %s", error)  # noqa: TRY400 - no traceback
        return config


def _run_workers(
    config: GatewayConfig,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
) -> None:
    """Serve in several processes on one socket, and start another for each that dies."""
    from ..observability.metrics import forget as forget_process  # noqa: PLC0415 - an extra

    def work(*, changed: bool) -> None:
        ending = _Ending()
        newest = _newest(config, transport) if changed else config
        _serve(newest, bound, transport, observers, ending)

    Workers(config.server.workers, work, forget_process).run()


def _over_network() -> AsyncTransport:
    from ...transport import FastTransport  # noqa: PLC0415 - an extra

    return FastTransport()


def _check_extra() -> None:
    try:
        import aiohttp  # noqa: F401, PLC0415 - an extra
        import prometheus_client  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        message = f"a gateway needs {error.name}; pip install 'pondero[gateway]'"
        raise MissingExtra(message) from None


def _server(gate: GatewayContext, seen: Observers | None = None) -> Any:
    _check_extra()
    import uvicorn  # noqa: PLC0415 - an extra

    settings = uvicorn.Config(
        App(gate, seen),
        log_level="critical",
        access_log=False,
        lifespan="on",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=round(gate.config.server.drain_seconds),
        server_header=False,
    )
    server = uvicorn.Server(settings)
    gate.feed.is_over = lambda: server.should_exit
    return server
