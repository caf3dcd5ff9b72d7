"""The most that a model may write for a request, and what in the request decides it."""

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from ...canon import Json, get_path
from ...catalog import ModelEntry
from ...dialects import get_dialect, may_escape_names
from ...framing import parse_json_or_none
from ...thinking import Plan
from ..requests.routed_request import UNKNOWN_OUTPUT, RoutedRequest
from .hosted_tools import find_hosted

_MOST_ANSWERS = 10**6

Path = tuple[str, ...]


class OutputBound(Struct, frozen=True):
    """The most tokens of all answers to a request, and the most of them that are thinking."""

    output: int
    thinking: int


def find_output_bound(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> OutputBound:
    """Return the most that a model may write with this plan."""
    if routed.framed is None:
        return _find_output_bound(routed, entry, plan)
    # No text of a question says how much may be written: what decides it is in the frame.
    needs = (routed.request.max_tokens, routed.tool_uses, routed.stored_level, entry, plan)
    frame = routed.framed.frame
    return frame.find_fact("output", needs, _find_output_bound, routed, entry, plan)


def _find_output_bound(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> OutputBound:
    each = find_limit(routed, entry, plan)
    answers = count_answers(routed, entry)
    if plan.will_think is False and not _thinks_more(routed, entry, plan):
        return OutputBound(each * answers, 0)
    thinking = each if plan.budget is None else min(plan.budget, each)
    return OutputBound(each * answers, thinking * answers)


def _thinks_more(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> bool:
    """Return whether a model may think although the plan says off.

    A model of which nothing is known may ignore it. With tools, some services think a little all
    the same. OpenAI's mode "pro" is depth above any level. A conversation that the service stores
    may have set a level; a turn of this request that replaces it may have to go.
    """
    if entry.capability.thinks and entry.evidence == "inferred":
        return True
    own = get_dialect(entry.provider.dialect).service()
    if own.passthrough.hosted.thinks and entry.capability.thinks and find_hosted(routed, entry):
        return True
    if own.depth.between_tools is not None and routed.request.tools:
        path, value = own.depth.between_tools
        if get_path(plan.fields, path) == value:
            return True
    if entry.provider.dialect != routed.call.client_dialect:
        return False
    if routed.stored_level is not None and routed.stored_level.may_set:
        return True
    return any(value != "standard" for value in _values(routed, routed.service.depth.more))


def find_limit(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> int:
    """Return the most tokens of one answer: as requested, as planned, or as the model can."""
    path = entry.provider.parameters.get("max_tokens") if plan.fields else None
    planned = get_path(plan.fields, path) if path else None
    asked = routed.request.max_tokens
    limit = max(
        asked if asked is not None and asked > 0 else 0,
        planned if isinstance(planned, int) and planned > 0 else 0,
    )
    return max(limit or entry.capability.max_output or UNKNOWN_OUTPUT, plan.budget or 0)


def count_answers(routed: RoutedRequest, entry: ModelEntry) -> int:
    """Return how many answers a request asks for; another API is asked for as many."""
    if entry.provider.dialect == routed.call.client_dialect:
        places = routed.service.passthrough.answers_at
    else:
        places = routed.service.portability.answers.places.get("count", ())
    if not _names_any(routed.call.http.body, places):
        return 1
    values = _values(routed, places)
    return min(max((_whole(each) for each in values), default=1), _MOST_ANSWERS)


def find_background(routed: RoutedRequest) -> str | None:
    """Return the field by which the answer comes after the response, so that it cannot be counted.

    None if it comes with the response.
    """
    for path, words in routed.service.passthrough.background_at:
        for value in _values(routed, (path,)):
            if value in words if words else value:
                return ".".join(path)
    return None


def _values(routed: RoutedRequest, places: tuple[Path, ...]) -> Iterator[Json]:
    """Yield what a request says at these places; the body is parsed only if it names one."""
    body = routed.call.http.body
    if not _names_any(body, places):
        return
    fields = parse_json_or_none(body)
    for path in places if isinstance(fields, dict) else ():
        value = get_path(fields, path)
        if value is not None:
            yield value


def _names_any(body: bytes, places: tuple[Path, ...]) -> bool:
    """Return whether a body may have one of these places."""
    if not places:
        return False
    contains = body.__contains__
    return any(map(contains, _list_marks(places))) or may_escape_names(contains)


@lru_cache(maxsize=64)
def _list_marks(places: tuple[Path, ...]) -> tuple[bytes, ...]:
    return tuple(b'"%b"' % path[-1].encode() for path in places)


def _whole(value: Json) -> int:
    """Return a number of answers; some services read texts and floats too."""
    try:
        return max(1, int(float(value)))
    except (TypeError, ValueError, OverflowError):
        return 1
