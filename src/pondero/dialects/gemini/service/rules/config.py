"""The rules of generationConfig, safetySettings and cachedContent."""

from .facts import RequestFacts
from .schemas import check_schema

_JSON = "application/json"
_TYPES = ("", "text/plain", _JSON, "text/x.enum")
_ALL_CANDIDATES = 8


def check(asked: RequestFacts) -> None:
    """Reject settings that are out of range, or that the model or deployment does not have."""
    _check_numbers(asked)
    _check_candidates(asked)
    _check_logprobs(asked)
    _check_schemas(asked)
    _check_modalities(asked)
    _check_safety(asked)
    _check_cache(asked)


def _check_numbers(asked: RequestFacts) -> None:
    config, model = asked.config, asked.model
    ranges = (("temperature", config.temperature, 2.0), ("top_p", config.top_p, 1.0))
    for name, value, most in ranges:
        if value is not None and not 0 <= value <= most:
            asked.reject("range", name=name, min=0.0, max=most)
    cap = config.max_output_tokens
    if cap is not None and not 1 <= cap <= model.max_output:
        asked.reject("output", tokens=cap, above=model.max_output + 1)
    if len(config.stop_sequences) > 5:
        asked.reject("stops")
    penalties = (
        ("presencePenalty", config.presence_penalty),
        ("frequencyPenalty", config.frequency_penalty),
    )
    for name, value in penalties:
        if value and (model.settled or asked.provider not in model.penalties):
            asked.reject("penalty")
        if value is not None and not -2 <= value < 2:
            asked.reject("penalty_range", name=name, value=value)


def _check_candidates(asked: RequestFacts) -> None:
    count = asked.config.candidate_count
    most = asked.surface.candidates or asked.model.candidates
    if count is None or 1 <= count <= most:
        return
    if most == 1 < count:
        asked.reject("one_candidate")
    asked.reject("candidates", count=count, above=_ALL_CANDIDATES + 1)


def _check_logprobs(asked: RequestFacts) -> None:
    config = asked.config
    if config.logprobs is not None and not config.response_logprobs:
        asked.reject("logprobs_alone")
    if config.logprobs is not None and not 0 <= config.logprobs <= 20:
        asked.reject("logprobs_range", count=config.logprobs)
    if not config.response_logprobs:
        return
    if asked.streams and not asked.surface.streams_logprobs:
        asked.reject("logprobs_streamed")
    if asked.provider not in asked.model.logprobs:
        asked.reject("logprobs")


def _check_schemas(asked: RequestFacts) -> None:
    config = asked.config
    kind = config.response_mime_type
    if kind not in _TYPES:
        asked.reject("mime_type", kind=kind)
    schemas = [config.response_schema, config.response_json_schema]
    if None not in schemas:
        asked.reject("two_schemas")
    if schemas != [None, None] and kind in ("", "text/plain"):
        asked.reject("schema_type")
    if kind == _JSON and not asked.model.json:
        asked.reject_for_model("no_json")
    if kind == _JSON and not asked.model.mixes:
        if asked.functions:
            asked.reject("json_with_functions")
        if asked.hosted:
            asked.reject("json_with_tools")
    if config.response_schema is not None:
        check_schema(config.response_schema, "generation_config.response_schema", asked)


def _check_modalities(asked: RequestFacts) -> None:
    wanted: set[str] = set(asked.config.response_modalities)
    wanted.discard("MODALITY_UNSPECIFIED")
    combinations = asked.model.makes
    if wanted and wanted not in map(set, combinations):
        asked.reject_for_model(
            "modalities",
            wanted=", ".join(sorted(wanted)),
            listed="\n".join(f"* {', '.join(sorted(each))}" for each in combinations),
        )


def _check_safety(asked: RequestFacts) -> None:
    categories = [setting.category for setting in asked.request.safety_settings]
    for number, category in enumerate(categories):
        if category not in asked.surface.harms:
            listed = ", ".join(f"HarmCategory.{name}" for name in asked.surface.harms)
            asked.reject("safety_category", number=number, listed=listed)
        if category in categories[:number]:
            asked.reject("safety_twice", category=category)


def _check_cache(asked: RequestFacts) -> None:
    request = asked.request
    if not request.cached_content:
        return
    if request.system_instruction or request.tools or request.tool_config.raw:
        asked.reject("cached")
    if asked.surface.lacks(request.cached_content):
        asked.reject("no_cache")
