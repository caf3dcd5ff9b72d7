"""Every scenario, one set for all providers, in the order in which they are run and listed."""

from ..scenario import Scenario, of
from .counts import thinking_tokens, token_usage
from .dial import (
    thinking_all_models,
    thinking_budgets,
    thinking_invalid_level,
    thinking_serialisation,
    thinking_summary_flag,
    thinking_unsupported_model,
)
from .endings import content_filter, finish_reasons, grounding, safety_ratings
from .levels import (
    thinking_config,
    thinking_extraction,
    thinking_high,
    thinking_low,
    thinking_max,
    thinking_medium,
    thinking_off,
    thinking_response,
    thinking_transition,
    thinking_unasked,
)
from .refusals import (
    error_auth,
    error_in_stream,
    error_invalid_request,
    error_not_found,
    error_rate_limit,
    error_server,
)
from .streams import (
    framing,
    streaming_text,
    streaming_thinking,
    streaming_tool_call,
    thinking_streaming,
)
from .talk import model_echo, multi_turn, role_mapping, simple_text, thinking_replay
from .tools import tool_call, tool_call_id_generation

_THINKS = ("thinking",)
_SHOWS = ("thinking", "shown")

SCENARIOS: tuple[Scenario, ...] = (
    # Document 001: the contract of a wire.
    of(simple_text, row="001 B49", basic=True),
    of(tool_call, row="001 B50"),
    of(tool_call_id_generation, row="001 B51"),
    of(thinking_config, row="001 B52", needs=_THINKS),
    of(thinking_response, row="001 B53", needs=_SHOWS),
    of(streaming_text, row="001 B54", basic=True),
    of(streaming_thinking, row="001 B55", needs=_SHOWS),
    of(streaming_tool_call, row="001 B56"),
    of(error_auth, row="001 B57", needs=("key",)),
    of(error_rate_limit, row="001 B58", staged=True),
    of(error_invalid_request, row="001 B59", needs=("cap",)),
    of(error_not_found, row="001 B37", staged=True),
    of(error_server, row="001 B31", staged=True),
    of(error_in_stream, row="001 B06", staged=True),
    of(multi_turn, row="001 B60"),
    of(role_mapping, row="001 B45"),
    of(token_usage, row="001 B61"),
    of(grounding, row="001 B62", staged=True),
    of(safety_ratings, row="001 B22", staged=True),
    of(finish_reasons, row="001 B19", staged=True),
    of(content_filter, row="001 B69", staged=True),
    of(model_echo, row="001 B21"),
    of(framing, row="001 B05"),
    # Document 000: the same level on every provider.
    of(thinking_budgets, row="000 A14", needs=_THINKS, talks=False),
    of(thinking_serialisation, row="000 A15", needs=_THINKS, talks=False),
    of(thinking_extraction, row="000 A16", needs=_SHOWS),
    of(thinking_tokens, row="000 A17", needs=_THINKS),
    of(thinking_transition, row="000 A18", needs=("thinking", "levels")),
    of(thinking_off, row="000 A19", needs=_THINKS),
    of(thinking_low, row="000 A38", needs=_THINKS),
    of(thinking_medium, row="000 A67", needs=_THINKS),
    of(thinking_high, row="000 A78", needs=_THINKS),
    of(thinking_max, row="000 A20", needs=_THINKS),
    of(thinking_unasked, row="000 A55", needs=_THINKS),
    of(thinking_unsupported_model, row="000 A21"),
    of(thinking_all_models, row="000 A79", needs=_THINKS, talks=False),
    of(thinking_invalid_level, row="000 A62", talks=False),
    of(thinking_streaming, row="000 A22", needs=_SHOWS),
    of(thinking_summary_flag, row="000 A23", needs=_THINKS, talks=False),
    of(thinking_replay, row="000 A93", needs=_THINKS),
)

__all__ = ["SCENARIOS"]
