"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects.dialect import (
    ErrorId,
    ModelEndpoints,
    OtherModels,
    PassthroughRules,
    Service,
    SignatureSlots,
)
from pondero.dialects.portability import NeededField, Portability
from pondero.dialects.tables import ASKING_TOOLS

from . import address, errors, models, parse, reply, rules, types
from .conversation import CONVERSATION
from .depth import DEPTH
from .media import MEDIA
from .stored_ids import STORED_IDS
from .turn_form import TURN_FORM

SERVICE = Service(
    default_provider=types.NAME,
    own_messages=True,
    matches_path=address.serves,
    requested_model=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    turn_form=TURN_FORM,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.Stream,
    error=errors.error,
    error_id=ErrorId(header="request-id", field="request_id"),
    call_id=reply.call_id,
    slots=SignatureSlots(thinking=True, thinking_leads=True),
    own_headers=frozenset({"anthropic-version", "x-api-key"}),
    own_paths=address.OWN_PATHS,
    models=ModelEndpoints(
        classify=models.asks,
        write_list=models.write_list,
        requested_model=models.requested_model,
        write_any_list=models.write_any_list,
        parse_count=models.counts,
        write_count=models.write_count,
    ),
    ping=reply.PING,
    overloaded_status=529,
    passthrough=PassthroughRules(
        model_at=(("model",), ("message", "model")),
        headers=("anthropic-beta", "anthropic-version"),
        added_fields=("anthropic_version", "max_tokens"),
        limits_at=(("max_tokens",),),
        models_at=(("fallbacks",),),  # with limits and thinking of their own (SDK 2.8.0 types)
        others=OtherModels(tools=ASKING_TOOLS, turns="messages"),
        stored_at=("file_id", "thread"),
        labels=("metadata",),
        hosted=types.HOSTED_TOOLS,
    ),
    depth=DEPTH,
    media=MEDIA,
    also_at={"openrouter": "openrouter", "ollama": "ollama"},
    stored_ids=STORED_IDS,
    conversation=CONVERSATION,
    portability=Portability(
        maker="Anthropic",
        needed=(
            NeededField(
                path=("inference_geo",),
                why="it says where the conversation may be processed",
                idle=("global",),
            ),
        ),
        file_keys=("file_id",),
        hosted=(
            *("advisor", "code_execution", "mcp_toolset", "tool_search_tool", "web_fetch"),
            "web_search",
        ),
    ),
)
