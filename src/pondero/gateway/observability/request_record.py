"""Facts about one request, collected while it runs, for its receipt."""

from time import monotonic

from ...canon import Json
from ..config.routing import LONGEST_MODEL
from ..quotas.admission import Admission
from ..requests.routed_request import ClientRequest
from ..server.context import GatewayContext
from .receipt import Receipt


class RequestRecord:
    """The receipt of one request in the making."""

    def __init__(self, gateway: GatewayContext, call: ClientRequest) -> None:
        self._begun = monotonic()
        self._gateway = gateway
        self._facts: dict[str, Json] = {
            "id": call.id,
            "at": gateway.now(),
            "key": call.requester.name,
            "front": call.client_dialect,
            "trace": call.http.headers.get("traceparent"),
        }
        self.requested_model = ""
        self.tries = 0
        self.admission: Admission | None = None

    def note(self, **facts: Json) -> None:
        """Set fields of the receipt."""
        self._facts |= facts

    def note_first(self) -> None:
        """Set the time of the first piece of an answer, once."""
        self._facts.setdefault("first", monotonic() - self._begun)

    def finish(self) -> None:
        """Give the receipt to the observers, and settle its reservation."""
        receipt = Receipt(
            **self._facts,
            said=self.requested_model[:LONGEST_MODEL],
            tries=self.tries,
            seconds=monotonic() - self._begun,
        )
        self._gateway.notify_observers(receipt)
        if self.admission is not None:
            self.admission.settle(receipt)
