"""What a terminal chat decides: a pure reducer, its commands, and the effects it asks for.

No screen and no client: actions in, a new state and effects out.
"""

from . import actions, effects
from .actions import Action
from .catalog_view import Choice, Dial
from .cells import Called, Cell, Said, Spoken, Thought, Told, Waiting
from .commands import COMMANDS, completions
from .comparison import figures
from .effects import Effect
from .history import PAGE
from .reduce import begin, reduce
from .search import place
from .state import (
    Asked,
    Choosing,
    Column,
    Comparison,
    Known,
    Listing,
    Past,
    Proposal,
    State,
    Tally,
    Word,
)
from .status import BETWEEN, Piece, status, waiting
from .turn import trouble

__all__ = [
    "BETWEEN",
    "COMMANDS",
    "PAGE",
    "Action",
    "Asked",
    "Called",
    "Cell",
    "Choice",
    "Choosing",
    "Column",
    "Comparison",
    "Dial",
    "Effect",
    "Known",
    "Listing",
    "Past",
    "Piece",
    "Proposal",
    "Said",
    "Spoken",
    "State",
    "Tally",
    "Thought",
    "Told",
    "Waiting",
    "Word",
    "actions",
    "begin",
    "completions",
    "effects",
    "figures",
    "place",
    "reduce",
    "status",
    "trouble",
    "waiting",
]
