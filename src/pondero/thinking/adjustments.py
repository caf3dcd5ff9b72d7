"""Every difference between what was asked and what is sent: a closed list of codes."""

from typing import Any

from msgspec import Struct


class Adjustment(Struct, frozen=True):
    """One difference: ``what`` was asked for as ``asked`` and became ``got``, and why."""

    code: str
    what: str
    asked: Any
    got: Any
    why: str


CODES: dict[str, str] = {
    "unsupported_level": "the model does not have this level; the nearest it has is used",
    "cannot_disable": "thinking cannot be switched off; the least is used",
    "no_thinking": "the model does not think; nothing is sent",
    "no_control": "the model thinks as it likes; nothing can be said to it",
    "budget_clamped": "the number of tokens was brought into the model's range",
    "answer_room": "the level's figure was lowered so that the answer has room",
    "context_cap": "the context is long, and the policy caps thinking there",
    "no_room": "no budget fits below max_tokens; thinking is off, or at its least",
    "budget_as_level": "the model takes words, not numbers; the nearest level is used",
    "level_as_budget": "two levels are the same number of tokens on this model",
    "on_as_level": "the model has no bare on; its middle level is used",
    "off_omitted": "the policy sends nothing for off, and the model may think unasked",
    "dropped_parameter": "a parameter the model refuses or ignores was left out",
    "max_tokens_clamped": "max_tokens was above what the model can write",
    "parameter_clamped": "a parameter was brought into the range the service takes",
    "max_tokens_level": "this level does not go with a cap on the output; a lower one is used",
    "forced_tool_choice": "a forced tool choice and thinking do not go together here",
    "tools_without_thinking": "function tools and thinking do not go together on this surface",
    "unknown_model": "the model is not in the catalog; the newest of its line stands in",
    "summary_refused": "readable thinking was asked for and cannot be had",
    "seal_refused": "the service refused earlier thinking as not its own; it goes on without it",
    "medium_unseen": "the model takes no such picture or file; words stand in its place",
    "open_tool_loop": "a tool loop begun without thinking goes on without it; thinking waits",
    "route_changed": "the request goes another way than asked, because this one refuses it",
}
"""Code -> meaning. Nothing else is ever recorded."""

BENIGN = frozenset(
    {"answer_room", "context_cap", "level_as_budget", "on_as_level", "unknown_model"}
)
"""Documented arithmetic and choices of other policy fields: a strict policy lets these pass."""
