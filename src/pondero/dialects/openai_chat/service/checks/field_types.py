"""Types of the fields that stay raw, by whose API they are; null is as good as absent everywhere.

A provider's table says whose types it has (``field_types``). Bounds are in the tables, too.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from pondero.canon import Json, convert_json

from ..models import Provider
from ..types import Strict, TextPart

Object = dict[str, Json]


class Fields(Struct, kw_only=True):
    """What the APIs of this wire agree on; fields that are not here have no type."""

    logprobs: bool | None = None
    n: int | None = None
    top_logprobs: int | None = None


# -- OpenAI (openai 3.49.0, 2026-11-10) ------------------------------------------------------------


class VoiceId(Strict):
    """The id of a voice of one's own."""

    id: str


class Audio(Strict):
    """How an answer is spoken."""

    format: Literal["wav", "aac", "mp3", "flac", "opus", "pcm16"]
    voice: str | VoiceId


class FunctionChoice(Strict):
    """The function that must be called, in the older form."""

    name: str


class Function(Strict):
    """A function on offer in the older form."""

    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]+$", max_length=64)]
    description: str | None = None
    parameters: Object | None = None


class ModerationMode(Strict):
    """What to do with one side of the conversation."""

    mode: Literal["score", "block"]


class Policy(Strict):
    """What to do with flagged content."""

    input: ModerationMode | None = None
    output: ModerationMode | None = None


class Moderation(Strict):
    """A check of prompt and answer."""

    model: str
    policy: Policy | None = None


class Prediction(Strict):
    """Much of the answer, known in advance."""

    type: Literal["content"]
    content: str | list[TextPart]


class CacheOptions(Strict):
    """How the prompt is cached."""

    mode: Literal["implicit", "explicit"] | None = None
    ttl: Literal["30m"] | None = None


class Place(Strict):
    """About where the user is."""

    city: str | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None


class UserLocation(Strict):
    """Where the user is."""

    type: Literal["approximate"]
    approximate: Place


class SearchOptions(Strict):
    """How the web is searched."""

    search_context_size: Literal["low", "medium", "high"] | None = None
    user_location: UserLocation | None = None


class OpenAIFields(Fields):
    """OpenAI's and Azure's."""

    audio: Audio | None = None
    function_call: Literal["none", "auto"] | FunctionChoice | None = None
    functions: Annotated[list[Function], Meta(min_length=1)] | None = None
    logit_bias: dict[str, float] | None = None
    metadata: dict[str, str] | None = None
    modalities: list[Literal["text", "audio"]] | None = None
    moderation: Moderation | None = None
    prediction: Prediction | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    safety_identifier: str | None = None
    seed: int | None = None
    service_tier: (
        Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | None
    ) = None
    store: bool | None = None
    user: str | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    web_search_options: SearchOptions | None = None


# -- Groq (groq 1.7.0, 2026-11-15) -----------------------------------------------------------------


class CompoundModels(Struct):
    """The models of a system."""

    answering_model: str | None = None
    reasoning_model: str | None = None


class CompoundTools(Struct):
    """The tools of a system."""

    enabled_tools: list[str] | None = None
    wolfram_settings: Object | None = None


class Compound(Struct):
    """The parts of a system that searches and runs code."""

    models: CompoundModels | None = None
    tools: CompoundTools | None = None


class TextSource(Struct, tag="text"):
    """A document's words."""

    text: str


class JsonSource(Struct, tag="json"):
    """A document's data."""

    data: Object


class Document(Struct):
    """A document that the model may cite."""

    source: TextSource | JsonSource
    id: str | None = None


class SearchSettings(Struct):
    """How the web is searched."""

    country: str | None = None
    exclude_domains: list[str] | None = None
    include_domains: list[str] | None = None
    include_images: bool | None = None


class OlderFunction(Struct):
    """A function on offer in the older form."""

    name: str
    description: str | None = None
    parameters: Object | None = None


class GroqFields(Fields):
    """Groq's."""

    citation_options: Literal["enabled", "disabled"] | None = None
    compound_custom: Compound | None = None
    disable_tool_validation: bool | None = None
    documents: list[Document] | None = None
    exclude_domains: list[str] | None = None
    function_call: Literal["none", "auto", "required"] | FunctionChoice | None = None
    functions: list[OlderFunction] | None = None
    include_domains: list[str] | None = None
    logit_bias: dict[str, float] | None = None
    metadata: dict[str, str] | None = None
    search_settings: SearchSettings | None = None
    seed: int | None = None
    service_tier: Literal["auto", "on_demand", "flex", "performance"] | None = None
    store: bool | None = None
    user: str | None = None


# -- Mistral (mistralai 3.7.0, 2026-11-15) ---------------------------------------------------------


class Guardrail(Struct):
    """A check of the request."""

    block_on_error: bool | None = None
    moderation_llm_v1: Object | None = None
    moderation_llm_v2: Object | None = None


class MistralPrediction(Struct):
    """Much of the answer, known in advance."""

    type: Literal["content"] | None = None
    content: str | None = None


class Format(Struct):
    """The answer's shape; each type of it may have the field."""

    json_schema: Object | None = None


class MistralFields(Fields):
    """Mistral's."""

    guardrails: list[Guardrail] | None = None
    metadata: Object | None = None
    min_tokens: int | None = None
    prediction: MistralPrediction | None = None
    prompt_cache_key: str | None = None
    prompt_logprobs: bool | None = None
    prompt_mode: str | None = None
    random_seed: int | None = None
    repetition_penalty: float | None = None
    response_format: Format | None = None
    safe_prompt: bool | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    top_prompt_logprobs: int | None = None


_TYPES: dict[str, type[Fields]] = {
    "openai": OpenAIFields,
    "groq": GroqFields,
    "mistral": MistralFields,
}


def check_field_types(raw: dict[str, Json], provider: Provider) -> None:
    """Raise Rejected for the first raw field whose type is wrong."""
    if provider.field_types is None:
        return
    try:
        convert_json(raw, _TYPES[provider.field_types])
    except msgspec.ValidationError as error:
        provider.rejecter.reject_invalid(str(error))
