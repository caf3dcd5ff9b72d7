"""Which failed attempts may have been charged: a service had the request, and rejected nothing."""

from ..errors import PonderoError, ServiceTimeout, TransportError, WireError


def may_be_charged(error: PonderoError) -> bool:
    """Return whether a service may have answered, and charged, what failed with this error.

    It may if the connection broke, a time was over, or the answer could not be read. An error that
    the service itself reports costs nothing, unless it says that it ran out of time.
    """
    if isinstance(error, TransportError):
        return error.connected
    return isinstance(error, WireError | ServiceTimeout)
