"""What the user of the library sees."""

from ..lazy import lazily
from ..store import lookup
from .dial import PolicyLike, levels, models, plan, policy_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .chat import AsyncChat, Chat
    from .client import AsyncClient, Client, aask, ask
    from .completion import complete, levels_of
    from .course import AsyncTurnStream, TurnStream
    from .doctor import Finding, findings
    from .prices import cost, has_prices
    from .recorder import Recorder, cost_of, kept_of
    from .rewriting import dialled

_HOMES = {
    "AsyncChat": "chat",
    "AsyncClient": "client",
    "Chat": "chat",
    "AsyncTurnStream": "course",
    "Client": "client",
    "Finding": "doctor",
    "Recorder": "recorder",
    "TurnStream": "course",
    "aask": "client",
    "ask": "client",
    "complete": "completion",
    "cost": "prices",
    "cost_of": "recorder",
    "dialled": "rewriting",
    "findings": "doctor",
    "has_prices": "prices",
    "kept_of": "recorder",
    "levels_of": "completion",
}

__all__ = [
    "AsyncChat",
    "AsyncClient",
    "AsyncTurnStream",
    "Chat",
    "Client",
    "Finding",
    "PolicyLike",
    "Recorder",
    "TurnStream",
    "aask",
    "ask",
    "complete",
    "cost",
    "cost_of",
    "dialled",
    "findings",
    "has_prices",
    "kept_of",
    "levels",
    "levels_of",
    "lookup",
    "models",
    "plan",
    "policy_of",
]

# Load what talks on first use: a plan needs none of it.
__getattr__ = lazily(__name__, _HOMES)
