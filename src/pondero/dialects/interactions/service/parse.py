"""Reads a body into the service's types, then canon; ``parse`` is lenient and has no rules."""

from typing import Any, Literal

from msgspec import Struct

from pondero.canon import HttpRequest, Json, Message, OutputFormat, Request, Text, Tool, ToolChoice
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import ParsedRequest
from pondero.thinking import OFF, ON, UNSET, Intent

from . import types
from .errors import reject
from .input import MessageReader, find_type, list_steps, read_steps
from .validation import read, read_object

PREVIOUS_HEADER = "x-emulated-previous-interaction"
"""Header with the id of the stored interaction whose steps were added to the input."""
_BUDGET = "generation_config.thinking_budget"
_SAID = frozenset({
    "model", "input", "system_instruction", "generation_config", "tools", "response_format",
    "stream", "store",
})  # fmt: skip
_CONFIG_SAID = frozenset({
    "thinking_level", "thinking_summaries", "max_output_tokens", "temperature", "top_p",
    "stop_sequences", "tool_choice", "thinking_budget",
})  # fmt: skip
_MODES: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "any": "required",
    "validated": "auto",
}


class Context(Struct, frozen=True, kw_only=True):
    """What an answer must know of its request: whether it is stored, and what it continues."""

    stored: bool = True
    background: bool = False
    previous: str | None = None
    tier: str = "standard"


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Return what a request means, without rules; raises Rejected if it is unreadable."""
    raw = read_object(http.body)
    unknown = UnknownFields()
    body = read_body(raw, unknown)
    check_named(body)
    given = list_steps(raw["input"]) if raw.get("input") is not None else []
    steps = read_steps(given, unknown)
    messages = MessageReader(body.model).read(steps, given)
    summaries = body.config.thinking_summaries
    budget = _find_budget(raw)
    return ParsedRequest(
        request=canon(body, raw, messages, unknown),
        intent=intent_of(body.config) if budget is None else _read_budget(budget),
        show=None if summaries is None else summaries == "auto",
        unknown=tuple(each for each in unknown.paths if each != _BUDGET or budget is None),
        context=context_of(body),
    )


def _find_budget(raw: dict[str, Any]) -> int | None:
    """Return a budget, which SDKs pass on though no type has it; a gateway reads it as meant."""
    config = raw.get("generation_config")
    value = config.get("thinking_budget") if isinstance(config, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_budget(budget: int) -> Intent:
    if budget == 0:
        return OFF
    return ON if budget < 0 else Intent("budget", tokens=budget)


def read_body(raw: dict[str, Any], unknown: UnknownFields | None = None) -> types.Body:
    """Return the body as its type; strict, unless ``unknown`` collects."""
    body: types.Body = read(raw, types.Body, unknown=unknown)
    return body


def check_named(body: types.Body) -> None:
    """Reject a body that names an agent, which no model can stand for, or nothing."""
    if (body.model is None) == (body.agent is None):
        reject("model_or_agent")
    if body.agent is not None:
        reject("no_agent", agent=body.agent)


def intent_of(config: types.GenerationConfig) -> Intent:
    """Return what the request says about thinking."""
    if config.thinking_level is not None:
        return Intent("level", config.thinking_level.lower())
    return ON if config.thinking_summaries == "auto" else UNSET


def context_of(body: types.Body) -> Context:
    """Return what the answer must know of the request."""
    return Context(
        stored=body.store is not False,
        background=bool(body.background),
        previous=body.previous_interaction_id,
        tier=body.service_tier or "standard",
    )


def canon(
    body: types.Body,
    raw: dict[str, Any],
    messages: tuple[Message, ...],
    unknown: UnknownFields | None = None,
) -> Request:
    """Return the request as canon; strictly, unless ``unknown`` collects."""
    config = body.config
    system = body.system_instruction
    return Request(
        model=body.model or "",
        messages=messages,
        system=(Text(system),) if system else (),
        tools=tuple(
            _tool(tool, raw["tools"][n], lenient=unknown is not None)
            for n, tool in enumerate(body.tools or ())
        ),
        tool_choice=_choice(config.tool_choice),
        output=read_output(body.response_format, unknown),
        max_tokens=config.max_output_tokens,
        temperature=config.temperature,
        top_p=config.top_p,
        stop=tuple(config.stop_sequences or ()),
        stream=bool(body.stream),
        extras=_extras(body, raw) or None,
    )


def read_output(given: Json, unknown: UnknownFields | None = None) -> OutputFormat | None:
    """Return the shape of the answer: that of its text, or a schema that stands alone."""
    formats = [given] if isinstance(given, dict) else given
    if formats is not None and not isinstance(formats, list):
        reject("wrong_type", path="response_format", why="expected an object or a list")
    found: OutputFormat | None = None
    for number, each in enumerate(formats or ()):
        at = f"response_format[{number}]"
        if not isinstance(each, dict):
            reject("wrong_type", path=at, why="expected an object")
        if find_type(each) not in types.FORMATS:
            found = found or (OutputFormat(each) if each else None)
            continue
        form = read(each, types.Format, at=at, unknown=unknown)
        if not isinstance(form, types.TextFormat):
            continue
        if form.mime_type == "application/json" or form.schema is not None:
            found = found or OutputFormat(form.schema)
    return found


def _tool(tool: types.Tool, raw: dict[str, Any], *, lenient: bool) -> Tool:
    if isinstance(tool, types.Function):
        return Tool(tool.name, tool.description or "", tool.parameters)
    kind = str(raw.get("type"))
    if not lenient:
        return Tool(kind, raw=raw)
    return Tool(kind, raw=raw, dialect=types.NAME, kind=types.KINDS.get(kind, "other"))


def _choice(given: str | types.ToolChoiceConfig | None) -> ToolChoice | None:
    if given is None or isinstance(given, str):
        return None if given is None else ToolChoice(_MODES.get(given, "auto"))
    allowed = given.allowed_tools or types.AllowedTools()
    names = tuple(allowed.tools or ())
    mode = _MODES.get(allowed.mode or "auto", "auto")
    if mode == "required" and len(names) == 1:
        return ToolChoice("tool", names[0])
    return ToolChoice(mode, allowed=names)


def _extras(body: types.Body, raw: dict[str, Any]) -> dict[str, Json]:
    known = body.__struct_fields__
    extras = {
        name: value
        for name, value in raw.items()
        if name in known and name not in _SAID and value is not None
    }
    if body.store:
        extras["store"] = True
    given = raw.get("generation_config")
    fields = body.config.__struct_fields__
    config = {
        name: value
        for name, value in (given.items() if isinstance(given, dict) else ())
        if name in fields and name not in _CONFIG_SAID and value is not None
    }
    return {**extras, "generation_config": config} if config else extras
