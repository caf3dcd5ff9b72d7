"""What goes into a decision and what comes out of it, as values."""

from typing import Any, Literal

from msgspec import Struct

from .adjustments import Adjustment
from .capability import Capability
from .policy import Policy

Mode = Literal["unset", "off", "on", "level", "budget", "native"]
SAMPLING = ("temperature", "top_p", "top_k")
UNFORCED = (None, "auto", "none")


class Asked(Struct, frozen=True):
    """The parameters beside the wish that thinking has a say in.

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


class Surface(Struct, frozen=True):
    """What the provider's wire allows whatever the model: which parameters, which are required."""

    parameters: frozenset[str] = frozenset(("max_tokens", *SAMPLING))
    max_tokens_required: bool = False


class Aim(Struct, frozen=True):
    """What the wish means on this model, before tools, tokens and parameters had their say."""

    mode: Mode
    level: str | None = None
    effort: str | None = None
    budget: int | None = None

    @property
    def got(self) -> str | int | None:
        """Return what a person would call it."""
        return self.level if self.budget is None else self.budget


class Case(Struct, frozen=True):
    """One model, one request, one policy; ``notes`` collects the adjustments on the way."""

    capability: Capability
    policy: Policy
    asked: Asked
    surface: Surface
    cap: int | None
    notes: list[Adjustment]

    def note(self, code: str, what: str, asked: object, got: object, why: str) -> None:
        """Record one difference."""
        self.notes.append(Adjustment(code, what, asked, got, why))


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
