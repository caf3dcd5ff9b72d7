"""Strips unknown fields and types from a body; the lenient reading lists them, and misfits too."""

import re
from functools import cache
from typing import Any, get_type_hints

import msgspec

from pondero.canon import Json, convert_json
from pondero.dialects.bodies import UnknownFields

from .. import types

_MESSAGES = (types.System, types.Developer, types.User, types.Assistant, types.ToolAnswer)
_PARTS = (
    *(types.TextPart, types.ImagePart, types.AudioPart, types.FilePart, types.VideoPart),
    *(types.RefusalPart, types.ThinkingPart),
)
_FORMATS = (types.TextFormat, types.ObjectFormat, types.SchemaFormat)
_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
_ASSISTANT_ONLY = ("refusal", "thinking")  # kinds of parts


def _fields(kinds: tuple[type[msgspec.Struct], ...], tag: str) -> dict[str, set[str]]:
    return {str(k.__struct_config__.tag): {*k.__struct_fields__, tag} for k in kinds}


FIELDS = _fields((*_MESSAGES, types.FunctionAnswer), "role")
"""The fields of a message, by its role."""

_PART_FIELDS = _fields(_PARTS, "type")
_FORMAT_FIELDS = _fields(_FORMATS, "type")
_TOOL = {"type", "function"}
_CALL = set(types.Call.__struct_fields__)
_IMAGE = set(types.ImageUrl.__struct_fields__)
_FUNCTION = set(types.FunctionTool.__struct_fields__)
_SCHEMA = set(types.Schema.__struct_fields__)
_OPTIONS = set(types.StreamOptions.__struct_fields__)
_KINDS: dict[str, Any] = {
    **{str(kind.__struct_config__.tag): kind for kind in _MESSAGES},
    "function": types.FunctionAnswer,
}
_PART_KINDS: dict[str, Any] = {"user": types.UserPart, "assistant": types.AssistantPart}


