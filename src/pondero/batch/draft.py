"""A draft: a batch before anything is sent. How it is split, what it may cost, what was adjusted.

``Client.batch`` makes one and sends it; ``pondero batch run`` shows it first.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from time import time

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Usage
from ..catalog import BatchTerms as Terms
from ..catalog import Provider
from ..errors import BadParameter, Unsupported
from ..exchange import Exchange, auth_header
from ..store import load_catalog, price_usage
from .service_api import BatchChunk
from .store import BatchFacts, BatchFile, StoredRequest

_ENVELOPE = 512  # bytes around an ask in a file, and tokens around a prompt: neither is more


class BatchRequest(Struct, frozen=True):
    """One ask that is ready: the caller's id, and the exchange as it would be sent live."""

    id: str
    exchange: Exchange
    most: int | None
    """The most tokens its answer can have, where that is known."""


class Price(Struct, frozen=True):
    """The most that something can cost: asked live, and as a batch."""

    live: Decimal
    batch: Decimal


class Draft(Struct, frozen=True):
    """A batch that could be sent: its asks in their lots."""

    lots: tuple[tuple[BatchRequest, ...], ...]

    @property
    def asks(self) -> Iterator[BatchRequest]:
        """Yield every ask."""
        for lot in self.lots:
            yield from lot

    def price(self) -> Price | None:
        """Return the most that all of it can cost; None where that is not known."""
        live = batch = Decimal(0)
        for ask in self.asks:
            most = max_price(ask)
            if most is None:
                return None
            live += most
            batch += most * batch_discount(ask.exchange.origin.provider)
        return Price(live, batch)

    def save(self, *, owner: str = "", offline: bool = False) -> BatchFile:
        """Write the batch down, with an id of its own; nothing is sent."""
        id = BatchFile.new_id()
        count = sum(map(len, self.lots))
        facts = BatchFacts(id=id, started=time(), asks=count, owner=owner, offline=offline)
        lots = [_lot(id, n, asks) for n, asks in enumerate(self.lots)]
        return BatchFile.create(facts, lots, _kept(id, self.lots))


def split_into_chunks(asks: Sequence[BatchRequest]) -> Draft:
    """Return asks split into lots that their services take; raises Unsupported, BadParameter."""
    if not asks:
        raise BadParameter("there is nothing to ask; a batch needs at least one ask")
    seen: set[str] = set()
    for ask in asks:
        if ask.id in seen:
            message = f"two asks have the id {ask.id!r}; answers come back by their ids"
            raise BadParameter(message)
        seen.add(ask.id)
    groups: dict[tuple[object, ...], list[BatchRequest]] = {}
    for ask in asks:
        groups.setdefault(_group(ask), []).append(ask)
    return Draft(tuple(lot for group in groups.values() for lot in _split(group)))


def batch_terms(provider: Provider, model: str) -> Terms:
    """Return a provider's terms for batches of a model; raises Unsupported where it has none."""
    if provider.batch is None:
        having = [
            each for each in load_catalog().catalog.providers.values() if each.batch is not None
        ]
        beside = next((each.name for each in having if each.url == provider.url), None)
        how = f"use {beside}:{model}" if beside else "use a model of one that has"
        names = " ".join(each.name for each in having)
        message = (
            f"{provider.label} has no batch service that is known; {how} (these have one: {names})"
        )
        raise Unsupported(message)
    for beginning in provider.batch.excludes:
        if model.startswith(beginning):
            message = (
                f"{provider.label} reportedly takes no batches of {model!r}; ask it live, or "
                "another model"
            )
            raise Unsupported(message)
    return provider.batch


def batch_discount(provider: str) -> Decimal:
    """Return the share of the usual price that a batch costs at a provider."""
    found = load_catalog().catalog.providers.get(provider)
    return Decimal(str(found.batch.factor)) if found and found.batch else Decimal(1)


