"""The most that a question in a known frame may take: only the length of its text is new."""

from collections.abc import Mapping, Sequence
from math import inf
from time import time

from msgspec import Struct

from ...canon import Usage
from ...catalog import ModelEntry
from ...errors import UsageError
from ...exchange import TextSize, sum_most_with
from ...store import find_most_prices
from ...thinking import Plan
from ..levels.level_plan import plan_attempt
from ..requests.routed_request import RoutedRequest, list_decided, may_be_auto
from .hosted_tools import adds_nothing
from .measured_prompt import MeasuredPrompts
from .output_bound import OutputBound, find_background, find_output_bound
from .prompt_bound import find_frame, is_short_frame
from .quota import QuotaUse, Unit, counts_cost

_KNOWN = 32  # sizes of prompts


class _FrameBound(Struct, frozen=True):
    """What a request takes besides its text, and what its answer may."""

    text: TextSize
    answer: OutputBound


def find_framed_bound(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> Usage | None:
    """Return the most that a request may take; None if more than its text decides that."""
    if routed.framed is None or not is_short_frame(routed):
        return None
    request = routed.request
    needs = (
        *(entry, plan, request.system, request.tools, request.output, request.max_tokens),
        *(routed.tool_uses, routed.stored_level),
    )
    bound = routed.framed.frame.find_fact("bound", needs, _find_bound, routed, entry, plan)
    if bound is None:
        return None
    prompt, answer = sum_most_with(bound.text, request.messages[0].text), bound.answer
    return Usage(prompt, output=answer.output - answer.thinking, thinking=answer.thinking)


def _find_bound(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> _FrameBound | None:
    text = find_frame(routed, entry)
    if text is None or not adds_nothing(routed, entry):
        return None
    return _FrameBound(text, find_output_bound(routed, entry, plan))


class PromptReservation(Struct, frozen=True):
    """The most that a prompt and its answer may take of each unit, and what is reserved."""

    amounts: Mapping[Unit, int]
    uses: Sequence[QuotaUse]
    prompts: MeasuredPrompts


class FrameNeeds(Struct, frozen=True):
    """What a question needs besides its text.

    ``outputs``: the most that each model may write, ``thinking``: of thinking any of them.
    ``is_priced``: a quota counts what it costs; ``costs``: of each model for a token of the prompt
    and for its answer, if the prompt has fewer tokens than ``below``. ``known``: what prompts
    need, by their tokens.
    """

    text: TextSize
    outputs: tuple[int, ...]
    most: int
    thinking: int
    is_priced: bool
    costs: tuple[tuple[int, int], ...]
    below: float
    known: dict[int, PromptReservation] = {}

    def keep(self, prompt: int, need: PromptReservation) -> PromptReservation:
        """Keep what a prompt of this size needs, and return it; only some are kept."""
        if len(self.known) >= _KNOWN:
            self.known.clear()
        self.known[prompt] = need
        return need

    def find_cost(self, prompt: int) -> int | None:
        """Return the most that a prompt and its answer cost; None if that is no sum."""
        if prompt >= self.below:
            return None
        return max([prompt * each + answer for each, answer in self.costs])


def find_frame_needs(routed: RoutedRequest) -> FrameNeeds | None:
    """Return what a request needs besides its text; None if more than the text decides it."""
    if routed.framed is None or not is_short_frame(routed):
        return None
    minute = int(time() // 60)  # in which prices hold
    needs = (minute, list_decided(routed))
    return routed.framed.frame.find_fact("need", needs, _find_need, routed, minute)


def _find_need(routed: RoutedRequest, minute: int) -> FrameNeeds | None:
    if may_be_auto(routed) or find_background(routed) is not None:
        return None
    entries = routed.resolved.entries
    bounds: list[_FrameBound] = []
    for entry in entries:
        try:
            bound = _find_bound(routed, entry, plan_attempt(routed, entry)[1])
        except UsageError:  # the attempt will report it
            return None
        if bound is None:
            return None
        bounds.append(bound)
    outputs = tuple(bound.answer.output for bound in bounds)
    thinking = max(bound.answer.thinking for bound in bounds)
    is_priced = counts_cost(routed.rules.quotas)
    costs, below = _find_costs(entries, outputs, minute) if is_priced else ((), 0)
    return FrameNeeds(
        text=bounds[0].text,
        outputs=outputs,
        most=max(outputs),
        thinking=thinking,
        is_priced=is_priced,
        costs=costs,
        below=below,
    )


def _find_costs(
    entries: Sequence[ModelEntry], outputs: Sequence[int], minute: int
) -> tuple[tuple[tuple[int, int], ...], float]:
    """Return what each model costs, and below which prompt; 0 if no sum says what one costs."""
    costs: list[tuple[int, int]] = []
    below = inf
    for entry, output in zip(entries, outputs, strict=True):
        prices = find_most_prices(entry.provider.name, entry.model, minute)
        if prices is None:
            return (), 0
        costs.append((prices.prompt, output * prices.output))
        below = min(below, prices.below)
    return tuple(costs), below
