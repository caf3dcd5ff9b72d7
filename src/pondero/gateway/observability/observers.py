"""Opens the observers that the configuration names; they close after the last answer."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread

from msgspec import Struct

from ...canon import Usage
from ...errors import MissingExtra
from ...extras import install_hint
from ...store import has_prices, price_usage, redact_secrets
from ..config.model import AlertsConfig, ServerConfig
from ..config.secrets import read_webhook, read_webhook_secret
from .access_log import AccessLog
from .ledger import Ledger
from .ledger_database import ledger_database
from .receipt import Observer
from .tracing import Tracing, is_traced
from .webhook import Webhook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .metrics import Metrics


class Observers(Struct, frozen=True):
    """The observers of each request; ``ledger`` and ``webhook`` are None if they are off.

    ``told``: all of them; ``beside_ledger``: all but the ledger, which can take several receipts
    at once.
    """

    told: tuple[Observer, ...] = ()
    beside_ledger: tuple[Observer, ...] = ()
    ledger: Ledger | None = None
    metrics: "Metrics | None" = None
    webhook: Webhook | None = None


def check_extra() -> None:
    """Raise MissingExtra if the packages of a gateway are not installed."""
    try:
        from .metrics import Metrics  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        message = f"a gateway needs {error.name}; {install_hint('gateway')}"
        raise MissingExtra(message) from None


@contextmanager
def open_observers(server: ServerConfig, alerts: AlertsConfig | None = None) -> Iterator[Observers]:
    """Open the observers for the duration of this block; raises MissingExtra."""
    check_extra()
    from .metrics import Metrics  # noqa: PLC0415 - an extra

    redact_secrets("")  # loads its modules now, while there are descriptors for their files
    metrics = Metrics()
    told: list[Observer] = [metrics.note]
    ledger = None
    database = ledger_database(server.ledger)
    if has_prices():  # a third of a second, which the first request should not wait for
        Thread(target=price_usage, args=("", "", Usage(1, output=1)), daemon=True).start()
    with ExitStack() as open_:  # closed in the opposite order: the ledger first
        if is_traced():
            tracing = Tracing()
            open_.callback(tracing.close)
            told.append(tracing.note)
        if server.log != "off":
            log = AccessLog(server.log)
            open_.callback(log.close)
            told.append(log.note)
        if database is not None:
            ledger = Ledger(database)
            metrics.lost_records = lambda: ledger.lost
            ledger.notice_killed = metrics.note
            open_.callback(ledger.close)
        webhook = None
        if alerts is not None and alerts.webhook is not None:
            secret = read_webhook_secret(alerts.secret) if alerts.secret is not None else None
            webhook = Webhook(read_webhook(alerts.webhook), secret=secret)
            open_.callback(webhook.close)
        # After the metrics: killed in between, they count a request twice rather than never.
        every = told if ledger is None else [told[0], ledger.note, *told[1:]]
        yield Observers(tuple(every), tuple(told), ledger, metrics, webhook)
