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
    plan_offline,
    resolve_policy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .apply_dial import set_level
    from .batches import AsyncBatch, Batch, check_batch_fields
    from .cache_cost import count_prompt_tokens, describe_lost_cache, preview_change
    from .client import AsyncClient, Client
    from .conversation.chat import AsyncChat, Chat
    from .conversation.recorder import TurnRecorder, stored_reply
    from .conversation.turn import AsyncTurn, Turn
    from .default_client import aask, ask
    from .doctor import run_checks
    from .health_check import HealthCheck
    from .model_lists import ModelPrice, ServiceModel
    from .probe_run import DiscoveryResult, ProbeDraft
    from .prompts.attachments import attachment, decode_text
    from .prompts.messages import parse_prompt
    from .prompts.option_names import explain_unknown, find_ours
    from .reach_checks import check_engine
    from .retry_watch import RETRY_WATCHER
    from .stream import AsyncStream, Stream
    from .token_counts import TokenCount
    from .tools.schema_check import SchemaCheck
    from .tools.tools import Approve, Tools
    from .usage_so_far import UsageSoFar
    from .usual_model import UsualModel, explain_no_default, find_usual_model

_NAMES = {
    "apply_dial": "set_level",
    "batches": "AsyncBatch Batch check_batch_fields",
    "cache_cost": "count_prompt_tokens describe_lost_cache preview_change",
    "client": "AsyncClient Client",
    "conversation.chat": "AsyncChat Chat",
    "conversation.recorder": "TurnRecorder stored_reply",
    "conversation.turn": "AsyncTurn Turn",
    "default_client": "aask ask",
    "doctor": "run_checks",
    "health_check": "HealthCheck",
    "model_lists": "ServiceModel ModelPrice",
    "probe_run": "DiscoveryResult ProbeDraft",
    "prompts.attachments": "attachment decode_text",
    "prompts.messages": "parse_prompt",
    "prompts.option_names": "explain_unknown find_ours",
    "reach_checks": "check_engine",
    "retry_watch": "RETRY_WATCHER",
    "stream": "AsyncStream Stream",
    "token_counts": "TokenCount",
    "tools.schema_check": "SchemaCheck",
    "tools.tools": "Approve Tools",
    "usage_so_far": "UsageSoFar",
    "usual_model": "UsualModel explain_no_default find_usual_model",
}

__all__ = [
    "RETRY_WATCHER",
    "Approve",
    "AsyncBatch",
    "AsyncChat",
    "AsyncClient",
    "AsyncStream",
    "AsyncTurn",
    "Batch",
    "Chat",
    "Client",
    "DiscoveryResult",
    "HealthCheck",
    "ModelPrice",
    "PolicyLike",
    "ProbeDraft",
    "SchemaCheck",
    "ServiceModel",
    "Stream",
    "TokenCount",
    "Tools",
    "Turn",
    "TurnRecorder",
    "UsageSoFar",
    "UsualModel",
    "aask",
    "ask",
    "attachment",
    "check_batch_fields",
    "check_engine",
    "complete",
    "count_prompt_tokens",
    "decode_text",
    "describe_lost_cache",
    "explain_no_default",
    "explain_unknown",
    "find_ours",
    "find_usual_model",
    "level_choices",
    "levels",
    "load_catalog",
    "model_levels",
    "models",
    "parse_prompt",
    "plan",
    "plan_offline",
    "preview_change",
    "resolve_policy",
    "run_checks",
    "set_level",
    "stored_reply",
]

# Load what talks on first use: a plan needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
