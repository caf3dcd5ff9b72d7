"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import GRAMMAR, OutputSupport

from . import errors, quirks, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(plain=GRAMMAR),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=quirks.Quirks,
    tags_left=quirks.tags_left,
    reapply_repair=repair.reapply_repair,
    unsupported_parameters=request.UNSAID,
)
