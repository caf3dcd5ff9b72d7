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
    from .canon import Blob, Image, Message, Reply, Text, Tool
    from .client import (
        AsyncChat,
        AsyncClient,
        Chat,
        Client,
        aask,
        ask,
        attachment,
        levels,
        models,
        plan,
    )
    from .exchange import Decoded, Prepared, Retry, Timeouts, decode
    from .sweep import asweep, sweep
    from .thinking import Adjustment, Plan, Policy, ThinkingLike

__version__ = "0.2.0"

_NAMES = {
    "canon": "Blob Image Message Reply Text Tool",
    "client": "AsyncChat AsyncClient Chat Client aask ask attachment levels models plan",
    "exchange": "Decoded Prepared Retry Timeouts decode",
    "sweep": "asweep",
    "thinking": "Adjustment Plan Policy ThinkingLike",
}

_ROOMS = ("sdk", "sweep")  # modules under their own name: pondero.sdk.client, pondero.sweep(...)

__all__ = [
    "Adjustment",
    "AsyncChat",
    "AsyncClient",
    "AuthFailed",
    "BadThinking",
    "Blob",
    "Chat",
    "Client",
    "ContextTooLong",
    "Decoded",
    "Image",
    "Message",
    "MissingKey",
    "Overloaded",
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
    "Text",
    "ThinkingLike",
    "Timeout",
    "Timeouts",
    "Tool",
    "TransportError",
    "UnknownModel",
    "UsageError",
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
        if name not in _ROOMS:
            return _load(name)
        from importlib import import_module

        return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
