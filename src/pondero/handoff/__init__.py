"""What of the past may another model see? A view of a thread, and a manifest of every difference.

Nothing here changes the thread: the model that made it can still be shown all of it.
"""

from .destination import Destination, Field, Refusal, mark
from .fitted_parts import REFUSED, UNSEEN
from .manifest import Action, Change, Manifest
from .view import View, handoff

__all__ = [
    "REFUSED",
    "UNSEEN",
    "Action",
    "Change",
    "Destination",
    "Field",
    "Manifest",
    "Refusal",
    "View",
    "handoff",
    "mark",
]
