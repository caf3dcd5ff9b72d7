"""The shapes of batch services, one file each; the catalog names the shape of a provider."""

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
