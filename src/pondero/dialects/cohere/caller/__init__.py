"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller

from . import errors, parts, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    replay_rules=request.replay_rules,
    quirks=request.Quirks,
    unsupported_parameters=request.UNSAID,
    is_plan=parts.is_plan,
)