class SkippedFields(UnknownFields):
    """Collects skipped fields, and raw values that this wire does not have.

    ``parts``: raw parts, each replaced by a text, by the numbers of message and part. ``tools``:
    all offered tools, raw.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[tuple[int, int], Json] = {}
        self.tools: list[Json] = []

    def only(self, value: dict[str, Json], fields: set[str], at: str) -> dict[str, Json]:
        """Return the known fields; collect the paths of the others."""
        self.paths.extend(f"{at}.{key}" for key in value if key not in fields)
        return {key: each for key, each in value.items() if key in fields}


def strip_unknown(body: dict[str, Json], passed: SkippedFields) -> dict[str, Json]:
    """Return the body without fields and types that only some providers know."""
    kept = {key: value for key, value in body.items() if value is not None}
    if isinstance(messages := kept.get("messages"), list):
        kept["messages"] = [_message(message, at, passed) for at, message in enumerate(messages)]
    if isinstance(tools := kept.get("tools"), list):
        kept["tools"] = [
            _tool(tool, f"tools.{at}", passed) for at, tool in enumerate(tools) if _is_tool(tool)
        ]
    if not kept.get("tools"):
        passed.paths += (each for each in _WITH_TOOLS if each in kept)
        kept = _drop_fields(kept, ("tools", *_WITH_TOOLS))
    if "tool_choice" in kept:
        kept["tool_choice"] = _choice(kept["tool_choice"])
    if isinstance(format_ := kept.get("response_format"), dict):
        kept["response_format"] = _format(format_, passed)
    if isinstance(options := kept.get("stream_options"), dict):
        kept["stream_options"] = passed.only(options, _OPTIONS, "stream_options")
    return kept


def _message(message: Json, at: int, passed: SkippedFields) -> Json:
    fields = FIELDS.get(str(message.get("role"))) if isinstance(message, dict) else None
    if fields is None:
        return message
    path = f"messages.{at}"
    kept = passed.only(message, fields, path)
    if isinstance(calls := kept.get("tool_calls"), list):
        kept["tool_calls"] = [
            passed.only(call, _CALL, f"{path}.tool_calls.{number}")
            if isinstance(call, dict)
            else call
            for number, call in enumerate(calls)
        ]
        kept = kept if calls else _drop_fields(kept, ("tool_calls",))
    if isinstance(content := kept.get("content"), list):
        kept["content"] = [
            _part(part, (at, number), passed, role=message["role"])
            for number, part in enumerate(content)
        ]
    return kept


def _part(part: Json, at: tuple[int, int], passed: SkippedFields, *, role: str) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return part
    kind = str(part.get("type"))
    heard = role == "user" or kind == "text" or (role == "assistant" and kind in _ASSISTANT_ONLY)
    if kind not in _PART_FIELDS or not heard or _is_chunk(kind, part):
        return _as_text(part, at, passed)
    path = f"messages.{at[0]}.content.{at[1]}"
    kept = passed.only(part, _PART_FIELDS[kind], path)
    if isinstance(image := kept.get("image_url"), str):
        kept["image_url"] = {"url": image}
    elif isinstance(image, dict):
        kept["image_url"] = passed.only(image, _IMAGE, f"{path}.image_url")
    return kept


def _is_chunk(kind: str, part: dict[str, Json]) -> bool:
    """Return whether a part has the form that Mistral gives its sounds and files."""
    field = {"input_audio": "input_audio", "file": "file_id"}.get(kind, "")
    return isinstance(part.get(field), str)


def _as_text(part: Json, at: tuple[int, int], passed: SkippedFields) -> Json:
    passed.parts[at] = part
    return {"type": "text", "text": msgspec.json.encode(part).decode()}


def _choice(choice: Json) -> Json:
    if not isinstance(choice, dict):
        return "required" if choice == "any" else choice
    if choice.get("type") in ("tool", "function") and isinstance(choice.get("name"), str):
        return {"type": "function", "function": {"name": choice["name"]}}
    return "required" if choice.get("type") in ("any", "tool") else choice


def _is_tool(tool: Json) -> bool:
    return not isinstance(tool, dict) or tool.get("type", "function") in ("function", "custom")


def _tool(tool: Json, at: str, passed: SkippedFields) -> Json:
    if not isinstance(tool, dict) or not isinstance(function := tool.get("function"), dict):
        return tool
    passed.only(tool, _TOOL, at)
    return {"type": "function", "function": passed.only(function, _FUNCTION, f"{at}.function")}


def _format(format_: dict[str, Json], passed: SkippedFields) -> dict[str, Json]:
    at = "response_format"
    if format_.get("type") == "json_schema" and "json_schema" not in format_:
        bare = {"schema": format_.get("schema")}
        format_ = {**_drop_fields(format_, ("schema",)), "json_schema": bare}
    kept = passed.only(format_, _FORMAT_FIELDS.get(str(format_.get("type")), set(format_)), at)
    if isinstance(schema := kept.get("json_schema"), dict):
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(schema.get("name") or "schema"))[:64]
        kept["json_schema"] = {**passed.only(schema, _SCHEMA, f"{at}.json_schema"), "name": name}
    return kept


def _drop_fields(value: dict[str, Json], fields: tuple[str, ...]) -> dict[str, Json]:
    return {key: each for key, each in value.items() if key not in fields}


def strip_misfits(body: dict[str, Json], passed: SkippedFields) -> dict[str, Json]:
    """Return a body of known fields without those whose values do not fit the types."""
    kept = _drop_misfits(body, types.Body, "", passed, but=("messages",))
    if isinstance(messages := kept.get("messages"), list):
        kept["messages"] = [
            _fit_message(message, at, passed) for at, message in enumerate(messages)
        ]
    return kept


def _fit_message(message: Json, at: int, passed: SkippedFields) -> Json:
    if not isinstance(message, dict):
        return message
    path, role = f"messages.{at}", str(message.get("role"))
    if role not in _KINDS:
        passed.paths.append(f"{path}.role")
        message = _message({**message, "role": "user"}, at, passed)
        role = "user"
    if role == "function":  # the older form of a tool's message, with stricter types
        role = "tool"
        message = {**message, "role": role}
    kept = _drop_misfits(message, _KINDS[role], path, passed, but=("role", "content", "tool_calls"))
    content = kept.get("content")
    if isinstance(content, list):
        kind = _PART_KINDS.get(role, types.TextPart)
        kept["content"] = [
            part if _fits(part, kind) else _as_text(part, (at, number), passed)
            for number, part in enumerate(content)
        ]
    elif not isinstance(content, str) and role != "assistant":
        kept["content"] = "" if content is None else msgspec.json.encode(content).decode()
    if isinstance(calls := kept.get("tool_calls"), list):
        fit = [(_with_text(call), n) for n, call in enumerate(calls)]
        passed.paths += (f"{path}.tool_calls.{n}" for c, n in fit if not _fits(c, types.Call))
        kept["tool_calls"] = [c for c, _ in fit if _fits(c, types.Call)] or None
    return kept


def _with_text(call: Json) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), dict):
        return call
    text = msgspec.json.encode(function["arguments"]).decode()
    return {**call, "function": {**function, "arguments": text}}


def _drop_misfits(
    value: dict[str, Json], kind: type, at: str, passed: SkippedFields, *, but: tuple[str, ...]
) -> dict[str, Json]:
    hints = _hints(kind)
    wrong = [k for k, each in value.items() if k not in but and not _fits(each, hints[k])]
    passed.paths += (f"{at}.{key}" if at else key for key in wrong)
    return _drop_fields(value, tuple(wrong))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _fits(value: Json, kind: Any) -> bool:
    try:
        convert_json(value, kind)
    except msgspec.ValidationError:
        return False
    return True
