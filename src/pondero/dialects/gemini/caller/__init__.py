"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import GEMINI, OutputSupport

from . import errors, repair, request, response, stream, usage

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(plain=GEMINI),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    hosted_tools=request.HOSTED,
    unsupported_parameters=request.UNSAID,
    count_request=usage.count_request,
    count_field=usage.COUNTED,
)
