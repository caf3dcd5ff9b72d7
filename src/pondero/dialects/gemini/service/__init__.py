"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects.dialect import Models, Passing, Service, Slots

from . import address, errors, models, parse, reply, rules

SERVICE = Service(
    home=models.HOME,
    serves=address.serves,
    model_of=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=errors.error,
    call_id=reply.call_id,
    slots=Slots(call="end", text=True, forgets=True),
    own_headers=frozenset({"x-goog-api-key"}),
    filtered=reply.FILTERED,
    bad_key=errors.BAD_KEY,
    models=Models(
        asks=models.asks,
        listed=models.listed,
        named=models.named,
        offered=models.offered,
        counts=models.counts,
        counted=models.counted,
    ),
    shows=False,
    ping=b"\r\n",  # google-genai takes a comment for an answer, and that of JavaScript stops there
    passing=Passing(model_at=(("modelVersion",),)),
)
