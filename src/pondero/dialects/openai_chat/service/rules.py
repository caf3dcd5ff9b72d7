"""The emulated service's checks; their order is behaviour: the first fault is the one reported."""

import msgspec

from pondero.canon import HttpRequest, Json, Request, get_path
from pondero.dialects.dialect import AcceptedRequest

from . import parse, types
from .address import default_model, serves
from .checks.messages import Conversation
from .checks.providers import check_provider
from .input.lenient import FIELDS
from .models import Model, Provider, check_key, provider_of
from .parse import Context
from .signatures import make_signer
from .thinking import is_forced, parse_thinking

# OpenAI, chat completions: ranges and defaults of sampling parameters (openai 3.49.0, 2026-11-10)
_RANGES = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
}
_DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
_NOT_WHILE_THINKING = ("logprobs", "top_logprobs", "logit_bias")


def accept(http: HttpRequest, provider: str) -> AcceptedRequest[Context]:
    """Read a request, or raise Rejected as the emulated provider of this name would."""
    table = provider_of(provider)
    _check_address(http, table)
    check_key(http, table)
    raw = parse.load_body(http.body, table)
    _check_fields(raw, table)
    named = default_model(http.url, keyless=table.keyless)
    body = parse.body(raw, table, named=named)
    model = _find_model(body.model, table)
    check_provider({**raw, "model": body.model}, table, model)
    rest = parse.rest_of(raw)
    _check_exclusive_fields(body, rest, table)
    settings = parse_thinking(body, rest, table, model)
    _check_parameters(body, rest, table, model)
    if settings.thinks:
        _check_thinking(body, rest, table, model)
    Conversation(table, model, body.model).check(body.messages)
    request = parse.canon(body, raw, table)
    return AcceptedRequest(
        request=request,
        intent=settings.intent,
        thinks=settings.thinks,
        shown=settings.thinks and settings.place != "none",
        context=parse.context_of(body, table, settings),
        sign=make_signer(body.model),
        seed=_seed(request),
        caches="always",
    )


def _seed(request: Request) -> bytes:
    if not request.tools:
        return msgspec.json.encode(request)
    fields: dict[str, Json] = msgspec.to_builtins(request)
    for tool in fields["tools"]:
        del tool["dialect"], tool["kind"]
    return msgspec.json.encode(fields)


def _check_address(http: HttpRequest, provider: Provider) -> None:
    path = http.url.partition("?")[0]
    if http.method != "POST" or not serves(path):
        provider.rejecter.reject("no_path", method=http.method, path=path)


def _find_model(name: str, provider: Provider) -> Model:
    model = provider.find(name)
    if model is None:
        provider.rejecter.reject("no_model", param="model", model=name)
    if model.elsewhere:
        provider.rejecter.reject("other_api", param="model")
    return model


# -- fields, before they are typed ---------------------------------------------------------------


def _check_fields(raw: dict[str, Json], provider: Provider) -> None:
    knobs = {knob.path[0] for knob in provider.knob}
    for key in parse.rest_of(raw) if provider.strict else ():
        if key not in provider.fields and key not in knobs:
            provider.rejecter.reject_unknown(key)
    messages = raw.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        _check_message(message, index, provider)
    tools = raw.get("tools")
    for index, tool in enumerate(tools if provider.tools and isinstance(tools, list) else ()):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind is not None and kind not in provider.tools:
            provider.rejecter.reject("tool", index=index, kind=kind)


def _check_message(message: Json, index: int, provider: Provider) -> None:
    role = str(message.get("role")) if isinstance(message, dict) else ""
    known = FIELDS.get(role, set())
    for key in message if known else ():
        if key in provider.foreign or (provider.closed and key not in known):
            where = f"messages.{index}.{key}"
            provider.rejecter.reject("field", param=where, index=index, role=role, field=key)
    content = message.get("content") if known else None
    for part in content if provider.parts and isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in provider.parts:
            provider.rejecter.reject("part", index=index, kind=kind)


# -- parameters ----------------------------------------------------------------------------------


def _check_parameters(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    _check_ranges(body, rest, provider)
    _check_caps(body, provider, model)
    _check_dependent_fields(body, provider)
    if provider.strict and body.top_k is not None and "top_k" not in provider.words:
        provider.rejecter.reject_unknown("top_k")
    for name in model.refuses:
        if getattr(body, name, None) is not None or rest.get(name) is not None:
            provider.rejecter.reject("unsupported", param=name, model=body.model)
    if not provider.schemas and isinstance(body.response_format, types.SchemaFormat):
        provider.rejecter.reject("schema", param="response_format", model=body.model)
    if (model.forced or provider.forced) == "refused" and is_forced(body):
        provider.rejecter.reject("forced", param="tool_choice", model=body.model)


def _check_exclusive_fields(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    asked = {"reasoning_effort": body.reasoning_effort, **rest}
    for pair in provider.apart:
        if all(get_path(asked, tuple(each.split("."))) is not None for each in pair):
            provider.rejecter.reject("apart", param=pair[0], one=pair[0], other=pair[1])


def _check_ranges(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    for name, (least, most) in _RANGES.items():
        value = getattr(body, name, None) if name in body.__struct_fields__ else rest.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            provider.rejecter.reject("wrong_type", param=name, why="expected a decimal")
        if value > most:
            provider.rejecter.reject("above_range", param=name, most=most, value=float(value))
        if value < least:
            provider.rejecter.reject("below_range", param=name, least=least, value=float(value))


def _check_caps(body: types.Body, provider: Provider, model: Model) -> None:
    if body.max_tokens is not None and body.max_completion_tokens is not None:
        provider.rejecter.reject("two_caps", param="max_tokens")
    if provider.strict and body.max_tokens is not None and model.thinks != "no":
        provider.rejecter.reject("legacy_cap", param="max_tokens")
    for name in ("max_tokens", "max_completion_tokens"):
        cap = getattr(body, name)
        if cap is None:
            continue
        if cap < 1:
            provider.rejecter.reject("small_cap", param=name, cap=cap)
        if model.max_output is not None and cap > model.max_output:
            provider.rejecter.reject(
                "large_cap", param="max_tokens", cap=cap, most=model.max_output
            )


def _check_dependent_fields(body: types.Body, provider: Provider) -> None:
    if body.stream_options is not None and not body.stream:
        provider.rejecter.reject("stream_options", param="stream_options")
    if body.tools:
        return
    for name in ("tool_choice", "parallel_tool_calls"):
        if getattr(body, name):
            provider.rejecter.reject("needs_tools", param=name)


def _check_thinking(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    if (model.sampling or provider.sampling) == "default":
        for name, default in _DEFAULTS.items():
            value = getattr(body, name, None) if name in body.__struct_fields__ else rest.get(name)
            if value is not None and value != default:
                provider.rejecter.reject("not_default", param=name, value=value, default=default)
        for name in _NOT_WHILE_THINKING:
            if rest.get(name):
                provider.rejecter.reject("unsupported", param=name, model=body.model)
    if body.tools and not model.tools:
        provider.rejecter.reject("thinking_tools", param="reasoning_effort", model=body.model)
    if (model.forced or provider.forced) == "not_thinking" and is_forced(body):
        provider.rejecter.reject("forced", param="tool_choice", model=body.model)
    must_replay = model.must_replay or provider.must_replay
    fields = _THOUGHTS if model.must_replay else _THOUGHTS[:1]
    for index, message in enumerate(body.messages if must_replay else ()):
        called = isinstance(message, types.Assistant) and message.tool_calls
        if called and all(getattr(message, field) is None for field in fields):
            provider.rejecter.reject("must_replay", index=index)
