"""What a terminal chat decides: a pure reducer, its commands, and the effects it asks for."""

from . import actions, effects
from .actions import Action
from .catalog_view import Choice, DialView
from .cells import (
    AnswerCell,
    Cell,
    ModelCell,
    NoticeCell,
    ThinkingCell,
    ToolCallCell,
    UserCell,
    WaitingCell,
    format_seconds,
)
from .commands import COMMANDS, completions
from .effects import Effect
from .handlers.comparison import column_figures
from .handlers.history import PAGE
from .handlers.last_turn import read_question, write_question
from .handlers.model_switch import preview_switch
from .handlers.search import place_value
from .handlers.turn import describe_trouble
from .reduce import initial_state, reduce
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
    "ModelCell",
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
    "describe_trouble",
    "effects",
    "format_seconds",
    "initial_state",
    "place_value",
    "preview_switch",
    "queued_lines",
    "read_question",
    "reduce",
    "status",
    "write_question",
]
