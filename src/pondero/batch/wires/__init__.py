"""The shapes of batch services, one file each; a provider's file in the catalog names its own."""

from ..service_api import BatchWire
from .files import FILES
from .inline import INLINE
from .jobs import JOBS
from .messages import MESSAGES
from .operations import OPERATIONS
from .requests import REQUESTS

WIRES: dict[str, BatchWire] = {
    "messages": MESSAGES,
    "files": FILES,
    "operations": OPERATIONS,
    "jobs": JOBS,
    "requests": REQUESTS,
    "inline": INLINE,
}
