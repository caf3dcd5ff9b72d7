"""The values that go into a decision and come out of it; every difference is an ``Adjustment``."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from .capability import Capability
from .policy import Policy

DEPTH = ("level", "budget")
"""``Adjustment.what`` if a model thinks more or less than requested."""


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
    "unsupported_level": "the model has no such level; the next higher one is used, or its highest",
    "cannot_disable": "the model cannot switch thinking off; its lowest level is used",
    "no_thinking": "the model does not think; nothing is sent",
    "no_control": "the model decides by itself how much it thinks; nothing is sent",
    "budget_clamped": "the token budget was changed to fit the model's range",
    "answer_room": "the budget leaves room for the answer, or max_tokens hardly has any",
    "exhausted": "thinking used all output tokens, and the answer has nothing else",
    "exhausted_retry": "an answer was all thinking; another had more room or a lower level",
    "little_room": "the token budget was sent as requested and leaves few tokens for the answer",
    "context_cap": "the context is long, and the policy limits thinking then",
    "no_room": "no token budget fits below max_tokens; thinking is off, or at its lowest",
    "budget_as_level": "the model takes levels, not token budgets; the nearest level is used",
    "level_as_budget": "two levels are the same number of tokens on this model",
    "on_as_level": "the model has no plain on; its middle level is used",
    "off_floor": "the policy sends the lowest level instead of off",
    "off_omitted": "the policy sends nothing for off; the model may think by default",
    "dropped_parameter": "a parameter that the model rejects or ignores was left out",
    "max_tokens_clamped": "max_tokens was changed to fit the range of the model and the service",
    "budget_max_tokens": "the gateway lowered max_tokens, or set it, so that a budget covers it",
    "budget_tools": "a service's own tool was limited or left out, so that a budget covers it",
    "parameter_clamped": "a parameter was changed to fit the service's range",
    "max_tokens_level": "this level cannot be combined with max_tokens; a lower one is used",
    "forced_tool_choice": "a forced tool choice cannot be combined with thinking here",
    "tools_without_thinking": "function tools cannot be combined with thinking on this API",
    "tools_refused": "the model takes no function tools on this API; they were left out",
    "tool_replaced": "the tool was replaced by the service's own kind, or by a function",
    "tool_left_out": "a tool that only another service has was left out",
    "tool_choice_adjusted": "the choice among tools is expressed in the way that the service takes",
    "tool_renamed": "a tool was renamed: its name is taken, or not every service accepts it",
    "tool_adjusted": "a tool's schema was changed to fit the service's rules",
    "tool_server_lost": "an MCP server stopped during the chat; calls of its tools failed",
    "output_adjusted": "the output's schema was changed to fit the service's rules",
    "output_prompted": "the prompt asks for the JSON, because the service has no field for it",
    "prefill_adjusted": "the prefill was changed, because the service does not take it as given",
    "model_short": "a short name was given; the model is the newest of its product line",
    "model_spelt": "the model's name is sent in the service's spelling, or to its deployment",
    "native_wins": "extras has the service's own thinking fields; they win over the level",
    "unknown_model": "the model is not in the catalog; the facts of a related model are used",
    "cannot_hide": "thinking cannot be hidden here; the answer contains it",
    "summary_refused": "readable thinking was requested and is not available",
    "seal_refused": "the service rejected the signature of earlier thinking; it was left out",
    "signature_withheld": "an answer had the signatures of another one; only its own were sent",
    "account_moved": "another account answers now; what only the first one can use is left out",
    "emulated_thread": "the emulator wrote earlier answers; a service gets nothing it signed",
    "medium_unseen": "the model takes no such image or file; a text replaces it",
    "medium_moved": "an image or file was moved out of a tool's result, which may not hold it",
    "system_turn_moved": "a system turn was moved to where the model takes one",
    "system_turn_folded": "a system turn became marked text in a user turn",
    "turn_added": "a user turn was added, because the service needs one",
    "open_tool_loop": "a tool loop that began without thinking continues without it",
    "tool_loop_retold": "another model's tool loop was turned into text, to allow thinking",
    "calls_retold": "earlier tool calls became text: the model takes none, or a service ran them",
    "fell_back": "a model of the list did not answer; the next one was used",
    "calibrated": "auto was requested; the level that a sweep found is used",
    "calibration_stale": "the calibration was used, but may be outdated; the reason says why",
    "no_calibration": "auto was requested and no calibration fits; nothing is sent",
    "cache_kept": "the level is set inside the conversation, so that the prompt stays cached",
    "cache_lost": "the level changed at the top of the request; the prompt is written again",
    "route_changed": "the request was sent by another route, because the requested one rejects it",
}
"""Code -> meaning; a closed list."""

BENIGN = frozenset(
    {
        *(
            "account_moved",
            "answer_room",
            "budget_max_tokens",
            "budget_tools",
            "cache_kept",
            "cache_lost",
        ),
        *("calibrated", "context_cap", "exhausted", "exhausted_retry"),
        *("emulated_thread", "fell_back", "level_as_budget", "little_room", "model_short"),
        *("model_spelt", "off_floor"),
        *("medium_moved", "on_as_level", "output_adjusted", "signature_withheld"),
        *("system_turn_moved", "tool_adjusted"),
        *("tool_choice_adjusted", "tool_loop_retold", "tool_renamed"),
        *("tool_replaced", "tool_server_lost", "turn_added", "unknown_model"),
    }
)
"""A strict policy lets these pass: documented arithmetic, and choices of other policy fields."""

Mode = Literal["unset", "off", "on", "level", "budget", "native"]
SAMPLING = ("temperature", "top_p", "top_k", "seed")
UNFORCED = (None, "auto", "none")


class RequestParameters(Struct, frozen=True):
    """Parameters that affect thinking or are affected; ``context``: tokens so far, if known."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: bool = False
    tool_choice: str | None = "auto"
    context: int | None = None
    seed: int | None = None

    @property
    def forced(self) -> bool:
        """Return whether the model must call a tool."""
        return self.tool_choice not in UNFORCED


