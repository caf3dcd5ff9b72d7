"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import CLAUDE, CLAUDE_KEYS, OutputSupport, ToolRules

from . import errors, repair, request, response, stream, usage

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(strict=CLAUDE, plain=CLAUDE, json_mode=False, prefill=False),
    tools=ToolRules(strict=CLAUDE, most_strict=20, valid=True, keys=CLAUDE_KEYS),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    signing_name=request.SIGNING_NAME,
    unsupported_parameters=request.UNSUPPORTED,
    needs_cache_breakpoints=request.needs_cache_breakpoints,
    count_request=usage.count_request,
    count_field=usage.COUNT_FIELD,
    stop_words=frozenset({"stop_sequence"}),
)
