"""The chat on a terminal: the reducer in ``state`` decides; this folder talks, records, draws."""

from .app import ChatApp
from .session import Session, approve
from .state import Action, DialView, actions, initial_state
from .thread_writer import ThreadWriter
from .widgets.views import theme_of

__all__ = [
    "Action",
    "ChatApp",
    "DialView",
    "Session",
    "ThreadWriter",
    "actions",
    "approve",
    "initial_state",
    "theme_of",
]
