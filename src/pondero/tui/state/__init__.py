"""What a terminal chat decides: a pure reducer, its commands, and the effects it asks for.

No screen and no client: actions in, a new state and effects out.
"""

from . import actions, effects
from .actions import Action
from .catalog_view import Choice, DialView
from .cells import AnswerCell, Cell, NoticeCell, ThinkingCell, ToolCallCell, UserCell, WaitingCell
from .commands import COMMANDS, completions
from .comparison import column_figures
from .effects import Effect
from .history import PAGE
from .reduce import initial_state, reduce
from .search import place_value
from .state import (
    ChatState,
    Column,
    ComparisonState,
    DraftQuestion,
    PickerState,
    Proposal,
    SavedThread,
    ThreadMessage,
    ThreadPaneState,
    UsageTally,
    Word,
)
from .status import BETWEEN, StatusPiece, queued_lines, status
from .turn import trouble

__all__ = [
    "BETWEEN",
    "COMMANDS",
    "PAGE",
    "Action",
    "AnswerCell",
    "Cell",
    "ChatState",
    "Choice",
    "Column",
    "ComparisonState",
    "DialView",
    "DraftQuestion",
    "Effect",
    "NoticeCell",
    "PickerState",
    "Proposal",
    "SavedThread",
    "StatusPiece",
    "ThinkingCell",
    "ThreadMessage",
    "ThreadPaneState",
    "ToolCallCell",
    "UsageTally",
    "UserCell",
    "WaitingCell",
    "Word",
    "actions",
    "column_figures",
    "completions",
    "effects",
    "initial_state",
    "place_value",
    "queued_lines",
    "reduce",
    "status",
    "trouble",
]
