"""The library: Client, Chat, Prepared, Stream, Turn, Tools, and the dial as functions."""

from ..lazy import Loader, make_lazy_getattr
from ..store import load_catalog
from .dial import (
    PolicyLike,
    complete,
    level_choices,
    levels,
    model_levels,
    models,
    plan,
    resolve_policy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..exchange import Prepared
    from .apply_dial import set_level
    from .attachments import attachment
    from .batches import AsyncBatch, Batch
    from .chat import AsyncChat, Chat
    from .client import AsyncClient, Client
    from .default_client import aask, ask
    from .doctor import HealthCheck, run_checks
    from .messages import parse_prompt
    from .recorder import TurnRecorder, reply_cost, stored_reply
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
    "HealthCheck": "doctor",
    "Approve": "tools",
    "OfferedTool": "tools",
    "Prepared": "client",
    "TurnRecorder": "recorder",
    "Stream": "stream",
    "Tools": "tools",
    "Turn": "turn",
    "aask": "default_client",
    "ask": "default_client",
    "attachment": "attachments",
    "reply_cost": "recorder",
    "run_checks": "doctor",
    "stored_reply": "recorder",
    "parse_prompt": "messages",
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
    "HealthCheck",
    "OfferedTool",
    "PolicyLike",
    "Prepared",
    "Stream",
    "Tools",
    "Turn",
    "TurnRecorder",
    "aask",
    "ask",
    "attachment",
    "complete",
    "level_choices",
    "levels",
    "load_catalog",
    "model_levels",
    "models",
    "parse_prompt",
    "plan",
    "reply_cost",
    "resolve_policy",
    "run_checks",
    "set_level",
    "stored_reply",
]

# Load what talks on first use: a plan needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
