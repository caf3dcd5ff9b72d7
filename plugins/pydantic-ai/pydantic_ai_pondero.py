"""Settings for pydantic-ai's models: ``settings("claude-opus-5/high")`` is what they are given.

A field of a plan goes into pydantic-ai's own setting if that is sent as it is: pydantic-ai then
knows that the model thinks, forces no tool where that is refused, and merges the setting with the
schema of an answer. All other fields are ``extra_body``, which replaces whole fields, for the wires
that have one. pydantic-ai's unified ``thinking`` is not used: it has no budgets, its levels mean
other budgets on models that count tokens, and it does not ask for the text of the thinking.
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
    """Return the thinking and the effort as settings: the effort shares a field with a schema."""
    config = dict(fields.pop("output_config", {}))
    found = _taken(config, {"effort": "anthropic_effort"})
    found |= _taken(fields, {"thinking": "anthropic_thinking", "max_tokens": "max_tokens"})
    return _with_rest(found, {**fields, "output_config": config} if config else fields)


def _responses(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the reasoning as settings, to which pydantic-ai may add the context it keeps."""
    reasoning = dict(fields.pop("reasoning", {}))
    names = {"effort": "openai_reasoning_effort", "summary": "openai_reasoning_summary"}
    if not reasoning.keys() <= names.keys():
        return _with_rest({}, {**fields, "reasoning": reasoning})
    found = _taken(reasoning, names) | _taken(fields, {"max_output_tokens": "max_tokens"})
    return _with_rest(found, fields)


def _chat(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the effort both ways: other classes than OpenAIChatModel send only the body."""
    effort = fields.get("reasoning_effort")
    return _with_rest({"openai_reasoning_effort": effort} if effort else {}, fields)


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


def _taken(fields: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields that have a setting, under its name, and take them out."""
    return {names[name]: fields.pop(name) for name in [*fields] if name in names}


def _with_rest(found: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    return {**found, "extra_body": rest} if rest else found


def _renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[name]: value for name, value in fields.items() if name in names}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_WIRES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
    "openai_chat": _chat,
    "openai_responses": _responses,
}
