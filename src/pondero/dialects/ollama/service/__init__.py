"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects import bodies
from pondero.dialects.dialect import Models, Passing, Service

from . import errors, models, parse, reply, rules, types

SERVICE = Service(
    home=types.NAME,
    serves=parse.serves,
    model_of=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=errors.error,
    call_id=reply.call_id,
    models=Models(
        asks=models.asks,
        listed=models.listed,
        named=models.named,
        offered=models.offered,
    ),
    ping=b"",
    passing=Passing(model_at=(("model",),)),
)
