"""A body as a lenient service reads it: what it does not know, it passes over."""

import re

import msgspec

from pondero.canon import Json

from . import types

_MESSAGES = (types.System, types.Developer, types.User, types.Assistant, types.ToolAnswer)
_PARTS = (
    *(types.TextPart, types.ImagePart, types.AudioPart, types.FilePart, types.VideoPart),
    *(types.RefusalPart, types.ThinkingPart),
)
_FORMATS = (types.TextFormat, types.ObjectFormat, types.SchemaFormat)
_SPOKEN_ALSO = ("refusal", "thinking")  # kinds of parts that only an assistant has


def _fields(kinds: tuple[type[msgspec.Struct], ...], tag: str) -> dict[str, set[str]]:
    return {str(k.__struct_config__.tag): {*k.__struct_fields__, tag} for k in kinds}


FIELDS = _fields((*_MESSAGES, types.FunctionAnswer), "role")
"""What a message may hold, by its role."""

_PART_FIELDS = _fields(_PARTS, "type")
_FORMAT_FIELDS = _fields(_FORMATS, "type")
_CALL = set(types.Call.__struct_fields__)
_IMAGE = set(types.ImageUrl.__struct_fields__)
_FUNCTION = set(types.FunctionTool.__struct_fields__)
_SCHEMA = set(types.Schema.__struct_fields__)
_OPTIONS = set(types.StreamOptions.__struct_fields__)


def eased(body: dict[str, Json]) -> dict[str, Json]:
    """Return the body with nothing in it that only some service knows."""
    eased = {key: value for key, value in body.items() if value is not None}
    if isinstance(messages := eased.get("messages"), list):
        eased["messages"] = [_message(message) for message in messages]
    if isinstance(tools := eased.get("tools"), list):
        eased["tools"] = [_tool(tool) for tool in tools if _is_tool(tool)]
    if not eased.get("tools"):
        eased = _without(eased, ("tools", "tool_choice", "parallel_tool_calls"))
    if "tool_choice" in eased:
        eased["tool_choice"] = _choice(eased["tool_choice"])
    if isinstance(format_ := eased.get("response_format"), dict):
        eased["response_format"] = _format(format_)
    if isinstance(options := eased.get("stream_options"), dict):
        eased["stream_options"] = _only(options, _OPTIONS)
    return eased


def _message(message: Json) -> Json:
    fields = FIELDS.get(str(message.get("role"))) if isinstance(message, dict) else None
    if fields is None:
        return message
    kept = _only(message, fields)
    if isinstance(calls := kept.get("tool_calls"), list):
        kept["tool_calls"] = [_only(c, _CALL) if isinstance(c, dict) else c for c in calls]
        kept = kept if calls else _without(kept, ("tool_calls",))
    if isinstance(content := kept.get("content"), list):
        kept["content"] = [_part(part, role=message["role"]) for part in content]
    return kept


def _part(part: Json, *, role: str) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return part
    kind = str(part.get("type"))
    heard = role == "user" or kind == "text" or (role == "assistant" and kind in _SPOKEN_ALSO)
    if kind not in _PART_FIELDS or not heard:
        return {"type": "text", "text": msgspec.json.encode(part).decode()}
    kept = _only(part, _PART_FIELDS[kind])
    if isinstance(image := kept.get("image_url"), str):
        kept["image_url"] = {"url": image}
    elif isinstance(image, dict):
        kept["image_url"] = _only(image, _IMAGE)
    return kept


def _choice(choice: Json) -> Json:
    """Return a choice in the usual words; other wires' forms of it are taken by some."""
    if not isinstance(choice, dict):
        return "required" if choice == "any" else choice
    if choice.get("type") in ("tool", "function") and isinstance(choice.get("name"), str):
        return {"type": "function", "function": {"name": choice["name"]}}
    return "required" if choice.get("type") in ("any", "tool") else choice


def _is_tool(tool: Json) -> bool:
    return not isinstance(tool, dict) or tool.get("type", "function") in ("function", "custom")


def _tool(tool: Json) -> Json:
    if not isinstance(tool, dict) or not isinstance(function := tool.get("function"), dict):
        return tool
    return {"type": "function", "function": _only(function, _FUNCTION)}


def _format(format_: dict[str, Json]) -> dict[str, Json]:
    if format_.get("type") == "json_schema" and "json_schema" not in format_:
        format_ = {**format_, "json_schema": {"schema": format_.get("schema")}}
    kept = _only(format_, _FORMAT_FIELDS.get(str(format_.get("type")), set(format_)))
    if isinstance(schema := kept.get("json_schema"), dict):
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(schema.get("name") or "schema"))[:64]
        kept["json_schema"] = {**_only(schema, _SCHEMA), "name": name}
    return kept


def _only(value: dict[str, Json], fields: set[str]) -> dict[str, Json]:
    return {key: each for key, each in value.items() if key in fields}


def _without(value: dict[str, Json], fields: tuple[str, ...]) -> dict[str, Json]:
    return {key: each for key, each in value.items() if key not in fields}
