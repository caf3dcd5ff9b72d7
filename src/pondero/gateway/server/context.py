"""What all requests of a process share; ``reconfigure`` leaves routed requests their route."""

import logging
from asyncio import sleep
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from random import random
from time import monotonic, time
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Json, Message
from ...catalog import ModelEntry, Provider
from ...dialects import Repair
from ...errors import PonderoError
from ...exchange import (
    PATIENCE,
    AsyncTransport,
    Exchange,
    Retry,
    Timeouts,
    gave_last_answer,
    make_rejection,
)
from ...framing import parse_json_or_none
from ...handoff import Rejection
from ...store import load_catalog
from ...transport import AsyncSigningTransport
from ..answers.response_writer import ClientWatch
from ..config.model import GatewayConfig, GatewayGroup, GatewayKey, GatewayRoute
from ..config.routing import Routing
from ..config.secrets import AddressBook
from ..deployments.accounts import Accounts, ModelTurn
from ..deployments.conversation import Conversation
from ..hooks.bounded_call import BoundedHook
from ..hooks.loader import load_hooks
from ..observability.audit_log import AuditLog
from ..observability.dial_watch import DialWatch
from ..observability.error_watch import ErrorWatch
from ..observability.feed import Feed
from ..observability.ledger_database import LedgerDatabase
from ..observability.log_redaction import redact_log
from ..observability.receipt import Observer, Receipt
from ..observability.receipt_batch import ReceiptBatch
from ..observability.refusal_watch import RefusalWatch
from ..quotas.usage_counter import UsageCounter
from ..state.answer_cache import ConversationCache
from ..state.background_runs import BackgroundRuns
from ..state.conversation_memo import REMEMBERED_SHARE, ConversationMemo
from ..state.envelope_secrets import LOCAL, EnvelopeSecrets
from ..state.frame_memo import FrameMemo
from ..state.kept_store import KeptStore
from ..state.keys import KeyRing
from ..state.open_store import open_store
from ..state.shared_state import BreakerStore, SharedState, make_shared_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..requests.known_frames import KnownFrame

LOG = logging.getLogger("pondero.gateway")

_REMEMBERED = 512
_LONGEST = 1 << 20  # bytes of a count or a list of models
_USUAL = GatewayRoute(match="*", to=("*",))


class Requester(Struct, frozen=True):
    """Who sends a request; ``key`` and its ``group`` have the rules.

    ``id`` separates what belongs to clients: cached answers, envelopes, stored ids. It is that of
    the key, not its name, which another key may get later.
    """

    id: str = LOCAL
    key: GatewayKey | None = None
    group: GatewayGroup | None = None

    @property
    def name(self) -> str:
        """Return the name for records."""
        return self.key.name if self.key is not None else self.id


