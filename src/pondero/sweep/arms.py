"""Arms: the models at levels that a sweep compares. Levels with the same fields are one arm.

They are asked with ``show="none"``: levels that differ only in the thinking shown count as one.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from ..canon import Json
from ..client import PolicyLike, load_catalog, model_levels, plan, resolve_policy
from ..errors import BadParameter, UsageError
from ..thinking import LEVELS, Adjustment, Plan, Policy, parse_auto

ALL = "all"


class Arm(Struct, frozen=True):
    """A model at the levels that become the same request; ``rank`` orders by expected cost."""

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
    """Return the policy of a sweep."""
    return resolve_policy(policy).but(show="none", unsupported="adjust")


def arms_of(
    models: Iterable[str],
    levels: str | Sequence[str] = ALL,
    *,
    max_tokens: int | None = None,
    policy: Policy | None = None,
) -> tuple[Arm, ...]:
    """Return the arms of these models, cheapest first; ``MODEL/LEVEL`` has that level only."""
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
    bare, level_text = load_catalog().apart(name)
    groups: dict[bytes, list[tuple[str, Plan]]] = {}
    wanted = (level_text,) if level_text is not None else _choose_levels(bare, levels)
    if auto := next((level for level in wanted if parse_auto(level) is not None), None):
        message = f"a sweep cannot measure {auto!r}; name levels such as off,low,high"
        raise UsageError(message)
    every = [(level, plan(bare, level, max_tokens=max_tokens, policy=policy)) for level in wanted]
    for level, planned in _sort_by_depth(every):
        key = msgspec.json.encode((planned.fields, planned.headers))
        groups.setdefault(key, []).append((level, planned))
    for rank, group in enumerate(groups.values()):
        level, planned = next((each for each in group if each[0] == each[1].level), group[0])
        names = tuple(each for each, _ in group)
        yield Arm(planned.model, level, names, planned.fields, rank, planned.adjustments)


def _sort_by_depth(every: list[tuple[str, Plan]]) -> list[tuple[str, Plan]]:
    """Return levels and numbers of tokens in one order: by budget, else by the level sent."""
    if all(level in LEVELS for level, _ in every):
        return every  # a number can be below a level; levels are in their order
    budgets = [_find_budget(planned) for _, planned in every]
    if None not in budgets:
        return sorted(every, key=lambda each: _find_budget(each[1]) or 0)
    if all(planned.level in LEVELS for _, planned in every):
        return sorted(every, key=lambda each: LEVELS.index(each[1].level or "off"))
    return every


def _find_budget(planned: Plan) -> int | None:
    return planned.budget if planned.will_think else 0


_SMALL_LIMIT = 2_048  # output tokens; room for the smallest budget and an answer


class LoweredLevel(Struct, frozen=True):
    """A level whose token budget ``max_tokens`` lowers; from ``enough`` on it is sent in full."""

    level: str
    budget: int
    full: int
    enough: int


def find_lowered(arm: Arm, max_tokens: int | None) -> list[LoweredLevel]:
    """Return which levels of an arm a limit of output tokens lowers."""
    try:
        most = load_catalog().entry(arm.model).capability.max_output
    except UsageError:
        return []  # of an earlier run: the catalog does not have it any more
    if max_tokens is None or most is None:
        return []

    def budget(level: str, limit: int) -> int | None:
        return plan(arm.model, level, max_tokens=limit, policy=sweep_policy()).budget

    found = []
    for level in arm.levels:
        sent, full = budget(level, max_tokens), budget(level, most)
        if sent is None or full is None or sent >= full:
            continue
        low, high = max_tokens, most  # the least limit that lowers nothing is in (low, high]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if budget(level, middle) == full else (middle, high)
        found.append(LoweredLevel(level, sent, full, high))
    return found


def find_full_limit(arm: Arm) -> int | None:
    """Return below which output limit an arm thinks with a smaller budget; None if never."""
    return max((each.enough for each in find_lowered(arm, _SMALL_LIMIT)), default=None)


def describe_levels(arm: Arm, max_tokens: int | None) -> str:
    """Return which levels of an arm are one request, or what the limit lowers; may be empty."""
    lowered = find_lowered(arm, max_tokens)
    if len(arm.levels) > 1:
        return _describe_merged(arm, lowered, max_tokens)
    return _describe_lowered(arm, lowered[0], max_tokens) if lowered else ""


def _describe_merged(arm: Arm, lowered: Sequence[LoweredLevel], limit: int | None) -> str:
    *most, last = arm.levels
    same = f"{', '.join(most)} and {last} send the same to {arm.model}"
    if not lowered:
        return f"{same}: one arm"
    enough = max(each.enough for each in lowered)
    return (
        f"{same}, because --max-tokens {limit} leaves {lowered[0].budget:,} tokens for thinking: "
        f"one arm; from --max-tokens {enough} on, each level is sent in full"
    )


def _describe_lowered(arm: Arm, found: LoweredLevel, limit: int | None) -> str:
    return (
        f"--max-tokens {limit} lowers the thinking of {arm.name} from {found.full:,} to "
        f"{found.budget:,} tokens; from --max-tokens {found.enough} on, it is sent in full"
    )


def _choose_levels(model: str, levels: str | Sequence[str]) -> Sequence[str]:
    if levels == ALL:
        own = [level for level in model_levels(model) if level not in LEVELS]
        return (*LEVELS, *own)
    listed = levels.split(",") if isinstance(levels, str) else levels
    words = [str(level).strip() for level in listed if str(level).strip()]
    if not words:
        message = f"invalid levels={levels!r}; use all, or levels such as off,low,high"
        raise UsageError(message)
    return sorted(dict.fromkeys(words), key=_dearness)


def _dearness(level: str) -> tuple[int, int]:
    if level in LEVELS:
        return (0, LEVELS.index(level))
    return (1, int(level)) if level.isdecimal() else (2, 0)


def reference_of(arms: Sequence[Arm], wanted: str | None) -> int:
    """Return the arm to compare with: the declared one, else the first model's highest."""
    if wanted is None:
        first = [number for number, arm in enumerate(arms) if arm.model == arms[0].model]
        return first[-1]
    if found := find_arms(arms, wanted):
        return found[0]
    names = " ".join(arm.level for arm in arms)
    message = f"the reference {wanted!r} is not an arm of this sweep; use one of {names}"
    raise BadParameter(message)


def find_arms(arms: Sequence[Arm], wanted: str) -> list[int]:
    """Return which arms have this level, or this ``MODEL/LEVEL``."""
    name = wanted if any(wanted in arm.levels for arm in arms) else load_catalog().pin(wanted)
    return [n for n, arm in enumerate(arms) if wanted in arm.levels or name in _names(arm)]


def check_expected(arms: Sequence[Arm], reference: int, expect: str | None) -> None:
    """Raise BadParameter if no arm that can be shown to be enough is expected by this name."""
    if expect is None:
        return
    others = [arm.name for number, arm in enumerate(arms) if number != reference]
    found = find_arms(arms, expect)
    if not found or found == [reference]:
        how = "is the reference" if found else "is no arm of this sweep"
        message = f"--expect {expect!r} {how}; use one of {' '.join(others)}"
        raise BadParameter(message)


def _names(arm: Arm) -> set[str]:
    bare = arm.model.partition(":")[2]
    return {f"{model}/{level}" for model in (arm.model, bare) for level in arm.levels}
