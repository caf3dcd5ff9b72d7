"""What of the past may another model see? A view of a thread, and a manifest of every difference.

Nothing here changes the thread, so going back to who made it gives everything back.
"""

from .destination import Destination, Scope
from .manifest import Action, Change, Manifest
from .view import View, handoff

__all__ = ["Action", "Change", "Destination", "Manifest", "Scope", "View", "handoff"]
