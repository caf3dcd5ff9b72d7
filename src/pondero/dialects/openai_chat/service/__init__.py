"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.canon import HttpRequest, Json
from pondero.dialects import body_model
from pondero.dialects.dialect import Models, Parsed, Service

from . import accept, lists, reply


def _parse(http: HttpRequest) -> Parsed[Json]:
    raise NotImplementedError


SERVICE = Service(
    home=accept.HOUSE,
    serves=accept.serves,
    model_of=body_model.model_of,
    with_model=body_model.with_model,
    parse=_parse,
    accept=accept.request,
    reply=reply.response,
    stream=reply.stream,
    error=reply.error,
    call_id=reply.call_id,
    restated=reply.restated,
    models=Models(
        asks=lists.asks,
        listed=lists.listed,
    ),
)
