"""The library: clients, chats, streams, tools, and the dial as functions."""

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
    from .batches import AsyncBatch, Batch
    from .client import AsyncClient, Client
    from .conversation.chat import AsyncChat, Chat
    from .conversation.recorder import TurnRecorder, reply_cost, stored_reply
    from .conversation.turn import AsyncTurn, Turn
    from .default_client import aask, ask
    from .doctor import HealthCheck, run_checks
    from .prompts.attachments import attachment
    from .prompts.messages import parse_prompt
    from .stream import AsyncStream, Stream
    from .tools.schema_check import SchemaCheck
    from .tools.tools import Approve, Tools

_NAMES = {
    "apply_dial": "set_level",
    "batches": "AsyncBatch Batch",
    "client": "AsyncClient Client Prepared",
    "conversation.chat": "AsyncChat Chat",
    "conversation.recorder": "TurnRecorder reply_cost stored_reply",
    "conversation.turn": "AsyncTurn Turn",
    "default_client": "aask ask",
    "doctor": "HealthCheck run_checks",
    "prompts.attachments": "attachment",
    "prompts.messages": "parse_prompt",
    "stream": "AsyncStream Stream",
    "tools.schema_check": "SchemaCheck",
    "tools.tools": "Approve Tools",
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
    "PolicyLike",
    "Prepared",
    "SchemaCheck",
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
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
