"""The rules and quotas of a request's route, group and key, and what they say together.

They depend on the configuration alone, so they are put together once for each combination.
"""

from collections.abc import Sequence

from msgspec import Struct

from ..config.model import GatewayGroup, GatewayKey, GatewayRoute, LevelRules
from ..quotas.quota import Holder, Quota, find_quotas

_NO_RULES = LevelRules()
_MOST = 1_024  # combinations


class RequestRules(Struct, frozen=True):
    """What holds for a request; ``holders``: its route, its key's group, and its key.

    ``levels``: the rules on levels that say something. ``is_limited``: there are rules that hold
    for the named models only. ``limits_models``: a rule says which models may be asked, or with
    which levels. ``binds``: a level is limited. ``counts``: what a model writes is counted.
    """

    holders: tuple[Holder, ...]
    levels: tuple[LevelRules, ...]
    quotas: Sequence[Quota]
    is_limited: bool
    limits_models: bool
    binds: bool
    counts: bool


_Parts = tuple[GatewayRoute | None, GatewayGroup | None, GatewayKey | None]
_known: dict[tuple[int, int, int], tuple[_Parts, RequestRules]] = {}


def find_rules(
    route: GatewayRoute | None, group: GatewayGroup | None, key: GatewayKey | None
) -> RequestRules:
    """Return what holds for the requests of a key to a route."""
    # By identity: they are long, and those of one configuration are always the same objects.
    place = (id(route), id(group), id(key))
    found = _known.get(place)
    if found is None:
        if len(_known) >= _MOST:
            _known.clear()
        # With its parts, so that no other object gets their identity.
        found = _known[place] = ((route, group, key), _put_together(route, group, key))
    return found[1]


def _put_together(
    route: GatewayRoute | None, group: GatewayGroup | None, key: GatewayKey | None
) -> RequestRules:
    holders = tuple(each for each in (route, group, key) if each is not None)
    levels = tuple(each.thinking for each in holders if each.thinking != _NO_RULES)
    quotas = find_quotas(*reversed(holders))
    limits_models = bool(levels) or (key is not None and key.models is not None)
    return RequestRules(
        holders=holders,
        levels=levels,
        quotas=quotas,
        is_limited=limits_models or any(each.budget or each.limit for each in holders),
        limits_models=limits_models,
        binds=any(each.binds for each in levels),
        counts=any(quota.unit != "requests" for quota in quotas),
    )
