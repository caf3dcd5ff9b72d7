"""Reads a request into canon: strictly for ``rules.accept``, leniently in ``parse``."""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pondero.canon import (
    HttpRequest,
    Json,
    OutputFormat,
    Request,
    Tool,
    ToolChoice,
    ToolKind,
    convert_json,
)
from pondero.dialects.dialect import ParsedRequest

from . import types
from .address import default_model
from .input.lenient import SkippedFields, strip_misfits, strip_unknown
from .input.messages import Reader
from .input.older_functions import as_newer_calls, convert_functions
from .input.responses_body import convert_body
from .models import Model, Place, Provider, lenient_provider
from .thinking import ThinkingSettings, parse_thinking
from .types import NAME

_TOP = frozenset(types.Body.__struct_fields__)
# Kinds of hosted tools on every wire, by the beginning of their type.
_KINDS: dict[str, ToolKind] = {
    "custom": "text",
    "web_search": "web_search",
    "browser_search": "web_search",
    "openrouter:web_search": "web_search",
    "code_interpreter": "code_execution",
}


class Context(Struct, frozen=True):
    """Facts of the request that the answer needs besides canon; ``place`` is for its thinking.

    ``older``: tools came as ``functions``, so a call returns as ``function_call``.
    """

    provider: Provider
    place: Place
    include_usage: bool = False
    include_obfuscation: bool = True
    older: bool = False


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Read a request for any model or provider; raises Rejected if it has no readable messages."""
    provider, passed = lenient_provider(), SkippedFields()
    raw, older = convert_functions(convert_body(load_body(http.body, provider)))
    named = default_model(http.url, keyless=True)
    typed = body(raw, provider, named=named, passed=passed)
    settings = parse_thinking(typed, rest_of(raw), provider, provider.other or Model(), passed)
    request = canon(typed, raw, provider, passed=passed)
    return ParsedRequest(
        request=as_newer_calls(request) if older else request,
        intent=settings.intent,
        show=settings.show,
        unknown=tuple(passed.paths),
        context=replace(context_of(typed, provider, settings), older=older),
    )


def load_body(data: bytes, provider: Provider) -> dict[str, Json]:
    """Return the body as a JSON object, or reject it."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        provider.rejecter.reject("not_json")
    if not isinstance(raw, dict):
        provider.rejecter.reject("not_object")
    return raw


def rest_of(raw: dict[str, Json]) -> dict[str, Json]:
    """Return the untyped fields, which only some providers take."""
    return {key: value for key, value in raw.items() if key not in _TOP}


def body(
    raw: dict[str, Json],
    provider: Provider,
    *,
    named: str | None,
    passed: SkippedFields | None = None,
) -> types.Body:
    """Return the typed request; ``named`` is the model if the body names none.

    A provider that is not strict skips unknown fields. With ``passed``, skipped fields are listed
    there, and misfits are skipped too.
    """
    fields = {key: value for key, value in raw.items() if key in _TOP}
    if not provider.strict:
        fields = strip_unknown(fields, passed or SkippedFields())
    if passed is not None:
        passed.tools = raw["tools"] if isinstance(raw.get("tools"), list) else []
        fields.pop("tools", None)
        if rest := rest_of(raw):
            taken = {*provider.fields, *(knob.path[0] for knob in provider.knob)}
            passed.paths += (key for key in rest if key not in taken)
    if named is not None and fields.get("model") is None:
        fields["model"] = named
    try:
        return convert_json(fields, types.Body)
    except msgspec.ValidationError as error:
        if passed is None:
            provider.rejecter.reject_invalid(str(error))
    try:
        return convert_json(strip_misfits(fields, passed), types.Body)
    except msgspec.ValidationError as error:
        provider.rejecter.reject_invalid(str(error))


def _find_names(body: types.Body) -> Iterator[str]:
    """Yield the paths of speakers' names, which other APIs do not have."""
    for number, message in enumerate(body.messages):
        named = isinstance(message, types.System | types.Developer | types.User | types.Assistant)
        if named and message.name is not None:
            yield f"messages.{number}.name"


