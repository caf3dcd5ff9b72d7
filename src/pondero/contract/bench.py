"""The testbed of a scenario: it asks through the client and sees both the reply and the wire."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import Event, HttpRequest, Json, Reply, ResponseHead
from ..cassettes import Cassette, RecordedExchange
from ..catalog import ModelEntry
from ..client import Client, load_catalog
from ..dialects import AcceptedRequest, Dialect, Rejected, get_dialect
from ..emulator import Emulator, ScriptedTurn
from ..errors import CassetteError, NotFound, PonderoError, ServiceError, UsageError
from ..exchange import Retry, Transport
from ..thinking import Plan, Policy
from .transports import RecordingTransport

_ONCE = Retry(attempts=1, waits=False)
_UNSENT = Emulator()  # a request that is only prepared needs no key
_USUAL = Policy()  # the user's own policy would change what is compared


class ObservedExchange(Struct, frozen=True):
    """One question and its answer; ``accepted`` is the request as the service side reads it."""

    exchange: RecordedExchange
    plan: Plan
    events: tuple[Event, ...] = ()
    reply: Reply | None = None
    error: PonderoError | None = None
    accepted: AcceptedRequest[Json] | None = None
    tries: int = 1

    @property
    def answer(self) -> Reply:
        """Return the reply of an exchange that ``ask`` returned."""
        assert self.reply is not None  # noqa: S101 - ``ask`` raises if there is no reply
        return self.reply

    @property
    def request(self) -> HttpRequest:
        """Return the request as it was sent."""
        return self.exchange.request

    @property
    def sent(self) -> Json:
        """Return the JSON that was sent."""
        return msgspec.json.decode(self.exchange.request.body)

    @property
    def body(self) -> bytes:
        """Return the bytes of the response."""
        return self.exchange.body


class Expectations(Struct, frozen=True, kw_only=True):
    """What is expected: answers that can be staged, and an error where a feature is missing.

    ``sparing``: a rejected request means a missing feature, not an error.
    """

    stages: bool = False
    strict: bool = False
    sparing: bool = False


_NO_TERMS = Expectations()


class Testbed:
    """One model and its transport; ``emulator`` stages answers, ``url`` if not the provider's."""

    __test__ = False  # or pytest collects it, because of its name

    def __init__(
        self,
        entry: ModelEntry,
        transport: Transport,
        terms: Expectations = _NO_TERMS,
        *,
        emulator: Emulator | None = None,
        live: bool = False,
        url: str | None = None,
    ) -> None:
        self.entry = entry
        self.wire: Dialect = get_dialect(entry.provider.dialect)
        self.terms = terms
        self.listener: RecordingTransport = RecordingTransport(transport, needs_key=live)
        self._emulator = emulator
        self._urls = {} if url is None else {entry.provider.name: url}

    @property
    def is_staged(self) -> bool:
        """Return whether answers are the staged ones, word for word."""
        return self.strict and self.stages

    @property
    def stages(self) -> bool:
        """Return whether answers can be staged, now or when they were recorded."""
        return self.terms.stages

    @property
    def strict(self) -> bool:
        """Return whether a missing feature is an error."""
        return self.terms.strict

    def stage(self, *turns: ScriptedTurn) -> None:
        """Stage the next answers, if there is an emulator."""
        if self._emulator is not None:
            self._emulator.reset()
            self._emulator.expect(*turns)

    def record(self, path: Path, source: str | None) -> Cassette:
        """Return a cassette that records from now on; the caller saves it."""
        cassette = Cassette(path, self.listener.inner, record=True, source=source)
        self.listener.inner = cassette
        return cassette

    def ask(
        self, prompt: Any, thinking: Any = None, *, entry: ModelEntry | None = None, **options: Any
    ) -> ObservedExchange:
        """Ask and return what was observed; raise the service's or the wire's error."""
        seen = self.try_ask(prompt, thinking, entry=entry, **options)
        if seen.error is not None:
            raise seen.error
        return seen

    def try_ask(
        self,
        prompt: Any,
        thinking: Any = None,
        *,
        entry: ModelEntry | None = None,
        key: str | None = None,
        **options: Any,
    ) -> ObservedExchange:
        """Ask and return what was observed, including an error of the service."""
        target, before = entry or self.entry, len(self.listener.exchanges)
        stream = self._client(target, self.listener, key).stream(
            target.id, prompt, thinking, **options
        )
        events: list[Event] = []
        reply, error = None, None
        try:
            with stream:
                events.extend(stream)
            reply = stream.reply
        except (UsageError, CassetteError):
            raise  # not an error of the service
        except PonderoError as raised:
            error = raised
        heard = self.listener.exchanges[before:]
        if not heard:
            raise error or AssertionError
        return ObservedExchange(
            heard[-1],
            stream.plan,
            tuple(events),
            reply,
            error,
            self.read(heard[-1].request, target),
            len(heard),
        )

    def prepare(
        self, thinking: Any, *, entry: ModelEntry | None = None, **options: Any
    ) -> tuple[HttpRequest, Plan]:
        """Return the request and the plan; nothing is sent."""
        target = entry or self.entry
        client = self._client(target, _UNSENT, None)
        prepared = client.prepare(target.id, "Hello.", thinking, **options)
        return prepared.request, prepared.plan

    def read(
        self, request: HttpRequest, entry: ModelEntry | None = None
    ) -> AcceptedRequest[Json] | None:
        """Return a request as the service side reads it, or None if that side rejects it."""
        provider = (entry or self.entry).provider.name
        try:
            return self.wire.service().accept(request, provider)
        except Rejected:
            return None

    def rejection(self, request: HttpRequest, entry: ModelEntry) -> ServiceError | None:
        """Return the service side's decoded error for a request, or None if it accepts it."""
        try:
            self.wire.service().accept(request, entry.provider.name)
        except Rejected as no:
            response = no.response
            return self.wire.caller().error(
                ResponseHead(response.status, response.headers), response.body
            )
        return None

    def siblings(self) -> list[ModelEntry]:
        """Return every model of this provider in the catalog, and this one."""
        known = load_catalog().entries(self.entry.provider.name)
        here = [] if any(each.id == self.entry.id for each in known) else [self.entry]
        return [*here, *known]

    def served_models(self) -> list[ModelEntry]:
        """Return the models of this provider that its service serves."""
        return [
            each
            for each in self.siblings()
            if not isinstance(self.rejection(self.prepare(None, entry=each)[0], each), NotFound)
        ]

    def _client(self, entry: ModelEntry, transport: Transport, key: str | None) -> Client:
        keys = {} if key is None else {entry.provider.name: key}
        return Client(transport=transport, retry=_ONCE, policy=_USUAL, keys=keys, urls=self._urls)
