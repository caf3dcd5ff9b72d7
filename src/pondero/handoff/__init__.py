"""Which parts of the past another model may see: a view of a thread, and a manifest of changes."""

from .adapt_parts import REFUSED, UNSEEN, accepts_media, is_reachable
from .destination import Destination, Rejection, signature_digest
from .manifest import Action, Change, Manifest
from .open_tool_loop import retell_open_loop
from .surrogates import replace_surrogates_in_json
from .system_turns import FOLDED, MOVED, allows_system_turns
from .view import View, handoff

__all__ = [
    "FOLDED",
    "MOVED",
    "REFUSED",
    "UNSEEN",
    "Action",
    "Change",
    "Destination",
    "Manifest",
    "Rejection",
    "View",
    "accepts_media",
    "allows_system_turns",
    "handoff",
    "is_reachable",
    "replace_surrogates_in_json",
    "retell_open_loop",
    "signature_digest",
]
