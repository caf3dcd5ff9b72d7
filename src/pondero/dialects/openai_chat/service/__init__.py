"""The service side: reads requests, rejects invalid ones, writes answers."""

from pondero.dialects import bodies
from pondero.dialects.dialect import (
    ErrorId,
    HostedTools,
    ModelEndpoints,
    PassthroughRules,
    Service,
    SignatureSlots,
)
from pondero.dialects.portability import NeededField, Portability

from . import address, errors, models, parse, reply, rules, stream
from .depth import DEPTH
from .stored_ids import STORED_IDS

_ROUTING = "it says who may see the conversation"
PORTABILITY = Portability(
    maker="the service that stored it",
    answers_silence=True,
    needed=(
        NeededField(path=("n",), why="it asks for several answers", idle=(1,), in_answer=True),
        NeededField(
            path=("logprobs",),
            why="it asks for log probabilities",
            idle=(False, 0),
            in_answer=True,
        ),
        NeededField(
            path=("modalities",),
            why="it asks for sound or pictures",
            idle=(["text"],),
            in_answer=True,
        ),
        # OpenRouter, provider preferences; names not yet compared with its SDK types
        NeededField(path=("provider", "data_collection"), why=_ROUTING, idle=("allow",)),
        NeededField(path=("provider", "zdr"), why=_ROUTING, idle=(False,)),
        NeededField(path=("provider", "only"), why=_ROUTING),
        NeededField(path=("provider", "ignore"), why=_ROUTING),
    ),
    common={"seed": (("seed",),)},
    file_keys=("file_id",),
)

SERVICE = Service(
    default_provider=address.HOME,
    matches_path=address.serves,
    requested_model=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.Stream,
    error=errors.error,
    error_id=ErrorId(header="x-request-id"),
    call_id=reply.call_id,
    slots=SignatureSlots(
        thinking=True, call="start", trailing_thinking=True, may_lose_thinking=True
    ),
    restate_error=reply.restate_error,
    models=ModelEndpoints(
        classify=address.asks,
        write_list=models.write_list,
        requested_model=address.requested_model,
        write_any_list=models.write_any_list,
    ),
    passthrough=PassthroughRules(
        model_at=(("model",),),
        headers=("openai-beta",),
        # The last is that of Responses, whose bodies some clients send here.
        limits_at=(("max_completion_tokens",), ("max_tokens",), ("max_output_tokens",)),
        answers_at=(("n",), ("best_of",)),  # vLLM takes best_of
        models_at=(("models",), ("fallbacks",)),  # OpenRouter and gateways like it
        stored_at=("file_id",),
        hosted=HostedTools(
            # OpenAI; xAI; OpenRouter; Groq
            fields=("web_search_options", "search_parameters", "plugins", "compound_custom"),
        ),
        usage_at=("stream_options", "include_usage"),
        is_usage_event=stream.is_usage_event,
    ),
    depth=DEPTH,
    stored_ids=STORED_IDS,
    portability=PORTABILITY,
)
