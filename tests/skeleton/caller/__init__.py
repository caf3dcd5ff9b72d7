"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller

from .errors import error
from .request import encode, replay_rules
from .response import decode, match_score
from .stream import stream

CALLER = Caller(
    encode=encode,
    decode=decode,
    stream=stream,
    error=error,
    match_score=match_score,
    replay_rules=replay_rules,
    unsupported_parameters=frozenset({"stop"}),
)
