"""The decision, pure: which arms are good enough, which are worse, and which are still asked."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .intervals import Estimate
from .looks import ALPHA, boundaries

MARGIN = 0.05

Versus = Callable[[int, int], Estimate]
"""The estimate of how much better one arm is than another."""


class DecisionRule(Struct, frozen=True):
    """What was declared before anything was asked: how much worse is still good enough."""

    margin: float = MARGIN
    alpha: float = ALPHA
    looks: int = 4

    def z(self, look: int, families: int = 1) -> float:
        """Return the boundary of a look, counted from 1, where so many families share the error."""
        return boundaries(self.looks, self.alpha / families)[min(look, self.looks) - 1]

    def passes(self, estimate: Estimate, z: float) -> bool:
        """Return whether an arm is shown to be no worse than the margin allows."""
        return estimate.lower(z) > -self.margin

    def fails(self, estimate: Estimate, z: float) -> bool:
        """Return whether an arm is shown to be worse than the margin allows."""
        return estimate.upper(z) < -self.margin


class Chain(Struct, frozen=True):
    """One model's arms in the order they are tested, dearest first, and how far that has come.

    An arm is tested once the one before it has ``passed``: a fixed sequence needs no correction for
    its length. ``absent`` are arms that were not asked on for another reason than being ``worse``.
    """

    arms: tuple[int, ...]
    passed: int = 0
    worse: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()

    @property
    def is_whole(self) -> bool:
        """Return whether every arm has passed."""
        return self.passed == len(self.arms)

    @property
    def is_closed(self) -> bool:
        """Return whether nothing more can be decided: all passed, or the sequence ends here."""
        return self.is_whole or self.arms[self.passed] in self.worse | self.absent

    @property
    def asked(self) -> tuple[int, ...]:
        """Return the lowest arm that passed, and those below it down to the first that is worse."""
        if self.is_closed:
            return ()
        reach = []
        for arm in self.arms[self.passed :]:
            if arm in self.worse | self.absent:
                break
            reach.append(arm)
        return (*self.arms[max(0, self.passed - 1) : self.passed], *reach)


def decide_look(
    chains: Sequence[Chain], estimates: Callable[[int], Estimate], *, look: int, rule: DecisionRule
) -> tuple[Chain, ...]:
    """Return the chains after one look; those not passed whole share the error (Holm)."""
    found = list(chains)
    while True:
        z = rule.z(look, _families(found))
        before = _families(found)
        found = [_advance(chain, estimates, z, rule) for chain in found]
        if _families(found) == before:
            break
    return tuple(_without_worse(chain, estimates, z, rule) for chain in found)


def _families(chains: Iterable[Chain]) -> int:
    return max(1, sum(not chain.is_whole for chain in chains))


def _advance(
    chain: Chain, estimates: Callable[[int], Estimate], z: float, rule: DecisionRule
) -> Chain:
    passed = chain.passed
    for arm in chain.arms[passed:]:
        if arm not in chain.asked or not rule.passes(estimates(arm), z):
            break
        passed += 1
    return replace(chain, passed=passed)


def _without_worse(
    chain: Chain, estimates: Callable[[int], Estimate], z: float, rule: DecisionRule
) -> Chain:
    candidates = [arm for arm in chain.asked if arm in chain.arms[chain.passed :]]
    worse = {arm for arm in candidates if rule.fails(estimates(arm), z)}
    return replace(chain, worse=chain.worse | worse)


class BestArmField(Struct, frozen=True):
    """Arms, cheapest first; one passes against all others (intersection-union: no correction)."""

    arms: tuple[int, ...]
    passed: frozenset[int] = frozenset()
    worse: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()

    @property
    def is_closed(self) -> bool:
        """Return whether the cheapest arm that is left has passed, or only one is left."""
        left = self.left
        return len(left) < 2 or left[0] in self.passed

    @property
    def left(self) -> tuple[int, ...]:
        """Return the arms that are asked on and not shown to be worse than another."""
        return tuple(arm for arm in self.arms if arm not in self.worse | self.absent)

    @property
    def asked(self) -> tuple[int, ...]:
        """Return the arms that are still asked."""
        return () if self.is_closed else self.left


def decide_best_look(
    field: BestArmField, versus: Versus, *, look: int, rule: DecisionRule
) -> BestArmField:
    """Return the field after one look."""
    z, left = rule.z(look), field.left
    others = {arm: [versus(arm, other) for other in left if other != arm] for arm in left}
    passed = {arm for arm, found in others.items() if all(rule.passes(e, z) for e in found)}
    worse = {arm for arm, found in others.items() if any(rule.fails(e, z) for e in found)}
    return replace(field, passed=field.passed | passed, worse=field.worse | (worse - passed))
