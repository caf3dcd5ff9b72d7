"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects import body_model
from pondero.dialects.dialect import Models, Service

from . import address, errors, models, parse, reply, rules, stream

SERVICE = Service(
    home=address.HOME,
    serves=address.serves,
    model_of=body_model.model_of,
    with_model=body_model.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.stream,
    error=errors.error,
    call_id=reply.call_id,
    restated=reply.restated,
    models=Models(asks=address.asks, listed=models.listed),
)
