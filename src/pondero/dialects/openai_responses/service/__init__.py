"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import Models, Parsed, Service

from . import address, errors, models, reply, rules, stream


def _parse(http: HttpRequest) -> Parsed[Json]:
    raise NotImplementedError


SERVICE = Service(
    home=rules.HOUSE,
    serves=address.serves,
    model_of=address.model_of,
    with_model=address.with_model,
    parse=_parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.stream,
    error=errors.error,
    call_id=reply.call_id,
    models=Models(
        asks=models.asks,
        listed=models.listed,
    ),
)
