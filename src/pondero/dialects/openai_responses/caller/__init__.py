"""The caller side: writes requests, reads answers and errors."""

from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.dialect import Caller, ModelListing, OwnTelemetry
from pondero.dialects.rate_limits import OPENAI_RATE_LIMITS
from pondero.dialects.schema_rules import OPENAI_PLAIN, OPENAI_STRICT, OutputSupport, ToolRules

from . import errors, hosted_parts, input, repair, request, response, stream

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    listing=ModelListing("/models", "data", "id"),
    # openai 3.49.0, ResponseIncludable
    answers=AnswerFields(
        places={"logprobs": (("include",),), "top": (("top_logprobs",),)},
        asks="message.output_text.logprobs",
        most={"top": 20},
    ),
    match_score=response.match_score,
    output=OutputSupport(strict=OPENAI_STRICT, plain=OPENAI_PLAIN, json_word="messages"),
    tools=ToolRules(
        name_length=128,
        strict=OPENAI_STRICT,
        loose=False,
        text_tools=True,
        complete="root",
        valid=True,
    ),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    unsupported_parameters=request.UNSUPPORTED,
    hosted_tools=request.HOSTED,
    own_telemetry=OwnTelemetry("openai", "responses"),
    hosted_settings=hosted_parts.SETTINGS,
    retell=hosted_parts.retell,
    level_turns=input.LEVEL_TURNS,
    rate_limits=OPENAI_RATE_LIMITS,
)
