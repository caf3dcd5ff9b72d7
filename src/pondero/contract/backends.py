"""Who answers a scenario: the emulator, a service at an address, or recordings of either."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from ..catalog import Entry
from ..dialects import Rejected, dialect
from ..emulator import SERVER, Emulator
from ..errors import (
    AuthFailed,
    BadParameter,
    BillingFailed,
    CassetteError,
    NotFound,
    PermissionDenied,
    QuotaSpent,
    TransportError,
    WireError,
)
from ..exchange import Transport
from ..transport import Cassette, HttpTransport, load
from .bench import Bench
from .scenario import Lacking, Scenario
from .transports import FreshHttp

_NOBODY = (AuthFailed, BillingFailed, NotFound, PermissionDenied, QuotaSpent, TransportError)


class Backend(Protocol):
    """Provides the bench a scenario runs on."""

    @property
    def stages(self) -> bool:
        """Return whether staged answers can be had here."""
        ...

    @property
    def sparing(self) -> bool:
        """Return whether a refusal means "not offered here" and not a failure."""
        ...

    @property
    def proof(self) -> "Backend | None":
        """Return the backend that plays what this one records; None where it records nothing."""
        ...

    def bench(self, entry: Entry, scenario: Scenario, /) -> AbstractContextManager[Bench]:
        """Return a bench to run this scenario on."""
        ...


class Emulated:
    """The emulator, in process: everything can be staged, and everything must work."""

    stages = True
    sparing = False
    proof = None

    @contextmanager
    def bench(self, entry: Entry, _scenario: Scenario, /) -> Iterator[Bench]:
        """Yield a bench before a fresh emulator."""
        emulator = Emulator(service=entry.provider.name)
        yield Bench(entry, emulator, emulator=emulator, strict=True)


class Reached:
    """A service over HTTP. Without an address, each provider's own, which needs a key."""

    stages = False
    proof = None

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self.sparing = url is not None

    @contextmanager
    def bench(self, entry: Entry, _scenario: Scenario | None = None, /) -> Iterator[Bench]:
        """Yield a bench before the service."""
        transport = FreshHttp()
        try:
            yield Bench(entry, transport, live=self._url is None, url=self._url)
        finally:
            transport.close()

    def check_reachable(self, entry: Entry) -> None:
        """Ask one small thing, and raise where no service answers."""
        with self.bench(entry) as bench:
            seen = bench.tried("Hello.", stream=False)
        head = seen.exchange.head
        if head is not None and seen.body.lstrip().startswith(b"<"):  # as nothing on any wire does
            url = seen.request.url.partition("?")[0]
            message = (
                f"{url} answers {head.status} with a web page; that is no {entry.provider.label}"
            )
            raise WireError(message)
        if isinstance(seen.error, _NOBODY):
            raise seen.error


class Served:
    """The emulator behind a real socket, so that what is recorded came over HTTP."""

    stages = True
    sparing = False
    proof = None

    def __init__(self, *, port: int = 0) -> None:
        self._port = port

    @contextmanager
    def bench(self, entry: Entry, _scenario: Scenario, /) -> Iterator[Bench]:
        """Yield a bench before an emulator that listens as long as the scenario lasts."""
        from ..emulator import serving  # noqa: PLC0415 - needs an extra

        emulator, transport = Emulator(service=entry.provider.name), HttpTransport()
        with serving(emulator, port=_free(self._port)) as url:
            try:
                yield Bench(entry, transport, emulator=emulator, strict=True, url=url)
            finally:
                transport.close()


class Taped:
    """Recordings in ``folder/PROVIDER/``, one a scenario: played, or made from another."""

    stages = True
    sparing = False
    proof: Backend | None

    def __init__(self, folder: Path, source: Backend | None = None) -> None:
        self._folder = folder
        self.source = source
        self.proof = None if source is None else Taped(folder)
        if source is not None:
            self.stages = source.stages
            self.sparing = source.sparing

    @contextmanager
    def bench(self, entry: Entry, scenario: Scenario) -> Iterator[Bench]:
        """Yield a bench before a cassette; one that is recorded is kept only if all went well."""
        path = self._folder / entry.provider.name / scenario.cassette
        if self.source is None:
            strict = not scenario.talks or _of_the_emulator(path)
            yield Bench(entry, _played(path, scenario), plays=True, strict=strict)
            return
        with self.source.bench(entry, scenario) as bench:
            cassette = bench.record(path)
            try:
                yield bench
            except Lacking:
                cassette.save()  # it shows that this cannot be done
                raise
            cassette.save()


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


def _of_the_emulator(path: Path) -> bool:
    """Return whether a recording came from the emulator, which must do everything."""
    try:
        heads = [exchange.head for exchange in load(path)]
    except CassetteError:
        return False  # said when it is played
    return all(head is not None and head.headers.get("server") == SERVER for head in heads)


def recorded_model(folder: Path, entry: Entry) -> str | None:
    """Return the model most of a provider's recordings in a folder were made with."""
    wire, seen = dialect(entry.provider.dialect), dict[str, int]()
    for path in sorted((folder / entry.provider.name).glob("*.jsonl")):
        try:
            exchanges = load(path)
        except CassetteError:
            continue  # said when its scenario is run
        for exchange in exchanges:
            try:
                read = wire.service().accept(exchange.request, entry.provider.name)
            except Rejected:
                continue
            model = read.request.model
            seen[model] = seen.get(model, 0) + 1
    return max(seen, key=lambda model: seen[model], default=None)
