"""Arms: what is compared. Levels that become the same fields are one arm, asked once.

Every arm is planned, and later asked, under the user's policy with ``show="none"``: nobody reads
the thinking of a sweep, and a level that only differs in what it shows is no other level.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from ..canon import Json
from ..client import PolicyLike, load_catalog, model_levels, plan, resolve_policy
from ..errors import BadParameter, UsageError
from ..thinking import LEVELS, Adjustment, Plan, Policy, ThinkingLike, parse_auto

ALL = "all"


class Arm(Struct, frozen=True):
    """A model at the levels that become one and the same request.

    ``level`` is the one of them that names the arm: what the model itself calls it where that is
    among them. ``rank`` orders the arms of one model by what they are expected to cost.
    """

    model: str
    level: str
    levels: tuple[str, ...]
    fields: dict[str, Json]
    rank: int
    adjustments: tuple[Adjustment, ...] = ()

    @property
    def name(self) -> str:
        """Return the model and the level that names the arm."""
        return f"{self.model}/{self.level}"


def sweep_policy(policy: PolicyLike = None) -> Policy:
    """Return the policy that a sweep plans and asks with."""
    return resolve_policy(policy).but(show="none", unsupported="adjust")


def arms_of(
    models: Iterable[str],
    levels: str | Sequence[str] = ALL,
    *,
    max_tokens: int | None = None,
    policy: Policy | None = None,
) -> tuple[Arm, ...]:
    """Return the arms of these models, model by model, each from the cheapest to the dearest.

    A model with a level of its own, as ``MODEL/LEVEL``, has that one alone.
    """
    rules = policy or sweep_policy()
    names = list(dict.fromkeys(models))
    if not names:
        raise BadParameter("a sweep needs a model; name one with -m MODEL")
    found = [arm for name in names for arm in _arms(name, levels, max_tokens, rules)]
    merged = {msgspec.json.encode((arm.model, arm.fields)): arm for arm in found}
    return tuple(merged.values())


def _arms(
    name: str, levels: str | Sequence[str], max_tokens: int | None, policy: Policy
) -> Iterable[Arm]:
    bare, wish = load_catalog().apart(name)
    groups: dict[bytes, list[tuple[str, Plan]]] = {}
    wanted = (wish,) if wish is not None else _wanted(bare, levels)
    if auto := next((level for level in wanted if parse_auto(level) is not None), None):
        message = f"a sweep finds what {auto!r} stands for; name levels such as off,low,high"
        raise UsageError(message)
    for level in wanted:
        made = plan(bare, cast("ThinkingLike", level), max_tokens=max_tokens, policy=policy)
        key = msgspec.json.encode((made.fields, made.headers))
        groups.setdefault(key, []).append((level, made))
    for rank, group in enumerate(groups.values()):
        level, made = next((each for each in group if each[0] == each[1].level), group[0])
        names = tuple(each for each, _ in group)
        yield Arm(made.model, level, names, made.fields, rank, made.adjustments)


def _wanted(model: str, levels: str | Sequence[str]) -> Sequence[str]:
    """Return the levels to plan, the cheapest first; ``all`` are those of the dial."""
    if levels == ALL:
        own = [level for level in model_levels(model) if level not in LEVELS]
        return (*LEVELS, *own)
    listed = levels.split(",") if isinstance(levels, str) else levels
    words = [str(level).strip() for level in listed if str(level).strip()]
    if not words:
        message = f"levels={levels!r} cannot be; use all, or levels such as off,low,high"
        raise UsageError(message)
    return sorted(dict.fromkeys(words), key=_dearness)


def _dearness(level: str) -> tuple[int, int]:
    """Return where a level stands: words by the dial, budgets by their number, others last."""
    if level in LEVELS:
        return (0, LEVELS.index(level))
    return (1, int(level)) if level.isdecimal() else (2, 0)


def reference_of(arms: Sequence[Arm], wanted: str | None) -> int:
    """Return which arm the others are held against: the declared one, else the highest.

    Of several models it is the first one's; ``MODEL/LEVEL`` declares another's.
    """
    if wanted is None:
        first = [number for number, arm in enumerate(arms) if arm.model == arms[0].model]
        return first[-1]
    if found := find_arms(arms, wanted):
        return found[0]
    names = " ".join(arm.level for arm in arms)
    message = f"the reference {wanted!r} is no arm of this sweep; use one of {names}"
    raise BadParameter(message)


def find_arms(arms: Sequence[Arm], wanted: str) -> list[int]:
    """Return which arms have this level, or this ``MODEL/LEVEL``."""
    return [n for n, arm in enumerate(arms) if wanted in arm.levels or wanted in _names(arm)]


def _names(arm: Arm) -> set[str]:
    bare = arm.model.partition(":")[2]
    return {f"{model}/{level}" for model in (arm.model, bare) for level in arm.levels}
