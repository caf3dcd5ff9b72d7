"""The attributes of an exchange, by the names of OpenTelemetry's conventions for generative AI.

What was requested is read from the body that is sent: it has the caller's own fields too, and the
limits that an API requires.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from msgspec import MsgspecError, Raw

from ...canon import Assembler, Json, Reply, Usage, decode_json
from ...dialects import OwnTelemetry, get_dialect
from ...errors import ServiceError
from ...exchange import Exchange, usage_attributes
from ...store import load_catalog
from .api import Attributes

_INT = 2**63
_PORTS = {"http": 80, "https": 443}
_JSON_FORMATS = ("json", "json_object", "json_schema", "application/json")
_TEXT_FORMATS = ("text", "text/plain")


def base_attributes(exchange: Exchange) -> Attributes:
    """Return what a sampler needs to know; metrics have it too."""
    origin = exchange.origin
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": load_catalog().telemetry_name(origin.provider),
        "gen_ai.request.model": origin.model,
        **_server(exchange.http.url),
    }


def request_attributes(exchange: Exchange) -> Attributes:
    """Return what was requested."""
    plan, sent = exchange.plan, _SentBody(exchange.http.body)
    found: Attributes = {
        "gen_ai.request.stream": exchange.stream or None,
        "gen_ai.request.reasoning.level": _text(sent.find(_LEVELS)) or plan.level,
        "pondero.level": plan.level,
        "pondero.asked": None if plan.asked is None else str(plan.asked),
        "pondero.adjustments": [note.code for note in plan.adjustments] or None,
        **{name: read(sent.find(paths)) for name, (read, paths) in _PARAMETERS.items()},
    }
    found["gen_ai.output.type"] = "json" if exchange.restore else _output_type(sent)
    if found["gen_ai.request.choice.count"] == 1:  # the conventions leave out the usual count
        found["gen_ai.request.choice.count"] = None
    if (own := _own_telemetry(exchange)) is not None:
        tier = _text(sent.find(("service_tier",)))
        found[f"{own.provider}.request.service_tier"] = None if tier == "auto" else tier
        found[f"{own.provider}.api.type"] = own.api
    return drop_none(found)


def reply_attributes(
    exchange: Exchange, reply: Reply | None, so_far: Assembler | None
) -> Attributes:
    """Return what was answered; of an answer without an end, what arrived."""
    started = so_far.started if so_far else None
    found: Attributes = {
        "gen_ai.response.id": started.id if started else None,
        "gen_ai.response.model": started.model if started else None,
    }
    if reply is not None:
        found |= {
            "gen_ai.response.model": reply.model or found["gen_ai.response.model"],
            "gen_ai.response.finish_reasons": [reply.finish],
            "pondero.request_id": reply.request_id,
            "pondero.verdict": reply.verdict,
            "pondero.level": reply.plan.level,
            "pondero.adjustments": [note.code for note in reply.adjustments] or None,
            **usage_attributes(reply.usage),
        }
        if (own := _own_telemetry(exchange)) is not None and isinstance(reply.extras, dict):
            tier = _text(reply.extras.get("service_tier"))
            found[f"{own.provider}.response.service_tier"] = tier
    elif so_far is not None:
        found["gen_ai.response.finish_reasons"] = ["error"]  # their word for a missing end
        found |= usage_attributes(so_far.usage or Usage())
    return drop_none(found)


def error_attributes(error: BaseException | None) -> Attributes:
    """Return the class of an error; nothing for a stream or a turn that was left early."""
    if error is None or isinstance(error, GeneratorExit):
        return {}
    return {"error.type": type(error).__name__}


def failure_attributes(error: BaseException | None) -> Attributes:
    """Return the class of an exchange's error, and what the service said about it."""
    found = error_attributes(error)
    if isinstance(error, ServiceError):
        about = {"http.response.status_code": error.status, "pondero.request_id": error.request_id}
        found |= drop_none(about)
    return found


def drop_none(attributes: Attributes) -> Attributes:
    """Return the attributes that have a value."""
    return {name: value for name, value in attributes.items() if value is not None}


def _own_telemetry(exchange: Exchange) -> OwnTelemetry | None:
    """Return whose own attributes an exchange has; None for all other providers."""
    own = get_dialect(exchange.dialect).caller().own_telemetry
    if own is None or load_catalog().telemetry_name(exchange.origin.provider) != own.provider:
        return None
    return own


