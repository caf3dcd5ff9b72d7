"""The service reads a request, strictly; what it refuses, it refuses in its own words."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, Json, Message, Output, Request, Text, Tool, ToolChoice
from pondero.dialects.dialect import Accepted, Rejected
from pondero.thinking import UNSET, Intent

from .address import check_address
from .conversation import Conversation, given
from .errors import flat, invalid, missing, refuse, unsupported, unsupported_parameter
from .models import Model, manner_of, model_of
from .pairing import check as check_pairing
from .types import INCLUDABLE, Create, Function, JsonSchema, Reasoning
from .validation import kind_of, read

SEALED = "reasoning.encrypted_content"
HOUSE = "openai"
_UNVERIFIED = "org-unverified"
_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using "
    "your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not "
    "valid JSON.)"
)
_NO_INPUT = (
    "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
)
_UNVERIFIED_NO = (
    "Your organization must be verified to generate reasoning summaries. Please go to: "
    "https://platform.openai.com/settings/organization/general and click on Verify Organization."
)
_MODES: dict[str, Literal["none", "auto", "required"]] = {
    "none": "none",
    "auto": "auto",
    "required": "required",
}
# What the canon says by itself; everything else of a body is kept as extras.
_SAID = frozenset({
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text",
    "reasoning", "max_output_tokens", "temperature", "top_p", "stream", "store", "include",
})  # fmt: skip


def accept(http: HttpRequest, provider: str) -> Accepted[Json]:
    """Return what was asked, or raise Rejected. ``provider`` names the emulated deployment."""
    body: dict[str, Json] = {}
    try:
        check_address(http)
        body = _json(http.body)
        return _accepted(http, body, provider)
    except Rejected as refusal:
        if not manner_of(provider).flat:
            raise
        raise Rejected(flat(refusal.response, model=body.get("model"))) from None


def _accepted(http: HttpRequest, body: dict[str, Json], provider: str) -> Accepted[Json]:
    create = read(body, Create)
    model = model_of(create.model, provider=provider)
    _check_include(create)
    items = _items(create)
    conversation = Conversation(model=create.model, route=provider)
    for number, item in enumerate(items):
        conversation.add(item, number)
    check_pairing(items, store=create.store is not False)
    thought = _think(create, model, _update(items, updates=model.updates))
    _check_model(create, model, thought)
    _check_verified(create, http)
    messages = conversation.messages
    system, messages = _system(create, items, messages)
    asked = create.reasoning.effort if create.reasoning else None
    return Accepted(
        request=_request(create, body, system, messages),
        intent=UNSET
        if asked is None
        else Intent("off")
        if asked == "none"
        else Intent("level", asked),
        thinks=thought.thinks,
        shown=thought.thinks and thought.summary is not None,
        context={
            "body": body,
            "reasoning": thought.echo(),
            "sealed": thought.sealed,
            "phases": model.phases,
        },
        caches="always",
    )


def _intent(effort: str | None) -> Intent:
    if effort is None:
        return UNSET
    return Intent("off") if effort == "none" else Intent("level", effort)


# -- the door ------------------------------------------------------------------------------------


def _json(body: bytes) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        refuse(_NOT_JSON, param=None)
    if not isinstance(raw, dict):
        refuse(_NOT_JSON, param=None)
    return raw


def _check_include(create: Create) -> None:
    for number, name in enumerate(create.include or ()):
        if name not in INCLUDABLE:
            invalid(name, INCLUDABLE, param=f"include[{number}]")


def _check_verified(create: Create, http: HttpRequest) -> None:
    """Refuse summaries to an organisation that says it is not verified."""
    asked = create.reasoning
    if asked is None or not (asked.summary or asked.generate_summary):
        return
    if http.headers.get("openai-organization") == _UNVERIFIED:
        refuse(_UNVERIFIED_NO, param="reasoning.summary", code="unsupported_value")


# -- the input -----------------------------------------------------------------------------------


def _items(create: Create) -> list[Json]:
    if create.previous_response_id is not None:
        message = f"Previous response with id '{create.previous_response_id}' not found."
        refuse(message, param="previous_response_id", code="previous_response_not_found")
    if create.input is None or create.input == []:
        refuse(_NO_INPUT, param=None)
    if isinstance(create.input, str):
        return [{"type": "message", "role": "user", "content": create.input}]
    for item in create.input:
        if item.get("type") == "item_reference":
            message = f"Item with id '{item.get('id')}' not found."
            refuse(message, param="input", status=404)
    return create.input


def _update(items: list[Json], *, updates: bool) -> str | None:
    """Return the effort that items of the input set last."""
    effort = None
    for item in items:
        if item.get("type") == "configuration_update":
            if not updates:
                unsupported_parameter("configuration_update")
            changed = item.get("reasoning")
            effort = changed.get("effort") if isinstance(changed, dict) else effort
    return effort


def _system(
    create: Create, items: list[Json], messages: tuple[Message, ...]
) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    if create.instructions is not None:
        return (Text(create.instructions),), messages
    if items[0].get("role") == "developer" and items[0].get("type") != "additional_tools":
        parts = given(items[0]["content"], at="input[0].content")
        return tuple(part for part in parts if isinstance(part, Text)), messages[1:]
    return (), messages


# -- the canon of it -----------------------------------------------------------------------------


def _request(
    create: Create, body: Json, system: tuple[Text, ...], messages: tuple[Message, ...]
) -> Request:
    extras = {key: value for key, value in body.items() if key not in _SAID and value is not None}
    return Request(
        create.model,
        messages,
        system=system,
        tools=_tools(create),
        tool_choice=_choice(create, extras),
        output=_output(create, extras),
        max_tokens=create.max_output_tokens,
        temperature=create.temperature,
        top_p=create.top_p,
        stream=create.stream is True,
        extras={**extras, **_more(create, body)} or None,
    )


def _more(create: Create, body: Json) -> dict[str, Json]:
    """Return what of the fields we know says more than the canon can."""
    more: dict[str, Json] = {}
    if create.store:
        more["store"] = True
    if include := [name for name in create.include or () if name != SEALED]:
        more["include"] = include
    said = ("effort", "summary", "generate_summary")
    thinking = body.get("reasoning") or {}
    if rest := {k: v for k, v in thinking.items() if k not in said and v is not None}:
        more["reasoning"] = rest
    return more


def _tools(create: Create) -> tuple[Tool, ...]:
    return tuple(_tool(raw, f"tools[{number}]") for number, raw in enumerate(create.tools or ()))


def _tool(raw: Json, at: str) -> Tool:
    kind = kind_of(raw, at=at)
    if kind != "function":
        return Tool(str(raw.get("name") or kind), raw=raw)
    tool = read(raw, Function, at=at)
    if set(raw) - {"type", "name", "description", "parameters", "strict"}:
        return Tool(tool.name, tool.description or "", tool.parameters, tool.strict, raw=raw)
    return Tool(tool.name, tool.description or "", tool.parameters, tool.strict)


def _choice(create: Create, extras: dict[str, Json]) -> ToolChoice | None:
    choice, parallel = create.tool_choice, create.parallel_tool_calls
    if choice is None:
        return None if parallel is None else ToolChoice(parallel=parallel)
    if isinstance(choice, str):
        if choice not in _MODES:
            invalid(choice, _MODES, param="tool_choice")
        if choice == "required" and not create.tools:
            message = "Tool choice 'required' must be specified with 'tools' parameter."
            refuse(message, param="tool_choice")
        return ToolChoice(_MODES[choice], parallel=parallel)
    return _object_choice(create, choice, extras)


def _object_choice(create: Create, choice: Json, extras: dict[str, Json]) -> ToolChoice | None:
    kind, parallel = choice.get("type"), create.parallel_tool_calls
    tools = create.tools or []
    if kind in ("function", "custom"):
        name = choice.get("name")
        if name is None:
            missing("tool_choice.name")
        if not any(tool.get("name") == name for tool in tools):
            message = f"Tool choice '{kind}' not found in 'tools' parameter."
            refuse(message, param="tool_choice")
        return ToolChoice("tool", name, parallel)
    if set(choice) == {"type"} and any(tool.get("type") == kind for tool in tools):
        return ToolChoice("tool", kind, parallel)
    extras["tool_choice"] = choice
    return None if parallel is None else ToolChoice(parallel=parallel)


def _output(create: Create, extras: dict[str, Json]) -> Output | None:
    if create.text is None:
        return None
    if create.text.verbosity is not None:
        extras["text"] = {"verbosity": create.text.verbosity}
    raw = create.text.format
    kind = raw.get("type") if raw else "text"
    if raw is None or kind == "text":
        return None
    if kind == "json_object":
        return Output()
    if kind != "json_schema":
        invalid(kind, ("text", "json_object", "json_schema"), param="text.format.type")
    schema = read(raw, JsonSchema, at="text.format")
    if schema.description is not None:
        extras.setdefault("text", {})["format"] = {"description": schema.description}
    return Output(schema.schema, schema.name, schema.strict)


# -- what the model takes --------------------------------------------------------------------------


class _Thought(Struct, frozen=True):
    """How this request will be thought about; the answer echoes it."""

    effort: str | None
    summary: str | None
    context: str | None
    mode: str | None
    thinks: bool
    sealed: bool

    def echo(self) -> dict[str, Any]:
        """Return it as the answer's `reasoning`."""
        echo = {"effort": self.effort, "summary": self.summary, "context": self.context}
        return {**echo, "mode": self.mode} if self.mode else echo


