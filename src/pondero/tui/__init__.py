"""The chat on a terminal: the reducer in ``state`` decides; this folder talks, records, draws."""

from ._screen.app import run_chat
from ._screen.ending import is_by_signal
from ._screen.plain import run_plain_chat
from ._screen.widgets.views import theme_of
from .session import Session, approve
from .state import Action, ChatState, DialView, actions, initial_state
from .thread_writer import ThreadWriter

__all__ = [
    "Action",
    "ChatState",
    "DialView",
    "Session",
    "ThreadWriter",
    "actions",
    "approve",
    "initial_state",
    "is_by_signal",
    "run_chat",
    "run_plain_chat",
    "theme_of",
]
