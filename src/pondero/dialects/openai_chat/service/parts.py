"""What a whole answer and a stream have in common: ids, counts, the word for the end."""

import hashlib
import re
from typing import Literal

import msgspec

from pondero.canon import Finish, Json, Seal, Text, ToolCall, Usage
from pondero.dialects.dialect import Answering

from .models import Service
from .models import service as service_of
from .types import NAME

CREATED = 1_763_164_800  # there is no clock here, and nobody looks
_WORDS: dict[Finish, str] = {
    "stop": "stop",
    "refusal": "stop",
    "length": "length",
    "exhausted": "length",
    "context_full": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}


def base_of(
    accepted: Answering[Json],
    kind: Literal["chat.completion", "chat.completion.chunk"],
    model: str | None,
) -> dict[str, Json]:
    """Return the fields every answer and every chunk begins with."""
    table = service_of(accepted.context["service"])
    digest = hashlib.sha256(msgspec.json.encode(accepted.request)).hexdigest()
    return {
        **table.beside,
        "id": f"chatcmpl-{digest[:29]}",
        "object": kind,
        "created": CREATED,
        "model": model or accepted.request.model,
        "service_tier": "default",
        "system_fingerprint": f"fp_{digest[-10:]}",
    }


def headers_of(content_type: str, base: dict[str, Json]) -> dict[str, str]:
    """Return the head of an answer."""
    return {
        "content-type": content_type,
        "x-request-id": f"req_{base['id'][9:]}",
        "openai-version": "2020-10-01",
    }


def word(finish: Finish, raw: str | None) -> str:
    """Return the service's word for an end."""
    return raw or _WORDS.get(finish, "stop")


def counts(usage: Usage, service: Service) -> Json:
    """Return the counts as this service adds them up; None where nothing is known."""
    if usage == Usage():
        return None
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    beside = (usage.thinking or 0) if service.counting == "outside" else 0
    completion = (usage.output or 0) + (usage.thinking or 0) - beside
    said: dict[str, Json] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion + beside if usage.total is None else usage.total,
    }
    cached = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    if known := {name: count for name, count in cached.items() if count is not None}:
        said["prompt_tokens_details"] = {**known, "audio_tokens": 0}
    if usage.thinking is not None and service.counting != "never":
        said["completion_tokens_details"] = {
            "reasoning_tokens": usage.thinking,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        }
    return said


def own(seal: Seal | None) -> dict[str, Json]:
    """Return what a seal of this wire holds; another's stays shut."""
    if seal is None or seal.dialect != NAME or not isinstance(seal.value, dict):
        return {}
    return seal.value


def refused(text: Text) -> bool:
    """Return whether these words are a refusal."""
    return bool(own(text.seal).get("refusal"))


def named(id_: str | None, service: Service) -> str | None:
    """Return the id of a call as this service has them."""
    if id_ is None or service.call_ids is None or re.fullmatch(service.call_ids, id_):
        return id_
    return re.sub("[^A-Za-z0-9]", "", id_)[-9:].rjust(9, "0")


def called(call: ToolCall, service: Service) -> dict[str, Json]:
    """Return a call as the wire has it whole."""
    arguments = call.arguments
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    extras = own(call.seal)
    if extras.get("type") == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    function = {"name": call.name, "arguments": text}
    id_ = named(call.id, service)
    return {"id": id_, "type": "function", "function": function, **extras}
