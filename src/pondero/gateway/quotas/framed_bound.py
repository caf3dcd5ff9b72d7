"""The most that a question in a known frame may take: only the length of its text is new."""

from functools import partial

from msgspec import Struct

from ...canon import Usage
from ...catalog import ModelEntry
from ...exchange import TextSize, sum_most
from ...thinking import Plan
from ..requests.routed_request import RoutedRequest
from .hosted_tools import adds_nothing
from .output_bound import OutputBound, find_output_bound
from .prompt_bound import find_frame, is_short_text


class _FrameBound(Struct, frozen=True):
    """What a request takes besides its text, and what its answer may."""

    text: TextSize
    answer: OutputBound


def find_framed_bound(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> Usage | None:
    """Return the most that a request may take; None if more than its text decides that."""
    if routed.framed is None or not is_short_text(routed):
        return None
    request = routed.request
    needs = (
        *(entry, plan, request.system, request.tools, request.output, request.max_tokens),
        *(routed.tool_uses, routed.stored_level),
    )
    find = partial(_find_bound, routed, entry, plan)
    bound = routed.framed.frame.find_fact("bound", needs, find)
    if bound is None:
        return None
    prompt, answer = sum_most(bound.text.add(request.messages)), bound.answer
    return Usage(prompt, output=answer.output - answer.thinking, thinking=answer.thinking)


def _find_bound(routed: RoutedRequest, entry: ModelEntry, plan: Plan) -> _FrameBound | None:
    text = find_frame(routed, entry)
    if text is None or not adds_nothing(routed, entry):
        return None
    return _FrameBound(text, find_output_bound(routed, entry, plan))
