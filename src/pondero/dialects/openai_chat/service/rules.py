"""The emulated service's checks; their order is behaviour: the first fault is the one reported."""

import re
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from pondero.canon import HttpRequest, Json, Request, get_path
from pondero.dialects.dialect import AcceptedRequest

from . import parse, types
from .address import default_model, serves
from .input.lenient import FIELDS
from .input.messages import base64_in, decode_base64, make_call_id
from .models import Model, Provider, check_key, provider_of
from .parse import Context
from .signatures import make_signer, stamp
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
_PRECEDING = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
_FOLLOWING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)


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
    rest = parse.rest_of(raw)
    _check_exclusive_fields(body, rest, table)
    settings = parse_thinking(body, rest, table, model)
    _check_parameters(body, rest, table, model)
    if settings.thinks:
        _check_thinking(body, rest, table, model)
    _Conversation(table, model, body.model).check(body.messages)
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
        # OpenAI, API reference: 404 for an unknown route (public clients, 2026-11-16)
        provider.rejecter.reject(f"Invalid URL ({http.method} {path})", status=404)


def _find_model(name: str, provider: Provider) -> Model:
    model = provider.find(name)
    if model is None:
        # OpenAI, models: 404 model_not_found
        # (mirascope recording test_model_not_found/openai_gpt_4o_completions, 2025-12-30)
        provider.rejecter.reject_as("no_model", param="model", model=name)
        text = f"The model `{name}` does not exist or you do not have access to it."
        provider.rejecter.reject(text, status=404, code="model_not_found")
    if model.elsewhere:
        # OpenAI, models: some are on the Responses API only (public clients, 2026-11-16)
        text = "This model is only supported in v1/responses and not in v1/chat/completions."
        provider.rejecter.reject(text, status=404, param="model")
    return model


# -- fields, before they are typed ---------------------------------------------------------------


def _check_fields(raw: dict[str, Json], provider: Provider) -> None:
    knobs = {knob.path[0] for knob in provider.knob}
    for key in parse.rest_of(raw) if provider.strict else ():
        if key not in provider.fields and key not in knobs:
            # OpenAI, chat completions: only the fields of openai 3.49.0 types (2026-11-10)
            provider.rejecter.reject_unknown(key)
    messages = raw.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        _check_message(message, index, provider)
    tools = raw.get("tools")
    for index, tool in enumerate(tools if provider.tools and isinstance(tools, list) else ()):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind is not None and kind not in provider.tools:
            # Groq, Mistral, DeepSeek, tools: only their own types (recordings, 2026-11-15)
            provider.rejecter.reject_as("tool", index=index, kind=kind)


def _check_message(message: Json, index: int, provider: Provider) -> None:
    role = str(message.get("role")) if isinstance(message, dict) else ""
    known = FIELDS.get(role, set())
    for key in message if known else ():
        if key in provider.foreign or (provider.closed and key not in known):
            # Groq, messages: other fields are unsupported (agentjido/req_llm#772, 2026-11-15)
            where = f"messages.{index}.{key}"
            provider.rejecter.reject_as("field", param=where, index=index, role=role, field=key)
            provider.rejecter.reject_unknown(where)
    content = message.get("content") if known else None
    for part in content if provider.parts and isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in provider.parts:
            # DeepSeek, messages: text parts only (recordings, 2026-11-15)
            provider.rejecter.reject_as("part", index=index, kind=kind)


# -- parameters ----------------------------------------------------------------------------------


