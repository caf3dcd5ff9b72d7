"""Runs the gateway: in this process, in several that share a socket, or in a thread.

SIGHUP reloads the configuration. SIGTERM and Ctrl-C let answers end, a second Ctrl-C does not.
"""

import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import Any

from ...asgi import address, bind
from ...errors import MissingExtra, PonderoError
from ...exchange import AsyncTransport
from ...extras import install_hint
from ...store import load_catalog
from ..admin.command_audit import record_reload
from ..config.changes import describe_waiting, find_changes
from ..config.checks import check_start
from ..config.model import GatewayConfig
from ..config.reader import reload_config
from ..config.routing import Routing
from ..config.secrets import forget
from ..hooks.loader import describe_changed_code
from ..observability.audit_log import AuditLog
from ..observability.ledger import Ledger
from ..observability.ledger_database import LedgerDatabase
from ..observability.log_time import write_log_times
from ..observability.observers import Observers, open_observers
from ..observability.receipt import Observer
from ..observability.receipt_batch import WAIT
from ..state.envelope_secrets import FileSecrets
from ..state.keys import FileKeys
from ..state.shared_state import make_shared_state
from .app import App
from .context import GatewayContext
from .limits import KEEP_ALIVE
from .workers import END, Workers, block_signals, handle_reload, unblock_signals

LOG = logging.getLogger("pondero.gateway")

Ready = Callable[[str], None]

_YOUNG = 20_000  # objects
_ONCE = 1.0  # second: signals within it are the same Ctrl-C
FORCED = 3.5
"""Seconds after the drain when a process ends by force, whatever it waits for."""
_SHOWN = 10  # parts of the configuration that a line of the log names
_KILLED = 0.5  # second later, its parent kills a worker that is stopped or stuck


def run(
    config: GatewayConfig,
    *,
    transport: AsyncTransport | None = None,
    ready: Ready | None = None,
    observers: Sequence[Observer] = (),
) -> bool:
    """Serve until a signal; return whether answers that were open have ended by themselves.

    ``ready`` is called with the address. A second Ctrl-C raises KeyboardInterrupt. The process then
    ends within ``drain_seconds`` and five seconds, by force if need be: no record is lost, because
    the ledger's journal has them.
    """
    _check_extra()
    write_log_times()
    check_start(config, Routing(config, load_catalog()), offline=_is_offline(transport))
    bound = bind(config.server.host, config.server.port)
    block_signals()
    if ready is not None:
        ready(address(bound))
    if config.server.workers > 1:
        from ..observability.metrics import share_between_processes  # noqa: PLC0415 - an extra

        with share_between_processes():
            seconds = _run_workers(config, bound, transport, observers)
    else:
        shutdown = _Shutdown(config.server.drain_seconds + FORCED)
        _serve_process(config, bound, transport, observers, shutdown)
        if shutdown.is_forced:
            raise KeyboardInterrupt
        seconds = shutdown.seconds
    are_finished = seconds < config.server.drain_seconds
    if are_finished:
        LOG.warning("stopped; open answers were finished")
    return are_finished


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
    network = transport or _make_transport()
    shared = make_shared_state(config.server, secrets=FileSecrets() if config.private else None)
    gateway = GatewayContext(config, network, observers=observers, shared=shared, ledger=ledger)
    server = _make_server(gateway)
    thread = Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        sleep(0.01)
    try:
        yield address(bound)
    finally:
        server.should_exit = True
        thread.join()


def _serve_process(
    config: GatewayConfig,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
    shutdown: "_Shutdown",
    *,
    parent: int | None = None,
) -> None:
    """Serve in this process; ``parent``: of a worker, which leaves the log of a reload to it."""
    with open_observers(config.server, config.alerts) as seen:
        told = (*observers, *seen.beside_ledger)
        ledger = seen.ledger.database if seen.ledger is not None else None
        shared, network = (
            make_shared_state(
                config.server, keys=FileKeys(), secrets=FileSecrets(), saves_owners=True
            ),
            transport or _make_transport(),
        )
        gateway = GatewayContext(
            config,
            network,
            observers=told,
            shared=shared,
            ledger=ledger,
            save_begun=seen.ledger.save_begun if seen.ledger is not None else None,
            add_begun=_defer_begun(seen.ledger, network),
            save_ended=seen.ledger.note_all if seen.ledger is not None else None,
            audit=AuditLog(seen.ledger.note_audit if seen.ledger is not None else None),
        )
        gateway.receipts.wait = WAIT
        handle_reload(lambda: _reload(gateway, reports=parent is None), parent=parent)
        server = _make_server(gateway, seen)
        shutdown.attach(server)
        # Collecting catalog and modules costs a tenth of a request; so does a threshold of 700.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG)
        server.run([bound])


class _Shutdown:
    """Stops the server of this process after a signal; ``signal_number`` is the first.

    ``is_forced``: another Ctrl-C ended open answers.

    It raises nothing, because Python swallows exceptions in some callbacks. uvicorn's handler would
    end the process before observers have written.
    """

    def __init__(self, patience: float | None = None) -> None:
        self.signal_number: int | None = None
        self.is_forced: bool = False
        self._since = 0.0
        self._make_server: Any = None
        self._begun: SimpleQueue[None] = SimpleQueue()  # a signal may interrupt its own put
        if patience is not None:
            Thread(target=self._force, args=(patience,), daemon=True).start()
        for name in END:
            signal.signal(name, self._handle)
        unblock_signals(END)

    @property
    def seconds(self) -> float:
        """Return how long ago the first signal came."""
        return monotonic() - self._since

    def attach(self, server: Any) -> None:
        """Stop this server at a signal, also one that has already come."""
        self._make_server = server
        server.handle_exit = self._handle
        server.should_exit = self.signal_number is not None

    def _handle(self, number: int, _frame: Any) -> None:
        if self.signal_number is None:
            self.signal_number, self._since = number, monotonic()
            self._begun.put(None)
        if self._make_server is not None:
            self._make_server.should_exit = True
            # A terminal sends Ctrl-C to a worker and to its parent, which passes it on.
            if number == signal.SIGINT and monotonic() - self._since > _ONCE:
                self.is_forced = self._make_server.force_exit = True

    def _force(self, patience: float) -> None:
        """End the process some time after the signal, if it did not end by itself."""
        self._begun.get()
        sleep(patience)
        os._exit(1)


