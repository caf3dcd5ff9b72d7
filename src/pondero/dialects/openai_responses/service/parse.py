"""Reads a request into canon: strictly for ``rules.accept``, leniently in ``parse``."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pondero.canon import (
    HttpRequest,
    Json,
    Message,
    OutputFormat,
    Request,
    Text,
    Tool,
    ToolChoice,
    ToolKind,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import ParsedRequest
from pondero.thinking import UNSET, Intent

from .checks.field_types import OfferedFunction
from .client_tools import find_client_tool
from .errors import reject, reject_invalid
from .input.conversation import Conversation
from .input.validation import read, read_kind
from .types import (
    NAME,
    AnyCreate,
    AnyFunction,
    AnyJsonSchema,
    Create,
    Function,
    JsonSchema,
    Reasoning,
)

ENCRYPTED = "reasoning.encrypted_content"
RESUMED_HEADER = "x-emulated-previous-response"
"""Header with the id of the stored response whose conversation was added to the input."""
CONVERSATION_HEADER = "x-emulated-conversation"
"""Header with the id of the stored conversation that was added to the input."""
_MODES: dict[str, Literal["none", "auto", "required"]] = {
    "none": "none",
    "auto": "auto",
    "required": "required",
}
# Fields that canon has; all others become extras.
_IN_CANON = frozenset({
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text",
    "reasoning", "max_output_tokens", "temperature", "top_p", "stream", "store", "include",
})  # fmt: skip
# Fields that every answer repeats.
_REPEATED = (
    "instructions", "max_output_tokens", "max_tool_calls", "parallel_tool_calls",
    "prompt_cache_key", "safety_identifier", "service_tier", "temperature", "text", "tool_choice",
    "tools", "top_logprobs", "top_p", "truncation", "user", "metadata",
)  # fmt: skip
# Kinds of hosted tools on every wire, by the beginning of their type.
_KINDS: dict[str, ToolKind] = {
    "custom": "text",
    "web_search": "web_search",
    "code_interpreter": "code_execution",
    "code_execution": "code_execution",
}
_PLAIN_FUNCTION = frozenset({"type", "name", "description", "parameters", "strict"})


class Context(Struct, frozen=True, kw_only=True):
    """Facts of the request that the answer needs besides canon.

    The answer repeats ``settings`` unchanged and ``reasoning`` as the service understood it.
    ``sealed``: thinking has ``encrypted_content``. ``stored``: the answer is stored. ``previous``:
    the stored response it continues, ``conversation`` the stored conversation. ``background``: it
    is fetched later. ``namespaces``: the namespace of each tool that has one.

    Only the rules set two facts of the model: ``phases`` (messages are marked as commentary or
    final answer) and ``preliminary`` (a stream announces thinking with preliminary content), and
    that the answer is ``emulated``: its ids say so.
    """

    settings: Mapping[str, Json]
    reasoning: Json
    sealed: bool = False
    stored: bool = True
    previous: str | None = None
    conversation: str | None = None
    background: bool = False
    namespaces: Mapping[str, str] = {}
    phases: bool = False
    preliminary: bool = False
    emulated: bool = False


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Read a request leniently, without the service's rules."""
    unknown = UnknownFields()
    raw = json_of(http.body)
    create = body(raw, unknown)
    raw = {name: value for name, value in raw.items() if name not in unknown.paths}
    items = items_of(create)
    messages = messages_of(create, items, unknown=unknown)
    asked = create.reasoning or Reasoning()
    return ParsedRequest(
        request=canon(create, raw, messages, unknown),
        intent=intent_of(last_effort_update(items) or asked.effort),
        show=True if asked.summary or asked.generate_summary else None,
        unknown=tuple(unknown.paths),
        context=context_of(create, raw),
    )


