"""Facts about one request, collected while it runs, for its receipt."""

from time import monotonic

from msgspec.structs import replace

from ...canon import Json
from ..config.routing import LONGEST_MODEL
from ..quotas.admission import Admission
from ..quotas.usage_meter import Figures, UsageMeter
from ..requests.routed_request import ClientRequest
from ..server.context import GatewayContext
from .receipt import KILLED, Observer, Receipt


class RequestRecord:
    """The receipt of one request in the making; ``meter`` counts what services serve for it.

    ``receipt``: what is known so far; its observers get copies.
    """

    def __init__(self, gateway: GatewayContext, call: ClientRequest) -> None:
        self._begun = monotonic()
        self._gateway = gateway
        group = call.requester.group
        self.receipt: Receipt = Receipt(
            id=call.id,
            at=gateway.now(),
            key=call.requester.name,
            group=None if group is None else group.name,
            front=call.client_dialect,
            trace=call.http.headers.get("traceparent"),
        )
        self.requested_model: str = ""
        self.meter: UsageMeter = UsageMeter()
        self.meter.begun = self._note_try
        self._admission: Admission | None = None
        self._figures: Figures | None = None
        self._seconds = 0.0
        self._has_end = False
        self._is_done: bool = False

    def drop(self) -> None:
        """Record nothing: a rejection by the key is recorded elsewhere."""
        self._is_done = True

    def admit(self, admission: Admission) -> None:
        """Keep the reservation, until ``finish`` settles it."""
        self._admission = admission
        self.meter.extend = admission.extend
        self.meter.prompts = admission.prompts

    def set_meter(self, meter: UsageMeter) -> None:
        """Count with another meter, for an endpoint that is no conversation."""
        self.meter = meter
        meter.begun = self._note_try

    def note(self, **facts: Json) -> None:
        """Set fields of the receipt; an ``end`` is recorded as soon as the request is over."""
        for name, value in facts.items():
            setattr(self.receipt, name, value)
        self._has_end = self._has_end or "end" in facts

    def note_model(self, name: str) -> None:
        """Set the name of the model that the client requested."""
        self.requested_model = name

    def note_first(self) -> None:
        """Set the time of the first piece of an answer, once."""
        if self.receipt.first is None:
            self.receipt.first = monotonic() - self._begun

    def note_first_answer(self) -> None:
        """Set the time of the first piece that is not thinking."""
        self.receipt.first_answer = monotonic() - self._begun

    def note_left(self) -> None:
        """Record that the client hung up, unless the answer had failed before."""
        if self.receipt.end != "failed":
            self.note(end="left")

    def _note_try(self) -> None:
        """Set the time of a request to a service, and save what that may serve from now on."""
        receipt = self.receipt
        receipt.last_try = monotonic() - self._begun
        if receipt.first_try is None:
            receipt.first_try = receipt.last_try
        self._save_progress(self._gateway.add_begun)

    def save_progress(self) -> None:
        """Save what may have been served, in case that this process is killed."""
        self._save_progress(self._gateway.save_begun)

    def _save_progress(self, save: Observer | None) -> None:
        if save is None:
            return
        killed = self._make_receipt(self.meter.find_most(), self.receipt.last_try or 0.0)
        killed.status, killed.end, killed.reason = 500, "failed", KILLED
        killed.offline = self._gateway.is_offline
        save(killed)

    def settle(self) -> None:
        """Settle the reservation, if there is one, once the last call of a service is complete.

        A shared state then gets the use together with the answer's entries in the cache. If this
        process is killed before ``finish``, the budget is exact and the ledger has an estimate.
        """
        admission = self._admission
        if admission is not None and self._figures is None and admission.reserves:
            self._figures = self.meter.find_figures()
            admission.settle(self._figures)

    def finish(self) -> None:
        """Give the receipt to the observers, once; settle its reservation with these figures."""
        self.meter.begun = None  # which would keep this record, and with it the request
        if self._is_done:
            return
        self._is_done = True
        self._seconds = monotonic() - self._begun
        self.settle()
        if self.meter.calls and not self._has_end:
            self._gateway.receipts.add(self._make_final_receipt)
        else:  # the journal has nothing of a request without a call
            self._gateway.notify_observers([self._make_final_receipt()])

    def _make_final_receipt(self) -> Receipt:
        return self._make_receipt(self._figures or self.meter.find_figures(), self._seconds)

    def _make_receipt(self, figures: Figures, seconds: float) -> Receipt:
        return replace(
            self.receipt,
            said=self.requested_model[:LONGEST_MODEL],
            tries=figures.calls,
            seconds=seconds,
            usage=figures.usage,
            estimated=figures.estimated,
            cost=figures.cost,
        )
