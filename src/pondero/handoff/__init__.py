"""Which parts of the past another model may see: a view of a thread, and a manifest of changes."""

from .adapt_parts import (
    BOUND_ELSEWHERE,
    EMULATED_ELSEWHERE,
    HISTORY_LOST,
    MOVED_OUT,
    NOT_EMULATED,
    REFUSED,
    RETOLD,
    UNCITED,
    UNREADABLE,
    UNSEEN,
    UNTOLD,
    accepts_media,
    answer_interrupted,
    is_reachable,
)
from .begun_view import BegunView, KnownViews, continue_handoff, list_tools
from .destination import (
    UNKNOWN_ACCOUNT,
    Destination,
    Rejection,
    holds_other_account,
    holds_other_kind,
    signature_digest,
)
from .manifest import Action, Change, Manifest
from .open_tool_loop import find_loop_start, retell_calls, retell_open_loop
from .surrogates import replace_surrogates_in_json
from .system_turns import FOLDED, MOVED, allows_system_turns
from .view import BEGINNING, UNASKED, View, handoff

__all__ = [
    "BEGINNING",
    "BOUND_ELSEWHERE",
    "EMULATED_ELSEWHERE",
    "FOLDED",
    "HISTORY_LOST",
    "MOVED",
    "MOVED_OUT",
    "NOT_EMULATED",
    "REFUSED",
    "RETOLD",
    "UNASKED",
    "UNCITED",
    "UNKNOWN_ACCOUNT",
    "UNREADABLE",
    "UNSEEN",
    "UNTOLD",
    "Action",
    "BegunView",
    "Change",
    "Destination",
    "KnownViews",
    "Manifest",
    "Rejection",
    "View",
    "accepts_media",
    "allows_system_turns",
    "answer_interrupted",
    "continue_handoff",
    "find_loop_start",
    "handoff",
    "holds_other_account",
    "holds_other_kind",
    "is_reachable",
    "list_tools",
    "replace_surrogates_in_json",
    "retell_calls",
    "retell_open_loop",
    "signature_digest",
]
