"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller
from pondero.dialects.schema_rules import HOST_PLAIN, OutputSupport

from . import errors, parts, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(plain=HOST_PLAIN, json_word="prompt"),
    replay_rules=request.replay_rules,
    quirks=request.Quirks,
    unsupported_parameters=request.UNSAID,
    is_plan=parts.is_plan,
    stop_words=frozenset({"STOP_SEQUENCE"}),
)
