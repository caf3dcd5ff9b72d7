"""The library: Client, Chat, Prepared, Stream, Turn, Tools, and the dial as functions."""

from ..lazy import Loader, make_lazy_getattr
from ..store import load_catalog
from .dial import PolicyLike, complete, levels, levels_of, models, plan, policy_of, wishes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..exchange import Prepared
    from .apply_dial import set_level
    from .attachments import attachment
    from .batches import AsyncBatch, Batch
    from .chat import AsyncChat, Chat
    from .client import AsyncClient, Client
    from .doctor import Finding, findings
    from .messages import messages_of
    from .recorder import Recorder, cost_of, kept_of
    from .shared import aask, ask
    from .stream import AsyncStream, Stream
    from .tools import Approve, OfferedTool, Tools
    from .turn import AsyncTurn, Turn

_HOMES = {
    "AsyncBatch": "batches",
    "AsyncChat": "chat",
    "AsyncClient": "client",
    "AsyncStream": "stream",
    "AsyncTurn": "turn",
    "Batch": "batches",
    "Chat": "chat",
    "Client": "client",
    "Finding": "doctor",
    "Approve": "tools",
    "OfferedTool": "tools",
    "Prepared": "client",
    "Recorder": "recorder",
    "Stream": "stream",
    "Tools": "tools",
    "Turn": "turn",
    "aask": "shared",
    "ask": "shared",
    "attachment": "attachments",
    "cost_of": "recorder",
    "findings": "doctor",
    "kept_of": "recorder",
    "messages_of": "messages",
    "set_level": "apply_dial",
}

__all__ = [
    "Approve",
    "AsyncBatch",
    "AsyncChat",
    "AsyncClient",
    "AsyncStream",
    "AsyncTurn",
    "Batch",
    "Chat",
    "Client",
    "Finding",
    "OfferedTool",
    "PolicyLike",
    "Prepared",
    "Recorder",
    "Stream",
    "Tools",
    "Turn",
    "aask",
    "ask",
    "attachment",
    "complete",
    "cost_of",
    "findings",
    "kept_of",
    "levels",
    "levels_of",
    "load_catalog",
    "messages_of",
    "models",
    "plan",
    "policy_of",
    "set_level",
    "wishes_of",
]

# Load what talks on first use: a plan needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