def _reload(gateway: GatewayContext, *, reports: bool) -> None:
    """Reload the configuration; an invalid one changes nothing."""
    forget()
    old = gateway.config
    new, problem = _load_newest(old, gateway.transport)
    if problem is None:
        gateway.reconfigure(new)
    if reports:
        _report_reload(old, new, problem)
    # In a thread: the signal may have come while this one holds the lock of the journal.
    Thread(
        target=record_reload,
        args=(gateway.audit, old, new),
        kwargs={"problem": problem, "logs": reports},
    ).start()


def _load_newest(
    config: GatewayConfig, transport: AsyncTransport | None
) -> tuple[GatewayConfig, str | None]:
    """Return the configuration as it is now, or the old one and why the new one is not used."""
    try:
        offline = _is_offline(transport)
        new = reload_config(config, load_catalog(), offline=offline)
        check_start(new, Routing(new, load_catalog()), offline=offline)
    except PonderoError as error:
        return config, str(error)
    return new, None


def _report_reload(old: GatewayConfig, new: GatewayConfig, problem: str | None) -> None:
    """Say how a reload went, in a line that needs no configuration of logging."""
    if problem is not None:
        LOG.error("the configuration stays as it was: %s", problem)
        return
    change = find_changes(old, new)
    names = list(dict.fromkeys((*change.before, *change.after)))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    changed = f"changed: {', '.join(names[:_SHOWN])}{more}" if names else "nothing changed"
    if waiting := "; ".join(filter(None, (describe_waiting(new), describe_changed_code(new)))):
        changed = f"{changed}; {waiting}" if names else f"nothing changed yet: {waiting}"
    LOG.warning("configuration reloaded; %s", changed)


def _is_offline(transport: AsyncTransport | None) -> bool:
    return transport is not None and not transport.needs_key


def _run_workers(
    config: GatewayConfig,
    bound: socket.socket,
    transport: AsyncTransport | None,
    observers: Sequence[Observer],
) -> float:
    """Serve in several processes on one socket; return the seconds since the signal to end."""
    from ..observability.metrics import forget as forget_process  # noqa: PLC0415 - an extra

    patience = config.server.drain_seconds + FORCED
    newest = config  # of a worker that is started later
    parent = os.getpid()

    def work() -> None:
        _serve_process(newest, bound, transport, observers, _Shutdown(patience), parent=parent)

    def reload() -> None:
        """Check the file that the workers read too, and report it once for all of them."""
        nonlocal newest
        forget()
        old = newest
        newest, problem = _load_newest(old, transport)
        _report_reload(old, newest, problem)
        if config.server.ledger == "off":  # or else the ledger has the workers' entries, as one
            record_reload(AuditLog(), old, newest, problem=problem)

    workers = Workers(
        config.server.workers, work, forget_process, reload, patience=patience + _KILLED
    )
    workers.run()
    return workers.seconds


def _defer_begun(ledger: Ledger | None, transport: AsyncTransport) -> Observer | None:
    """Let begun requests wait for each other until the transport writes; None if it cannot."""
    from ...transport import FastTransport  # noqa: PLC0415 - an extra

    if ledger is None or not isinstance(transport, FastTransport):
        return None
    transport.before_write = ledger.flush_begun
    return ledger.add_begun


def _make_transport() -> AsyncTransport:
    from ...transport import FastTransport  # noqa: PLC0415 - an extra

    return FastTransport()


def _check_extra() -> None:
    try:
        import aiohttp  # noqa: F401, PLC0415 - an extra
        import cryptography  # noqa: F401, PLC0415 - an extra
        import httptools  # noqa: F401, PLC0415 - an extra
        import prometheus_client  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        message = f"a gateway needs {error.name}; {install_hint('gateway')}"
        raise MissingExtra(message) from None


def _make_server(gateway: GatewayContext, seen: Observers | None = None) -> Any:
    _check_extra()
    import uvicorn  # noqa: PLC0415 - an extra

    from ._resting_server import RestingServer  # noqa: PLC0415 - an extra
    from .protocol import make_protocol  # noqa: PLC0415 - an extra

    app = App(gateway, seen)
    settings = uvicorn.Config(
        app,
        http=make_protocol(app.reject_unread, gateway.shared.defer_given()),
        timeout_keep_alive=KEEP_ALIVE,
        log_level="critical",
        access_log=False,
        lifespan="on",
        ws="none",  # the protocol opens WebSockets itself
        ws_max_size=gateway.config.server.max_body,
        ws_per_message_deflate=False,  # messages that unpack cost memory, and agents send text once
        proxy_headers=False,
        timeout_graceful_shutdown=round(gateway.config.server.drain_seconds),
        server_header=False,
    )
    server = RestingServer(settings)
    gateway.feed.is_over = lambda: server.should_exit
    return server