def _think(create: Create, model: Model, updated: str | None) -> _Thought:
    """Return how it will think, or refuse what this model does not take.

    ``updated`` is an effort that an item of the input put in place of the request's.
    """
    asked = create.reasoning or Reasoning()
    summary = asked.summary or asked.generate_summary
    sealed = SEALED in (create.include or ())
    if not model.efforts:
        return _unasked(create, model, sealed=sealed)
    for effort in (asked.effort, updated):
        if effort is not None and effort not in model.efforts:
            unsupported(effort, create.model, model.efforts, param="reasoning.effort")
    if summary == "concise" and not model.concise:
        unsupported(summary, create.model, ("auto", "detailed"), param="reasoning.summary")
    if asked.context == "all_turns" and not model.all_turns:
        words = ("auto", "current_turn")
        unsupported(asked.context, create.model, words, param="reasoning.context")
    if asked.mode == "pro" and not model.pro:
        unsupported(asked.mode, create.model, ("standard",), param="reasoning.mode")
    context = asked.context if asked.context != "auto" else None
    effort = updated or asked.effort or model.default
    return _Thought(
        effort=effort,
        summary="detailed" if summary == "auto" else summary or model.summary,
        context=context or model.context,
        mode=asked.mode or "standard",
        thinks=effort != "none",
        sealed=model.sealed or sealed,
    )


