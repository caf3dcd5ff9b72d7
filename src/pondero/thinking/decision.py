"""What goes into a decision and what comes out of it, as values.

Every difference between what was asked and what is sent is an ``Adjustment``; their codes are a
closed list.
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from .capability import Capability
from .policy import Policy

DEPTH = ("level", "budget")
"""What an adjustment is about where a model thinks more or less than was asked."""


class Adjustment(Struct, frozen=True):
    """One difference: ``what`` was asked for as ``asked`` and became ``got``, and why.

    >>> for each in pondero.plan("gpt-5", "off").adjustments:
    ...     print(each.code, each.asked, each.got)
    cannot_disable off minimal
    """

    code: str
    what: str
    asked: Any
    got: Any
    why: str


CODES: dict[str, str] = {
    "unsupported_level": "the model lacks this level; the next above it is used, or the highest",
    "cannot_disable": "thinking cannot be switched off; the least is used",
    "no_thinking": "the model does not think; nothing is sent",
    "no_control": "the model thinks as it likes; nothing can be said to it",
    "budget_clamped": "the number of tokens was brought into the model's range",
    "answer_room": "the level's figure was lowered so that the answer has room",
    "context_cap": "the context is long, and the policy caps thinking there",
    "no_room": "no budget fits below max_tokens; thinking is off, or at its least",
    "budget_as_level": "the model takes words, not numbers; the level nearest in figure is used",
    "level_as_budget": "two levels are the same number of tokens on this model",
    "on_as_level": "the model has no bare on; its middle level is used",
    "off_floor": "the policy asks for the smallest thinking instead of off",
    "off_omitted": "the policy sends nothing for off, and the model may think unasked",
    "dropped_parameter": "a parameter the model refuses or ignores was left out",
    "max_tokens_clamped": "max_tokens was brought into the range that model and service take",
    "parameter_clamped": "a parameter was brought into the range the service takes",
    "max_tokens_level": "this level does not go with a cap on the output; a lower one is used",
    "forced_tool_choice": "a forced tool choice and thinking do not go together here",
    "tools_without_thinking": "function tools and thinking do not go together on this surface",
    "tools_refused": "the model takes no function tools on this surface; they were left out",
    "tool_replaced": "the service's own kind of this tool, or a function, stands in its place",
    "tool_left_out": "a tool that only another service has was left out",
    "tool_renamed": "a tool's name is taken, or has letters that not every service takes",
    "tool_server_lost": "an MCP server ended while it was needed; its calls failed",
    "prefill_adjusted": "the service does not take an answer begun for the model as it was given",
    "model_spelt": "the name is sent in the service's spelling, or to the deployment that has it",
    "native_wins": "extras has the service's own fields for thinking, which win over the level",
    "unknown_model": "the model is not in the catalog; a relative that the reason names stands in",
    "cannot_hide": "the thinking cannot be kept out of the answer here; it comes all the same",
    "summary_refused": "readable thinking was asked for and cannot be had",
    "seal_refused": "the service refused earlier thinking as not its own; it goes on without it",
    "medium_unseen": "the model takes no such picture or file; words stand in its place",
    "open_tool_loop": "a tool loop begun without thinking goes on without it; thinking waits",
    "tool_loop_retold": "a tool loop that another model began is told in words, to think in it",
    "fell_back": "a model of the list did not answer, and the next one was asked",
    "calibrated": "auto was asked for; the level that a sweep found to be enough is used",
    "calibration_stale": "the calibration is used, and may no longer hold; the reason says why",
    "no_calibration": "auto was asked for and no calibration fits; nothing is sent",
    "route_changed": "the request goes another way than asked, because this one refuses it",
}
"""Code -> meaning. Nothing else is ever recorded."""

BENIGN = frozenset(
    {
        *("answer_room", "calibrated", "context_cap", "fell_back", "level_as_budget"),
        *("model_spelt", "off_floor", "on_as_level", "tool_loop_retold", "tool_renamed"),
        *("tool_replaced", "tool_server_lost", "unknown_model"),
    }
)
"""Documented arithmetic and choices of other policy fields: a strict policy lets these pass."""


Mode = Literal["unset", "off", "on", "level", "budget", "native"]
SAMPLING = ("temperature", "top_p", "top_k")
UNFORCED = (None, "auto", "none")


class RequestParameters(Struct, frozen=True):
    """The other parameters of a request that affect thinking, or are affected by it.

    ``context`` is how many tokens the conversation has already, where that is known.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: bool = False
    tool_choice: str | None = "auto"
    context: int | None = None

    @property
    def forced(self) -> bool:
        """Return whether the model has no choice but to call a tool."""
        return self.tool_choice not in UNFORCED


class ParameterRanges(Struct, frozen=True):
    """What a provider's wire allows for every model: its parameters, and which are required.

    ``ranges`` are the least and the most of a parameter, the least alone where there is no most.
    """

    parameters: frozenset[str] = frozenset(("max_tokens", *SAMPLING))
    max_tokens_required: bool = False
    ranges: Mapping[str, tuple[int | float, ...]] = {}

    def clamp(self, name: str, value: float) -> float:
        """Return a parameter's value, brought into its range."""
        if name not in self.ranges:
            return value
        least, *most = self.ranges[name]
        return max(least, min([value, *most]))

    def range_of(self, name: str) -> str:
        """Return a parameter's range in words."""
        least, *most = self.ranges[name]
        return f"from {least:g} to {most[0]:g}" if most else f"from {least:g} on"


class TargetLevel(Struct, frozen=True):
    """What the wish means on this model, before tools, token limits and parameters."""

    mode: Mode
    level: str | None = None
    effort: str | None = None
    budget: int | None = None

    @property
    def got(self) -> str | int | None:
        """Return the level or budget, as a person would name it."""
        return self.level if self.budget is None else self.budget


class ResolveContext(Struct, frozen=True):
    """One model, one request, one policy; ``notes`` collects the adjustments on the way."""

    capability: Capability
    policy: Policy
    asked: RequestParameters
    surface: ParameterRanges
    cap: int | None
    notes: list[Adjustment]

    def note(self, code: str, topic: str, asked: object, got: object, why: str) -> None:
        """Record one difference."""
        self.notes.append(Adjustment(code, topic, asked, got, why))


class Decision(Struct, frozen=True):
    """What the model will get. ``effort`` is its own word, ``nominal`` the figure of the level."""

    mode: Mode
    level: str | None = None
    effort: str | None = None
    budget: int | None = None
    nominal: int | None = None
    show: bool | None = None
    will_think: bool | None = None
    tools: bool = False
    parameters: dict[str, Any] = {}
    dropped: tuple[str, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
