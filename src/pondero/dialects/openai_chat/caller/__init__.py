"""The caller side: writes requests, reads answers and errors."""

from pondero.dialects.dialect import Caller

from . import errors, quirks, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    replay_rules=quirks.replay_rules,
    repair=repair.repair,
    quirks=quirks.Quirks,
    reapply_repair=repair.reapply_repair,
    tags_left=quirks.tags_left,
)
