"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller, ListPages, ModelListing
from pondero.dialects.schema_rules import CLAUDE, CLAUDE_KEYS, OutputSupport, ToolRules

from . import errors, hosted_parts, repair, request, response, stream, usage

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(strict=CLAUDE, json_mode=False, prefill=False),
    tools=ToolRules(name_length=128, strict=CLAUDE, most_strict=20, valid=True, keys=CLAUDE_KEYS),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    needs_max_tokens=True,
    hosted_tools=request.HOSTED,
    hosted_settings=hosted_parts.SETTINGS,
    needs_cache_breakpoints=request.needs_cache_breakpoints,
    listing=ModelListing(
        "/v1/models",
        "data",
        "id",
        headers=request.VERSION,
        pages=ListPages("limit=1000", "after_id", "last_id", more="has_more"),
    ),
    count_request=usage.count_request,
    count_field=usage.COUNT_FIELD,
    unsupported_parameters=request.UNSUPPORTED,
    stop_words=frozenset({"stop_sequence"}),
    retell=hosted_parts.retell,
    level_turns=request.LEVEL_TURNS,
    rate_limits=errors.RATE_LIMITS,
)
