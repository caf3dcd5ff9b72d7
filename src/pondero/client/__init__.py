"""What the user of the library sees."""

from .dial import PolicyLike, levels, lookup, models, plan, policy_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .chat import AsyncChat, Chat
    from .client import AsyncClient, Client, aask, ask
    from .rewriting import dialled

_HOMES = {
    "AsyncChat": "chat",
    "AsyncClient": "client",
    "Chat": "chat",
    "Client": "client",
    "aask": "client",
    "ask": "client",
    "dialled": "rewriting",
}

__all__ = [
    "AsyncChat",
    "AsyncClient",
    "Chat",
    "Client",
    "PolicyLike",
    "aask",
    "ask",
    "dialled",
    "levels",
    "lookup",
    "models",
    "plan",
    "policy_of",
]


def __getattr__(name: str) -> object:
    """Load what talks on first use: a plan needs none of it."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415 - see above

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
