"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects.dialect import Models, Service, Slots

from . import address, errors, models, parse, reply, rules, types

SERVICE = Service(
    home=types.NAME,
    serves=address.serves,
    model_of=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=errors.error,
    call_id=reply.call_id,
    slots=Slots(thinking=True),
    models=Models(
        asks=models.asks,
        listed=models.listed,
        named=models.named,
        offered=models.offered,
        counts=models.counts,
        counted=models.counted,
    ),
    ping=b"",
)
