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

_HOMES = {
    "Adjustment": ".thinking",
    "AsyncChat": ".client",
    "AsyncClient": ".client",
    "Blob": ".canon",
    "Chat": ".client",
    "Client": ".client",
    "Decoded": ".exchange",
    "Image": ".canon",
    "Message": ".canon",
    "Plan": ".thinking",
    "Policy": ".thinking",
    "Prepared": ".exchange",
    "Reply": ".canon",
    "Retry": ".exchange",
    "Text": ".canon",
    "ThinkingLike": ".thinking",
    "Timeouts": ".exchange",
    "Tool": ".canon",
    "aask": ".client",
    "ask": ".client",
    "asweep": ".sweep",
    "attachment": ".client",
    "decode": ".exchange",
    "levels": ".client",
    "models": ".client",
    "plan": ".client",
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

    def __getattr__(name: str) -> object:
        if name not in _HOMES and name not in _ROOMS:
            message = f"module 'pondero' has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        value = getattr(import_module(_HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
