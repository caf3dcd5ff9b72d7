"""Converts bodies of the Responses API at this wire's address, which Cursor sends."""

from collections.abc import Callable

from pondero.canon import Json

_Fields = dict[str, Json]
_RENAMED = {"max_output_tokens": "max_completion_tokens"}
_PARTS = {"input_text": "text", "output_text": "text"}


def convert_body(body: _Fields) -> _Fields:
    """Return a body with messages; a body that has them stays unchanged."""
    if "messages" in body or not isinstance(body.get("input"), str | list):
        return body
    said = {_RENAMED.get(key, key): value for key, value in body.items() if key != "input"}
    messages: list[Json] = []
    if isinstance(instructions := said.pop("instructions", None), str):
        messages.append({"role": "system", "content": instructions})
    items = body["input"]
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        _add(item, messages)
    if isinstance(text := said.pop("text", None), dict):
        said |= _shape(text)
    return {**said, "messages": messages}


def _shape(text: _Fields) -> _Fields:
    shape = text.get("format")
    said = {"verbosity": text["verbosity"]} if "verbosity" in text else {}
    if not isinstance(shape, dict):
        return said
    if shape.get("type") == "json_schema":
        inner = {key: value for key, value in shape.items() if key != "type"}
        shape = {"type": "json_schema", "json_schema": inner}
    return {**said, "response_format": shape}


def _add(item: Json, messages: list[Json]) -> None:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if isinstance(kind, str) and (add := _ITEMS.get(kind)) is not None:
        add(item, messages)


def _message(item: _Fields, messages: list[Json]) -> None:
    content = item.get("content")
    if isinstance(content, list):
        content = [_part(part) for part in content]
    if item.get("role") == "assistant":
        turn = _turn(messages)
        turn["content"] = [*_as_list(turn.get("content")), *_as_list(content)]
    else:
        messages.append({"role": item.get("role", "user"), "content": content})


def _part(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    if (kind := part.get("type")) in _PARTS:
        return {"type": _PARTS[kind], "text": part.get("text", "")}
    if kind == "input_image":
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part.get("image_url"), **detail}}
    if kind == "input_file":
        file = {key: part[key] for key in ("file_data", "file_id", "filename") if key in part}
        return {"type": "file", "file": file}
    return part


def _read_thinking(item: _Fields, messages: list[Json]) -> None:
    turn = _turn(messages)
    texts = [
        part["text"]
        for key in ("summary", "content")
        for part in _as_list(item.get(key))
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    if texts:
        before = [turn["reasoning_content"]] if "reasoning_content" in turn else []
        turn["reasoning_content"] = "\n\n".join([*before, *texts])
    if isinstance(data := item.get("encrypted_content"), str):
        detail = {"type": "reasoning.encrypted", "id": item.get("id"), "data": data}
        turn["reasoning_details"] = [*turn.get("reasoning_details", ()), detail]


def _call(item: _Fields, messages: list[Json]) -> None:
    call: _Fields = {"id": item.get("call_id")}
    if item["type"] == "custom_tool_call":
        custom = {"name": item.get("name"), "input": item.get("input", "")}
        call |= {"type": "custom", "custom": custom}
    else:
        function = {"name": item.get("name"), "arguments": item.get("arguments", "")}
        call |= {"type": "function", "function": function}
    turn = _turn(messages)
    turn["tool_calls"] = [*turn.get("tool_calls", ()), call]


def _result(item: _Fields, messages: list[Json]) -> None:
    output = item.get("output")
    content = [_part(part) for part in output] if isinstance(output, list) else output
    messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})


_ITEMS: dict[str, Callable[[_Fields, list[Json]], None]] = {
    "message": _message,
    "reasoning": _read_thinking,
    "function_call": _call,
    "custom_tool_call": _call,
    "function_call_output": _result,
    "custom_tool_call_output": _result,
}


def _turn(messages: list[Json]) -> _Fields:
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant"})
    turn: _Fields = messages[-1]
    return turn


def _as_list(content: Json) -> list[Json]:
    if content is None:
        return []
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
