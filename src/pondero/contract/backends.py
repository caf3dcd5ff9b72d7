"""Who answers a scenario: the emulator, a service at an address, or recordings of either."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from ..cassettes import Cassette, RecordedExchange, load_cassette
from ..catalog import ModelEntry, Provider
from ..dialects import get_dialect
from ..emulator import SERVER, Emulator
from ..errors import (
    AuthFailed,
    BadParameter,
    BadRequest,
    BillingFailed,
    CassetteError,
    NotFound,
    PermissionDenied,
    QuotaSpent,
    ServerFailed,
    TransportError,
    Unsupported,
    WireError,
)
from ..exchange import Transport
from ..transport import HttpTransport
from .bench import Expectations, Testbed
from .scenario import NotSupported, Scenario
from .transports import FreshHttp

_NOBODY = (AuthFailed, BillingFailed, NotFound, PermissionDenied, QuotaSpent, TransportError)
_EMULATOR = Expectations(stages=True, strict=True)
_FOREIGN = Expectations(sparing=True)  # a refusal on a tape was excused, or it would not be kept
# What a server says to something it has never heard of.
_REFUSALS = (BadRequest, NotFound, ServerFailed)


class Backend(Protocol):
    """Provides the bench a scenario runs on."""

    @property
    def proof(self) -> "Backend | None":
        """Return the backend that plays what this one records; None where it records nothing."""
        ...

    def terms(self, entry: ModelEntry, scenario: Scenario, /) -> Expectations:
        """Return what may be expected here of a scenario."""
        ...

    def bench(self, entry: ModelEntry, scenario: Scenario, /) -> AbstractContextManager[Testbed]:
        """Return a bench to run this scenario on."""
        ...


def is_unsupported(error: Exception, scenario: Scenario, terms: Expectations) -> bool:
    """Return whether an error only says that the other side does not do this."""
    if isinstance(error, NotSupported | Unsupported):
        return True
    return terms.sparing and not scenario.basic and isinstance(error, _REFUSALS)


class EmulatorBackend:
    """The emulator, in process: everything can be staged, and everything must work."""

    proof = None

    def terms(self, _entry: ModelEntry, _scenario: Scenario, /) -> Expectations:
        """Return that everything is expected."""
        return _EMULATOR

    @contextmanager
    def bench(self, entry: ModelEntry, _scenario: Scenario, /) -> Iterator[Testbed]:
        """Yield a bench before a fresh emulator."""
        emulator = Emulator(service=entry.provider.name)
        yield Testbed(entry, emulator, _EMULATOR, emulator=emulator)


class HttpBackend:
    """A service over HTTP. Without an address, each provider's own, which needs a key."""

    proof = None

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._terms = Expectations(sparing=url is not None)

    def terms(self, _entry: ModelEntry, _scenario: Scenario, /) -> Expectations:
        """Return that nothing can be staged, and that a server of one's own need not do it all."""
        return self._terms

    def source(self, provider: Provider) -> str:
        """Return the base URL under which a provider is reached here."""
        own = (os.environ[name] for name in provider.url_env if os.environ.get(name))
        return self._url or next(own, provider.url)

    @contextmanager
    def bench(self, entry: ModelEntry, _scenario: Scenario | None = None, /) -> Iterator[Testbed]:
        """Yield a bench before the service."""
        transport = FreshHttp()
        try:
            yield Testbed(entry, transport, self._terms, live=self._url is None, url=self._url)
        finally:
            transport.close()

    def check_reachable(self, entry: ModelEntry) -> None:
        """Ask one small thing, and raise where no service answers."""
        with self.bench(entry) as bench:
            seen = bench.try_ask("Hello.", stream=False)
        head = seen.exchange.head
        if head is not None and seen.body.lstrip().startswith(b"<"):  # as nothing on any wire does
            url = seen.request.url.partition("?")[0]
            message = (
                f"{url} answers {head.status} with a web page; that is no {entry.provider.label}"
            )
            raise WireError(message)
        if isinstance(seen.error, _NOBODY):
            raise seen.error


