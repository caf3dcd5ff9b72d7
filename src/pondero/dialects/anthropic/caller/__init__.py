"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import CLAUDE, OutputSupport

from . import errors, repair, request, response, stream, usage

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(strict=CLAUDE, json_mode=False, prefill=False),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    hosted_tools=request.HOSTED,
    needs_cache_breakpoints=request.needs_cache_breakpoints,
    count_request=usage.count_request,
    count_field=usage.COUNT_FIELD,
    stop_words=frozenset({"stop_sequence"}),
)
