"""Every scenario, one set for all providers, in the order in which they are run and listed."""

from ..scenario import Scenario, scenario_of
from .conversations import (
    model_echo,
    multi_turn,
    role_mapping,
    simple_text,
    system_prompt,
    thinking_replay,
)
from .endings import (
    check_grounding,
    content_filter,
    error_auth,
    error_in_stream,
    error_invalid_request,
    error_not_found,
    error_rate_limit,
    error_server,
    finish_reasons,
    safety_ratings,
)
from .levels import (
    thinking_all_models,
    thinking_budgets,
    thinking_config,
    thinking_depth,
    thinking_extraction,
    thinking_high,
    thinking_invalid_level,
    thinking_low,
    thinking_max,
    thinking_medium,
    thinking_off,
    thinking_response,
    thinking_serialisation,
    thinking_summary_flag,
    thinking_transition,
    thinking_unasked,
    thinking_unsupported_model,
)
from .streams import (
    framing,
    streaming_text,
    streaming_thinking,
    streaming_tool_call,
    streaming_words,
    thinking_streaming,
)
from .tools import tool_call, tool_call_id_generation
from .usage import thinking_tokens, token_usage

_THINKS = ("thinking",)
_SHOWS = ("thinking", "shown")
_TOOLS = ("tools",)

SCENARIOS: tuple[Scenario, ...] = (
    # The contract of a wire.
    scenario_of(simple_text, row="001 B49", basic=True),
    scenario_of(tool_call, row="001 B50", needs=_TOOLS),
    scenario_of(tool_call_id_generation, row="001 B51", needs=_TOOLS),
    scenario_of(thinking_config, row="001 B52", needs=_THINKS),
    scenario_of(thinking_response, row="001 B53", needs=_SHOWS),
    scenario_of(streaming_text, row="001 B54", basic=True),
    scenario_of(streaming_thinking, row="001 B55", needs=_SHOWS),
    scenario_of(streaming_tool_call, row="001 B56", needs=_TOOLS),
    scenario_of(error_auth, row="001 B57", needs=("key",)),
    scenario_of(error_rate_limit, row="001 B58", staged=True),
    scenario_of(error_invalid_request, row="001 B59", needs=("cap",)),
    scenario_of(error_not_found, row="001 B37", staged=True),
    scenario_of(error_server, row="001 B31", staged=True),
    scenario_of(error_in_stream, row="001 B06", staged=True),
    scenario_of(multi_turn, row="001 B60"),
    scenario_of(role_mapping, row="001 B45", needs=_TOOLS),
    scenario_of(token_usage, row="001 B61"),
    scenario_of(check_grounding, name="grounding", row="001 B62", staged=True),
    scenario_of(safety_ratings, row="001 B22", staged=True),
    scenario_of(finish_reasons, row="001 B19", staged=True),
    scenario_of(content_filter, row="001 B69", staged=True),
    scenario_of(model_echo, row="001 B21"),
    scenario_of(framing, row="001 B05"),
    # The same level on every provider.
    scenario_of(thinking_budgets, row="000 A14", needs=_THINKS, talks=False),
    scenario_of(thinking_serialisation, row="000 A15", needs=_THINKS, talks=False),
    scenario_of(thinking_extraction, row="000 A16", needs=_SHOWS),
    scenario_of(thinking_tokens, row="000 A17", needs=_THINKS),
    scenario_of(thinking_transition, row="000 A18", needs=("thinking", "levels")),
    scenario_of(thinking_off, row="000 A19", needs=_THINKS),
    scenario_of(thinking_low, row="000 A38", needs=_THINKS),
    scenario_of(thinking_medium, row="000 A67", needs=_THINKS),
    scenario_of(thinking_high, row="000 A78", needs=_THINKS),
    scenario_of(thinking_max, row="000 A20", needs=_THINKS),
    scenario_of(thinking_unasked, row="000 A55", needs=_THINKS),
    scenario_of(thinking_unsupported_model, row="000 A21"),
    scenario_of(thinking_all_models, row="000 A79", needs=_THINKS, talks=False),
    scenario_of(thinking_invalid_level, row="000 A62", talks=False),
    scenario_of(thinking_streaming, row="000 A22", needs=_SHOWS),
    scenario_of(thinking_summary_flag, row="000 A23", needs=_THINKS, talks=False),
    scenario_of(thinking_replay, row="000 A93", needs=_THINKS),
    # What a service that answers wrongly gets wrong without an error.
    scenario_of(system_prompt),
    scenario_of(streaming_words),
    scenario_of(thinking_depth, needs=("thinking", "levels")),
)

__all__ = ["SCENARIOS"]
