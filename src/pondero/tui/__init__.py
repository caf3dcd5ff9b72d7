"""The chat on a terminal: the reducer in ``state`` decides; this folder talks, records, draws.

Names load their files on first use: the plain chat works without the library that draws.
"""

from typing import TYPE_CHECKING

from ..lazy import Loader, make_lazy_getattr

if TYPE_CHECKING:
    from ._screen.app import run_chat
    from ._screen.ending import is_by_signal
    from ._screen.plain import run_plain_chat
    from ._screen.widgets.views import theme_of
    from .session import Session, approve
    from .state import Action, ChatState, DialView, actions, initial_state
    from .thread_writer import LeftThread, ThreadWriter

_FILES = {
    "_screen.app": "run_chat",
    "_screen.ending": "is_by_signal",
    "_screen.plain": "run_plain_chat",
    "_screen.widgets.views": "theme_of",
    "session": "Session approve",
    "state": "Action ChatState DialView actions initial_state",
    "thread_writer": "LeftThread ThreadWriter",
}

__all__ = [
    "Action",
    "ChatState",
    "DialView",
    "LeftThread",
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

__getattr__: Loader = make_lazy_getattr(__name__, _FILES)
