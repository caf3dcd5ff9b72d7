"""The most tokens that a request to an endpoint can use, found from its body.

Services read numbers in different ways: for many, 9.0 and "9" are 9 too. A number that a service
might understand is counted; what no service can limit is not admitted under a quota.
"""

from collections.abc import Iterable, Sequence
from math import ceil, isfinite

from ...canon import MEDIA, Json, MediaKind, Usage, get_path
from ...dialects import Endpoint, OutputField, iter_ids, may_escape_names
from ...errors import BadParameter
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
        return Usage(len(body), output=0)
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


def check_limit(
    endpoint: Endpoint, raw: Json, *, providers: Iterable[str], quotas: Sequence[Quota]
) -> None:
    """Raise BadParameter if a quota counts tokens, and nothing says how many may be written."""
    place = endpoint.output
    if place is None or all(quota.unit == "requests" for quota in quotas):
        return
    if _find_limit(place, raw, providers) is None:
        message = (
            f"{place.field} must be a number: this key or route has a budget or a rate limit of "
            "tokens, and nothing else says how much may be written"
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
    fields, asked = raw if isinstance(raw, dict) else {}, tuple(providers)
    limits: list[int | None] = []
    if fields.get(place.field) is None:
        limits.append(place.default if all(each in place.default_at for each in asked) else None)
    for name in (place.field, *place.others):
        if (value := fields.get(name)) is not None:
            is_ignored = isinstance(value, str) and any(each in place.numbers_at for each in asked)
            limits.append(None if is_ignored else _read_count(value))
    known = [each for each in limits if each is not None]
    return max(known) if len(known) == len(limits) else None


def _find_times(place: OutputField, raw: Json) -> int:
    """Return how many answers there may be."""
    fields = raw if isinstance(raw, dict) else {}
    counts = [_read_count(fields[name]) for name in place.times if fields.get(name) is not None]
    times = max([1, *(_MOST_TIMES if each is None else each for each in counts)])
    prompts = fields.get(place.prompts)
    times *= max(1, len(prompts)) if isinstance(prompts, list) else 1
    return min(times, _MOST_TIMES)


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
