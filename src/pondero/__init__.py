"""pondero: one dial for how hard any model thinks.

>>> import pondero
>>> print(pondero.plan("claude-sonnet-4-5", "high"))  # what would be sent, and why
"""

from typing import TYPE_CHECKING

from .errors import (
    AuthFailed,
    BadThinking,
    ContextTooLong,
    MissingKey,
    Overloaded,
    PonderoError,
    PonderoWarning,
    RateLimited,
    Refused,
    ServiceError,
    Timeout,
    TransportError,
    UnknownModel,
    UsageError,
    WireError,
)
from .lazy import make_lazy_getattr

if TYPE_CHECKING:
    from . import sdk as sdk
    from .batch import BatchAnswer
    from .canon import (
        AdjustmentNote,
        Blob,
        CacheBreakpoint,
        Cost,
        Event,
        Finished,
        Image,
        LevelUpdate,
        Message,
        Origin,
        Part,
        PartEnd,
        PartStart,
        Reply,
        Signature,
        Started,
        Text,
        TextDelta,
        Thinking,
        ThinkingDelta,
        TokenLogprob,
        Tool,
        ToolCall,
        ToolChoice,
        ToolDelta,
        ToolResult,
        UnknownPart,
        Usage,
        UsageUpdate,
    )
    from .client import (
        AsyncBatch,
        AsyncChat,
        AsyncClient,
        AsyncStream,
        AsyncTurn,
        Batch,
        Chat,
        Client,
        ModelPrice,
        ServiceModel,
        Stream,
        TokenCount,
        Turn,
        aask,
        ask,
        attachment,
        levels,
        models,
        plan,
    )
    from .exchange import Decoded, Prepared, Retry, Timeouts, decode
    from .sweep import asweep, sweep
    from .thinking import Adjustment, Level, Plan, Policy, ThinkingLike
    from .transport import AsyncHttpTransport, ConnectionLimits, FastTransport, HttpTransport

__version__ = "0.2.0"

_NAMES = {
    "batch": "BatchAnswer",
    "canon": (
        "AdjustmentNote Blob CacheBreakpoint Cost Event Finished Image LevelUpdate Message Origin "
        "Part PartEnd PartStart Reply Signature Started Text TextDelta Thinking "
        "ThinkingDelta TokenLogprob Tool ToolCall ToolChoice ToolDelta ToolResult UnknownPart "
        "Usage UsageUpdate"
    ),
    "client": (
        "AsyncBatch AsyncChat AsyncClient AsyncStream AsyncTurn Batch Chat Client "
        "ServiceModel ModelPrice Stream TokenCount Turn aask ask attachment levels models "
        "plan"
    ),
    "exchange": "Decoded Prepared Retry Timeouts decode",
    "sweep": "asweep",
    "thinking": "Adjustment Level Plan Policy ThinkingLike",
    "transport": "AsyncHttpTransport ConnectionLimits FastTransport HttpTransport",
}

_ROOMS = ("sdk", "sweep")  # modules under their own name: pondero.sdk.client, pondero.sweep(...)

__all__ = [
    "Adjustment",
    "AdjustmentNote",
    "AsyncBatch",
    "AsyncChat",
    "AsyncClient",
    "AsyncHttpTransport",
    "AsyncStream",
    "AsyncTurn",
    "AuthFailed",
    "BadThinking",
    "Batch",
    "BatchAnswer",
    "Blob",
    "CacheBreakpoint",
    "Chat",
    "Client",
    "ConnectionLimits",
    "ContextTooLong",
    "Cost",
    "Decoded",
    "Event",
    "FastTransport",
    "Finished",
    "HttpTransport",
    "Image",
    "Level",
    "LevelUpdate",
    "Message",
    "MissingKey",
    "ModelPrice",
    "Origin",
    "Overloaded",
    "Part",
    "PartEnd",
    "PartStart",
    "Plan",
    "Policy",
    "PonderoError",
    "PonderoWarning",
    "Prepared",
    "RateLimited",
    "Refused",
    "Reply",
    "Retry",
    "ServiceError",
    "ServiceModel",
    "Signature",
    "Started",
    "Stream",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "ThinkingLike",
    "Timeout",
    "Timeouts",
    "TokenCount",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolDelta",
    "ToolResult",
    "TransportError",
    "Turn",
    "UnknownModel",
    "UnknownPart",
    "Usage",
    "UsageError",
    "UsageUpdate",
    "WireError",
    "aask",
    "ask",
    "asweep",
    "attachment",
    "decode",
    "levels",
    "models",
    "plan",
    "sweep",
]

if not TYPE_CHECKING:  # a type checker would accept any name
    _load = make_lazy_getattr(__name__, _NAMES)

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        if name[0].isupper() and hasattr(import_module(".errors", __name__), name):
            message = f"module 'pondero' has no attribute {name!r}; use pondero.errors.{name}"
            raise AttributeError(message)
        return _load(name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
