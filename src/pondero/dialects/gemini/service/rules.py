"""Every check of the service, in its order; texts and statuses are in models.toml."""

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
        # Google, errors: an unknown path is 404 NOT_FOUND (vendor page, 2026-11-15)
        raise surface.rejection("no_address")
    authorise(http.headers, address.key, surface)
    name, raw = split_model(json_object(http.body, surface), address, surface)
    if re.search(r"[^\w.@-]", name):
        # Google, model names: no spaces (recording maruel/genai errors/bad_model)
        raise surface.rejection("bad_model")
    model = table().model(name, provider=provider)
    if model is None:
        # Google, models: an unknown one is 404 (recording rig gemini/error_envelope)
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
            # Google, 3.5 Flash-Lite and 3.6 on: no prefill (vendor page, 2026-11-15)
            raise surface.rejection("invalid")
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
        # Google, thinking: a level or a budget (known issue sterlp/eclipse-peon-ai#115, 2026-11-15)
        raise surface.rejection("both")
    thinks = model.thinks
    if level is not None:
        _check_level(level, model, surface)
        thinks = True
    elif budget is not None:
        _check_budget(budget, model, surface)
        thinks = budget != 0
    if asked.include_thoughts and not thinks:
        # Google, includeThoughts: only while thinking is on (public clients, 2026-11-15)
        raise surface.rejection("thoughts_off" if model.can_think else "no_thinking")
    return thinks


def _check_level(level: str, model: Model, surface: Surface) -> None:
    if not model.levels:
        # Google, 2.5: no thinkingLevel (known issue RooCodeInc/Roo-Code#10700, 2026-11-15)
        raise surface.rejection("no_level" if model.budget else "no_thinking")
    if level not in model.levels:
        # Google, 3 on: the model's own levels (vendor page models/thinking, 2026-11-15)
        raise surface.rejection("level", level=level)


def _check_budget(budget: int, model: Model, surface: Surface) -> None:
    if budget == 0 and model.zero:
        return
    if model.budget is None:
        # Google, Gemini 4: no thinkingBudget (vendor page gemini-4-argon, 2026-11-15)
        raise surface.rejection("no_budget" if model.levels else "no_thinking")
    if budget == -1:
        return
    if budget == 0:
        # Google, Pro: thinking is never off (pydantic-ai live probe, 2026-10-23)
        raise surface.rejection("budget_zero")
    least, most = model.budget
    if not least <= budget <= most:
        # Google, 2.5: a range for each model (known issue RooCodeInc/Roo-Code#4399, 2026-11-15)
        raise surface.rejection("budget", budget=budget, min=0 if model.zero else least, max=most)


# -- the rest of the configuration -------------------------------------------------------------


def _check_config(config: GenerationConfig, model: Model, surface: Surface) -> None:
    ranges = (("temperature", config.temperature, 2.0), ("top_p", config.top_p, 1.0))
    for name, value, most in ranges:
        if value is not None and not 0 <= value <= most:
            # Google, GenerationConfig: [0.0, 2.0] (vendor page, 2026-11-15); top_p is inferred
            raise surface.rejection("range", name=name, min=0.0, max=most)
    cap = config.max_output_tokens
    if cap is not None and not 1 <= cap <= model.max_output:
        # Google, maxOutputTokens: up to the model's most (known issue bolt.diy#955, 2024-12-31)
        raise surface.rejection("output", tokens=cap, above=model.max_output + 1)
    if len(config.stop_sequences) > 5:
        # Google, GenerationConfig: up to 5 stopSequences (vendor page, 2026-11-15)
        raise surface.rejection("stops")
    penalties = (config.presence_penalty, config.frequency_penalty)
    if model.settled and any(penalty is not None for penalty in penalties):
        # Google, 3.5 Flash-Lite and 3.6 on: no penalties (vendor page, 2026-11-15)
        raise surface.rejection("penalty")
    schemas = [config.response_schema, config.response_json_schema]
    if None not in schemas:
        # Google, GenerationConfig: one of the two schemas (vendor page, 2026-11-16)
        raise surface.rejection("two_schemas")
    if schemas != [None, None] and config.response_mime_type in ("", "text/plain"):
        # Google, GenerationConfig: a schema needs its MIME type (vendor page, 2026-11-16)
        raise surface.rejection("schema_type")