def max_price(ask: BatchRequest) -> Decimal | None:
    """Return the most that an ask can cost live: no token is shorter than a byte."""
    origin = ask.exchange.origin
    if ask.most is None:
        return None
    usage = Usage(input=len(ask.exchange.http.body) + _ENVELOPE, output=ask.most)
    return price_usage(origin.provider, origin.model, usage)


# -- lots ------------------------------------------------------------------------------------------


def _provider(ask: BatchRequest) -> Provider:
    return load_catalog().provider(ask.exchange.origin.provider)


def _group(ask: BatchRequest) -> tuple[object, ...]:
    """Return what asks must have in common to be in one batch."""
    provider, exchange = _provider(ask), ask.exchange
    terms = batch_terms(provider, exchange.origin.model)
    headers = tuple(sorted(_own_headers(ask).items()))
    model = exchange.origin.model if terms.one_model else None
    return provider.name, exchange.http.url, headers, model


def _own_headers(ask: BatchRequest) -> Mapping[str, str]:
    """Return the headers of an ask that are no key and not about its body."""
    bearing = auth_header(_provider(ask), "")
    left_out = (*bearing, "content-type", "content-length", "accept")
    found = ask.exchange.http.headers.items()
    return {name: value for name, value in found if name not in left_out}


def _split(asks: Sequence[BatchRequest]) -> Iterator[tuple[BatchRequest, ...]]:
    """Yield lots of at most as many asks, and as many bytes, as the service takes."""
    terms = batch_terms(_provider(asks[0]), asks[0].exchange.origin.model)
    lot: list[BatchRequest] = []
    size = 0
    for ask in asks:
        own = len(ask.exchange.http.body) + _ENVELOPE
        if terms.bytes is not None and own > terms.bytes:
            message = f"the ask {ask.id!r} has {own:,} bytes; a batch takes {terms.bytes:,}"
            raise BadParameter(message)
        full = terms.requests is not None and len(lot) >= terms.requests
        if lot and (full or (terms.bytes is not None and size + own > terms.bytes)):
            yield tuple(lot)
            lot, size = [], 0
        lot.append(ask)
        size += own
    yield tuple(lot)


def _lot(id: str, number: int, asks: Sequence[BatchRequest]) -> BatchChunk:
    first, provider = asks[0].exchange, _provider(asks[0])
    terms = batch_terms(provider, first.origin.model)
    model = first.origin.model
    if terms.suffix and not model.endswith(terms.suffix):
        model += terms.suffix
    return BatchChunk(
        number=number,
        provider=provider.name,
        model=model,
        endpoint=_endpoint(first.http.url, provider),
        name=f"pondero-{id}-{number}",
        count=len(asks),
        factor=str(terms.factor),
        headers=_own_headers(asks[0]),
    )


def _endpoint(url: str, provider: Provider) -> str:
    """Return where an ask would go live, after the version in the address: /responses, say.

    The address itself may be another than the provider's, behind a proxy.
    """
    usual = [part for part in provider.url.split("/")[3:] if part]
    version = f"/{usual[-1]}/" if usual else "/"
    before, found, after = url.partition(version)
    return f"/{after}" if found else f"/{before.rsplit('/', 1)[-1]}"


def _kept(id: str, lots: Sequence[Sequence[BatchRequest]]) -> Iterator[StoredRequest]:
    number = 0
    for lot, asks in enumerate(lots):
        for ask in asks:
            exchange = ask.exchange
            bare = HttpRequest(exchange.http.method, exchange.http.url, {})  # its headers have keys
            kept = msgspec.structs.replace(exchange, http=bare)
            line = f"{id}-{number:06}"  # services take 64 letters, digits and dashes
            yield StoredRequest(ask.id, line, lot, kept, _unstreamed(exchange.http.body))
            number += 1


def _unstreamed(body: bytes) -> bytes:
    """Return a body without the word about streams: the service of a batch never streams."""
    if b'"stream"' not in body:
        return body
    value = msgspec.json.decode(body)
    return msgspec.json.encode({name: each for name, each in value.items() if name != "stream"})
