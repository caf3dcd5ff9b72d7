"""The service side: reads requests, rejects invalid ones, writes answers."""

from pondero.dialects import bodies
from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.conversation_marks import ConversationMarks
from pondero.dialects.dialect import (
    ErrorId,
    HostedTools,
    ModelEndpoints,
    OtherModels,
    OwnPaths,
    PassthroughRules,
    Service,
    SeveralAnswers,
    SignatureSlots,
)
from pondero.dialects.portability import NeededField, Portability, list_answer_fields
from pondero.dialects.tables import ASKING_TOOLS, OPENROUTER_MIXES, QUIET_PLUGINS

from . import address, errors, models, parse, reply, rules, stream
from .depth import DEPTH
from .media import MEDIA
from .stored_ids import STORED_IDS
from .turn_form import TURN_FORM

# Responses has them too (openai 3.49.0); its `store` is another thing: an answer to be fetched.
_COMMON = (
    *("seed", "verbosity", "service_tier", "prompt_cache_key", "metadata", "safety_identifier"),
    "user",
)
_ANSWERS = AnswerFields(
    places={"count": (("n",),), "logprobs": (("logprobs",),), "top": (("top_logprobs",),)}
)
_ROUTING = "it says who may see the conversation"
PORTABILITY = Portability(
    maker="the service that stored it",
    answers_silence=True,
    needed=(
        *list_answer_fields(_ANSWERS),
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
    answers=_ANSWERS,
    common={name: ((name,),) for name in _COMMON},
    file_keys=("file_id",),
)

SERVICE = Service(
    default_provider=address.HOME,
    matches_path=address.serves,
    requested_model=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
    turn_form=TURN_FORM,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.Stream,
    several=SeveralAnswers(reply=reply.reply_several, streams=stream.streams),
    error=errors.error,
    error_id=ErrorId(header="x-request-id"),
    call_id=reply.call_id,
    own_paths=OwnPaths(not_found="Invalid URL ({method} {path})"),
    slots=SignatureSlots(
        thinking=True, call="start", trailing_thinking=True, may_lose_thinking=True
    ),
    restate_error=reply.restate_error,
    conversation=ConversationMarks(fields=(("prompt_cache_key",),)),  # openai 3.49.0
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
        # OpenRouter and gateways like it; a preset may name models too (its docs, presets).
        models_at=(("models",), ("fallbacks",), ("preset",), ("compound_custom", "models")),
        # Groq's systems ask several models too (its docs, compound)
        preset_marks=(*OPENROUTER_MIXES, "groq/compound", "compound-beta"),
        others=OtherModels(
            tools=ASKING_TOOLS, turns="messages", plugins_at="plugins", plugins=QUIET_PLUGINS
        ),
        stored_at=("file_id",),
        labels=("metadata", "prompt_cache_key", "safety_identifier", "user"),
        hosted=HostedTools(
            # OpenAI; xAI; OpenRouter; Groq
            fields=("web_search_options", "search_parameters", "plugins", "compound_custom"),
            # OpenRouter (as the plugin "web", and a panel of models), OpenAI, Groq, Perplexity:
            # models that search or ask others on their own (their docs)
            models=(":online", "fusion", "-search", "deep-research", "compound", "sonar"),
            # Perplexity's example of its usage has 221,046 tokens, nearly two windows of 128,000
            # (API reference); no page names a limit, so this is twice the most that is known.
            windows=(("sonar-deep-research", 4),),
        ),
        usage_at=("stream_options", "include_usage"),
        is_usage_event=stream.is_usage_event,
    ),
    depth=DEPTH,
    media=MEDIA,
    also_at={"ollama": "ollama", "ollama-cloud": "ollama-cloud"},
    stored_ids=STORED_IDS,
    portability=PORTABILITY,
)
