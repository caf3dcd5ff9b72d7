"""What a service refuses of a request that is well formed: ranges, pairs and model by model."""

from pondero.canon import Json

from . import types
from .errors import Denier
from .models import Model, Service
from .thinking import field_at, is_forced

_RANGES = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
}
_DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
_NOT_WHILE_THINKING = ("logprobs", "top_logprobs", "logit_bias")


def check(
    body: types.Body,
    beside: dict[str, Json],
    service: Service,
    model: Model,
    denier: Denier,
    *,
    thinks: bool,
) -> None:
    """Raise the refusal, if there is one."""
    _check_ranges(body, beside, denier)
    _check_caps(body, service, model, denier)
    _check_company(body, denier)
    if service.strict and body.top_k is not None and "top_k" not in service.words:
        denier.unknown("top_k")
    for name in model.refuses:
        if getattr(body, name, None) is not None or beside.get(name) is not None:
            denier.unsupported(name, model=body.model)
    if not service.schemas and isinstance(body.response_format, types.SchemaFormat):
        denier.say("schema", param="response_format")
    if (model.forced or service.forced) == "refused" and is_forced(body):
        denier.say("forced", param="tool_choice", model=body.model)
    if thinks:
        _check_thinking(body, beside, service, model, denier)


def check_apart(
    body: types.Body, beside: dict[str, Json], service: Service, denier: Denier
) -> None:
    """Raise the refusal of two fields that say the same thing, if both are there."""
    asked = {"reasoning_effort": body.reasoning_effort, **beside}
    for pair in service.apart:
        if all(field_at(asked, tuple(each.split("."))) is not None for each in pair):
            denier.say("apart", param=pair[0], one=pair[0], other=pair[1])
            text = f"'{pair[0]}' and '{pair[1]}' cannot be specified at the same time."
            denier.deny(text, param=pair[0], code="invalid_parameter_combination")


def _check_ranges(body: types.Body, beside: dict[str, Json], denier: Denier) -> None:
    for name, (least, most) in _RANGES.items():
        value = getattr(body, name, None) if name in body.__struct_fields__ else beside.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            text = f"Invalid type for '{name}': expected a decimal."
            denier.deny(text, param=name, code="invalid_type")
        if not least <= value <= most:
            above = value > most
            text = (
                f"Invalid '{name}': decimal {'above maximum' if above else 'below minimum'} value. "
                f"Expected a value {'<=' if above else '>='} {most if above else least}, "
                f"but got {float(value)} instead."
            )
            code = f"decimal_{'above_max' if above else 'below_min'}_value"
            denier.deny(text, param=name, code=code)


def _check_caps(body: types.Body, service: Service, model: Model, denier: Denier) -> None:
    if body.max_tokens is not None and body.max_completion_tokens is not None:
        text = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        denier.deny(text, param="max_tokens", code="invalid_parameter_combination")
    if service.strict and body.max_tokens is not None and model.thinks != "no":
        denier.unsupported("max_tokens", instead="max_completion_tokens")
    for name in ("max_tokens", "max_completion_tokens"):
        cap = getattr(body, name)
        if cap is None:
            continue
        if cap < 1:
            text = (
                f"Invalid '{name}': integer below minimum value. Expected a value >= 1, "
                f"but got {cap} instead."
            )
            denier.deny(text, param=name, code="integer_below_min_value")
        if model.max_output is not None and cap > model.max_output:
            text = (
                f"max_tokens is too large: {cap}. This model supports at most "
                f"{model.max_output} completion tokens, whereas you provided {cap}."
            )
            denier.deny(text, param="max_tokens", code="invalid_value")


def _check_company(body: types.Body, denier: Denier) -> None:
    """Parameters that mean nothing without another."""
    if body.stream_options is not None and not body.stream:
        text = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        denier.deny(text, param="stream_options")
    if body.tools:
        return
    for name in ("tool_choice", "parallel_tool_calls"):
        if getattr(body, name):
            text = (
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            )
            denier.deny(text, param=name)


def _check_thinking(
    body: types.Body, beside: dict[str, Json], service: Service, model: Model, denier: Denier
) -> None:
    if (model.sampling or service.sampling) == "default":
        for name, default in _DEFAULTS.items():
            value = (
                getattr(body, name, None) if name in body.__struct_fields__ else beside.get(name)
            )
            if value is not None and value != default:
                denier.value(name, value, only=f"Only the default ({default}) value is supported.")
        for name in _NOT_WHILE_THINKING:
            if beside.get(name):
                denier.unsupported(name)
    if body.tools and not model.tools:
        text = (
            f"Function tools with reasoning_effort are not supported for {body.model} in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set "
            "reasoning_effort to 'none'."
        )
        denier.deny(text, param="reasoning_effort")
    if (model.forced or service.forced) == "not_thinking" and is_forced(body):
        denier.say("forced", param="tool_choice", model=body.model)
    words = model.must_replay or service.must_replay
    for index, message in enumerate(body.messages if words else ()):
        if isinstance(message, types.Assistant) and message.tool_calls:
            fields = _THOUGHTS if model.must_replay else _THOUGHTS[:1]
            if words and all(getattr(message, field) is None for field in fields):
                denier.deny(words.format(index=index))
