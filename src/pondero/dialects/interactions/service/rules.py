"""Every check of the service, in its order; texts and statuses are in rejections.toml."""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from pondero.canon import HttpRequest, Json
from pondero.dialects.dialect import AcceptedRequest
from pondero.dialects.prompt_cache import (
    PromptPrefix,
    describe_level,
    find_account,
    find_cache_rules,
    render_request,
)

from . import parse, types
from .address import VERTEX, check_address
from .errors import reject
from .input import MessageReader, list_steps, read_steps
from .models import Model, table
from .parse import Context
from .signatures import make_signer, verify_signature
from .validation import read_object

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_BYTES = 4  # of a token, as the emulator counts them
_MOST_STOPS = 5
_RANGES = {"temperature": 2.0, "top_p": 1.0}
_VERTEX_FIELDS = ("safety_settings", "labels")
_AGENT_FIELDS = ("agent_config", "environment")


class RequestFacts(Struct, frozen=True, kw_only=True):
    """A request as the rules see it: what was asked, of which model, on which deployment."""

    body: types.Body
    steps: list[types.Step]
    model: Model
    provider: str
    size: int


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Return the request, or raise Rejected in the service's own words."""
    check_address(http)
    raw = read_object(http.body)
    body = parse.read_body(raw)
    model = _find_model(body)
    _check_fields(body, provider)
    given = _list_input(body)
    steps = read_steps(given)
    asked = RequestFacts(
        body=body, steps=steps, model=model, provider=provider, size=len(http.body)
    )
    for check in _CHECKS:
        check(asked)
    name = body.model or ""
    messages = MessageReader(name, provider).read(steps, given)
    request, intent = parse.canon(body, raw, messages), parse.intent_of(body.config)
    return AcceptedRequest(
        request=request,
        intent=intent,
        thinks=model.thinks,
        shown=model.thinks and body.config.thinking_summaries == "auto",
        context=msgspec.structs.replace(
            parse.context_of(body), previous=http.headers.get(parse.PREVIOUS_HEADER)
        ),
        sign=make_signer(provider, name),
        seed=msgspec.json.encode(raw),
        prefix=PromptPrefix(
            rules=find_cache_rules(provider, name),
            account=find_account(http),
            settings={**render_request(request), "level": describe_level(intent)},
        ),
    )


def _find_model(body: types.Body) -> Model:
    parse.check_named(body)
    model = table().model(body.model or "")
    if model is None:
        reject("no_model", model=body.model)
    return model


def _check_fields(body: types.Body, provider: str) -> None:
    """Reject fields of agents, of Vertex, and those that need another."""
    for name in _AGENT_FIELDS:
        if getattr(body, name) is not None:
            reject("agent_fields", name=name)
    if not provider.startswith(VERTEX):
        for name in _VERTEX_FIELDS:
            if getattr(body, name) is not None:
                reject("vertex_only", name=name)
        if any(isinstance(tool, types.Retrieval) for tool in body.tools or ()):
            reject("vertex_only", name="retrieval")
    if body.background and body.store is False:
        reject("background_store")
    if body.webhook_config is not None and not body.background:
        reject("webhook")


def _list_input(body: types.Body) -> list[Json]:
    if body.input is None:
        reject("no_input")
    if body.input in ("", [], {}):
        reject("empty_input")
    if body.previous_interaction_id is not None:
        reject("no_interaction", id=body.previous_interaction_id)
    _check_content(body.input)
    return list_steps(body.input)


def _check_content(given: Json) -> None:
    """Reject a video's processing in a list of content: only steps have it."""
    for number, each in enumerate(given if isinstance(given, list) else [given]):
        if isinstance(each, dict) and each.get("type") == "video" and "processing" in each:
            reject("unknown_parameter", name="processing", at=f" at 'input[{number}]'")


# -- the conversation --------------------------------------------------------------------------


def _check_turns(asked: RequestFacts) -> None:
    """Reject results without a call, calls without a result, and a last word of the model."""
    owed: dict[str, None] = {}
    called: set[str] = set()
    for step in asked.steps:
        if isinstance(step, types.FunctionCall):
            owed[step.id] = None
            called.add(step.id)
        for result in _iter_results(step):
            if result.call_id not in called:
                reject("uncalled", id=result.call_id)
            owed.pop(result.call_id, None)
    if owed:
        reject("unanswered", id=next(iter(owed)))
    if not isinstance(asked.steps[-1], types.UserInput | types.FunctionResult):
        reject("model_last")


