"""Every check of the service, in its order; texts and statuses are in rejections.toml."""

import re
from itertools import groupby

import msgspec

from pondero.canon import HttpRequest
from pondero.dialects.dialect import AcceptedRequest

from .address import address_of, authorise
from .errors import Surface
from .models import Model, table
from .parse import Context, body, canon, context_of, intent_of, json_object, split_model
from .signatures import make_signer, verify_signature
from .types import (
    Content,
    GenerateContentRequest,
    GenerationConfig,
    Part,
    ThinkingConfig,
    Tool,
    ToolConfig,
)

_DATA = (
    "text",
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_ROLES = ("", "user", "model", "function")


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Return the request, or raise Rejected in the service's own words."""
    surface = table().surface(provider)
    address = address_of(http)
    if address is None:
        raise surface.rejection("no_address")
    authorise(http.headers, address.key, surface)
    name, raw = split_model(json_object(http.body, surface), address, surface)
    if re.search(r"[^\w.@-]", name):
        raise surface.rejection("bad_model")
    model = table().model(name, provider=provider)
    if model is None:
        raise surface.rejection(
            "no_model", model=name, version=address.version, method=address.method
        )
    read = body(raw, surface)
    thinks = _check(read, model, surface, provider=provider, counted=address.counts)
    thinking = read.generation_config.thinking_config
    return AcceptedRequest(
        request=canon(read, model=name, stream=address.streams, provider=provider),
        intent=intent_of(thinking),
        thinks=thinks,
        shown=bool(thinking.include_thoughts),
        context=context_of(address),
        sign=make_signer(provider, name, signs=model.signs),
        seed=msgspec.json.encode(raw),
        caches="always",
    )


def _check(
    request: GenerateContentRequest,
    model: Model,
    surface: Surface,
    *,
    provider: str,
    counted: bool,
) -> bool:
    """Return whether the model will think; a count takes any piece, as Gemini CLI sends it."""
    _check_contents(request.contents, surface)
    if not counted:
        _check_pairs(request.contents, surface)
        if model.settled and request.contents[-1].role == "model":
            raise surface.rejection("prefill")
    _check_tools(request.tools, surface)
    _check_choice(request.tool_config, request.tools, surface)
    _check_config(request.generation_config, model, surface)
    thinks = _check_thinking(request.generation_config.thinking_config, model, surface)
    if not counted:
        _check_signatures(request.contents, model, surface, provider=provider)
    return thinks


# -- thinking ---------------------------------------------------------------------------------


def _check_thinking(asked: ThinkingConfig, model: Model, surface: Surface) -> bool:
    level, budget = asked.thinking_level, asked.thinking_budget
    if level == "THINKING_LEVEL_UNSPECIFIED":
        level = None
    if level is not None and budget is not None:
        raise surface.rejection("both")
    thinks = model.thinks
    if level is not None:
        _check_level(level, model, surface)
        thinks = True
    elif budget is not None:
        _check_budget(budget, model, surface)
        thinks = budget != 0
    if asked.include_thoughts and not thinks:
        raise surface.rejection("thoughts_off" if model.can_think else "no_thinking")
    return thinks


def _check_level(level: str, model: Model, surface: Surface) -> None:
    if not model.levels:
        raise surface.rejection("no_level" if model.budget else "no_thinking")
    if level not in model.levels:
        raise surface.rejection("level", level=level)


def _check_budget(budget: int, model: Model, surface: Surface) -> None:
    if budget == 0 and model.zero:
        return
    if model.budget is None:
        raise surface.rejection("no_budget" if model.levels else "no_thinking")
    if budget == -1:
        return
    if budget == 0:
        raise surface.rejection("budget_zero")
    least, most = model.budget
    if not least <= budget <= most:
        raise surface.rejection("budget", budget=budget, min=0 if model.zero else least, max=most)


# -- the rest of the configuration -------------------------------------------------------------


def _check_config(config: GenerationConfig, model: Model, surface: Surface) -> None:
    ranges = (("temperature", config.temperature, 2.0), ("top_p", config.top_p, 1.0))
    for name, value, most in ranges:
        if value is not None and not 0 <= value <= most:
            raise surface.rejection("range", name=name, min=0.0, max=most)
    cap = config.max_output_tokens
    if cap is not None and not 1 <= cap <= model.max_output:
        raise surface.rejection("output", tokens=cap, above=model.max_output + 1)
    if len(config.stop_sequences) > 5:
        raise surface.rejection("stops")
    penalties = (config.presence_penalty, config.frequency_penalty)
    if model.settled and any(penalty is not None for penalty in penalties):
        raise surface.rejection("penalty")
    schemas = [config.response_schema, config.response_json_schema]
    if None not in schemas:
        raise surface.rejection("two_schemas")
    if schemas != [None, None] and config.response_mime_type in ("", "text/plain"):
        raise surface.rejection("schema_type")


def _check_tools(tools: list[Tool], surface: Surface) -> None:
    names = set()
    for number, tool in enumerate(tools):
        for place, function in enumerate(tool.function_declarations):
            if not _NAME.fullmatch(function.name):
                raise surface.rejection("function_name", tool=number, place=place)
            if function.name in names:
                raise surface.rejection("function_twice", name=function.name)
            if function.parameters is not None and function.parameters_json_schema is not None:
                raise surface.rejection("function_schemas", tool=number, place=place)
            names.add(function.name)


def _check_choice(config: ToolConfig, tools: list[Tool], surface: Surface) -> None:
    choice = config.function_calling_config
    if choice.allowed_function_names and choice.mode not in ("ANY", "VALIDATED"):
        raise surface.rejection("allowed_mode")
    names = {function.name for tool in tools for function in tool.function_declarations}
    for name in choice.allowed_function_names:
        if name not in names:
            raise surface.rejection("allowed_name", name=name)


# -- the conversation --------------------------------------------------------------------------


def _check_contents(contents: list[Content], surface: Surface) -> None:
    if not contents:
        raise surface.rejection("no_contents")
    for number, content in enumerate(contents):
        if content.role not in _ROLES:
            raise surface.rejection("bad_role")
        if not content.parts:
            raise surface.rejection("no_parts", content=number)
        for place, part in enumerate(content.parts):
            _check_part(part, surface, content=number, place=place)


def _check_part(part: Part, surface: Surface, *, content: int, place: int) -> None:
    data = [name for name in _DATA if getattr(part, name) is not None]
    if not data:
        raise surface.rejection("no_data", content=content, part=place)
    if len(data) > 1:
        raise surface.rejection("much_data", content=content, part=place, field=data[1])
    function = part.function_call or part.function_response
    if function is not None and not function.name:
        raise surface.rejection("no_name", content=content, part=place, field=data[0])


def _check_pairs(contents: list[Content], surface: Surface) -> None:
    """Reject results that do not match the calls before them; calls without results pass."""
    owed = 0
    for is_model, turn in groupby(contents, key=lambda content: content.role == "model"):
        parts = [part for content in turn for part in content.parts]
        if is_model:
            owed = sum(part.function_call is not None for part in parts)
            continue
        answers = sum(part.function_response is not None for part in parts)
        if answers and answers != owed:
            raise surface.rejection("unpaired" if owed else "uncalled")


def _check_signatures(
    contents: list[Content], model: Model, surface: Surface, *, provider: str
) -> None:
    for content in contents:
        for part in content.parts:
            proof = part.thought_signature
            if proof is not None and not verify_signature(proof, provider):
                raise surface.rejection("bad_signature")
    if not model.signs:
        return
    turn = max((n for n, content in enumerate(contents) if _begins_turn(content)), default=-1)
    for number in range(turn + 1, len(contents)):
        first = next((part for part in contents[number].parts if part.function_call), None)
        if first is not None and first.function_call and not first.thought_signature:
            name = first.function_call.name
            raise surface.rejection("unsigned", name=name, position=number + 1)


def _begins_turn(content: Content) -> bool:
    results = any(part.function_response is not None for part in content.parts)
    return content.role not in ("model", "function") and not results
