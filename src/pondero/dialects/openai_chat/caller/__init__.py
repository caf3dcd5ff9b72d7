"""The caller side: writes requests, reads answers and errors."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import HOST_PLAIN, OPENAI_STRICT, OutputSupport

from . import errors, quirks, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(strict=OPENAI_STRICT, plain=HOST_PLAIN, json_word="prompt"),
    replay_rules=quirks.replay_rules,
    repair=repair.repair,
    quirks=quirks.Quirks,
    reapply_repair=repair.reapply_repair,
    tags_left=quirks.tags_left,
)
