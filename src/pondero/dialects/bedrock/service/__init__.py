"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects.dialect import (
    ErrorId,
    HostedTools,
    ModelEndpoints,
    PassthroughRules,
    Service,
    SignatureSlots,
)
from pondero.dialects.portability import NeededField, Portability

from . import address, errors, models, parse, reply, rules, types
from .depth import DEPTH
from .media import MEDIA

SERVICE = Service(
    default_provider=types.NAME,
    matches_path=address.serves,
    requested_model=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.Stream,
    error=errors.error,
    error_id=ErrorId(header="x-amzn-requestid"),
    call_id=reply.call_id,
    slots=SignatureSlots(thinking=True, thinking_leads=True),
    own_headers=frozenset({"amz-sdk-invocation-id", "x-amz-date"}),
    own_paths=address.OWN_PATHS,
    models=ModelEndpoints(
        classify=models.asks,
        write_list=models.write_list,
        requested_model=models.requested_model,
        write_any_list=models.write_any_list,
        parse_count=models.counts,
        write_count=models.write_count,
    ),
    ping=b"",
    passthrough=PassthroughRules(
        limits_at=(
            ("inferenceConfig", "maxTokens"),
            ("additionalModelRequestFields", "max_tokens"),
            ("additionalModelRequestFields", "max_completion_tokens"),
            ("additionalModelRequestFields", "inferenceConfig", "maxTokens"),
        ),
        models_at=(("additionalModelRequestFields", "fallbacks"),),
        labels=("requestMetadata",),
        # AWS, Converse: a stored prompt has a model and additional fields of its own, and takes
        # none from a request; a prompt router picks a model (vendor pages, 2026-11-16)
        preset_marks=(":prompt/", ":prompt-router/", ":default-prompt-router/"),
        hosted=HostedTools(
            client_run=frozenset({"toolSpec", "cachePoint"}),
            tools_at=(("toolConfig", "tools"), ("additionalModelRequestFields", "tools")),
            is_keyed=True,
        ),
    ),
    depth=DEPTH,
    media=MEDIA,
    portability=Portability(
        maker="AWS",
        needed=(
            NeededField(
                path=("guardrailConfig",), why="its guardrail would not see the conversation"
            ),
            NeededField(path=("promptVariables",), why="only AWS has the prompt"),
        ),
        groups=("inferenceConfig", "additionalModelRequestFields"),
        file_keys=("s3Location",),
        own_addresses=("s3://",),
    ),
)
