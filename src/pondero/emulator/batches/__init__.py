"""The emulated batch services, one module for each shape.

``router`` finds the shape, ``store`` holds batches and files, ``job`` is one batch, ``call`` one
request. All are loaded at the first batch. Our own batch client shares no code with them.
Their rules are from the services' batch pages and SDK types, November 2026; see limits.toml.
"""

from typing import Literal

from msgspec import Struct

from ...lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import BatchCall
    from .job import Outcome
    from .router import BatchResponse, BatchRouter

_HOMES = {"BatchRouter": "router", "Outcome": "job", "BatchResponse": "router", "BatchCall": "call"}

__all__ = ["BatchCall", "BatchResponse", "BatchRouter", "BatchSettings", "Outcome"]


class BatchSettings(Struct, frozen=True, kw_only=True):
    """How the emulator's batches behave.

    ``looks`` is the number of polls until a batch ends. ``states`` is the prefix of an operation's
    states: the real service uses both.

    >>> from pondero.emulator import BatchSettings, Emulator
    >>> client = pondero.Client(transport=Emulator(batches=BatchSettings(looks=1)))
    >>> client.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000).look()
    'ended'
    """

    looks: int = 2
    states: Literal["BATCH_STATE", "JOB_STATE"] = "BATCH_STATE"


__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
