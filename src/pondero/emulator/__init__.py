"""The emulator: a strict, deterministic service for every dialect, without key or network."""

from .batches import BatchSettings
from .emulator import Emulator
from .faults import AsyncFaultyTransport, Fault, FaultyTransport
from .responders.error_prone import ErrorProneResponder, has_answer
from .responders.responder import DialResponder, Responder, ponder
from .responders.script import ScriptedCall, ScriptedTurn, When
from .routes import find_route, home_providers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asgi import address
    from .server import SERVER, bind, make_app, run, run_emulator_in_thread

_SERVER = ("SERVER", "address", "bind", "make_app", "run", "run_emulator_in_thread")

__all__ = [
    "SERVER",
    "AsyncFaultyTransport",
    "BatchSettings",
    "DialResponder",
    "Emulator",
    "ErrorProneResponder",
    "Fault",
    "FaultyTransport",
    "Responder",
    "ScriptedCall",
    "ScriptedTurn",
    "When",
    "address",
    "bind",
    "find_route",
    "has_answer",
    "home_providers",
    "make_app",
    "ponder",
    "run",
    "run_emulator_in_thread",
]


def __getattr__(name: str) -> object:
    """Load the server on first use: in process none is needed."""
    if name not in _SERVER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import server  # noqa: PLC0415 - see above

    return getattr(server, name)
