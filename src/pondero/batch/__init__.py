"""Batches: many requests sent to a provider's batch service at a discount, and collected later."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import BatchAnswer, iter_answers
    from .collection import EVERY, Patience, collect_chunk, recheck_chunk
    from .draft import BatchRequest, Draft, batch_discount, batch_terms, split_into_chunks
    from .service_api import BatchChunk, BatchEndpoint, Ending
    from .steps import BatchService, PollDelay, Steps, arun_steps, run_steps, send_idempotent
    from .store import BatchFile, State, batches_of, find_batch, list_batches
    from .submission import cancel_chunk, give_up_chunk, submit_chunk
    from .wires import WIRES

_NAMES = {
    "answers": "BatchAnswer iter_answers",
    "collection": "EVERY Patience collect_chunk recheck_chunk",
    "draft": "BatchRequest Draft batch_discount batch_terms split_into_chunks",
    "service_api": "BatchChunk BatchEndpoint Ending",
    "steps": "BatchService PollDelay Steps arun_steps run_steps send_idempotent",
    "store": "BatchFile State batches_of find_batch list_batches",
    "submission": "cancel_chunk give_up_chunk submit_chunk",
    "wires": "WIRES",
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
    "Patience",
    "PollDelay",
    "State",
    "Steps",
    "arun_steps",
    "batch_discount",
    "batch_terms",
    "batches_of",
    "cancel_chunk",
    "collect_chunk",
    "find_batch",
    "give_up_chunk",
    "iter_answers",
    "list_batches",
    "recheck_chunk",
    "run_steps",
    "send_idempotent",
    "split_into_chunks",
    "submit_chunk",
]

# Load on first use: most programs make no batch.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