def _check_tools(tools: list[Tool], surface: Surface) -> None:
    names = set()
    for number, tool in enumerate(tools):
        for place, function in enumerate(tool.function_declarations):
            if not _NAME.fullmatch(function.name):
                # Google, FunctionDeclaration: the form of a name (google-genai 3.1.0)
                raise surface.rejection("function_name", tool=number, place=place)
            if function.name in names:
                # Google, function names: each once (text quoted by public clients, 2026-11-16)
                raise surface.rejection("function_twice", name=function.name)
            if function.parameters is not None and function.parameters_json_schema is not None:
                # Google, FunctionDeclaration: one of the two schemas (google-genai 3.1.0)
                raise surface.rejection("function_schemas", tool=number, place=place)
            names.add(function.name)


def _check_choice(config: ToolConfig, tools: list[Tool], surface: Surface) -> None:
    choice = config.function_calling_config
    if choice.allowed_function_names and choice.mode not in ("ANY", "VALIDATED"):
        # Google, FunctionCallingConfig: names with ANY or VALIDATED (vendor page, 2026-11-16)
        raise surface.rejection("allowed_mode")
    names = {function.name for tool in tools for function in tool.function_declarations}
    for name in choice.allowed_function_names:
        if name not in names:
            # Google, FunctionCallingConfig: names of declarations (vendor page, 2026-11-16)
            raise surface.rejection("allowed_name", name=name)


# -- the conversation --------------------------------------------------------------------------


def _check_contents(contents: list[Content], surface: Surface) -> None:
    if not contents:
        # Google, contents: at least one (known issue js-genai#912, 2025-08-25)
        raise surface.rejection("no_contents")
    for number, content in enumerate(contents):
        if content.role not in _ROLES:
            # Google, roles: user, model (recording opentelemetry vertexai invalid_role)
            raise surface.rejection("bad_role")
        if not content.parts:
            # Google, contents: each has parts (known issue vercel/ai#3775, 2026-07-22)
            raise surface.rejection("no_parts", content=number)
        for place, part in enumerate(content.parts):
            _check_part(part, surface, content=number, place=place)


def _check_part(part: Part, surface: Surface, *, content: int, place: int) -> None:
    data = [name for name in _DATA if getattr(part, name) is not None]
    if not data:
        # Google, parts: each has data (known issue genkit#3816, 2025-11-18)
        raise surface.rejection("no_data", content=content, part=place)
    if len(data) > 1:
        # Google, parts: data is a oneof (public protocol buffers, v1beta)
        raise surface.rejection("much_data", content=content, part=place, field=data[1])
    function = part.function_call or part.function_response
    if function is not None and not function.name:
        # Google, function calls and results: named (known issue langflow#9437, 2026-11-16)
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
            # Google, results: one for each call (langchain#27799 and vscode#299295, 2026-03-04)
            raise surface.rejection("unpaired" if owed else "uncalled")


def _check_signatures(
    contents: list[Content], model: Model, surface: Surface, *, provider: str
) -> None:
    for content in contents:
        for part in content.parts:
            proof = part.thought_signature
            if proof is not None and not verify_signature(proof, provider):
                # Google, signatures: own only (gemini-cli#13467, pydantic-ai probe, 2026-10-27)
                raise surface.rejection("bad_signature")
    if not model.signs:
        return
    turn = max((n for n, content in enumerate(contents) if _begins_turn(content)), default=-1)
    for number in range(turn + 1, len(contents)):
        first = next((part for part in contents[number].parts if part.function_call), None)
        if first is not None and first.function_call and not first.thought_signature:
            name = first.function_call.name
            # Google, thought signatures: on each step's first call (vendor page, 2026-11-15)
            raise surface.rejection("unsigned", name=name, position=number + 1)


def _begins_turn(content: Content) -> bool:
    results = any(part.function_response is not None for part in content.parts)
    return content.role not in ("model", "function") and not results
