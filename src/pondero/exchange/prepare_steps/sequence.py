"""The steps of ``prepare`` in order, and which of them a request needs: most requests need few."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec.structs import replace

from ...canon import Message, Text
from ..encodable import check_encodable
from ..planner import insist, merge_native_fields
from .draft import RequestDraft
from .foreign_tools import replace_foreign_tools
from .history import (
    hand_off_history,
    note_withheld,
    require_turn,
    resolve_open_loop,
    retell_all_calls,
)
from .level_updates import find_level_window, place_level
from .limits import apply_prefill, drop_unsupported, fold_system
from .output import fit_citations, fit_output
from .pictures import check_pictures
from .rejections import omit_rejected
from .tool_limits import check_tool_count, fit_tools, offer_allowed, raise_level
from .tool_names import fit_tool_names
from .tool_schemas import fit_tool_schemas

Step = Callable[[RequestDraft], RequestDraft]


def apply_native_fields(draft: RequestDraft) -> RequestDraft:
    """Let thinking fields in the request's extras win over the plan's level."""
    extras = draft.request.extras
    if not extras or not isinstance(extras, Mapping):
        return draft
    plan = merge_native_fields(
        draft.entry, draft.plan, extras, asked=draft.parameters, policy=draft.policy
    )
    return draft.but(plan=plan)


def encode_request(draft: RequestDraft) -> RequestDraft:
    """Write the request in the provider's API; raises BadParameter for a value that is no JSON."""
    target = draft.target
    if draft.views is not None:
        target = replace(target, earlier=draft.views)
    try:
        http = draft.caller.encode(draft.request, draft.plan, target)
    except TypeError:
        check_encodable(draft.request)
        raise
    return replace(draft, http=http)


def check_policy(draft: RequestDraft) -> RequestDraft:
    """Raise Unsupported if a strict policy forbids an adjustment that the steps made."""
    if draft.policy.unsupported == "strict":
        notes = draft.plan.adjustments
        insist(draft.entry, tuple(note for note in notes if note not in draft.allowed))
    return draft


# What a request may have, one bit each; a step runs if the request has any of its bits.
_EXTRAS, _TURNS, _TOOLS, _OUTPUT, _SYSTEM, _PARAMETERS, _REJECTED, _STRICT, _ALL = (
    1 << bit for bit in range(9)
)

# The order is behaviour: a step sees what the steps before it changed, and adds its notes last.
STEPS: Mapping[Step, int] = {
    apply_native_fields: _EXTRAS,
    find_level_window: _TURNS,
    hand_off_history: _ALL,
    resolve_open_loop: _TURNS,
    retell_all_calls: _TURNS,
    note_withheld: _ALL,
    apply_prefill: _TURNS,
    require_turn: _ALL,
    check_pictures: _TURNS,
    offer_allowed: _TOOLS,
    replace_foreign_tools: _TOOLS,
    raise_level: _TOOLS,
    # The steps before it may change the plan, and with it the parameters that go.
    drop_unsupported: _PARAMETERS | _TOOLS | _TURNS | _EXTRAS,
    fit_tool_schemas: _TOOLS,
    fit_output: _OUTPUT,
    fit_citations: _TURNS,
    fit_tools: _TOOLS,
    check_tool_count: _TOOLS,
    fit_tool_names: _TOOLS | _TURNS,
    fold_system: _SYSTEM | _TURNS | _OUTPUT,  # turns and formats may add to the system prompt
    place_level: _TURNS,
    encode_request: _ALL,
    omit_rejected: _REJECTED,
    check_policy: _STRICT,
}
LONG_STEPS = frozenset((hand_off_history, fit_tool_schemas, place_level))
"""Those after which a long request gives way to others."""


def select_steps(draft: RequestDraft) -> tuple[Step, ...]:
    """Return the steps that may change this request, in order."""
    request = draft.request
    return _select(
        _ALL
        | (_EXTRAS if request.extras else 0)
        | (0 if _are_words(request.messages) else _TURNS)
        | (_TOOLS if request.tools or request.tool_choice is not None else 0)
        | (_OUTPUT if request.output is not None else 0)
        | (_SYSTEM if request.system else 0)
        | (_PARAMETERS if request.stop or draft.plan.dropped else 0)
        | (_REJECTED if draft.rejections else 0)
        | (_STRICT if draft.policy.unsupported == "strict" else 0)
    )


@lru_cache(maxsize=512)  # one for each set of bits
def _select(needs: int) -> tuple[Step, ...]:
    return tuple(step for step, bits in STEPS.items() if bits & needs)


def _are_words(messages: tuple[Message, ...]) -> bool:
    """Return whether a conversation has nothing but words of the user."""
    for message in messages:
        if message.role != "user" or message.origin is not None:
            return False
        for part in message.parts:
            if type(part) is not Text:
                return False
    return True
