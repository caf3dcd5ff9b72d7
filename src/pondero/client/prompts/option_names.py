"""Names the option that an unknown one was meant to be; every call that takes options uses it."""

from collections.abc import Collection

_OURS: dict[str, str] = {
    "thinking": (
        "reasoning_effort reasoning_config reasoning_tokens reasoning_budget effort "
        "budget budget_tokens thinking_budget thinking_config thinking_level thinking_tokens "
        "enable_thinking include_thoughts think level thinkingConfig thinkingBudget thinkingLevel"
    ),
    "max_tokens": (
        "max_completion_tokens max_output_tokens max_new_tokens max_tokens_to_sample num_predict "
        "maxTokens maxOutputTokens"
    ),
    "prompt": "messages input contents question history",
    "system": "system_prompt system_instruction system_message instructions systemInstruction",
    "output": (
        "response_format response_schema response_model response_json_schema output_type "
        "output_config output_format output_schema text_format result_type schema json_schema "
        "json_mode json"
    ),
    "stop": "stop_sequences stopSequences",
    "tools": "functions",
    "tool_choice": "function_call tool_config toolConfig",
    "max_steps": "max_turns max_iterations max_tool_calls chain_limit",
    "seed": "random_seed",
    "attachments": "images files documents image file document audio media",
    "headers": "extra_headers",
    "extras": (
        "extra_body provider_options frequency_penalty presence_penalty logit_bias logprobs "
        "top_logprobs metadata user service_tier store verbosity parallel_tool_calls "
        "prompt_cache_key cache_control safety_settings"
    ),
    "timeout": "request_timeout",
}
"""Our options, each with the words that other libraries have for it."""

_ADVICE: dict[str, str] = {
    "thinking": 'use thinking, such as thinking="high" or thinking=8000',
    "prompt": "give the messages as the prompt",
    "extras": "use extras={{{name!r}: ...}}, which takes the service's own fields",
}
_INSTEAD = {"thinking": "levels"}  # a sweep compares several
_ELSEWHERE: dict[str, str] = {
    "n": "ask once for each answer",
    "api_key": "use Client(keys={provider: key})",
    "base_url": "use Client(urls={provider: url})",
    "api_base": "use Client(urls={provider: url})",
    "retry": "use retries for values that do not fit, and Client(retry=...) for failures",
    "max_retries": "use Client(retry=Retry(attempts=...))",
    "num_retries": "use Client(retry=Retry(attempts=...))",
    "fallbacks": "give a list of models",
    "stream_options": "usage is always reported",
}
_THEIRS = {word: ours for ours, words in _OURS.items() for word in words.split()}
_THEIRS["reasoning"] = "thinking"  # apart: in a sentence of ours the word would be a mistake


def find_ours(name: str) -> str | None:
    """Return our option for another library's word; None if there is none."""
    return _THEIRS.get(name)


def explain_unknown(
    name: str, known: Collection[str], *, arguments: Collection[str] = (), kind: str = "option"
) -> str:
    """Return the message for an unknown option: what to use instead, or all that there is.

    ``arguments``: what the call takes besides its options.
    """
    return f"unknown {kind} {name!r}; {_advise(name, {*known, *arguments}) or _list(known)}"


def _advise(name: str, known: Collection[str]) -> str | None:
    named = _THEIRS.get(name, name)
    ours = next((each for each in (named, _INSTEAD.get(named)) if each in known), None)
    if ours is not None:
        return _ADVICE.get(ours, f"use {ours}").format(name=name)
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, needed only for an error

    close = get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}?" if close else None


def _list(known: Collection[str]) -> str:
    return f"use {' '.join(known)}"
