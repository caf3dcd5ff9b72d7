"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.canon import HttpRequest, Json
from pondero.dialects import body_model
from pondero.dialects.dialect import Parsed, Service

from . import reply, rules


def _parse(http: HttpRequest) -> Parsed[Json]:
    raise NotImplementedError


SERVICE = Service(
    home=rules.HOUSE,
    serves=rules.serves,
    model_of=body_model.model_of,
    with_model=body_model.with_model,
    parse=_parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=reply.error,
    call_id=reply.call_id,
)
