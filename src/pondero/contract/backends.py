"""Backends that answer a scenario: the emulator, a service at a URL, or recordings of either."""

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

_UNREACHABLE = (AuthFailed, BillingFailed, NotFound, PermissionDenied, QuotaSpent, TransportError)
_EMULATOR = Expectations(stages=True, strict=True)
_FOREIGN = Expectations(sparing=True)  # a recorded rejection was excused when it was recorded
# How servers answer a request for a feature that they do not have.
_REJECTIONS = (BadRequest, NotFound, ServerFailed)


class Backend(Protocol):
    """Provides the testbed of a scenario."""

    @property
    def proof(self) -> "Backend | None":
        """Return the backend that plays what this one records, or None if it records nothing."""
        ...

    def terms(self, entry: ModelEntry, scenario: Scenario, /) -> Expectations:
        """Return what this backend is expected to do in a scenario."""
        ...

    def bench(self, entry: ModelEntry, scenario: Scenario, /) -> AbstractContextManager[Testbed]:
        """Return a testbed for this scenario."""
        ...


def is_unsupported(error: Exception, scenario: Scenario, terms: Expectations) -> bool:
    """Return whether an error only means that the other side lacks this feature."""
    if isinstance(error, NotSupported | Unsupported):
        return True
    return terms.sparing and not scenario.basic and isinstance(error, _REJECTIONS)


class EmulatorBackend:
    """The emulator, in process: everything can be staged, and everything must work."""

    proof = None

    def terms(self, _entry: ModelEntry, _scenario: Scenario, /) -> Expectations:
        """Return that every feature is expected."""
        return _EMULATOR

    @contextmanager
    def bench(self, entry: ModelEntry, _scenario: Scenario, /) -> Iterator[Testbed]:
        """Yield a testbed with a fresh emulator."""
        emulator = Emulator(service=entry.provider.name)
        yield Testbed(entry, emulator, _EMULATOR, emulator=emulator)


class HttpBackend:
    """A service over HTTP. Without an address, each provider's own, which needs a key."""

    proof = None

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._terms = Expectations(sparing=url is not None)

    def terms(self, _entry: ModelEntry, _scenario: Scenario, /) -> Expectations:
        """Return that nothing can be staged; a server at a given URL may lack features."""
        return self._terms

    def source(self, provider: Provider) -> str:
        """Return the base URL under which a provider is reached here."""
        own = (os.environ[name] for name in provider.url_env if os.environ.get(name))
        return self._url or next(own, provider.url)

    @contextmanager
    def bench(self, entry: ModelEntry, _scenario: Scenario | None = None, /) -> Iterator[Testbed]:
        """Yield a testbed with the service."""
        transport = FreshHttp()
        try:
            yield Testbed(entry, transport, self._terms, live=self._url is None, url=self._url)
        finally:
            transport.close()

    def check_reachable(self, entry: ModelEntry) -> None:
        """Send one small request, and raise if no service answers."""
        with self.bench(entry) as bench:
            seen = bench.try_ask("Hello.", stream=False)
        head = seen.exchange.head
        if head is not None and seen.body.lstrip().startswith(b"<"):  # no API answers with HTML
            url = seen.request.url.partition("?")[0]
            message = (
                f"{url} answers {head.status} with a web page; that is no {entry.provider.label}"
            )
            raise WireError(message)
        if isinstance(seen.error, _UNREACHABLE):
            raise seen.error


class ServedEmulatorBackend:
    """The emulator on a real socket, so that recordings are of HTTP traffic."""

    proof = None

    def __init__(self, *, port: int = 0) -> None:
        self._port = port

    def terms(self, _entry: ModelEntry, _scenario: Scenario, /) -> Expectations:
        """Return that every feature is expected."""
        return _EMULATOR

    @contextmanager
    def bench(self, entry: ModelEntry, _scenario: Scenario, /) -> Iterator[Testbed]:
        """Yield a testbed with an emulator that listens during the scenario."""
        from ..emulator import run_emulator_in_thread  # noqa: PLC0415 - needs an extra

        emulator, transport = Emulator(service=entry.provider.name), HttpTransport()
        with run_emulator_in_thread(emulator, port=_find_port(self._port)) as url:
            try:
                yield Testbed(entry, transport, _EMULATOR, emulator=emulator, url=url)
            finally:
                transport.close()


class CassetteBackend:
    """Recordings in ``folder/PROVIDER/``, one per scenario: played, or made from a source."""

    proof: Backend | None

    def __init__(self, folder: Path, source: Backend | None = None) -> None:
        self._folder = folder
        self.source = source
        self.proof = None if source is None else CassetteBackend(folder)

    def terms(self, entry: ModelEntry, scenario: Scenario, /) -> Expectations:
        """Return what was expected at the time of the recording."""
        if self.source is not None:
            return self.source.terms(entry, scenario)
        path = self._path(entry, scenario)
        if not scenario.talks or path.exists():
            return _FOREIGN if _is_foreign(path) else _EMULATOR
        # A scenario that a service cannot stage has no recording; its other recordings tell.
        return _FOREIGN if any(map(_is_foreign, path.parent.glob("*.jsonl"))) else _EMULATOR

    @contextmanager
    def bench(self, entry: ModelEntry, scenario: Scenario, /) -> Iterator[Testbed]:
        """Yield a testbed with a cassette; a recording is saved only if the scenario succeeds."""
        path, terms = self._path(entry, scenario), self.terms(entry, scenario)
        if self.source is None:
            url = _source(path) if scenario.talks else None
            yield Testbed(entry, _make_transport(path, scenario), terms, url=url)
            return
        with self.source.bench(entry, scenario) as bench:
            cassette = bench.record(path, self._url(entry))
            try:
                yield bench
            except Exception as error:
                if is_unsupported(error, scenario, terms):
                    cassette.save()  # the recording shows the missing feature
                raise
            cassette.save()

    def _path(self, entry: ModelEntry, scenario: Scenario) -> Path:
        return self._folder / entry.provider.name / scenario.cassette

    def _url(self, entry: ModelEntry) -> str | None:
        return self.source.source(entry.provider) if isinstance(self.source, HttpBackend) else None


def _find_port(port: int) -> int:
    from ..emulator import bind  # noqa: PLC0415 - needs an extra

    try:
        bind("127.0.0.1", port).close()
    except BadParameter:
        return 0
    return port


def _make_transport(path: Path, scenario: Scenario) -> Transport:
    return Cassette(path, record=False) if scenario.talks else Emulator()


def _exchanges(path: Path) -> tuple[RecordedExchange, ...]:
    try:
        return load_cassette(path)
    except CassetteError:
        return ()  # reported when it is played


def _source(path: Path) -> str | None:
    return next((each.source for each in _exchanges(path)), None)


def _is_foreign(path: Path) -> bool:
    return any(
        each.source is not None or each.head is None or each.head.headers.get("server") != SERVER
        for each in _exchanges(path)
    )


def most_recorded_model(folder: Path, entry: ModelEntry) -> str | None:
    """Return the model that most of a provider's recordings in a folder used."""
    service = get_dialect(entry.provider.dialect).service()
    seen = Counter(
        model
        for path in sorted((folder / entry.provider.name).glob("*.jsonl"))
        for exchange in _exchanges(path)
        if (model := service.requested_model(exchange.request)) is not None
    )
    return next((model for model, _ in seen.most_common(1)), None)