class ServedEmulatorBackend:
    """The emulator behind a real socket, so that what is recorded came over HTTP."""

    proof = None

    def __init__(self, *, port: int = 0) -> None:
        self._port = port

    def terms(self, _entry: ModelEntry, _scenario: Scenario, /) -> Expectations:
        """Return that everything is expected."""
        return _EMULATOR

    @contextmanager
    def bench(self, entry: ModelEntry, _scenario: Scenario, /) -> Iterator[Testbed]:
        """Yield a bench before an emulator that listens as long as the scenario lasts."""
        from ..emulator import run_emulator_in_thread  # noqa: PLC0415 - needs an extra

        emulator, transport = Emulator(service=entry.provider.name), HttpTransport()
        with run_emulator_in_thread(emulator, port=_free(self._port)) as url:
            try:
                yield Testbed(entry, transport, _EMULATOR, emulator=emulator, url=url)
            finally:
                transport.close()


class CassetteBackend:
    """Recordings in ``folder/PROVIDER/``, one a scenario: played, or made from another."""

    proof: Backend | None

    def __init__(self, folder: Path, source: Backend | None = None) -> None:
        self._folder = folder
        self.source = source
        self.proof = None if source is None else CassetteBackend(folder)

    def terms(self, entry: ModelEntry, scenario: Scenario, /) -> Expectations:
        """Return what was expected when it was recorded."""
        if self.source is not None:
            return self.source.terms(entry, scenario)
        path = self._path(entry, scenario)
        if not scenario.talks or path.exists():
            return _FOREIGN if _is_foreign(path) else _EMULATOR
        # What a service was never asked to stage has no recording: the others tell whose they are.
        return _FOREIGN if any(map(_is_foreign, path.parent.glob("*.jsonl"))) else _EMULATOR

    @contextmanager
    def bench(self, entry: ModelEntry, scenario: Scenario, /) -> Iterator[Testbed]:
        """Yield a bench before a cassette; one that is recorded is kept only if all went well."""
        path, terms = self._path(entry, scenario), self.terms(entry, scenario)
        if self.source is None:
            url = _source(path) if scenario.talks else None
            yield Testbed(entry, _played(path, scenario), terms, url=url)
            return
        with self.source.bench(entry, scenario) as bench:
            cassette = bench.record(path, self._url(entry))
            try:
                yield bench
            except Exception as error:
                if is_unsupported(error, scenario, terms):
                    cassette.save()  # it shows that this cannot be done
                raise
            cassette.save()

    def _path(self, entry: ModelEntry, scenario: Scenario) -> Path:
        return self._folder / entry.provider.name / scenario.cassette

    def _url(self, entry: ModelEntry) -> str | None:
        return self.source.source(entry.provider) if isinstance(self.source, HttpBackend) else None


def _free(port: int) -> int:
    """Return a port to listen on: this one, or any where it is taken."""
    from ..emulator import bind  # noqa: PLC0415 - needs an extra

    try:
        bind("127.0.0.1", port).close()
    except BadParameter:
        return 0
    return port


def _played(path: Path, scenario: Scenario) -> Transport:
    return Cassette(path, record=False) if scenario.talks else Emulator()


def _exchanges(path: Path) -> tuple[RecordedExchange, ...]:
    try:
        return load_cassette(path)
    except CassetteError:
        return ()  # said when it is played


def _source(path: Path) -> str | None:
    """Return the base URL that a recording was made under, where it was not the emulator's."""
    return next((each.source for each in _exchanges(path)), None)


def _is_foreign(path: Path) -> bool:
    """Return whether a service was recorded, which stages nothing and is excused some things.

    A recording that names no source is the emulator's if every answer in it says so.
    """
    return any(
        each.source is not None or each.head is None or each.head.headers.get("server") != SERVER
        for each in _exchanges(path)
    )


def most_recorded_model(folder: Path, entry: ModelEntry) -> str | None:
    """Return the model most of a provider's recordings in a folder were made with."""
    service = get_dialect(entry.provider.dialect).service()
    seen = Counter(
        model
        for path in sorted((folder / entry.provider.name).glob("*.jsonl"))
        for exchange in _exchanges(path)
        if (model := service.requested_model(exchange.request)) is not None
    )
    return next((model for model, _ in seen.most_common(1)), None)
