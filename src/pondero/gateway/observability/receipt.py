"""What is known of one request when it is over: for the log, the ledger, metrics and the console.

No words of a conversation and no key are in it.
"""

from collections.abc import Callable
from decimal import Decimal

from msgspec import Struct

from ...canon import Usage


class Receipt(Struct, frozen=True, kw_only=True):
    """One request at the gate.

    ``said`` is the model's name as the client said it, ``model`` the one that answered. ``asked``,
    ``sent`` and ``why`` are the dial's. ``first`` is the seconds until the first piece of an
    answer, ``seconds`` until its end. ``road`` is how it went: passed, translated or none. ``end``
    is how it ended: done, refused, failed, or left by the client. ``cost`` is in dollars, None
    where no price is known; where no service but the emulator answered (``offline``), it is what
    the service would have taken. ``trace`` is the client's own ``traceparent``.
    """

    id: str
    at: float
    key: str
    front: str
    said: str = ""
    provider: str | None = None
    model: str | None = None
    road: str = "none"
    asked: str | None = None
    sent: str | None = None
    why: str | None = None
    adjustments: tuple[str, ...] = ()
    status: int = 200
    end: str = "done"
    finish: str | None = None
    verdict: str | None = None
    usage: Usage = Usage()
    tries: int = 0
    stream: bool = False
    first: float | None = None
    seconds: float = 0.0
    cost: Decimal | None = None
    offline: bool = False
    trace: str | None = None

    @property
    def answered_by(self) -> str | None:
        """Return the model with its provider, as ``pondero models`` lists it; None where none."""
        return None if self.model is None else f"{self.provider}:{self.model}"


Observer = Callable[[Receipt], None]
"""Is called with every receipt; it must not block."""
