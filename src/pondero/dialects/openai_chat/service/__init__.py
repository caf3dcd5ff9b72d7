"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects import bodies
from pondero.dialects.dialect import Models, Passing, Service, Slots

from . import address, errors, models, parse, reply, rules, stream

SERVICE = Service(
    home=address.HOME,
    serves=address.serves,
    model_of=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.stream,
    error=errors.error,
    call_id=reply.call_id,
    slots=Slots(thinking=True, call="start", late=True, forgets=True),
    restated=reply.restated,
    models=Models(
        asks=address.asks,
        listed=models.listed,
        named=address.listed_model,
        offered=models.offered,
    ),
    passing=Passing(
        model_at=(("model",),), headers=("openai-beta",), filled_in=("stream_options",)
    ),
)
