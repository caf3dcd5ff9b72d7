"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects.dialect import Models, Passing, Service, Slots, Stores

from . import address, errors, models, parse, reply, rules, stored, stream

SERVICE = Service(
    home=address.HOME,
    serves=address.serves,
    model_of=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.stream,
    error=errors.error,
    call_id=reply.call_id,
    slots=Slots(thinking=True, late=True),
    models=Models(
        asks=models.asks,
        listed=models.listed,
        named=models.named,
        offered=models.offered,
    ),
    stores=Stores(named=stored.named, kept=stored.kept, resumed=stored.resumed),
    shows=False,
    passing=Passing(model_at=(("model",), ("response", "model")), headers=("openai-beta",)),
)
