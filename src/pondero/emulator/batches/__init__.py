"""The batch services that the emulator serves, one module for each shape of them.

``service`` finds the shape, ``store`` keeps batches and files, ``job`` is one batch on its way, and
``call`` is one request to the store. All of it is loaded when a batch service is first asked.
Nothing here knows how a batch is handed in by us: that is the caller's side, written apart.
"""

from typing import Literal

from msgspec import Struct

from ...lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import BatchCall
    from .job import Outcome
    from .router import BatchResponse, BatchRouter

_HOMES = {
    "BatchRouter": "router",
    "Outcome": "job",
    "BatchResponse": "router",
    "BatchCall": "call",
}

__all__ = ["BatchCall", "BatchResponse", "BatchRouter", "BatchSettings", "Outcome"]


class BatchSettings(Struct, frozen=True, kw_only=True):
    """How the emulator's batches behave.

    ``looks`` is how often one must be looked at until it has ended. ``states`` is how the states
    of long-running operations begin: the service writes both.

    >>> from pondero.emulator import BatchSettings, Emulator
    >>> client = pondero.Client(transport=Emulator(batches=BatchSettings(looks=1)))
    >>> client.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000).look()
    'ended'
    """

    looks: int = 2
    states: Literal["BATCH_STATE", "JOB_STATE"] = "BATCH_STATE"


__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
