"""Batches: many requests sent to a provider's batch service at a discount, and collected later.

``Client.batch``, ``pondero batch`` and the sweep's batch engine use it. A batch is split into
chunks, each of which is one batch at the service.
"""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import BatchAnswer, iter_answers
    from .collection import EVERY, collect_chunk
    from .draft import BatchRequest, Draft, batch_discount, batch_terms, split_into_chunks
    from .service_api import BatchChunk, BatchEndpoint, Ending
    from .steps import BatchService, PollDelay, Steps, arun_steps, run_steps
    from .store import BatchFile, State, batches_of, find_batch, list_batches
    from .submission import Services, cancel_chunks, submit_chunks
    from .wires import WIRES

_HOMES = {
    "BatchRequest": "draft",
    "BatchAnswer": "answers",
    "BatchFile": "store",
    "BatchEndpoint": "service_api",
    "Draft": "draft",
    "EVERY": "collection",
    "Ending": "service_api",
    "BatchChunk": "service_api",
    "BatchService": "steps",
    "Services": "submission",
    "PollDelay": "steps",
    "State": "store",
    "Steps": "steps",
    "WIRES": "wires",
    "arun_steps": "steps",
    "list_batches": "store",
    "iter_answers": "answers",
    "batches_of": "store",
    "run_steps": "steps",
    "split_into_chunks": "draft",
    "batch_discount": "draft",
    "collect_chunk": "collection",
    "find_batch": "store",
    "submit_chunks": "submission",
    "batch_terms": "draft",
    "cancel_chunks": "submission",
}

__all__ = [
    "EVERY",
    "WIRES",
    "BatchAnswer",
    "BatchChunk",
    "BatchEndpoint",
    "BatchFile",
    "BatchRequest",
    "BatchService",
    "Draft",
    "Ending",
    "PollDelay",
    "Services",
    "State",
    "Steps",
    "arun_steps",
    "batch_discount",
    "batch_terms",
    "batches_of",
    "cancel_chunks",
    "collect_chunk",
    "find_batch",
    "iter_answers",
    "list_batches",
    "run_steps",
    "split_into_chunks",
    "submit_chunks",
]

# Load on first use: most programs make no batch.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
