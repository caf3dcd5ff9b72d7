"""The older form of tools: ``functions`` and ``function_call`` (deprecated in openai 3.49.0)."""

from msgspec.structs import replace

from pondero.canon import Json, Part, Request, ToolCall

_Fields = dict[str, Json]
_NO_CALL: _Fields = {}


def convert_functions(body: _Fields) -> tuple[_Fields, bool]:
    """Return a body with tools in place of functions, and whether it had functions.

    An answer in this form has one call at most.
    """
    functions = body.get("functions")
    if not isinstance(functions, list) or body.get("tools"):
        return body, False
    said = {key: each for key, each in body.items() if key not in ("functions", "function_call")}
    said["tools"] = [{"type": "function", "function": each} for each in functions]
    if functions:
        said["parallel_tool_calls"] = False
    choice = body.get("function_call")
    if isinstance(choice, dict):
        said["tool_choice"] = {"type": "function", "function": choice}
    elif choice is not None:
        said["tool_choice"] = choice
    return said, True


def as_newer_calls(request: Request) -> Request:
    """Return the request without the older form of earlier calls, to match its tools."""

    def renew(part: Part) -> Part:
        return replace(part, signature=None) if isinstance(part, ToolCall) else part

    messages = (replace(each, parts=tuple(map(renew, each.parts))) for each in request.messages)
    return replace(request, messages=tuple(messages))


def write_older_call(message: _Fields) -> _Fields:
    """Return a message, or a delta of one, with its first call in the older form."""
    if "tool_calls" not in message:
        return message
    rest = {key: each for key, each in message.items() if key != "tool_calls"}
    calls = (call for call in message["tool_calls"] if call.get("index", 0) == 0)
    function = next(calls, _NO_CALL).get("function")
    return rest if function is None else {**rest, "function_call": function}


def older_finish(finish: str) -> str:
    """Return the older word for an answer that ends in a call."""
    return "function_call" if finish == "tool_calls" else finish
