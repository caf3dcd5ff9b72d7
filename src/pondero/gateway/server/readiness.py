"""``GET /ready``: whether everything that the gateway needs is there, and what is away if not."""

from asyncio import Future, ensure_future, shield, timeout, to_thread, wait_for
from time import monotonic

from msgspec import Struct, json

from ...canon import HttpResponse
from ...errors import StoreError
from ..observability.ledger import Ledger
from ..state.redis_link import SharedStateLost
from .context import GatewayContext
from .usable_models import has_usable_model

_JSON = {"content-type": "application/json", "cache-control": "no-store"}
_FRESH = 1.0  # second for which an answer is given again: anybody may ask
_PATIENCE = 2.0  # seconds for each probe


class Report(Struct, frozen=True, omit_defaults=True, tag_field="status", tag="ready"):
    """What is there. ``held``: records in memory only; ``lost``: records that are lost."""

    held: int = 0
    lost: int = 0


class BadReport(Report, frozen=True, tag="not ready"):
    """What is ``away``: ``state``, ``ledger``, ``deployments``; ``draining``: it will end soon."""

    away: tuple[str, ...] = ()
    draining: bool = False


class Readiness:
    """Asks the shared state, the ledger and the breakers, at most once a second."""

    def __init__(self, gateway: GatewayContext, ledger: Ledger | None) -> None:
        self._gateway = gateway
        self._ledger = ledger
        self._away: tuple[str, ...] | None = None  # before the first look
        self._until = 0.0
        self._looking: Future[None] | None = None

    async def answer(self) -> HttpResponse:
        """Return 200, or 503 that says which of them is away, and nothing else about them."""
        if self._looking is None and monotonic() >= self._until:
            self._looking = ensure_future(self._look())
            await shield(self._looking)
        elif self._looking is not None and self._away is None:
            await shield(self._looking)  # later, others who ask meanwhile get the last answer
        draining = self._gateway.feed.is_over()
        held, lost = (self._ledger.held, self._ledger.lost) if self._ledger is not None else (0, 0)
        if self._away or draining:
            away = self._away or ()
            bad = BadReport(held=held, lost=lost, away=away, draining=draining)
            return HttpResponse(503, _JSON, json.encode(bad))
        return HttpResponse(200, _JSON, json.encode(Report(held=held, lost=lost)))

    async def _look(self) -> None:
        probes = {
            "state": self._is_state_there,
            "ledger": self._is_ledger_there,
            "deployments": self._is_model_there,
        }
        try:
            self._away = tuple([name for name, probe in probes.items() if not await probe()])
            self._until = monotonic() + _FRESH
        finally:
            self._looking = None

    async def _is_state_there(self) -> bool:
        try:
            async with timeout(_PATIENCE):
                await self._gateway.shared.probe()
        except (SharedStateLost, TimeoutError):
            return False
        return True

    async def _is_ledger_there(self) -> bool:
        """Return whether the ledger answers, and takes rows."""
        if self._ledger is None:
            return True
        try:
            await wait_for(to_thread(self._ledger.database.probe), _PATIENCE)
        except (StoreError, TimeoutError):
            return False
        return not self._ledger.away

    async def _is_model_there(self) -> bool:
        """Return whether at least one model can be asked now."""
        try:
            return await wait_for(to_thread(has_usable_model, self._gateway), _PATIENCE)
        except TimeoutError:  # a keyring that asks its user
            return False
