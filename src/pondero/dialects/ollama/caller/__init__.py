"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.dialect import Caller, ModelListing
from pondero.dialects.schema_rules import GRAMMAR, OutputSupport, ToolRules

from . import errors, quirks, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    listing=ModelListing("/api/tags", "models", "name"),
    # ollama 0.6.3 types, ChatRequest; server/routes.go
    answers=AnswerFields(
        places={"logprobs": (("logprobs",),), "top": (("top_logprobs",),)}, most={"top": 20}
    ),
    match_score=response.match_score,
    output=OutputSupport(plain=GRAMMAR),
    tools=ToolRules(name_letters=""),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=quirks.Quirks,
    tags_left=quirks.tags_left,
    reapply_repair=repair.reapply_repair,
    unsupported_parameters=request.UNSAID,
)