class GatewayContext:
    """What the requests of one process share."""

    def __init__(
        self,
        config: GatewayConfig,
        transport: AsyncTransport,
        *,
        shared: SharedState | None = None,
        observers: Sequence[Observer] = (),
        ledger: LedgerDatabase | None = None,
        save_begun: Observer | None = None,
        add_begun: Observer | None = None,
        save_ended: Callable[[Sequence[Receipt]], None] | None = None,
        timeouts: Timeouts | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        redact_log()
        self.shared: SharedState = shared or make_shared_state(config.server)
        self.config: GatewayConfig = config
        self.routing: Routing = Routing(config, load_catalog())
        self.hooks: tuple[BoundedHook, ...] = load_hooks(config)
        self._retired_hooks: tuple[BoundedHook, ...] = ()
        self.transport = transport
        self._addresses = AddressBook(lambda: self.config)
        self.state: UsageCounter = self.shared.state
        self.memory: ConversationCache = self.shared.memory
        self.conversations: ConversationMemo = ConversationMemo(
            config.server.answer_cache_bytes // REMEMBERED_SHARE
        )
        self.frames: FrameMemo[KnownFrame] = FrameMemo()
        self.envelopes: EnvelopeSecrets = EnvelopeSecrets(
            lambda: self.config.server, self.shared.secrets
        )
        self.kept: KeptStore | None = open_store(config, self.shared.link)
        self.breakers: BreakerStore = self.shared.breakers
        self.accounts: Accounts = Accounts(
            lambda: self.steady(),  # noqa: PLW0108 - a test may set another clock
            lambda: self.jitter(),  # noqa: PLW0108 - and other dice
            self.breakers,
        )
        self.accounts.configure(config.deployments)
        self.keys: KeyRing = KeyRing(
            lambda: self.config.keys,
            self.shared.keys,
            has_group=lambda name: self.config.find_group(name) is not None,
        )
        self.watch: ClientWatch = ClientWatch()
        self.feed: Feed = Feed()
        self.dial_watch: DialWatch = DialWatch()
        self.error_watch: ErrorWatch = ErrorWatch()
        self.refusal_watch: RefusalWatch = RefusalWatch()
        self.runs: BackgroundRuns = BackgroundRuns()
        self.ledger = ledger
        self.audit: AuditLog = audit or AuditLog()
        self.save_begun = save_begun
        self.add_begun: Observer | None = add_begun or save_begun
        """The same for a transport that saves what was added before it writes."""
        self.save_ended = save_ended
        self.observers: tuple[Observer, ...] = (
            self.feed.note,
            self.dial_watch.note,
            self.error_watch.note,
            self.refusal_watch.note,
            *observers,
        )
        self.receipts: ReceiptBatch = ReceiptBatch(self.notify_observers)
        self.timeouts: Timeouts = timeouts or Timeouts()
        self.refusals: tuple[Rejection, ...] = ()
        """Fields that services rejected lately and accepted without."""

    def reconfigure(self, config: GatewayConfig) -> None:
        """Use another configuration from the next request on."""
        if config.hooks != self.config.hooks:  # requests that have begun keep the hooks they have
            self._retired_hooks += self.hooks
            self.hooks = load_hooks(config)
        self.routing = Routing(config, load_catalog())
        self.frames = FrameMemo()
        self._addresses.keep(self.config.deployments)  # for requests that have begun
        self.config = config
        self.accounts.configure(config.deployments, self.state)
        self.envelopes.forget()

    @property
    def is_offline(self) -> bool:
        """Return whether the emulator answers in place of the services."""
        return not self.transport.needs_key

    def close_hooks(self) -> None:
        """End all hooks, also those of earlier configurations."""
        for hook in (*self.hooks, *self._retired_hooks):
            hook.close()

    def sort_models(
        self, entries: Sequence[ModelEntry], messages: Sequence[Message]
    ) -> list[ModelEntry]:
        """Return the models, first the last to answer: it has signatures and the cache."""
        if len(entries) == 1:
            return list(entries)
        return sorted(entries, key=lambda entry: not gave_last_answer(entry, messages))

    def order_models(
        self,
        route: GatewayRoute | None,
        entries: Sequence[ModelEntry],
        messages: Sequence[Message],
        conversation: Conversation | None,
    ) -> list[ModelTurn]:
        """Return the models in the order to ask them, with the deployments of each balanced."""
        ordered = self.sort_models(entries, messages)
        if conversation is None:
            return list(map(ModelTurn, ordered))
        conversation = conversation.with_last(messages, ordered).at_deployments(ordered)
        balance = (route or _USUAL).balance
        return self.accounts.order(ordered, balance, conversation, counter=self.state)

    def address(self, provider: Provider, deployment: str = "") -> tuple[str, str | None]:
        """Return the address and key of a provider, or of its deployment; raises UsageError."""
        return self._addresses.find(provider, deployment, needed=self.transport.needs_key)

    def transport_for(self, exchange: Exchange) -> AsyncTransport:
        """Return the transport of an exchange, which signs requests if it must."""
        if exchange.signing is None:
            return self.transport
        return AsyncSigningTransport(self.transport, exchange.signing)

    @staticmethod
    async def fetch_json(
        request: HttpRequest, transport: AsyncTransport, timeouts: Timeouts
    ) -> Json | None:
        """Return the JSON of a short answer; None if the service fails, or says anything else."""
        body = bytearray()
        try:
            answer = await transport.send(request, timeouts)
            try:
                async for piece in answer:
                    body += piece
                    if len(body) > _LONGEST:
                        return None
            finally:
                await answer.aclose()
        except PonderoError:
            return None
        return parse_json_or_none(bytes(body)) if answer.head.status == 200 else None

    @staticmethod
    def retry(route: GatewayRoute | None) -> Retry:
        """Return how often to try a model before the next."""
        return _make_retry((route or _USUAL).retries + 1)

    def find_timeouts(self, route: GatewayRoute | None, *, stream: bool) -> Timeouts:
        """Return how long a model of this route may take; a whole answer comes at its end."""
        timeouts = self.timeouts
        if route is not None and route.first_byte_seconds is not None:
            timeouts = replace(timeouts, first_byte=route.first_byte_seconds)
        return timeouts if stream else timeouts.whole()

    jitter: "ClassVar[staticmethod[[], float]]" = staticmethod(random)
    now: "ClassVar[staticmethod[[], float]]" = staticmethod(time)
    steady: "ClassVar[staticmethod[[], float]]" = staticmethod(monotonic)
    """Seconds of a clock that never jumps, for what lasts a while."""
    sleep: "ClassVar[staticmethod[[float], Awaitable[None]]]" = staticmethod(sleep)

    def learn(self, exchange: Exchange, repair: Repair) -> None:
        """Remember a rejection whose repair worked; the oldest are forgotten.

        Only what holds for every conversation with the model: a rejected signature is known by its
        digest wherever it comes from, but another cure of one conversation says nothing of others.
        """
        if repair.holds_for != "model" and not repair.unsealed:
            return
        known = dict.fromkeys(self.refusals) | {make_rejection(exchange.origin, repair): None}
        self.refusals = (*known,)[-_REMEMBERED:]

    def notify_observers(self, receipts: Sequence[Receipt]) -> None:
        """Give receipts to all observers; an error in one fails no request."""
        if self.is_offline:
            receipts = [replace(receipt, offline=True) for receipt in receipts]
        for observer in self.observers:
            for receipt in receipts:
                try:
                    observer(receipt)
                except Exception:
                    LOG.exception("an observer failed")
        if self.save_ended is not None:
            # After the metrics: killed in between, they count a request twice rather than never.
            try:
                self.save_ended(receipts)
            except Exception:
                LOG.exception("the ledger failed")


@lru_cache(maxsize=64)
def _make_retry(attempts: int) -> Retry:
    return Retry(attempts=attempts, patience=PATIENCE)
