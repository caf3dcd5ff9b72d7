"""The caller side: writes requests, reads answers and errors."""

from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.dialect import Caller, ModelListing, OwnTelemetry
from pondero.dialects.rate_limits import OPENAI_RATE_LIMITS
from pondero.dialects.schema_rules import HOST_PLAIN, OPENAI_STRICT, OutputSupport, ToolRules

from . import count, errors, quirks, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    count_by=count.count_by,
    listing=ModelListing("/models", "data", "id"),
    match_score=response.match_score,
    output=OutputSupport(strict=OPENAI_STRICT, plain=HOST_PLAIN, json_word="prompt"),
    tools=ToolRules(strict=OPENAI_STRICT, complete="root", valid=True),
    replay_rules=quirks.replay_rules,
    repair=repair.repair,
    quirks=quirks.Quirks,
    reapply_repair=repair.reapply_repair,
    tags_left=quirks.tags_left,
    own_telemetry=OwnTelemetry("openai", "chat_completions"),
    # openai 3.49.0, completion_create_params
    answers=AnswerFields(
        places={"count": (("n",),), "logprobs": (("logprobs",),), "top": (("top_logprobs",),)},
        most={"count": 128, "top": 20},
    ),
    level_turns=request.LEVEL_TURNS,
    rate_limits=OPENAI_RATE_LIMITS,
)
