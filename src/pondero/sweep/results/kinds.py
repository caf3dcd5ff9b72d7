"""Kinds: which level is enough for the questions of one ``metadata.kind``, by those alone.

The method is that of the whole run; the kinds share the error by Holm's rule, as models do.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from ...thinking import parse_auto
from ..statistics.progress import LEAST, Scores, SweepProgress, obstacle, replay_looks

FIELD = "kind"


class KindResult(Struct, frozen=True, kw_only=True):
    """The result for one kind; ``arm`` is enough, or None; ``difference`` is to the reference."""

    kind: str
    n: int
    arm: int | None
    accuracy: float | None = None
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None


def by_kind(
    scores: Scores, chosen: int, dearness: Callable[[int], tuple[float, bool]]
) -> tuple[KindResult, ...]:
    """Return the result of each kind with enough questions; their number is known in advance."""
    views = {
        kind: scores.only(places)
        for kind, places in _places(scores).items()
        if len(places) >= LEAST and _can_be_said(kind)
    }
    found = _standings(views)
    return tuple(
        _result(kind, views[kind], now, chosen, dearness) for kind, now in sorted(found.items())
    )


def _places(scores: Scores) -> dict[str, frozenset[int]]:
    places: dict[str, set[int]] = {}
    for at, question in enumerate(scores.questions):
        if isinstance(kind := question.metadata.get(FIELD), str):
            places.setdefault(kind, set()).add(at)
    return {kind: frozenset(found) for kind, found in places.items()}


def _can_be_said(kind: str) -> bool:
    auto = parse_auto(f"auto#{kind}")
    return auto is not None and auto.kind == kind


def _standings(views: Mapping[str, Scores]) -> dict[str, SweepProgress]:
    share = len(views)
    while True:
        found = {kind: replay_looks(view, families=share) for kind, view in views.items()}
        left = max(1, sum(not now.is_whole for now in found.values()))
        if left >= share:
            return found
        share = left


def _result(
    kind: str,
    view: Scores,
    now: SweepProgress,
    chosen: int,
    dearness: Callable[[int], tuple[float, bool]],
) -> KindResult:
    upto, reference = now.questions, view.facts.reference
    arm = None if obstacle(view, upto) else _enough(view, now, chosen, dearness)
    if arm is None:
        return KindResult(kind=kind, n=len(view.shared_positions(upto)), arm=None)
    upto = now.looks[now.look_of(arm) - 1] if now.look_of(arm) else upto
    places = view.shared_positions(upto, arm)
    alone = KindResult(
        kind=kind,
        n=len(places),
        arm=arm,
        accuracy=sum(view.score(arm, at) or 0.0 for at in places) / len(places),
    )
    if arm == reference:
        return alone
    estimate, z = view.versus(arm, reference, upto), now.z_of(arm)
    return KindResult(
        kind=kind,
        n=alone.n,
        arm=arm,
        accuracy=alone.accuracy,
        difference=estimate.mean,
        lower=estimate.lower(z),
        upper=estimate.upper(z),
    )


def _enough(
    view: Scores, now: SweepProgress, chosen: int, dearness: Callable[[int], tuple[float, bool]]
) -> int | None:
    arms, reference = view.facts.arms, view.facts.reference
    own = [arm for arm in now.passed if arms[arm].model == arms[chosen].model]
    if own:
        return min(own, key=dearness)
    if chosen in now.worse and arms[reference].model == arms[chosen].model:
        return reference
    return None
