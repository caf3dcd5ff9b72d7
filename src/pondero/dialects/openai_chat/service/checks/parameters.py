"""Checks the parameters of a request; their order is behaviour, as in ``rules``."""

from pondero.canon import Json, get_path

from .. import types
from ..models import Model, Provider
from ..thinking import is_forced

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


# Fields of no use without another, and the rule that says so.
_DEPENDENT = {
    "top_logprobs": ("logprobs", "needs_logprobs"),
    "function_call": ("functions", "needs_functions"),
    "metadata": ("store", "needs_store"),
}


def check_parameters(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    """Raise Rejected for the first parameter that the provider or the model does not take."""
    given = [
        name
        for name in model.incompatible
        if getattr(body, name, None) is not None or rest.get(name) is not None
    ]
    if given:
        plural = "s" if len(given) > 1 else ""
        provider.rejecter.reject("incompatible", plural=plural, names=", ".join(given))
    _check_ranges(body, rest, provider)
    _check_integers(rest, provider)
    _check_lengths(body, provider)
    _check_strings(rest, provider)
    _check_caps(body, provider, model)
    _check_dependent_fields(body, rest, provider)
    if provider.strict and body.top_k is not None and "top_k" not in provider.words:
        provider.rejecter.reject_unknown("top_k")
    for name in (*provider.refuses, *model.refuses):
        if getattr(body, name, None) is not None or rest.get(name) is not None:
            provider.rejecter.reject("unsupported", param=name, model=body.model)
    if not provider.schemas and isinstance(body.response_format, types.SchemaFormat):
        provider.rejecter.reject("schema", param="response_format", model=body.model)
    if (model.forced or provider.forced) == "refused" and is_forced(body):
        provider.rejecter.reject("forced", param="tool_choice", model=body.model)


def check_exclusive_fields(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    """Raise Rejected if two fields that exclude each other are set."""
    asked = {"reasoning_effort": body.reasoning_effort, **rest}
    for pair in provider.apart:
        if all(get_path(asked, tuple(each.split("."))) is not None for each in pair):
            provider.rejecter.reject("apart", param=pair[0], one=pair[0], other=pair[1])


def _check_ranges(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    for name, (least, most) in {**_RANGES, **provider.ranges}.items():
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
    thinks = model.thinks != "no" and (model.sampling or provider.sampling) == "default"
    if thinks and body.max_tokens is not None:
        provider.rejecter.reject("legacy_cap", param="max_tokens")
    for name in ("max_tokens", "max_completion_tokens"):
        cap = getattr(body, name)
        if cap is None:
            continue
        if cap < 1:
            provider.rejecter.reject("small_cap", param=name, cap=cap)
        most = model.max_output or provider.find_most(provider.max_outputs, body.model)
        if most is not None and cap > most:
            provider.rejecter.reject("large_cap", param="max_tokens", cap=cap, most=most)


def _check_integers(rest: dict[str, Json], provider: Provider) -> None:
    for name, (least, most) in provider.integers.items():
        value = rest.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            provider.rejecter.reject("wrong_type", param=name, why="expected an integer")
        if value > most:
            provider.rejecter.reject("integer_above", param=name, most=most, value=value)
        if value < least:
            provider.rejecter.reject("integer_below", param=name, least=least, value=value)


def _check_lengths(body: types.Body, provider: Provider) -> None:
    most_tools = provider.find_most(provider.most_tools, body.model)
    known = provider.lengths if most_tools is None else {**provider.lengths, "tools": most_tools}
    for name, most in known.items():
        value = getattr(body, name)
        if isinstance(value, list) and len(value) > most:
            provider.rejecter.reject("long_array", param=name, most=most, length=len(value))


def _check_strings(rest: dict[str, Json], provider: Provider) -> None:
    given = {name: (rest.get(name), most) for name, most in provider.strings.items()}
    metadata = rest.get("metadata")
    if provider.metadata is not None and isinstance(metadata, dict):
        names, longest_name, longest = provider.metadata
        if len(metadata) > names:
            count = len(metadata)
            provider.rejecter.reject("metadata_size", param="metadata", most=names, count=count)
        for name, value in metadata.items():
            given |= {"metadata": (name, longest_name)} if len(name) > longest_name else {}
            given[f"metadata.{name}"] = (value, longest)
    for param, (value, most) in given.items():
        if isinstance(value, str) and len(value) > most:
            provider.rejecter.reject("long_string", param=param, most=most)


def _check_dependent_fields(body: types.Body, rest: dict[str, Json], provider: Provider) -> None:
    for name, (other, rule) in _DEPENDENT.items():
        if name in provider.fields and rest.get(name) is not None and not rest.get(other):
            provider.rejecter.reject(rule, param=name)
    if body.stream_options is not None and not body.stream:
        provider.rejecter.reject("stream_options", param="stream_options")
    if body.tools:
        return
    for name in ("tool_choice", "parallel_tool_calls"):
        value = getattr(body, name)
        # Clients quote OpenAI's rejection of false; what other hosts say of it is not known.
        if value is not None if provider.strict else value:
            provider.rejecter.reject("needs_tools", param=name)


def check_thinking(
    body: types.Body, rest: dict[str, Json], provider: Provider, model: Model
) -> None:
    """Raise Rejected if the model does not take something while it thinks."""
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
