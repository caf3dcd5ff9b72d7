"""The chat on a terminal: the reducer in ``state`` decides; the files here talk, record and draw.

``pondero chat`` starts it.
"""

from .app import ChatApp
from .keeper import Keeper
from .session import Session, approve
from .state import Action, Dial, actions, begin
from .views import theme_of

__all__ = [
    "Action",
    "ChatApp",
    "Dial",
    "Keeper",
    "Session",
    "actions",
    "approve",
    "begin",
    "theme_of",
]
