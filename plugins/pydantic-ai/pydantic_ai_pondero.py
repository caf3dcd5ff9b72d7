"""Settings for pydantic-ai's models: ``settings("claude-opus-5/high")`` is what they are given.

The fields of a plan go where pydantic-ai takes them: ``extra_body`` for the wires that have one,
its own settings for Gemini and Bedrock. pydantic-ai has no way to send the others.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from pydantic_ai.settings import ModelSettings

import pondero


class Asked(TypedDict, total=False):
    """What bears on how much a model can think; ``tools`` says that the agent has some."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    tools: bool


def settings(
    model: str, thinking: pondero.ThinkingLike = None, **asked: Unpack[Asked]
) -> ModelSettings:
    """Return the settings that give a model this level; what it refuses then is left out.

    >>> Agent("anthropic:claude-opus-5", model_settings=settings("claude-opus-5/high"))

    ``model`` is named as pondero names it. Raises UsageError for a wire whose fields pydantic-ai
    cannot send.
    """
    plan = pondero.plan(model, thinking, **asked)
    made = _WIRES.get(plan.dialect)
    if made is None:
        message = (
            f"pydantic-ai cannot send the fields of {plan.model}: its model class for that wire "
            "has no extra_body; ask the same model through a gateway that speaks like OpenAI"
        )
        raise pondero.UsageError(message)
    found = made(plan.fields)
    if plan.headers:
        found["extra_headers"] = dict(plan.headers)
    return ModelSettings(**found)


def _anthropic(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the effort as pydantic-ai's own setting: it shares a field with an answer's schema."""
    found: dict[str, Any] = {"max_tokens": fields.pop("max_tokens")}
    config = dict(fields.pop("output_config", {}))
    if effort := config.pop("effort", None):
        found["anthropic_effort"] = effort
    return {**found, "extra_body": {**fields, "output_config": config} if config else fields}


def _openai(fields: dict[str, Any]) -> dict[str, Any]:
    """Return all of it as ``extra_body``: pydantic-ai would leave some of it out, or rename it."""
    return {"extra_body": fields}


def _gemini(fields: dict[str, Any]) -> dict[str, Any]:
    config = fields.get("generationConfig", {})
    names = {"temperature": "temperature", "topP": "top_p", "maxOutputTokens": "max_tokens"}
    found = _renamed(config, {**names, "topK": "top_k"})
    if thinking := config.get("thinkingConfig"):
        found["google_thinking_config"] = {_snake(name): each for name, each in thinking.items()}
    return found


def _bedrock(fields: dict[str, Any]) -> dict[str, Any]:
    names = {"temperature": "temperature", "topP": "top_p", "maxTokens": "max_tokens"}
    found = _renamed(fields.get("inferenceConfig", {}), names)
    if more := fields.get("additionalModelRequestFields"):
        found["bedrock_additional_model_requests_fields"] = more
    return found


def _renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[name]: value for name, value in fields.items() if name in names}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_WIRES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
    "openai_chat": _openai,
    "openai_responses": _openai,
}
