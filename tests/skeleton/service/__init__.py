"""The service's side: how it reads a request, what it refuses, and how it answers."""

from pondero.dialects.dialect import Service

from .address import model_of, serves, with_model
from .errors import error
from .parse import parse
from .reply import call_id, reply, stream
from .rules import accept

SERVICE = Service(
    default_provider="skeleton",
    matches_path=serves,
    requested_model=model_of,
    with_model=with_model,
    parse=parse,
    accept=accept,
    reply=reply,
    stream=stream,
    error=error,
    call_id=call_id,
)
