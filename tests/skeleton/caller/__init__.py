"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller

from .errors import error
from .request import encode, takes
from .response import decode, recognises
from .stream import stream

CALLER = Caller(
    encode=encode,
    decode=decode,
    stream=stream,
    error=error,
    match_score=recognises,
    replay_rules=takes,
    unsupported_parameters=frozenset({"stop"}),
)
