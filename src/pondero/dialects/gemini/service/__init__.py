"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.dialect import (
    HostedTools,
    ModelEndpoints,
    PassthroughRules,
    Service,
    SeveralAnswers,
    SignatureSlots,
)
from pondero.dialects.portability import NeededField, Portability, list_answer_fields

from . import address, errors, models, parse, reply, rules
from .depth import DEPTH
from .media import MEDIA
from .stored_ids import STORED_IDS
from .turn_form import TURN_FORM

_ANSWERS = AnswerFields(
    places={
        "count": address.config_paths("candidateCount", "candidate_count"),
        "logprobs": address.config_paths("responseLogprobs", "response_logprobs"),
        "top": address.config_paths("logprobs"),
    }
)

SERVICE = Service(
    default_provider=models.HOME,
    matches_path=address.serves,
    requested_model=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    turn_form=TURN_FORM,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    several=SeveralAnswers(reply=reply.reply_several, streams=reply.streams),
    unwrap=address.unwrap,
    error=errors.error,
    call_id=reply.call_id,
    slots=SignatureSlots(call="end", text=True, may_lose_thinking=True),
    own_headers=frozenset({"x-goog-api-key"}),
    own_paths=address.OWN_PATHS,
    filter_reasons=reply.FILTERED,
    bad_key_errors=errors.BAD_KEY,
    models=ModelEndpoints(
        classify=models.asks,
        write_list=models.write_list,
        requested_model=models.requested_model,
        write_any_list=models.write_any_list,
        parse_count=models.counts,
        write_count=models.write_count,
    ),
    shows_thinking=False,
    ping=b"\r\n",  # google-genai takes a comment for an answer, and that of JavaScript stops there
    passthrough=PassthroughRules(
        model_at=(("modelVersion",),),
        limits_at=address.config_paths("maxOutputTokens", "max_output_tokens"),
        stored_at=("cachedContent", "cached_content", "fileUri", "file_uri"),
        labels=("labels",),
        answers_at=address.config_paths("candidateCount", "candidate_count"),
        # Vertex picks another model, or asks one to rank what it found (google-genai types,
        # GenerationConfigRoutingConfig, ModelSelectionConfig, RagRetrievalConfigRankingLlmRanker)
        models_at=(
            ("generationConfig", "routingConfig"),
            ("generationConfig", "modelSelectionConfig"),
            ("tools", "retrieval", "vertexRagStore", "ragRetrievalConfig", "ranking", "llmRanker"),
        ),
        hosted=HostedTools(
            client_run=frozenset(
                {"functionDeclarations", "function_declarations", "computerUse", "computer_use"}
            ),
            is_keyed=True,
        ),
    ),
    depth=DEPTH,
    media=MEDIA,
    stored_ids=STORED_IDS,
    portability=Portability(
        maker="Google",
        needed=(
            *list_answer_fields(_ANSWERS),
            *(
                NeededField(
                    path=path,
                    why="it asks for sound or pictures",
                    idle=(["TEXT"], ["MODALITY_UNSPECIFIED"]),
                    in_answer=True,
                )
                for path in address.config_paths("responseModalities", "response_modalities")
            ),
        ),
        answers=_ANSWERS,
        groups=("generationConfig", "generation_config"),
        common={"seed": address.config_paths("seed", "seed")},
        file_keys=("fileUri", "file_uri"),
        # google-genai: the files API, cloud storage, and videos that the service itself fetches
        own_addresses=(
            "https://generativelanguage.googleapis.com/",
            "gs://",
            "https://www.youtube.com/",
            "https://youtube.com/",
            "https://youtu.be/",
        ),
    ),
)
