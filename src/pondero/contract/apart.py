"""HTTP with a connection of its own for every exchange."""

from ..canon import HttpRequest
from ..exchange import Answer, Timeouts
from ..transport import HttpTransport


class Apart:
    """Sends over the network, each time anew, one exchange after the other.

    Some servers close a connection after a stream that they said they keep: a client tries again,
    but here each scenario has one try, and its failure would be blamed on what it asks.
    """

    needs_key = True

    def __init__(self) -> None:
        self._http = HttpTransport()

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Answer:
        """Send it and return the answer as soon as its head is there."""
        self._http.close()
        return self._http.send(request, timeouts)

    def close(self) -> None:
        """Close the last connection."""
        self._http.close()
