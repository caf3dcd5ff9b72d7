"""What the body offers beside words: tools, who must be called, and a shape for the answer."""

from collections.abc import Sequence

from msgspec import DecodeError
from msgspec.json import decode
from msgspec.structs import replace

from pondero.canon import Cache, Json, Output, Tool, ToolChoice

from . import makers, types
from .errors import refuse, refuse_key
from .typing import one_key, typed


def tools_of(unions: Sequence[types.Union]) -> tuple[Tool, ...]:
    """Return what may be called, marks for the cache on what they follow."""
    tools: list[Tool] = []
    for at, union in enumerate(unions):
        where = f"toolConfig.tools.{at}"
        kind = one_key(union, where)
        if kind == "toolSpec":
            spec = typed(union[kind], types.ToolSpec, f"{where}.toolSpec")
            schema = spec.input_schema.json
            tools.append(Tool(spec.name, spec.description or "", schema, strict=spec.strict))
        elif kind == "systemTool":
            named = typed(union[kind], types.OneTool, f"{where}.systemTool")
            tools.append(Tool(named.name, raw={kind: decode(union[kind])}))
        elif kind == "cachePoint" and tools:
            point = typed(union[kind], types.CachePoint, f"{where}.cachePoint")
            tools[-1] = replace(tools[-1], cache=Cache(point.ttl))
        else:
            raise refuse_key(kind, where)
    return tuple(tools)


def choice_of(config: types.ToolConfig | None, own: makers.Own | None) -> ToolChoice | None:
    """Return who must be called: in the common words, or in Claude's own, never in both."""
    if isinstance(own, makers.Claude) and own.tool_choice is not None:
        if config is not None and config.tool_choice is not None:
            raise refuse(
                "The additional field tool_choice conflicts with an existing field. Remove it and "
                "try again."
            )
        modes = {"any": "required"}
        mode: Json = modes.get(own.tool_choice.type, own.tool_choice.type)
        return ToolChoice(mode, own.tool_choice.name)
    if config is None or config.tool_choice is None:
        return None
    kind = one_key(config.tool_choice, "toolConfig.toolChoice")
    at = f"toolConfig.toolChoice.{kind}"
    if kind == "tool":
        return ToolChoice("tool", typed(config.tool_choice[kind], types.OneTool, at).name)
    if kind not in ("auto", "any"):
        raise refuse_key(kind, "toolConfig.toolChoice")
    typed(config.tool_choice[kind], types.Empty, at)
    return ToolChoice("auto" if kind == "auto" else "required")


def output_of(config: types.OutputConfig | None) -> Output | None:
    """Return the shape the answer must have."""
    if config is None or config.text_format is None:
        return None
    shape = config.text_format.structure.json_schema
    try:
        schema = decode(shape.schema)
    except (DecodeError, UnicodeError, RecursionError):
        raise refuse(
            "The value at outputConfig.textFormat.structure.jsonSchema.schema is not valid JSON."
        ) from None
    return Output(schema) if shape.name is None else Output(schema, shape.name)
