"""What of the past may another model see? A view of a thread, and a manifest of every difference.

The thread itself never changes, so that going back to its first model loses nothing.
"""

from .destination import Destination, Refusal, mark
from .fitted_parts import REFUSED, UNSEEN, takes_medium
from .manifest import Action, Change, Manifest
from .open_loop import retold
from .surrogates import whole_json
from .view import View, handoff

__all__ = [
    "REFUSED",
    "UNSEEN",
    "Action",
    "Change",
    "Destination",
    "Manifest",
    "Refusal",
    "View",
    "handoff",
    "mark",
    "retold",
    "takes_medium",
    "whole_json",
]
