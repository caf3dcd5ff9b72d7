"""Orders the deployments of one model: a conversation's home first, else the better of two.

Pure: ``accounts`` says how loaded each is, and chance comes from the caller.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from math import log

from msgspec import Struct

from ...catalog import ModelEntry
from ..config.model import Balance
from .account_load import NEARLY_FULL

HOME_PATIENCE = 3.0
"""Seconds that a conversation waits for room at its home: a move costs its cache."""


class PlacementOption(Struct, frozen=True):
    """A deployment that may be asked.

    ``use``: the used share of its limits. ``share``: conversations and requests it has, per
    weight. ``wait``: seconds until it may be asked; 0: now.
    """

    entry: ModelEntry
    weight: float = 1.0
    use: float = 0.0
    share: float = 0.0
    wait: float = 0.0

    @property
    def rank(self) -> tuple[float, float]:
        """Return what is less for the better one of two."""
        return (self.use if self.use >= NEARLY_FULL else 0.0, self.share)


class Order(Struct, frozen=True):
    """The deployments of one model in the order to ask them; ``placed``: the first is new there."""

    candidates: tuple[PlacementOption, ...]
    placed: bool = False


def order_deployments(
    candidates: Sequence[PlacementOption],
    balance: Balance,
    home: str | None,
    *,
    chance: Callable[[], float],
) -> Order:
    """Return the deployments in the order to ask them; ``chance`` returns numbers from 0 to 1."""
    if balance == "order":
        return Order(tuple(sorted(candidates, key=lambda each: each.wait > 0)))
    if balance == "sticky" and home is not None:
        at_home = [each for each in candidates if each.entry.deployment == home]
        if at_home and at_home[0].wait <= HOME_PATIENCE:
            others = (each for each in candidates if each is not at_home[0])
            return Order((at_home[0], *_rank(others)))
    usable = [each for each in candidates if each.wait <= 0]
    if not usable:
        return Order(tuple(sorted(candidates, key=lambda each: each.wait)))
    first = choose(usable, chance)
    others = (each for each in candidates if each is not first)
    return Order((first, *_rank(others)), placed=True)


def choose(usable: Sequence[PlacementOption], chance: Callable[[], float]) -> PlacementOption:
    """Return the better of two, each drawn by weight: nearly as good as the best of all."""
    first = _draw(usable, chance())
    rest = [each for each in usable if each is not first]
    if not rest:
        return first
    second = _draw(rest, chance())
    return min(first, second, key=lambda each: each.rank)


def find_keeper(weights: Mapping[str, float], client: str) -> str:
    """Return the account that keeps what a client stores: always the same one of these, by weight.

    A new account takes over some clients, and moves none between the others.
    """

    def measure(name: str) -> float:
        digest = blake2b(f"{client}\0{name}".encode("utf-8", "replace"), digest_size=6).digest()
        return -log((int.from_bytes(digest) + 1) / (1 << 48)) / weights[name]

    return min(weights, key=measure)


def _draw(candidates: Sequence[PlacementOption], chance: float) -> PlacementOption:
    """Return one of them, in proportion to their weights."""
    left = chance * sum(each.weight for each in candidates)
    for each in candidates:
        left -= each.weight
        if left < 0:
            return each
    return candidates[-1]


def _rank(candidates: Iterable[PlacementOption]) -> list[PlacementOption]:
    return sorted(candidates, key=lambda each: (each.wait, each.rank))
