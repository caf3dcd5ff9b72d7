"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller

from . import errors, quirks, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.recognises,
    replay_rules=quirks.replay_rules,
    repair=repair.repair,
    quirks=quirks.Quirks,
    reapply_repair=repair.reapply_repair,
)