@lru_cache(64)
def _server(url: str) -> Mapping[str, Any]:
    """Return the host and port of an address, without a user, a path or a query."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # a port that is no number
        return {}
    return {} if host is None else drop_none({"server.address": host, "server.port": port})


# -- the body ------------------------------------------------------------------------------------


class _SentBody:
    """The fields of a JSON body; only those that are looked for are decoded."""

    def __init__(self, body: bytes) -> None:
        self._fields = _decode_object(body)

    def find(self, paths: Iterable[str]) -> Json:
        """Return the value at the first of these dotted paths that has one; None at none."""
        for path in paths:
            fields, (*outer, last) = self._fields, path.split(".")
            for name in outer:
                fields = _decode_object(fields.get(name, b"{}"))
            if last in fields and (value := _decode(fields[last])) is not None:
                return value
        return None


def _decode_object(data: bytes | Raw) -> dict[str, Raw]:
    try:
        found: dict[str, Raw] = decode_json(data, dict[str, Raw])
    except (MsgspecError, UnicodeError):
        return {}
    return found


def _decode(data: Raw) -> Json:
    try:
        return decode_json(data, object)
    except (MsgspecError, UnicodeError, RecursionError):
        return None


def _int(value: Json) -> int | None:
    # An exporter cannot encode more than 64 bits, and would lose the spans sent with this one.
    fits = isinstance(value, int) and not isinstance(value, bool) and -_INT <= value < _INT
    return value if fits else None


def _float(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> list[str] | None:
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [text for text in given if isinstance(text, str)] or None


_PARAMETERS: Mapping[str, tuple[Callable[[Json], Any], tuple[str, ...]]] = {
    "gen_ai.request.max_tokens": (
        _int,
        (
            *("max_tokens", "max_completion_tokens", "max_output_tokens", "options.num_predict"),
            *("generationConfig.maxOutputTokens", "inferenceConfig.maxTokens"),
        ),
    ),
    "gen_ai.request.temperature": (
        _float,
        (
            *("temperature", "options.temperature"),
            *("generationConfig.temperature", "inferenceConfig.temperature"),
        ),
    ),
    "gen_ai.request.top_p": (
        _float,
        ("top_p", "p", "options.top_p", "generationConfig.topP", "inferenceConfig.topP"),
    ),
    "gen_ai.request.top_k": (
        _float,
        (
            *("top_k", "k", "options.top_k", "generationConfig.topK"),
            "additionalModelRequestFields.top_k",
        ),
    ),
    "gen_ai.request.stop_sequences": (
        _texts,
        (
            *("stop", "stop_sequences", "options.stop"),
            *("generationConfig.stopSequences", "inferenceConfig.stopSequences"),
        ),
    ),
    "gen_ai.request.frequency_penalty": (
        _float,
        ("frequency_penalty", "options.frequency_penalty", "generationConfig.frequencyPenalty"),
    ),
    "gen_ai.request.presence_penalty": (
        _float,
        ("presence_penalty", "options.presence_penalty", "generationConfig.presencePenalty"),
    ),
    "gen_ai.request.seed": (
        _int,
        ("seed", "random_seed", "options.seed", "generationConfig.seed"),
    ),
    "gen_ai.request.choice.count": (_int, ("n", "generationConfig.candidateCount")),
    "gen_ai.conversation.id": (_text, ("conversation.id", "conversation")),
}

# The service's own word for the level, which the conventions ask for; some take a budget instead.
_LEVELS = (
    *("reasoning_effort", "reasoning.effort", "output_config.effort", "think"),
    "generationConfig.thinkingConfig.thinkingLevel",
    *(
        "additionalModelRequestFields.reasoning_effort",
        "additionalModelRequestFields.reasoning_config",
    ),
    "additionalModelRequestFields.reasoning.effort",
    "additionalModelRequestFields.output_config.effort",
)
_FORMATS = (
    *("response_format.type", "text.format.type", "output_config.format.type"),
    *("output_format.type", "generationConfig.responseMimeType", "format"),
    "outputConfig.textFormat.type",
)


def _output_type(sent: _SentBody) -> str | None:
    """Return the content type that the request fixes; None if it leaves it open."""
    given = sent.find(_FORMATS)
    if isinstance(given, dict) or given in _JSON_FORMATS:  # Ollama's format may be a schema
        return "json"
    return "text" if given in _TEXT_FORMATS else None
