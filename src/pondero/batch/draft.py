"""A draft: a batch before it is sent, split into chunks, with the most it can cost."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from time import time
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import HttpRequest, Usage
from ..catalog import BatchTerms as Terms
from ..catalog import Provider
from ..errors import BadParameter, Unsupported
from ..exchange import Exchange, auth_header
from ..store import assume_media, load_catalog, price_usage
from .service_api import BatchChunk
from .store import BatchFacts, BatchFile, StoredRequest

_ENVELOPE = 512  # no service needs more bytes around a request, or tokens around a prompt


class BatchRequest(Struct, frozen=True):
    """One request: the caller's id, and the exchange that a live request would have."""

    id: str
    exchange: Exchange
    most: int | None  # maximum output tokens, or None if unknown
    kind: Any = None  # the type given with ``output=``, which is not stored


class Price(Struct, frozen=True):
    """The most that something can cost: sent live, and as a batch."""

    live: Decimal
    batch: Decimal


class Draft(Struct, frozen=True):
    """A batch that can be sent: its requests, by chunk."""

    lots: tuple[tuple[BatchRequest, ...], ...]

    @property
    def asks(self) -> Iterator[BatchRequest]:
        """Yield every request."""
        for chunk in self.lots:
            yield from chunk

    @property
    def kinds(self) -> dict[str, Any]:
        """Return the types given with ``output=`` by request id."""
        return {request.id: request.kind for request in self.asks if request.kind is not None}

    def price(self) -> Price | None:
        """Return the most that the whole batch can cost, or None if unknown."""
        live = batch = Decimal(0)
        for request in self.asks:
            most = max_price(request)
            if most is None:
                return None
            live += most
            batch += most * batch_discount(request.exchange.origin.provider)
        return Price(live, batch)

    def save(self, *, owner: str = "", offline: bool = False) -> BatchFile:
        """Save the batch under a new id; nothing is sent."""
        id = BatchFile.new_id()
        count = sum(map(len, self.lots))
        facts = BatchFacts(id=id, started=time(), asks=count, owner=owner, offline=offline)
        lots = [_make_chunk(id, n, requests) for n, requests in enumerate(self.lots)]
        return BatchFile.create(facts, lots, _iter_stored(id, self.lots))


def split_into_chunks(requests: Sequence[BatchRequest]) -> Draft:
    """Split requests into chunks that the services accept; raise Unsupported or BadParameter."""
    if not requests:
        raise BadParameter("the batch is empty; give it at least one request")
    seen: set[str] = set()
    for request in requests:
        if request.id in seen:
            message = f"two requests have the id {request.id!r}; each needs its own"
            raise BadParameter(message)
        seen.add(request.id)
    groups: dict[tuple[object, ...], list[BatchRequest]] = {}
    for request in requests:
        groups.setdefault(_group_key(request), []).append(request)
    return Draft(tuple(chunk for group in groups.values() for chunk in _iter_chunks(group)))


def batch_terms(provider: Provider, model: str) -> Terms:
    """Return a provider's terms for batches of a model; raise Unsupported if it has none."""
    if provider.batch is None:
        offering = [each for each in load_catalog().catalog.providers.values() if each.batch]
        sibling = next((each.name for each in offering if each.url == provider.url), None)
        how = f"use {sibling}:{model}" if sibling else "use a model of another provider"
        names = " ".join(each.name for each in offering)
        message = f"{provider.label} has no known batch service; {how} (these have one: {names})"
        raise Unsupported(message)
    for beginning in provider.batch.excludes:
        if model.startswith(beginning):
            message = (
                f"{provider.label} reportedly takes no batches of {model!r}; send the requests "
                "live, or use another model"
            )
            raise Unsupported(message)
    return provider.batch


def batch_discount(provider: str) -> Decimal:
    """Return the share of the usual price that a batch costs at a provider."""
    found = load_catalog().catalog.providers.get(provider)
    return Decimal(str(found.batch.factor)) if found and found.batch else Decimal(1)


def max_price(request: BatchRequest) -> Decimal | None:
    """Return the most that a request can cost live: a token has at least one byte."""
    origin = request.exchange.origin
    if request.most is None:
        return None
    usage = Usage(input=len(request.exchange.http.body) + _ENVELOPE, output=request.most)
    # Media have many more bytes than tokens, so the price of text covers theirs.
    usage = assume_media(origin.provider, origin.model, usage, media=())
    return price_usage(origin.provider, origin.model, usage)


def _provider(request: BatchRequest) -> Provider:
    return load_catalog().provider(request.exchange.origin.provider)


def _group_key(request: BatchRequest) -> tuple[object, ...]:
    provider, exchange = _provider(request), request.exchange
    terms = batch_terms(provider, exchange.origin.model)
    headers = tuple(sorted(_own_headers(request).items()))
    model = exchange.origin.model if terms.one_model else None
    return provider.name, exchange.http.url, headers, model


def _own_headers(request: BatchRequest) -> Mapping[str, str]:
    omitted = (*auth_header(_provider(request), ""), "content-type", "content-length", "accept")
    headers = request.exchange.http.headers.items()
    return {name: value for name, value in headers if name not in omitted}


def _iter_chunks(requests: Sequence[BatchRequest]) -> Iterator[tuple[BatchRequest, ...]]:
    terms = batch_terms(_provider(requests[0]), requests[0].exchange.origin.model)
    chunk: list[BatchRequest] = []
    size = 0
    for request in requests:
        own = len(request.exchange.http.body) + _ENVELOPE
        if terms.bytes is not None and own > terms.bytes:
            message = f"the request {request.id!r} has {own:,} bytes; a batch takes {terms.bytes:,}"
            raise BadParameter(message)
        full = terms.requests is not None and len(chunk) >= terms.requests
        if chunk and (full or (terms.bytes is not None and size + own > terms.bytes)):
            yield tuple(chunk)
            chunk, size = [], 0
        chunk.append(request)
        size += own
    yield tuple(chunk)


def _make_chunk(id: str, number: int, requests: Sequence[BatchRequest]) -> BatchChunk:
    first, provider = requests[0].exchange, _provider(requests[0])
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
        count=len(requests),
        factor=str(terms.factor),
        headers=_own_headers(requests[0]),
    )


def _endpoint(url: str, provider: Provider) -> str:
    """Return a live request's path after the provider's version; the host may be a proxy's."""
    usual = [part for part in provider.url.split("/")[3:] if part]
    version = f"/{usual[-1]}/" if usual else "/"
    before, found, after = url.partition(version)
    return f"/{after}" if found else f"/{before.rsplit('/', 1)[-1]}"


def _iter_stored(id: str, lots: Sequence[Sequence[BatchRequest]]) -> Iterator[StoredRequest]:
    number = 0
    for chunk, requests in enumerate(lots):
        for request in requests:
            exchange = request.exchange
            # The headers contain keys, so they are not stored.
            bare = HttpRequest(exchange.http.method, exchange.http.url, {})
            stored = msgspec.structs.replace(exchange, http=bare)
            body = _drop_stream_field(exchange.http.body)
            line = f"{id}-{number:06}"  # Anthropic's custom_id: up to 64 letters, digits, - and _
            yield StoredRequest(request.id, line, chunk, stored, body)
            number += 1


def _drop_stream_field(body: bytes) -> bytes:
    """Drop ``stream`` from a body: a batch service never streams."""
    if b'"stream"' not in body:
        return body
    value = msgspec.json.decode(body)
    return msgspec.json.encode({name: each for name, each in value.items() if name != "stream"})
