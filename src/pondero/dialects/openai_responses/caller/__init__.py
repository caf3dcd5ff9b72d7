"""The caller side: writes requests, reads answers and errors."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import OPENAI_PLAIN, OPENAI_STRICT, OutputSupport

from . import errors, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(strict=OPENAI_STRICT, plain=OPENAI_PLAIN, json_word="messages"),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    unsupported_parameters=request.UNSUPPORTED,
    hosted_tools=request.HOSTED,
)
