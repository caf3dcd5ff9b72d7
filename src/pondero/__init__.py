"""pondero: one dial for how hard any model thinks.

>>> import pondero
>>> print(pondero.plan("claude-sonnet-4-5", "high"))  # what would be sent, and why
"""

from typing import TYPE_CHECKING, Any

from .errors import PonderoError

if TYPE_CHECKING:
    from .canon import Reply
    from .client import (
        AsyncChat,
        AsyncClient,
        Chat,
        Client,
        aask,
        ask,
        levels,
        models,
        plan,
    )
    from .exchange import Decoded, Prepared, decode
    from .thinking import Adjustment, Plan, Policy

__version__ = "0.1.0"

_HOMES = {
    "Adjustment": ".thinking",
    "AsyncChat": ".client",
    "AsyncClient": ".client",
    "Chat": ".client",
    "Client": ".client",
    "Decoded": ".exchange",
    "Plan": ".thinking",
    "Policy": ".thinking",
    "Prepared": ".exchange",
    "Reply": ".canon",
    "aask": ".client",
    "ask": ".client",
    "decode": ".exchange",
    "levels": ".client",
    "models": ".client",
    "plan": ".client",
}

_ROOMS = ("sdk",)  # said with their own name: pondero.sdk.client

__all__ = [
    "Adjustment",
    "AsyncChat",
    "AsyncClient",
    "Chat",
    "Client",
    "Decoded",
    "Plan",
    "Policy",
    "PonderoError",
    "Prepared",
    "Reply",
    "aask",
    "ask",
    "decode",
    "levels",
    "models",
    "plan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _ROOMS:
        message = f"module 'pondero' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    _load_msgspec()
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def _load_msgspec() -> None:
    """Import msgspec without typing_extensions, which it prefers and does not need.

    That is a third of its 33 ms. Done only while no other thread can be importing.
    """
    import sys

    if not {"msgspec", "typing_extensions", "threading"} & set(sys.modules):
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # "not installed"
        try:
            import msgspec  # noqa: F401
        finally:
            del sys.modules["typing_extensions"]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
