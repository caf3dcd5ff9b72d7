"""What a probe found, as a value, as JSON and in words."""

import math
from typing import Any, Literal

from msgspec import Struct

from .measure import LevelPair, PairVerdict, ProbeUnit

ProbeVerdict = Literal["live", "deaf", "partly", "undecided"]
OffVerdict = Literal["off", "not_off", "cannot", "untested"]

_MORE: dict[ProbeUnit, str] = {
    "thinking_tokens": "thinks {ratio}x as much as",
    "output_tokens": "writes {ratio}x as many tokens as",
    "seconds": "takes {ratio}x as long as",
}


class LevelRatio(Struct, frozen=True):
    """How much more the second level of a pair thinks than the first; None: not shown."""

    pair: tuple[str, str]
    estimate: float | None
    low: float | None
    high: float | None
    verdict: PairVerdict

    def to_json(self) -> dict[str, Any]:
        """Return the pair, the estimate and its bounds."""
        return {
            "pair": list(self.pair),
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
        }


class ProbeResult(Struct, frozen=True, kw_only=True):
    """Whether the levels of a model have an effect on this route.

    ``cost`` is in dollars by list prices, None if it is unknown. ``off_tokens`` is what an answer
    thought that should not have; ``notes`` says what was left out.

    >>> found = client.probe("claude-opus-5")
    >>> found.verdict, found.off, found.unit
    ('live', 'off', 'thinking_tokens')
    """

    model: str
    verdict: ProbeVerdict
    off: OffVerdict
    ratios: tuple[LevelRatio, ...]
    asks: int
    cost: float | None
    unit: ProbeUnit
    off_tokens: int | None = None
    notes: tuple[str, ...] = ()
    has_budgets: bool = False
    """Whether its levels are numbers of tokens, which are limits."""

    @property
    def exit_code(self) -> int:
        """Return 0 for a live dial, 1 for one that is deaf or not off, 2 if it is undecided."""
        if self.off == "not_off" or self.verdict in ("deaf", "partly"):
            return 1
        return 2 if self.verdict == "undecided" else 0

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON values; the keys are a stable contract."""
        return {
            "verdict": self.verdict,
            "off": self.off,
            "ratios": [each.to_json() for each in self.ratios],
            "asks": self.asks,
            "cost": self.cost,
            "unit": self.unit,
        }

    def __str__(self) -> str:
        return "\n".join(describe_probe(self))


def make_ratio(pair: LevelPair) -> LevelRatio:
    """Return what is known of a pair, as ratios."""
    low, high = pair.bounds.low, pair.bounds.high
    return LevelRatio(
        (pair.lower, pair.higher),
        _round(pair.estimate),
        _round(math.exp(low)) if math.isfinite(low) else None,
        _round(math.exp(high)) if math.isfinite(high) else None,
        pair.verdict,
    )


def _round(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 3)


def describe_probe(result: ProbeResult) -> list[str]:
    """Return the result in words, a line for each pair of levels and one for off."""
    lines = [
        _describe_ratio(each, result.unit, has_budgets=result.has_budgets) for each in result.ratios
    ]
    if result.verdict == "undecided":
        head = f"undecided after {result.asks} requests"
        lines = [f"{head}: {lines[0]}"] if len(lines) == 1 else [head, *lines]
    elif result.verdict == "partly":
        lines = ["partly live: some levels differ, others do not", *lines]
    return [*lines, *_describe_off(result)]


def _describe_ratio(ratio: LevelRatio, unit: ProbeUnit, *, has_budgets: bool) -> str:
    lower, higher = ratio.pair
    if ratio.estimate is None:
        return f"{lower} and {higher} were not both answered"
    around = _format_interval(ratio)
    more = _MORE[unit].format(ratio=_format_ratio(ratio.estimate))
    if ratio.verdict == "live":
        return f"live: {higher} {more} {lower}{around}"
    differ = f"{lower} and {higher} differ by {_format_ratio(ratio.estimate)}x{around}"
    if ratio.verdict == "undecided":
        return differ
    if ratio.high is not None and ratio.high < 1:
        return f"deaf: {higher} does not think more than {lower}, but less: {differ}"
    if has_budgets:  # a limit that no answer reaches looks like one that is ignored
        return (
            f"deaf: {differ}; either the route ignores the field, or these questions need fewer "
            "tokens than both limits: try harder ones"
        )
    return f"deaf: {differ}; the route takes the field and ignores it"


def _describe_off(result: ProbeResult) -> list[str]:
    if result.off == "not_off" and result.off_tokens:
        return [f"off is not off: {result.off_tokens:,} thinking tokens"]
    words = {
        "off": "off is off",
        "not_off": "off is not off: it thinks all the same",
        "cannot": "off: this model cannot be switched off here",
    }
    return [words[result.off]] if result.off in words else []


def _format_interval(ratio: LevelRatio) -> str:
    if ratio.low is None and ratio.high is None:
        return ""
    if ratio.low is None or ratio.high is None:
        known = "at least" if ratio.high is None else "at most"
        return f" ({known} {_format_ratio(ratio.low or ratio.high or 0)})"
    return f" ({_format_ratio(ratio.low)}-{_format_ratio(ratio.high)})"


def _format_ratio(ratio: float) -> str:
    if ratio >= 20:
        return f"{ratio:,.0f}"
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"
