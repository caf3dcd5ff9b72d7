"""How long to wait for a busy service: as long as it says, and longer if that did not help."""

from random import random

from ..errors import Overloaded, RateLimited, ServiceError
from ..exchange import Retry

BUSY = (RateLimited, Overloaded)
"""The errors of a service that may answer the same request later."""

PATIENCE = 40
"""How often in a row a service may tell one request to wait."""

TRUSTED = 8
"""Waits of the service's own length in a row, before ours are used if they are longer."""


def find_pause(retry: Retry, error: ServiceError, waits: int) -> float:
    """Return the wait that the service wants, and our own once that did not help.

    A service that says "now" for half a second must not use up the patience with a request.
    """
    wanted = retry.wait(error, min(waits, TRUSTED), random)
    if waits <= TRUSTED:
        return wanted
    return max(wanted, retry.wait(Overloaded(""), min(waits - TRUSTED, TRUSTED), random))
