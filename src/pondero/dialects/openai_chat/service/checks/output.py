"""Checks the shapes of answers and of calls: JSON answers, schemas of both, older functions."""

import msgspec

from pondero.canon import Json, convert_json
from pondero.dialects.json_schemas import iter_schemas

from .. import types
from ..models import Provider
from .schemas import SchemaFault, find_fault


def check_output(body: types.Body, provider: Provider) -> None:
    """Raise Rejected if the answer cannot have the form that is asked for."""
    match body.response_format:
        case types.ObjectFormat() if provider.json_word and not _says_json(body.messages):
            provider.rejecter.reject("json_word", param="messages")
        case types.SchemaFormat(json_schema=asked) if provider.checks_schemas:
            place = f"response_format '{asked.name}'"
            if asked.schema is None:
                provider.rejecter.reject("missing", param="response_format.json_schema.schema")
            fault = find_fault(asked.schema, strict=bool(asked.strict), function=False)
            if fault is not None:
                _reject_schema(fault, place, "response_format", provider)


def _says_json(messages: list[types.Message]) -> bool:
    return any("json" in text.lower() for message in messages for text in _texts(message))


def _texts(message: types.Message) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    parts = message.content or []
    return [part.text for part in parts if isinstance(part, types.TextPart)]


def check_tools(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    """Raise Rejected for the first function whose parameters the service does not take."""
    for index, tool in enumerate(body.tools or () if provider.needs_parameters else ()):
        if isinstance(tool, types.OfferedFunction) and tool.function.parameters is None:
            provider.rejecter.reject("no_parameters", param=f"tools.{index}.function.parameters")
    functions = {
        f"tools[{index}].function": tool.function
        for index, tool in enumerate(body.tools or ())
        if isinstance(tool, types.OfferedFunction)
    }
    _check_names(functions, provider)
    if not provider.checks_schemas:
        return
    for where, function in {**functions, **_older(rest, provider)}.items():
        if function.parameters is None:
            continue
        fault = find_fault(function.parameters, strict=bool(function.strict), function=True)
        if fault is not None:
            place, param = f"function '{function.name}'", f"{where}.parameters"
            _reject_schema(fault, place, param, provider, "invalid_function_parameters")


def _check_names(functions: dict[str, types.FunctionTool], provider: Provider) -> None:
    """Reject names that come twice, and schemas that require what they do not have."""
    names = [function.name for function in functions.values()]
    if provider.unique_tools and len(set(names)) < len(names):
        provider.rejecter.reject("tool_names", param="tools")
    for where, function in functions.items() if provider.needs_properties else ():
        if any(
            each.get("required") is not None and "properties" not in each
            for each in iter_schemas(function.parameters)
        ):
            param = f"{where}.parameters"
            provider.rejecter.reject("required_alone", param=param, name=function.name)


def _older(rest: dict[str, Json], provider: Provider) -> dict[str, types.FunctionTool]:
    raw = rest.get("functions")
    if raw is None:
        return {}
    try:
        functions = convert_json(raw, list[types.FunctionTool])
    except msgspec.ValidationError as error:
        provider.rejecter.reject_invalid(str(error).replace("`$", "`$.functions"))
    return {f"functions[{index}]": function for index, function in enumerate(functions)}


def _reject_schema(
    fault: SchemaFault, place: str, param: str, provider: Provider, code: str | None = None
) -> None:
    provider.rejecter.reject(fault.rule, param=param, code=code, place=place, **fault.facts)
