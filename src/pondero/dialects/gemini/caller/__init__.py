"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.dialect import Caller, ListPages, ModelListing
from pondero.dialects.schema_rules import GEMINI, OutputSupport, ToolRules

from . import errors, hosted_parts, repair, request, response, stream, usage

CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(plain=GEMINI),
    tools=ToolRules(
        name_letters="A-Za-z0-9_.:-",
        name_begins="A-Za-z_",
        name_length=128,
        root_unions=True,
        complete="arrays",
    ),
    replay_rules=request.replay_rules,
    repair=repair.repair,
    quirks=request.Quirks,
    reapply_repair=repair.reapply_repair,
    hosted_tools=request.HOSTED,
    hosted_settings=hosted_parts.SETTINGS,
    unsupported_parameters=request.UNSAID,
    # google-genai 3.1.0, GenerationConfig
    answers=AnswerFields(
        places={
            "count": (("generationConfig", "candidateCount"),),
            "logprobs": (("generationConfig", "responseLogprobs"),),
            "top": (("generationConfig", "logprobs"),),
        },
        most={"count": 8, "top": 20},
    ),
    count_request=usage.count_request,
    count_field=usage.COUNTED,
    listing=ModelListing(
        "/models",
        "models",
        "name",
        prefix="models/",
        pages=ListPages("pageSize=1000", "pageToken", "nextPageToken"),
    ),
    retell=hosted_parts.retell,
)