def json_of(data: bytes) -> dict[str, Any]:
    """Return the body as a JSON object, or reject it."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        reject("not_json")
    if not isinstance(raw, dict):
        reject("not_json")
    return raw


def body(raw: dict[str, Json], unknown: UnknownFields | None = None) -> Create:
    """Return the body as its type, or reject it."""
    return read(raw, Create if unknown is None else AnyCreate, unknown=unknown)


def items_of(create: Create) -> list[Json]:
    """Return the items of the input; plain text is one item."""
    if isinstance(create.input, str):
        return [{"type": "message", "role": "user", "content": create.input}]
    return create.input or []


def messages_of(
    create: Create,
    items: list[Json],
    *,
    route: str | None = None,
    unknown: UnknownFields | None = None,
) -> tuple[Message, ...]:
    """Return the messages of the input; ``canon`` adds tools of ``additional_tools`` items."""
    conversation = Conversation(model=create.model, route=route, unknown=unknown)
    for number, item in enumerate(items):
        if unknown is None or item.get("type") != "additional_tools":
            conversation.add(item, number)
    return conversation.messages


def last_effort_update(items: list[Json]) -> Json:
    """Return the effort set by the last ``configuration_update`` of the input."""
    effort = None
    for item in items:
        if item.get("type") == "configuration_update":
            changed = item.get("reasoning")
            said = changed.get("effort") if isinstance(changed, dict) else None
            effort = effort if said is None else said  # it stays until another replaces it
    return effort


def intent_of(effort: Json) -> Intent:
    """Return the intent behind an effort."""
    if not isinstance(effort, str):
        return UNSET
    return Intent("off") if effort == "none" else Intent("level", effort)


def context_of(create: Create, raw: dict[str, Json]) -> Context:
    """Return the context of the answer, as far as the request alone determines it."""
    asked = create.reasoning or Reasoning()
    return Context(
        settings={name: raw[name] for name in _REPEATED if name in raw},
        reasoning={"effort": asked.effort, "summary": asked.summary or asked.generate_summary},
        sealed=ENCRYPTED in (create.include or ()) or create.store is False,
        stored=create.store is not False,
        background=create.background is True,
        namespaces=_namespaces(create),
    )


# -- canon -------------------------------------------------------------------------------------


def canon(
    create: Create,
    raw: dict[str, Json],
    messages: tuple[Message, ...],
    unknown: UnknownFields | None = None,
) -> Request:
    """Build the canon request; ``raw`` is the untyped body."""
    extras = {
        key: value
        for key, value in raw.items()
        if key not in _IN_CANON and key in create.__struct_fields__ and value is not None
    }
    system, messages = _system(create, messages, lenient=unknown is not None)
    return Request(
        create.model,
        messages,
        system=system,
        tools=_tools(create) if unknown is None else _known_tools(create, unknown),
        tool_choice=_choice(create, extras, unknown),
        output=_output(create, extras, unknown),
        max_tokens=create.max_output_tokens,
        temperature=create.temperature,
        top_p=create.top_p,
        stream=create.stream is True,
        extras={**extras, **_more(create, raw)} or None,
    )


def _system(
    create: Create, messages: tuple[Message, ...], *, lenient: bool
) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    if create.instructions is not None:
        return (Text(create.instructions),), messages
    items = items_of(create)
    if lenient:
        items = [
            item
            for item in items
            if item.get("type") != "additional_tools" and item.get("content") != []
        ]
    first = items[0] if items else {}
    if first.get("role") != "developer" or first.get("type") == "additional_tools":
        return (), messages
    if first["content"] == []:
        return (), messages[1:]
    parts = messages[0].parts
    return tuple(part for part in parts if isinstance(part, Text)), messages[1:]


def _more(create: Create, body: Json) -> dict[str, Json]:
    more: dict[str, Json] = {}
    if create.store:
        more["store"] = True
    if include := [name for name in create.include or () if name != ENCRYPTED]:
        more["include"] = include
    thinking = body.get("reasoning") or {}
    if rest := {key: thinking[key] for key in ("context", "mode") if thinking.get(key) is not None}:
        more["reasoning"] = rest
    return more


# -- tools ---------------------------------------------------------------------------------------


def _tools(create: Create) -> tuple[Tool, ...]:
    return tuple(_tool(raw, f"tools[{number}]") for number, raw in enumerate(create.tools or ()))


def _tool(raw: Json, at: str) -> Tool:
    kind = read_kind(raw, at=at)
    if kind != "function":
        return _other_tool(raw)
    tool = read(raw, OfferedFunction, at=at)
    raw_tool = raw if set(raw) - _PLAIN_FUNCTION else None
    words = (tool.name, tool.description or "", tool.parameters, tool.strict)
    return Tool(*words, raw=raw_tool, dialect=NAME if raw_tool else None)


def _known_tools(create: Create, unknown: UnknownFields) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for at, raw, _ in _iter_offered(create):
        tool = _known_tool(raw, at, unknown)
        if tool.name in tools:
            unknown.paths.append(at)
        else:
            tools[tool.name] = tool
    return tuple(tools.values())


def _known_tool(raw: Json, at: str, unknown: UnknownFields) -> Tool:
    if raw.get("type") == "function":
        unknown.paths += [f"{at}.{key}" for key in raw if key not in Function.__struct_fields__]
        unknown.paths += [f"{at}.{key}" for key in _OWN_SETTINGS if raw.get(key)]
        known = read(raw, AnyFunction, at=at, unknown=unknown)
        return Tool(known.name, known.description or "", known.parameters, known.strict)
    if (own := find_client_tool(raw)) is not None:
        return own.as_function(str(raw["type"]), raw, NAME)
    tool, description = _other_tool(raw), raw.get("description")
    described = replace(tool, description=description if isinstance(description, str) else "")
    if tool.kind != "text":
        return described
    return replace(described, parameters=_text_schema(raw.get("format")))


_OWN_SETTINGS = ("output_schema",)  # functions of other services have no field for the result


def _other_tool(raw: dict[str, Json]) -> Tool:
    kind = str(raw.get("type"))
    known = (word for begin, word in _KINDS.items() if kind.startswith(begin))
    name = str(raw.get("name") or kind)
    return Tool(name, raw=raw, dialect=NAME, kind=next(known, "other"))


def _text_schema(asked: Json) -> Json:
    written = asked if isinstance(asked, dict) else {}
    if written.get("type") != "grammar":
        return {"type": "string"}
    words = f"Text of this {written.get('syntax')} grammar:\n{written.get('definition')}"
    return {"type": "string", "description": words}


def _namespaces(create: Create) -> dict[str, str]:
    found: dict[Json, str | None] = {}
    for _, tool, namespace in _iter_offered(create):
        found.setdefault(tool.get("name"), namespace)
    return {name: each for name, each in found.items() if isinstance(name, str) and each}


def _iter_offered(create: Create) -> Iterator[tuple[str, dict[str, Json], str | None]]:
    yield from _iter_nested(create.tools, "tools", None)
    for number, item in enumerate(items_of(create)):
        if item.get("type") in ("additional_tools", "tool_search_output"):
            yield from _iter_nested(item.get("tools"), f"input[{number}].tools", None)


def _iter_nested(
    tools: Json, at: str, namespace: str | None
) -> Iterator[tuple[str, dict[str, Json], str | None]]:
    for number, tool in enumerate(tools if isinstance(tools, list) else ()):
        if not isinstance(tool, dict):
            continue
        where = f"{at}[{number}]"
        if tool.get("type") == "namespace":
            yield from _iter_nested(tool.get("tools"), f"{where}.tools", str(tool.get("name")))
        else:
            yield where, tool, namespace


def _choice(
    create: Create, extras: dict[str, Json], unknown: UnknownFields | None
) -> ToolChoice | None:
    choice, parallel = create.tool_choice, create.parallel_tool_calls
    default = None if parallel is None else ToolChoice(parallel=parallel)
    if choice is None:
        return default
    if not isinstance(choice, str):
        return _object_choice(create, choice, extras, unknown) or default
    if choice not in _MODES:
        if unknown is None:
            reject_invalid(choice, _MODES, param="tool_choice")
        unknown.paths.append("tool_choice")
        return default
    if choice == "required" and not create.tools and unknown is None:
        reject("required_without_tools", param="tool_choice")
    return ToolChoice(_MODES[choice], parallel=parallel)


def _object_choice(
    create: Create, choice: Json, extras: dict[str, Json], unknown: UnknownFields | None
) -> ToolChoice | None:
    kind, parallel = choice.get("type"), create.parallel_tool_calls
    tools = create.tools or []
    if kind in ("function", "custom"):
        name = choice.get("name")
        if name is None:
            if unknown is None:
                reject("missing", param="tool_choice.name")
            unknown.paths.append("tool_choice")
            return None
        if unknown is None and not any(tool.get("name") == name for tool in tools):
            reject("choice_not_offered", param="tool_choice", kind=kind)
        return ToolChoice("tool", name, parallel)
    if set(choice) == {"type"} and any(tool.get("type") == kind for tool in tools):
        return ToolChoice("tool", kind, parallel)
    extras["tool_choice"] = choice
    if kind != "allowed_tools":
        return None
    allowed = _allow_some(choice, parallel=parallel)
    offered = {each for tool in tools for each in (tool.get("name"), tool.get("type"))}
    for name in allowed.allowed if unknown is None else ():
        if name not in offered and not any(tool.get("type") == "mcp" for tool in tools):
            reject("choice_not_offered", param="tool_choice", kind=name)
    return allowed


def _allow_some(choice: Json, *, parallel: bool | None) -> ToolChoice:
    tools = choice.get("tools")
    named = [each for each in (tools if isinstance(tools, list) else ()) if isinstance(each, dict)]
    names = [each.get("name") or each.get("type") for each in named]
    allowed = tuple(name for name in names if isinstance(name, str))
    mode: Literal["auto", "required"] = "required" if choice.get("mode") == "required" else "auto"
    return ToolChoice(mode, None, parallel, allowed)


# -- the shape of the answer ---------------------------------------------------------------------


def _output(
    create: Create, extras: dict[str, Json], unknown: UnknownFields | None
) -> OutputFormat | None:
    if create.text is None:
        return None
    if create.text.verbosity is not None:
        extras["text"] = {"verbosity": create.text.verbosity}
    raw = create.text.format
    kind = raw.get("type") if raw else "text"
    if raw is None or kind == "text":
        return None
    if kind == "json_object":
        return OutputFormat()
    if kind != "json_schema":
        if unknown is None:
            reject_invalid(kind, ("text", "json_object", "json_schema"), param="text.format.type")
        unknown.paths.append("text.format")
        return None
    known = JsonSchema if unknown is None else AnyJsonSchema
    schema = read(raw, known, at="text.format", unknown=unknown)
    if schema.description is not None:
        extras.setdefault("text", {})["format"] = {"description": schema.description}
    return OutputFormat(schema.schema, schema.name, schema.strict)