def _unasked(create: Create, model: Model, *, sealed: bool) -> _Thought:
    """Return how a model thinks that cannot be told how: always, or never."""
    asked = create.reasoning or Reasoning()
    said = (
        ("effort", asked.effort),
        ("summary", asked.summary or asked.generate_summary),
        ("context", asked.context),
        ("mode", asked.mode),
    )
    for name, value in said:
        if value is not None:
            unsupported_parameter(f"reasoning.{name}")
    if sealed and not model.always:
        refuse("Encrypted content is not supported with this model.", param="include")
    return _Thought(
        effort=None,
        summary=model.summary,
        context=None,
        mode=None,
        thinks=model.always,
        sealed=sealed,
    )


def _check_model(create: Create, model: Model, thought: _Thought) -> None:
    """Refuse what does not go together with this model or with thinking."""
    if thought.thinks and not model.sampling:
        for name in ("temperature", "top_p"):
            if getattr(create, name) is not None:
                unsupported_parameter(name)
        if create.top_logprobs:
            message = "logprobs are not supported with reasoning models."
            refuse(message, param="top_logprobs", code="unsupported_parameter")
    cap = create.max_output_tokens
    if cap is not None and model.max_output is not None and cap > model.max_output:
        message = (
            "Invalid 'max_output_tokens': integer above maximum value. "
            f"Expected a value <= {model.max_output}, but got {cap} instead."
        )
        refuse(message, param="max_output_tokens", code="integer_above_max_value")
    if model.hosted and any(tool.get("type") not in model.hosted for tool in create.tools or ()):
        quoted = ", ".join(f"'{each}'" for each in model.hosted[:-1])
        message = f"Deep research models only support the {quoted}, and '{model.hosted[-1]}' tools."
        refuse(message, param="tools")