def _check_parameters(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    _check_ranges(body, rest, provider)
    _check_caps(body, provider, model)
    _check_dependent_fields(body, provider)
    if provider.strict and body.top_k is not None and "top_k" not in provider.words:
        # OpenAI, chat completions: no top_k (openai 3.49.0 types, 2026-11-10)
        provider.rejecter.reject_unknown("top_k")
    for name in model.refuses:
        if getattr(body, name, None) is not None or rest.get(name) is not None:
            # OpenAI, stop: not on o3, o4-mini, GPT-6 (bolna-ai/bolna#1019, 2026-11-15);
            # xAI, stop and penalties: not on Grok 4 (litellm 1.108.4, 2026-11-15)
            provider.rejecter.reject_unsupported(name, model=body.model)
    if not provider.schemas and isinstance(body.response_format, types.SchemaFormat):
        # DeepSeek, response_format: no json_schema (9router#4050, 2026-11-16)
        provider.rejecter.reject_as("schema", param="response_format")
    if (model.forced or provider.forced) == "refused" and is_forced(body):
        # Moonshot, tool_choice: none forced (pydantic-ai 2.66.0, 2026-11-15); MiniMax likewise
        provider.rejecter.reject_as("forced", param="tool_choice", model=body.model)


def _check_exclusive_fields(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    asked = {"reasoning_effort": body.reasoning_effort, **rest}
    for pair in provider.apart:
        if all(get_path(asked, tuple(each.split("."))) is not None for each in pair):
            # Groq (groq 1.7.0), Moonshot, Fireworks (1.2.30), DashScope: one field (2026-11-15)
            provider.rejecter.reject_as("apart", param=pair[0], one=pair[0], other=pair[1])
            text = f"'{pair[0]}' and '{pair[1]}' cannot be specified at the same time."
            provider.rejecter.reject(text, param=pair[0], code="invalid_parameter_combination")


def _check_ranges(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    for name, (least, most) in _RANGES.items():
        value = getattr(body, name, None) if name in body.__struct_fields__ else rest.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            # OpenAI, errors: invalid_type (public clients, 2026-11-16)
            text = f"Invalid type for '{name}': expected a decimal."
            provider.rejecter.reject(text, param=name, code="invalid_type")
        if not least <= value <= most:
            # OpenAI, sampling: 0 to 2 (rig recording openai/error_identity_edge, 2026-11-15)
            above = value > most
            text = (
                f"Invalid '{name}': decimal {'above maximum' if above else 'below minimum'} value. "
                f"Expected a value {'<=' if above else '>='} {most if above else least}, "
                f"but got {float(value)} instead."
            )
            code = f"decimal_{'above_max' if above else 'below_min'}_value"
            provider.rejecter.reject(text, param=name, code=code)


def _check_caps(body: types.Body, provider: Provider, model: Model) -> None:
    if body.max_tokens is not None and body.max_completion_tokens is not None:
        # OpenAI, max_tokens: not with max_completion_tokens
        # (req_llm recording gpt_5_chat_latest/object_streaming, 2025-10-04)
        text = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        provider.rejecter.reject(text, param="max_tokens", code="invalid_parameter_combination")
    if provider.strict and body.max_tokens is not None and model.thinks != "no":
        # OpenAI, max_tokens: not on reasoning models
        # (vercel/ai recording reasoning-model-legacy-parameter-error, 2026-11-15)
        provider.rejecter.reject_unsupported("max_tokens", instead="max_completion_tokens")
    for name in ("max_tokens", "max_completion_tokens"):
        cap = getattr(body, name)
        if cap is None:
            continue
        if cap < 1:
            # OpenAI, max_tokens: at least 1 (text as recorded on the Responses API, 2025-10-04)
            text = (
                f"Invalid '{name}': integer below minimum value. Expected a value >= 1, "
                f"but got {cap} instead."
            )
            provider.rejecter.reject(text, param=name, code="integer_below_min_value")
        if model.max_output is not None and cap > model.max_output:
            # OpenAI, max_tokens: the model's maximum output (public clients, 2026-11-16)
            text = (
                f"max_tokens is too large: {cap}. This model supports at most "
                f"{model.max_output} completion tokens, whereas you provided {cap}."
            )
            provider.rejecter.reject(text, param="max_tokens", code="invalid_value")


def _check_dependent_fields(body: types.Body, provider: Provider) -> None:
    if body.stream_options is not None and not body.stream:
        # OpenAI, stream_options: only with stream (public clients, 2026-11-16)
        text = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        provider.rejecter.reject(text, param="stream_options")
    if body.tools:
        return
    for name in ("tool_choice", "parallel_tool_calls"):
        if getattr(body, name):
            # OpenAI, tool_choice: only with tools (public clients, 2026-11-16)
            text = (
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            )
            provider.rejecter.reject(text, param=name)


def _check_thinking(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    if (model.sampling or provider.sampling) == "default":
        for name, default in _DEFAULTS.items():
            value = getattr(body, name, None) if name in body.__struct_fields__ else rest.get(name)
            if value is not None and value != default:
                # OpenAI, sampling: the default while it thinks (public clients, 2026-11-15)
                only = f"Only the default ({default}) value is supported."
                provider.rejecter.reject_value(name, value, only=only)
        for name in _NOT_WHILE_THINKING:
            if rest.get(name):
                # OpenAI, logprobs: not while it thinks (pydantic-ai 2.66.0, 2026-11-15)
                provider.rejecter.reject_unsupported(name)
    if body.tools and not model.tools:
        # OpenAI, tools: not with reasoning from GPT-5.4 on (litellm#34569, 2026-11-15)
        text = (
            f"Function tools with reasoning_effort are not supported for {body.model} in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set "
            "reasoning_effort to 'none'."
        )
        provider.rejecter.reject(text, param="reasoning_effort")
    if (model.forced or provider.forced) == "not_thinking" and is_forced(body):
        # DeepSeek, tool_choice: none forced while it thinks (public clients, 2026-11-15);
        # DashScope likewise (maruel/genai recording qwen3.8-max_thinking, 2026-11-15)
        provider.rejecter.reject_as("forced", param="tool_choice", model=body.model)
    words = model.must_replay or provider.must_replay
    for index, message in enumerate(body.messages if words else ()):
        if isinstance(message, types.Assistant) and message.tool_calls:
            fields = _THOUGHTS if model.must_replay else _THOUGHTS[:1]
            if words and all(getattr(message, field) is None for field in fields):
                # DeepSeek, thinking mode: reasoning_content goes back with calls
                # (earendil-works/pi#3636, 2026-11-15); Moonshot likewise (pi-ai 1.5.0)
                provider.rejecter.reject(words.format(index=index))


# -- the conversation ----------------------------------------------------------------------------


class _Conversation:
    """Checks the messages of one request: fields, pairs of call and result, signatures."""

    def __init__(self, provider: Provider, model: Model, name: str) -> None:
        self._provider = provider
        self._rejecter = provider.rejecter
        self._form = model.form or provider.form
        self._model = name
        self._open: list[tuple[str, str]] = []  # unanswered calls: the id given, and the id shown
        self._at = 0

    def check(self, messages: Sequence[types.Message]) -> None:
        """Raise Rejected for the first invalid message."""
        begins = isinstance(messages[0], types.System | types.Developer)
        for self._at, message in enumerate(messages[begins:], start=int(begins)):
            if self._provider.strict:
                self._check_words(message)
            match message:
                case types.ToolAnswer() | types.FunctionAnswer():
                    self._check_answer(message)
                case types.Assistant():
                    self._check_answered()
                    self._check_assistant(message)
                case types.User():
                    self._check_media(message)
                    self._check_answered()
                case _:
                    self._check_answered()
        self._check_answered()

    def _check_answer(self, message: types.ToolAnswer | types.FunctionAnswer) -> None:
        id_ = message.tool_call_id if isinstance(message, types.ToolAnswer) else None
        if self._provider.strict and isinstance(message, types.ToolAnswer) and not id_:
            # OpenAI, tool messages: tool_call_id is required (openai 3.49.0 types, 2026-11-10)
            self._reject_missing(f"messages[{self._at}].tool_call_id")
        call = next((call for call in self._open if not id_ or call[0] == id_), None)
        if call is None:
            # OpenAI, function calling: a result needs its call (public clients, 2026-11-16)
            self._rejecter.reject(_PRECEDING, param=f"messages.[{self._at}].role")
        self._open.remove(call)

    def _check_answered(self) -> None:
        if self._open:
            # OpenAI, function calling: every call needs a result (public clients, 2026-11-16)
            missing = ", ".join(shown for _, shown in self._open)
            self._rejecter.reject(_FOLLOWING + missing, param="messages")

    def _check_assistant(self, message: types.Assistant) -> None:
        self._check_signatures(message.reasoning_details or [])
        calls = [self._call(call, number) for number, call in enumerate(message.tool_calls or ())]
        if (older := message.function_call) is not None:
            calls.append(("", make_call_id(f"messages[{self._at}].function_call", older.name)))
        said = (message.content, message.refusal, message.audio)
        if not calls and not _has_thinking(message) and all(each is None for each in said):
            # OpenAI, messages: content or calls are required (public clients, 2026-11-16)
            where = f"messages.[{self._at}].content"
            text = f"Invalid value for 'content': expected a string, got null. ({where})"
            self._rejecter.reject(text, param=where)
        self._open = calls

    def _call(self, call: types.Call, number: int) -> tuple[str, str]:
        provider, where = self._provider, f"messages[{self._at}].tool_calls[{number}]"
        body = call.custom if call.type == "custom" else call.function
        if body is None or (provider.strict and not call.id):
            # OpenAI, tool calls: id and function are required (openai 3.49.0 types, 2026-11-10)
            self._reject_missing(f"{where}.{'id' if body is not None else call.type}")
        if provider.call_ids and not re.fullmatch(provider.call_ids, call.id or ""):
            # Mistral, tool calls: nine letters and digits (pydantic-ai 2.66.0, 2026-11-15)
            self._rejecter.reject_as("call_id", param=f"{where}.id", id=call.id)
        return call.id or "", call.id or make_call_id(where, body.name)

    def _check_signatures(self, details: list[dict[str, Json]]) -> None:
        provider = self._provider
        if provider.thinking != "reasoning_details":
            return
        words = ""
        for number, detail in enumerate(details):
            words = str(detail.get("text") or detail.get("summary") or words)
            signature = detail.get("data", detail.get("signature"))
            is_signed = "data" in detail or self._form == "signed"
            if is_signed and signature != stamp(words, model=self._model):
                # OpenRouter, reasoning_details: go back unchanged, the upstream verifies them
                # (@openrouter/ai-sdk-provider 3.1.0, 2026-11-15)
                where = f"messages[{self._at}].reasoning_details[{number}]"
                upstream = provider.bad_seal_upstream
                self._rejecter.reject(provider.bad_seal, param=where, upstream=upstream)

    def _check_media(self, message: types.User) -> None:
        for part in message.content if isinstance(message.content, list) else ():
            data = base64_in(part)
            if data is not None and decode_base64(data) is None:
                # OpenAI, images: valid base64 (text ours; openllmetry recording
                # test_vision/test_vision_base64 has another code, 2026-03-31)
                text = "Invalid base64 data in the request."
                self._rejecter.reject(text, param="messages", code="invalid_base64")

    def _reject_missing(self, param: str) -> NoReturn:
        # OpenAI, errors: missing_required_parameter (public clients, 2026-11-16)
        message = f"Missing required parameter: '{param}'."
        self._rejecter.reject(message, param=param, code="missing_required_parameter")

    # -- fields of compatible servers, which a strict provider rejects ---------------------------

    def _check_words(self, message: types.Message) -> None:
        where = f"messages[{self._at}]"
        if isinstance(message, types.Assistant):
            self._check_thoughts(message, where)
        for number, part in enumerate(message.content if isinstance(message.content, list) else ()):
            if isinstance(part, types.ThinkingPart | types.VideoPart):
                self._check_word(str(part.__struct_config__.tag), f"{where}.content[{number}].type")
            if isinstance(part, types.RefusalPart | types.ThinkingPart):
                continue
            if part.cache_control is not None:
                self._check_word("cache_control", f"{where}.content[{number}].cache_control")

    def _check_thoughts(self, message: types.Assistant, where: str) -> None:
        for field in ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details"):
            if getattr(message, field) is not None:
                self._check_word(field, f"{where}.{field}")
        for number, call in enumerate(message.tool_calls or ()):
            if call.extra_content is not None:
                self._check_word("extra_content", f"{where}.tool_calls[{number}].extra_content")

    def _check_word(self, word: str, param: str) -> None:
        if word not in self._provider.words:
            # OpenAI, messages: no fields of other providers (openai 3.49.0 types, 2026-11-10)
            self._rejecter.reject_unknown(param)


def _has_thinking(message: types.Assistant) -> bool:
    texts = (message.reasoning_content, message.reasoning, message.reasoning_text)
    return bool(message.reasoning_details) or any(texts)
