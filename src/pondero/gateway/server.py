"""Runs the gateway: in this process, in several that share a socket, or in a thread for tests.

``pondero serve`` calls ``run``, ``pondero launch`` and tests use ``serving``. SIGHUP reads the
configuration again; SIGTERM and Ctrl-C let open answers end first.
"""

import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from time import sleep
from typing import Any

from ..asgi import address, bind
from ..errors import BadParameter, MissingExtra, PonderoError
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
        _serve(config, bound, transport, observers)
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
) -> None:
    signal.signal(signal.SIGTERM, _end)
    with observing(config.server) as seen:
        told = (*observers, *seen.told)
        ledger = seen.ledger.database if seen.ledger is not None else None
        shared, way = shared_of(config.server, keys=FileKeys()), transport or _over_network()
        gate = Gate(config, way, observers=told, shared=shared, ledger=ledger)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: _read_again(gate))
        server = _server(gate, seen)
        # The catalog and the modules live as long as the process: the collector that walks through
        # them again and again would cost a tenth of every request. What a request makes is gone
        # with it; to look for cycles in that after every 700 objects costs as much.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG)
        server.run([bound])


def _end(_number: int, _frame: Any) -> None:
    """End this process in order: uvicorn raises a signal again when its last answer has ended.

    Left to its default it would end the process there, with what observers have yet to write.
    """
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, signal.SIG_IGN)
    raise SystemExit(0)


def _read_again(gate: Gate) -> None:
    """Read the configuration anew; a wrong one is reported, and the old one stays."""
    forget()
    try:
        gate.reconfigure(reloaded(gate.config, lookup(), offline=not gate.transport.needs_key))
    except PonderoError as error:
        LOG.error("the configuration stays as it was: %s", error)  # noqa: TRY400 - no traceback
    else:
        LOG.info("the configuration was read again")


def _run_workers(
    config: Config,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
) -> None:
    """Serve in several processes on one socket, and start another for each that dies."""
    from .metrics import forget as forget_process  # noqa: PLC0415 - an extra

    if not hasattr(os, "fork"):
        raise BadParameter("several workers need fork, which this system has not; use one")
    children: set[int] = set()
    stopping = False

    def started() -> int:
        child = os.fork()
        if child:
            return child
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, _end)
        status = 1
        try:
            _serve(config, bound, transport, observers)
            status = 0
        except SystemExit:
            status = 0
        finally:
            os._exit(status)

    def passed_on(number: int, _frame: Any) -> None:
        nonlocal stopping
        stopping = stopping or number != signal.SIGHUP
        for child in children:
            os.kill(child, number)

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, passed_on)
    while len(children) < config.server.workers:
        children.add(started())
    while children:
        child, status = os.wait()
        children.discard(child)
        forget_process(child)
        if not stopping:
            LOG.error("worker %s ended with %s; another is started", child, status)
            children.add(started())


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
