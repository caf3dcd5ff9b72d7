"""The emulator: a strict, deterministic service for every dialect, without key or network."""

from .batches import BatchSettings
from .emulator import Emulator
from .faults import AsyncFaulty, Fault, Faulty
from .responders.error_prone import Fallible
from .responders.responder import Mind, ponder
from .responders.script import Call, Turn, When
from .routes import home_providers, route

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..asgi import address
    from .server import SERVER, app, bind, run, serving

_SERVER = ("SERVER", "address", "app", "bind", "run", "serving")

__all__ = [
    "SERVER",
    "AsyncFaulty",
    "BatchSettings",
    "Call",
    "Emulator",
    "Fallible",
    "Fault",
    "Faulty",
    "Mind",
    "Turn",
    "When",
    "address",
    "app",
    "bind",
    "home_providers",
    "ponder",
    "route",
    "run",
    "serving",
]


def __getattr__(name: str) -> object:
    """Load the server on first use: in process none is needed."""
    if name not in _SERVER:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from . import server  # noqa: PLC0415 - see above

    return getattr(server, name)