_USUAL_RANGES: Mapping[str, tuple[int | float, ...]] = {"max_tokens": (1,)}


class ParameterRanges(Struct, frozen=True):
    """A wire's parameters and the required ones; ``ranges``: least and most, or the least alone.

    Without a range of its own, ``max_tokens`` begins at 1: few services take 0.
    """

    parameters: frozenset[str] = frozenset(("max_tokens", *SAMPLING))
    max_tokens_required: bool = False
    ranges: Mapping[str, tuple[int | float, ...]] = {}

    def clamp(self, name: str, value: float) -> float:
        """Return the value, changed to fit the parameter's range."""
        if (known := self._find(name)) is None:
            return value
        least, *most = known
        return max(least, min([value, *most]))

    def _find(self, name: str) -> tuple[int | float, ...] | None:
        return self.ranges.get(name, _USUAL_RANGES.get(name))

    def range_of(self, name: str) -> str:
        """Return a parameter's range in words."""
        least, *most = self._find(name) or (0,)
        return f"from {least:g} to {most[0]:g}" if most else f"from {least:g} on"


class TargetLevel(Struct, frozen=True):
    """What the intent means on this model, before tools, token limits and parameters."""

    mode: Mode
    level: str | None = None
    effort: str | None = None
    budget: int | None = None

    @property
    def got(self) -> str | int | None:
        """Return the budget, or else the level."""
        return self.level if self.budget is None else self.budget


class ResolveContext(Struct, frozen=True):
    """One model, one request, one policy; ``notes`` collects the adjustments."""

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
    """What the model gets. ``effort`` is its own word, ``nominal`` the budget before fitting.

    ``typical``: the tokens that it usually thinks at this level, if max_tokens is less than that.
    """

    mode: Mode
    level: str | None = None
    effort: str | None = None
    budget: int | None = None
    nominal: int | None = None
    show: bool | None = None
    will_think: bool | None = None
    typical: int | None = None
    tools: bool = False
    parameters: dict[str, Any] = {}
    dropped: tuple[str, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
