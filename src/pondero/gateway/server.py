"""Runs the gateway: in this process, in several that share a socket, or in a thread for tests.

``pondero serve`` calls ``run``, ``pondero launch`` and tests use ``serving``. SIGHUP reads the
configuration again; SIGTERM and Ctrl-C let open answers end first.
"""

import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from time import sleep
from typing import Any

from ..asgi import address, bind
from ..errors import MissingExtra, PonderoError
from ..exchange import AsyncTransport
from ..store import lookup
from .app import App
from .config import Config
from .config_file import check_exposure, check_sharing, reloaded
from .gate import Gate
from .keys import FileKeys
from .ledger_database import LedgerDatabase
from .observers import Observers, observing
from .receipt import Observer
from .secrets import forget
from .shared import shared_of
from .workers import END, Workers

LOG = logging.getLogger("pondero.gateway")

Ready = Callable[[str], None]

_YOUNG = 20_000  # objects


def run(
    config: Config,
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
    if ready is not None:
        ready(address(bound))
    if config.server.workers > 1:
        from .metrics import shared  # noqa: PLC0415 - an extra

        with shared():
            _run_workers(config, bound, transport, observers)
    else:
        ending = _Ending({signal.SIGTERM})
        _serve(config, bound, transport, observers, ending)
        if ending.told:
            raise SystemExit(0)
        raise KeyboardInterrupt  # nobody else does where the process was started to ignore Ctrl-C


@contextmanager
def serving(
    config: Config,
    *,
    transport: AsyncTransport | None = None,
    observers: Sequence[Observer] = (),
    ledger: LedgerDatabase | None = None,
) -> Iterator[str]:
    """Serve in a thread of this process and yield the base address."""
    bound = bind(config.server.host, config.server.port)
    way = transport or _over_network()
    server = _server(Gate(config, way, observers=observers, ledger=ledger))
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
    config: Config,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
    ending: "_Ending",
) -> None:
    with observing(config.server) as seen:
        told = (*observers, *seen.told)
        ledger = seen.ledger.database if seen.ledger is not None else None
        shared, way = shared_of(config.server, keys=FileKeys()), transport or _over_network()
        gate = Gate(config, way, observers=told, shared=shared, ledger=ledger)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: _read_again(gate))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
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
    """Ends the server of this process in order when one of these signals comes.

    uvicorn raises a signal again when its last answer has ended: left to its default, it would end
    the process there, with what observers have yet to write. It raises nothing itself: an exception
    may come up where Python passes over it, as in the callback of a weak reference.
    """

    def __init__(self, names: Iterable[signal.Signals]) -> None:
        self.told: bool = False
        self._server: Any = None
        for name in names:
            signal.signal(name, self._hear)

    def ends(self, server: Any) -> None:
        """Let this server end when a signal comes, or has come."""
        self._server = server
        server.should_exit = self.told

    def _hear(self, _number: int, _frame: Any) -> None:
        self.told = True
        if self._server is not None:
            self._server.should_exit = True


def _read_again(gate: Gate) -> None:
    """Read the configuration anew; a wrong one is reported, and the old one stays."""
    forget()
    new = _newest(gate.config, gate.transport)
    if new is not gate.config:
        gate.reconfigure(new)
        LOG.info("the configuration was read again")


def _newest(config: Config, transport: AsyncTransport | None) -> Config:
    try:
        return reloaded(config, lookup(), offline=bool(transport and not transport.needs_key))
    except PonderoError as error:
        LOG.error("the configuration stays as it was: %s", error)  # noqa: TRY400 - no traceback
        return config


def _run_workers(
    config: Config,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
) -> None:
    """Serve in several processes on one socket, and start another for each that dies."""
    from .metrics import forget as forget_process  # noqa: PLC0415 - an extra

    def work(*, changed: bool) -> None:
        ending = _Ending(END)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, END)
        newest = _newest(config, transport) if changed else config
        _serve(newest, bound, transport, observers, ending)

    Workers(config.server.workers, work, forget_process).run()


def _over_network() -> AsyncTransport:
    from ..transport import FastTransport  # noqa: PLC0415 - an extra

    return FastTransport()


def _check_extra() -> None:
    try:
        import aiohttp  # noqa: F401, PLC0415 - an extra
        import prometheus_client  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        message = f"a gateway needs {error.name}; pip install 'pondero[gateway]'"
        raise MissingExtra(message) from None


def _server(gate: Gate, seen: Observers | None = None) -> Any:
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
