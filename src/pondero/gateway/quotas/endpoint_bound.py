"""The most tokens that a request to an endpoint can use, found from its body.

Services read numbers in different ways: for many, 9.0 and "9" are 9 too; some read names in any
case. A number that a service might understand is counted; what no service can limit is not admitted
under a quota.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, isfinite

from ...canon import MEDIA, Json, MediaKind, Usage, get_path
from ...dialects import Endpoint, OutputField, iter_ids, may_escape_names
from ...errors import BadParameter
from ...exchange import fold_name, group_names
from ..requests.routed_request import UNKNOWN_OUTPUT
from .quota import Quota

_MOST_TIMES = 1 << 20  # of a factor that a client made up
_MOST = 1 << 53  # tokens; a ledger has no room for any number


def find_most(
    endpoint: Endpoint, body: bytes, raw: Json, *, providers: Iterable[str]
) -> Usage | None:
    """Return the most tokens that a request can use; None if its body does not limit them."""
    if endpoint.counts != "body":
        return None
    place = endpoint.output
    if place is None:
        return Usage(len(body) + _find_most_media(endpoint, body), output=0)
    limit = _find_limit(place, raw, providers)
    most = UNKNOWN_OUTPUT if limit is None else limit
    return Usage(len(body), output=min(_MOST, most * _find_times(place, raw)))


def find_body_media(endpoint: Endpoint, body: bytes) -> tuple[MediaKind, ...]:
    """Return what a body may have besides text."""
    names = endpoint.media_fields
    if not names:
        return ()
    is_named = any(name.encode() in body for name in names)
    return MEDIA if is_named or may_escape_names(body.__contains__) else ()


def _find_most_media(endpoint: Endpoint, body: bytes) -> int:
    """Return the most tokens of pictures, sounds and films: a few bytes of these can be many."""
    if not endpoint.media_tokens or not find_body_media(endpoint, body):
        return 0
    named = sum(body.count(name.encode()) for name in endpoint.media_fields)
    return endpoint.media_tokens * max(1, named)


def check_limit(
    endpoint: Endpoint, raw: Json, *, providers: Iterable[str], quotas: Sequence[Quota]
) -> None:
    """Raise BadParameter if a quota counts tokens, and nothing says how many may be written."""
    place = endpoint.output
    if place is None or all(quota.unit == "requests" for quota in quotas):
        return
    if _find_limit(place, raw, providers) is None:
        message = (
            f"{place.field} must be a number from 1: this key or route has a budget or a rate "
            "limit of tokens, and nothing else says how much may be written"
        )
        raise BadParameter(message)


def check_named_files(
    endpoint: Endpoint, raw: Json, names: Sequence[str], *, quotas: Sequence[Quota]
) -> None:
    """Raise BadParameter if a quota counts tokens, and a file has some that the body does not.

    ``names``: the fields that name files and other stored things.
    """
    if endpoint.counts != "body" or all(quota.unit == "requests" for quota in quotas):
        return
    for path in endpoint.account_at:
        if get_path(raw, path.split(".")):
            message = (
                f"{path} brings text of an unknown number of tokens: this key or route has a "
                "budget or a rate limit of tokens; send the content itself"
            )
            raise BadParameter(message)
    if any(iter_ids(raw, tuple(names))):
        message = (
            "the request names a file of an unknown number of tokens: this key or route "
            "has a budget or a rate limit of tokens; send the content itself"
        )
        raise BadParameter(message)


def _find_limit(place: OutputField, raw: Json, providers: Iterable[str]) -> int | None:
    """Return how much each answer may have; None if that is not known."""
    fields, asked = _list_values(raw), tuple(providers)
    has_default = all(each in place.default_at for each in asked)
    limits: list[int | None] = []
    if fold_name(place.field) not in fields:
        limits.append(place.default if has_default else None)
    for value in _pick(fields, (place.field, *place.others)):
        is_ignored = isinstance(value, str) and any(each in place.numbers_at for each in asked)
        limits.append(None if is_ignored else _read_limit(value, is_zero_none=not has_default))
    known = [each for each in limits if each is not None]
    return max(known) if len(known) == len(limits) else None


def _find_times(place: OutputField, raw: Json) -> int:
    """Return how many answers there may be."""
    fields = _list_values(raw)
    counts = [_read_count(each) for each in _pick(fields, place.times)]
    times = max([1, *(_MOST_TIMES if each is None else each for each in counts)])
    lists = [each for each in _pick(fields, (place.prompts,)) if isinstance(each, list)]
    return min(times * max([1, *map(len, lists)]), _MOST_TIMES)


def _list_values(raw: Json) -> dict[str, list[Json]]:
    """Return the values of a body by their folded names."""
    fields = raw if isinstance(raw, dict) else {}
    names = group_names(fields).items()
    found = {name: [fields[each] for each in same] for name, same in names}
    given = {name: [each for each in values if each is not None] for name, values in found.items()}
    return {name: values for name, values in given.items() if values}


def _pick(fields: Mapping[str, list[Json]], names: Iterable[str]) -> Iterator[Json]:
    """Yield the values of these names, in any spelling."""
    for name in names:
        yield from fields.get(fold_name(name), ())


def _read_limit(value: Json, *, is_zero_none: bool) -> int | None:
    """Return a limit of tokens; None if the service writes without one, as some do for 0."""
    count = _read_count(value)
    if count is not None and count <= 1 and float(value) < 1:
        return None if is_zero_none else 0
    return count


def _read_count(value: Json) -> int | None:
    """Return a number as the most lenient service reads it; None if it is no count."""
    if not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return _MOST if isinstance(value, int) and value > 0 else None
    if not isfinite(number) or number < 0:
        return None
    return min(_MOST, ceil(number))
