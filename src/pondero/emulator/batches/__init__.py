"""Emulated batch services, by their pages and SDK types (November 2026); see limits.toml."""

from typing import Literal

from msgspec import Struct

from ...lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import BatchCall
    from .job import Outcome
    from .router import BatchResponse, BatchRouter

_NAMES = {
    "call": "BatchCall",
    "job": "Outcome",
    "router": "BatchResponse BatchRouter",
}

__all__ = ["BatchCall", "BatchResponse", "BatchRouter", "BatchSettings", "Outcome"]


class BatchSettings(Struct, frozen=True, kw_only=True):
    """How batches behave. ``looks``: polls until one ends; ``states``: prefix of operation states.

    >>> from pondero.emulator import BatchSettings, Emulator
    >>> client = pondero.Client(transport=Emulator(batches=BatchSettings(looks=1)))
    >>> client.batch(["What is 17 * 23?"], "claude-opus-5/low", max_tokens=2000).look()
    'ended'
    """

    looks: int = 2
    states: Literal["BATCH_STATE", "JOB_STATE"] = "BATCH_STATE"


__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
