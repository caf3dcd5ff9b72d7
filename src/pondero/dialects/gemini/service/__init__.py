"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Models, Parsed, Service

from . import address, listing, reply, rules


def _parse(http: HttpRequest) -> Parsed[Json]:
    raise NotImplementedError


SERVICE = Service(
    home=rules.HOME,
    serves=rules.serves,
    model_of=address.named,
    with_model=address.renamed,
    parse=_parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=reply.error,
    call_id=reply.call_id,
    filtered=reply.FILTERED,
    bad_key=reply.BAD_KEY,
    models=Models(
        asks=listing.asks,
        listed=listing.listed,
        counts=listing.counts,
        counted=listing.counted,
    ),
)