def canon(
    body: types.Body,
    raw: dict[str, Json],
    provider: Provider,
    *,
    passed: SkippedFields | None = None,
) -> Request:
    """Build the canon request; with ``passed``, it keeps unknown parts and tools raw."""
    tags = provider.thinking == "think_tags" or passed is not None
    others = passed.parts if passed is not None else {}
    system, messages = Reader(tags=tags, others=others).read(body.messages)
    if passed is not None:
        passed.paths += _find_names(body)
        tools = tuple(_raw_tool(tool) for tool in passed.tools)
    else:
        tools = tuple(_tool(tool) for tool in body.tools or ())
    stop = body.stop or ()
    return Request(
        model=body.model,
        messages=tuple(messages),
        system=system,
        tools=tools,
        tool_choice=_choice(body),
        output=_output(body),
        max_tokens=body.max_completion_tokens or body.max_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        stream=bool(body.stream),
        extras=_extras(raw, provider, only_known=passed is not None) or None,
    )


def context_of(body: types.Body, provider: Provider, settings: ThinkingSettings) -> Context:
    """Return the context of the answer."""
    options = body.stream_options
    return Context(
        provider,
        settings.place,
        include_usage=bool(options and options.include_usage),
        include_obfuscation=not options or options.include_obfuscation is not False,
    )


def _extras(raw: dict[str, Json], provider: Provider, *, only_known: bool) -> dict[str, Json]:
    knobs = {knob.path[0] for knob in provider.knob}
    return {
        key: value
        for key, value in rest_of(raw).items()
        if key not in knobs and (not only_known or key in provider.fields)
    }


def _tool(tool: types.OfferedFunction | types.OfferedCustom) -> Tool:
    if isinstance(tool, types.OfferedCustom):
        raw = {"type": "custom", "custom": tool.custom}
        return Tool(str(tool.custom.get("name", "")), raw=raw, dialect=NAME, kind="text")
    function = tool.function
    return Tool(function.name, function.description or "", function.parameters, function.strict)


def _raw_tool(tool: Json) -> Tool:
    tool = tool if isinstance(tool, dict) else {}
    flat = tool if tool.get("type", "function") == "function" else {}
    function = tool.get("function") if isinstance(tool.get("function"), dict) else flat
    name = function.get("name")
    if not isinstance(name, str):
        return _other_tool(tool)
    description, strict = function.get("description"), function.get("strict")
    return Tool(
        name,
        description if isinstance(description, str) else "",
        function.get("parameters"),
        strict if isinstance(strict, bool) else None,
    )


def _other_tool(tool: dict[str, Json]) -> Tool:
    kind = str(tool.get("type") or "")
    own = tool.get(kind)
    inner: dict[str, Json] = own if isinstance(own, dict) else tool
    known = (word for begin, word in _KINDS.items() if kind.startswith(begin))
    found = Tool(
        str(inner.get("name") or tool.get("name") or kind),
        str(inner.get("description") or ""),
        raw=tool,
        dialect=NAME,
        kind=next(known, "other"),
    )
    return replace(found, parameters=_text_schema(inner)) if found.kind == "text" else found


def _text_schema(custom: dict[str, Json]) -> Json:
    asked = custom.get("format")
    grammar = asked.get("grammar", asked) if isinstance(asked, dict) else {}
    if not isinstance(grammar, dict) or "definition" not in grammar:
        return {"type": "string"}
    words = f"Text of this {grammar.get('syntax')} grammar:\n{grammar['definition']}"
    return {"type": "string", "description": words}


def _choice(body: types.Body) -> ToolChoice | None:
    choice, parallel = body.tool_choice, body.parallel_tool_calls
    if choice is None:
        return None if parallel is None else ToolChoice(parallel=parallel)
    if isinstance(choice, types.ChosenFunction):
        return ToolChoice("tool", choice.function.name, parallel)
    if isinstance(choice, types.ChosenCustom):
        return ToolChoice("tool", choice.custom.name, parallel)
    if isinstance(choice, str):
        return ToolChoice(choice, None, parallel)
    return _allow_some(choice.allowed_tools, parallel=parallel)


def _allow_some(asked: dict[str, Json], *, parallel: bool | None) -> ToolChoice:
    tools = asked.get("tools")
    inner = [
        each.get(str(each.get("type")), each)
        for each in (tools if isinstance(tools, list) else ())
        if isinstance(each, dict)
    ]
    names = [each.get("name") for each in inner if isinstance(each, dict)]
    mode: Literal["auto", "required"] = "required" if asked.get("mode") == "required" else "auto"
    allowed = tuple(name for name in names if isinstance(name, str))
    return ToolChoice(mode, None, parallel, allowed)


def _output(body: types.Body) -> OutputFormat | None:
    match body.response_format:
        case types.ObjectFormat():
            return OutputFormat()
        case types.SchemaFormat(json_schema=schema):
            return OutputFormat(schema.schema, schema.name, schema.strict)
        case _:
            return None