def _iter_results(step: types.Step) -> Iterator[types.FunctionResult]:
    if isinstance(step, types.FunctionResult):
        yield step
    elif isinstance(step, types.UserInput):
        yield from (each for each in step.content or () if isinstance(each, types.FunctionResult))


def _check_signatures(asked: RequestFacts) -> None:
    """Reject signatures of others, and calls of the current turn that none comes before."""
    for number, step in enumerate(asked.steps):
        value = getattr(step, "signature", None)
        if value and not verify_signature(value, asked.provider):
            reject("bad_signature", number=number)
    if not asked.model.signs:
        return
    turn = max((n for n, step in enumerate(asked.steps) if _begins_turn(step)), default=-1)
    signed = False
    for number in range(turn + 1, len(asked.steps)):
        step = asked.steps[number]
        signed = signed or bool(getattr(step, "signature", None))
        if isinstance(step, types.FunctionCall) and not signed:
            reject("unsigned", name=step.name, number=number)


def _begins_turn(step: types.Step) -> bool:
    return isinstance(step, types.UserInput) and not any(_iter_results(step))


def _iter_media(asked: RequestFacts) -> Iterator[tuple[str, types.Medium]]:
    for number, step in enumerate(asked.steps):
        if isinstance(step, types.UserInput | types.ModelOutput):
            for place, block in enumerate(step.content or ()):
                if not isinstance(block, types.TextContent | types.FunctionResult):
                    yield f"input[{number}].content[{place}]", block


def _check_media(asked: RequestFacts) -> None:
    """Reject media without data, and those that the model does not take."""
    for path, medium in _iter_media(asked):
        if not medium.data and not medium.uri:
            reject("no_data", path=path)
        kind = medium.__struct_config__.tag
        if kind not in asked.model.takes:
            reject("media", type=kind, path=path)


def _check_length(asked: RequestFacts) -> None:
    """Reject more tokens than the model's window; most bodies are too small to be counted."""
    most = asked.model.window
    if asked.size > most * _BYTES:
        reject("too_long", tokens=asked.size // _BYTES, most=most)


# -- settings and tools ------------------------------------------------------------------------


def _check_config(asked: RequestFacts) -> None:
    """Reject numbers out of range, and a schema where the model has no JSON mode."""
    config = asked.body.config
    for name, most in _RANGES.items():
        value = getattr(config, name)
        if value is not None and not 0 <= value <= most:
            _reject_range(name, value, 0.0, most)
    cap, limit = config.max_output_tokens, asked.model.max_output
    if cap is not None and not 1 <= cap <= limit:
        _reject_range("max_output_tokens", cap, 1, limit)
    stops = len(config.stop_sequences or ())
    if stops > _MOST_STOPS:
        _reject_range("stop_sequences", stops, 0, _MOST_STOPS)
    if parse.read_output(asked.body.response_format) is not None and not asked.model.json:
        reject("no_json")


def _reject_range(name: str, value: float, least: float, most: float) -> None:
    reject("range", value=value, path=f"generation_config.{name}", min=least, max=most)


def _check_level(asked: RequestFacts) -> None:
    level, levels = asked.body.config.thinking_level, asked.model.levels
    if level is None or level in levels:
        return
    if not levels:
        reject("no_thinking")
    reject("level", level=level, supported=", ".join(levels))


def _check_tools(asked: RequestFacts) -> None:
    """Reject tools that the model does not have, or not in this form or company."""
    tools = asked.body.tools or []
    names: set[str] = set()
    for number, tool in enumerate(tools):
        if not isinstance(tool, types.Function):
            continue
        if not asked.model.functions:
            reject("no_functions")
        if not _NAME.fullmatch(tool.name):
            reject("function_name", number=number)
        if tool.name in names:
            reject("function_twice", name=tool.name)
        names.add(tool.name)
    hosted = [tool.__struct_config__.tag for tool in tools if not isinstance(tool, types.Function)]
    for kind in hosted:
        if kind not in asked.model.hosted and kind != "retrieval":
            reject("no_tool", type=kind)
    for kind in ("google_search", "url_context"):
        if "file_search" in hosted and kind in hosted:
            reject("tools_together", type=kind)
    _check_choice(asked.body.config.tool_choice, names)


def _check_choice(choice: str | types.ToolChoiceConfig | None, names: set[str]) -> None:
    if choice is None or isinstance(choice, str) or choice.allowed_tools is None:
        return
    for name in choice.allowed_tools.tools or ():
        if name not in names:
            reject("allowed_name", name=name)


_CHECKS = (
    _check_turns,
    _check_media,
    _check_tools,
    _check_config,
    _check_level,
    _check_signatures,
    _check_length,
)
