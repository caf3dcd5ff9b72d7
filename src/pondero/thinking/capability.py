"""What a model can do about thinking, as facts: one value per family, no wire names."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from .intent import LEVELS

Tokens = Annotated[int, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1)]
Word = Annotated[str, Meta(min_length=1)]

Evidence = Literal["recorded", "vendor page", "SDK type", "list", "inferred"]
"""How a fact is known, the strongest first; a weaker one never overrides a stronger one."""


class BudgetRange(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """A range of token budgets; levels are thirds of ``base`` to ``nominal``, else of all of it.

    ``fixed`` has the budgets of the fixed policy. A ``legacy`` budget is accepted and never sent,
    because levels work better there.
    """

    min: Tokens
    max: Tokens
    base: Tokens | None = None
    nominal: Tokens | None = None
    minimal: Tokens = 1024
    fixed: Mapping[str, Tokens] = {}
    off: int | None = None
    dynamic: int | None = None
    legacy: bool = False


class Capability(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """The facts of one family.

    style         which of the provider's placements says it; None: nothing can be said
    toggle        whether "on" can be said without a depth
    off           whether thinking can be switched off
    efforts       words accepted, weakest first; ``tolerates``: accepted too, never sent by us
    steps         single levels that do not follow the rule (medium = "low")
    levels_by     which of efforts and budget carries the level if a model has both
    default       what it does if nothing is sent: off, on, dynamic, unaudited, or a level
    shown         full or summary come by themselves; ask: only when asked for; never
    forbids       parameters rejected always (stop, too); ``forbids_thinking``: while it thinks;
                  ``unit_thinking``: must be 1 while it thinks; ``ignores`` and
                  ``ignores_thinking``: taken, no effect; ``one_of``: not two of these at once
    forced_tools  a forced tool choice is: ok; refused; off (rejected while thinking);
                  unthinking (accepted, and answered without thinking)
    tools         function tools are: ok; off (rejected while thinking); refused
    prefill       an answer begun for it is: ok; off (rejected while thinking); refused
    off_efforts   efforts that may be sent with off, if that is restricted
    uncapped      levels that do not go with a cap on the output
    sibling       where the name is the switch: the model that thinks if this does not, or the
                  one that does not if this always does
    system_turns  whether it obeys system turns inside a conversation, where its API has them
    min_output    the smallest max_tokens that it takes, if the service takes smaller ones
    media         prefixes of the media types it takes, if fewer than its wire takes
    replay        thinking of earlier turns: required, tools (required in a tool loop),
                  optional, or none
    typical       thinking tokens of a usual answer, by level ("on" for a bare switch), as far as
                  they are known; ``typical_source`` says by what
    evidence      how the control is known; ``source`` says by what, ``checked`` is the day of it
    """

    thinks: bool = True
    style: str | None = None
    toggle: bool = False
    off: bool = False
    efforts: tuple[Word, ...] = ()
    tolerates: tuple[str, ...] = ()
    steps: Mapping[str, str] = {}
    budget: BudgetRange | None = None
    levels_by: Literal["efforts", "budget"] = "efforts"
    default: str = "unaudited"
    shown: Literal["full", "summary", "ask", "never"] = "full"
    max_output: Limit | None = None
    min_output: Limit | None = None
    context: Limit | None = None
    forbids: tuple[str, ...] = ()
    forbids_thinking: tuple[str, ...] = ()
    unit_thinking: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    ignores_thinking: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    forced_tools: Literal["ok", "refused", "off", "unthinking"] = "ok"
    tools: Literal["ok", "off", "refused"] = "ok"
    prefill: Literal["ok", "off", "refused"] = "ok"
    off_efforts: tuple[str, ...] = ()
    uncapped: tuple[str, ...] = ()
    replay: Literal["required", "tools", "optional", "none"] = "optional"
    sibling: Word | None = None
    system_turns: bool = False
    media: tuple[str, ...] | None = None
    typical: Mapping[str, Limit] = {}
    typical_source: str = ""
    evidence: Evidence = "inferred"
    source: str
    checked: str

    @property
    def by_budget(self) -> bool:
        """Return whether a level becomes a number of tokens."""
        return self.by_number and (self.levels_by == "budget" or not self.efforts)

    @property
    def by_number(self) -> bool:
        """Return whether a number of tokens can be sent as it is."""
        return self.sent_budget is not None

    @property
    def sent_budget(self) -> BudgetRange | None:
        """Return the range of tokens that can be sent; None if levels are sent in their place."""
        return None if self.budget is None or self.budget.legacy else self.budget

    @property
    def can_be_on(self) -> bool:
        """Return whether it can think without a depth: by a switch, or by default."""
        return self.toggle or self.default not in ("off", "unaudited")

    @property
    def levels(self) -> tuple[str, ...]:
        """Return the levels it has, weakest first; a bare switch has only "on"."""
        if self.style is None or not self.thinks:
            return ()
        if self.by_budget:
            return ("minimal", "low", "medium", "high")
        return self.efforts or (("on",) if self.can_be_on else ())

    @property
    def extra_words(self) -> tuple[str, ...]:
        """Return the levels this family has beyond the common ones."""
        return tuple(word for word in self.efforts if word not in LEVELS)

    @property
    def thinks_unasked(self) -> bool | None:
        """Return whether it thinks if nothing is sent; None if unknown."""
        if not self.thinks or self.default == "off":
            return False
        return None if self.default in ("dynamic", "unaudited") else True


NOTHING = Capability(source="not in the catalog", checked="", default="unaudited", max_output=None)
"""A model of an unknown line: nothing can be sent to it."""
