"""The batch services that the emulator serves, one module for each shape of them.

``service`` finds the shape, ``desk`` keeps batches and files, ``job`` is one batch on its way.
Nothing here knows how a batch is handed in by us: that is the caller's side, written apart.
"""

from .call import BatchSettings, Call
from .job import Outcome
from .service import Batches, Served

__all__ = ["BatchSettings", "Batches", "Call", "Outcome", "Served"]
