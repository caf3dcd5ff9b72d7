"""Batches: many asks given to a provider's own batch service, at its discount, and collected later.

``Client.batch``, ``pondero batch`` and the batch engine of the sweep use it. A batch is split into
lots, each of them one batch at the service.
"""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import BatchAnswer, answers_of
    from .collection import EVERY, looked
    from .draft import Ask, Draft, Price, drafted, factor_of, terms_of
    from .steps import Service, Sleep, Steps, adone, done
    from .store import BatchFile, State, Summary, all_batches, batches_of, named
    from .submission import Services, submitted, withdrawn
    from .wire import Desk, Ending, Lot
    from .wires import WIRES

_HOMES = {
    "Ask": "draft",
    "BatchAnswer": "answers",
    "BatchFile": "store",
    "Desk": "wire",
    "Draft": "draft",
    "EVERY": "collection",
    "Ending": "wire",
    "Lot": "wire",
    "Price": "draft",
    "Service": "steps",
    "Services": "submission",
    "Sleep": "steps",
    "State": "store",
    "Steps": "steps",
    "Summary": "store",
    "WIRES": "wires",
    "adone": "steps",
    "all_batches": "store",
    "answers_of": "answers",
    "batches_of": "store",
    "done": "steps",
    "drafted": "draft",
    "factor_of": "draft",
    "looked": "collection",
    "named": "store",
    "submitted": "submission",
    "terms_of": "draft",
    "withdrawn": "submission",
}

__all__ = [
    "EVERY",
    "WIRES",
    "Ask",
    "BatchAnswer",
    "BatchFile",
    "Desk",
    "Draft",
    "Ending",
    "Lot",
    "Price",
    "Service",
    "Services",
    "Sleep",
    "State",
    "Steps",
    "Summary",
    "adone",
    "all_batches",
    "answers_of",
    "batches_of",
    "done",
    "drafted",
    "factor_of",
    "looked",
    "named",
    "submitted",
    "terms_of",
    "withdrawn",
]

# Load what talks and what keeps on first use: most programs make no batch.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
