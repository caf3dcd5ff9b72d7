"""What of the past may another model see? A view of a thread, and a manifest of every difference.

Nothing here changes the thread, so going back to who made it gives everything back.
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
