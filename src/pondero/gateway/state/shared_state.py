"""The state that replicas share, in this process's memory or a Redis (``[server] state``)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct, field

from ...errors import BadConfig
from ..config.model import REFERENCES, GatewayConfig, ServerConfig
from ..config.secrets import read_reference
from ..quotas.usage_counter import LocalUsageCounter, UsageCounter
from .answer_cache import AnswerCache, ConversationCache, LocalAnswerCache
from .breakers import Breakers
from .claims import Claims, LocalClaims, RedisClaims
from .conversation_memo import REMEMBERED_SHARE
from .envelope_secrets import FileSecrets, LocalSecrets, RedisSecrets, SecretStore, make_secret
from .key_file import KeyFile
from .keys import FileKeys, KeyRing, KeyStore, LocalKeys
from .owners import FileOwners
from .pending_use import PendingUse
from .redis_link import RedisLink
from .sessions import FileSessions, LocalSessions, RedisSessions, SessionStore

_OWNED = 30 * 86_400  # seconds: as long as OpenAI stores answers
_OWNERS = 16 << 20  # bytes, if they are in memory


class BreakerStore(Protocol):
    """Pauses deployments that keep failing, by ``provider:model``."""

    async def is_open(self, name: str) -> bool:
        """Return whether a deployment is paused; False once after the pause, for the probe."""
        ...

    async def record_success(self, name: str) -> None:
        """Clear its failures."""
        ...

    async def record_failure(self, name: str) -> None:
        """Record a failure."""
        ...

    async def cancel_probe(self, name: str) -> None:
        """End a probe that tells nothing about the deployment."""
        ...

    async def pause(self, name: str, seconds: float) -> None:
        """Pause an account, by the name of its deployment."""
        ...

    async def end_pause(self, name: str) -> None:
        """End the pause of an account that answers again."""
        ...

    def is_guess(self, name: str) -> bool:
        """Return whether the pause of a deployment is our own guess, not its service's word."""
        ...

    async def share_full(self, name: str, seconds: float) -> None:
        """Tell other replicas that a service reports nothing left for this time; 0: it has."""
        ...

    def find_full(self, name: str) -> float:
        """Return the seconds for which a service has nothing left, as another replica told."""
        ...

    def find_pause(self, name: str) -> float:
        """Return the seconds for which an account is paused, as this process last saw it."""
        ...

    async def open(self, name: str, seconds: float) -> None:
        """Pause a deployment now, for as long as its service asks."""
        ...

    def is_resting(self, name: str) -> bool:
        """Return whether a deployment is paused, and no probe is due; asks for no probe."""
        ...

    def find_rest(self, name: str) -> float:
        """Return the seconds for which a deployment is paused; asks for no probe."""
        ...

    def states(self) -> dict[str, str]:
        """Return the state of every deployment with recent failures, and of every paused account.

        One of ``closed``, ``probing``, ``open`` and ``paused``.
        """
        ...


async def _nothing() -> None:
    """Do nothing: this process knows its own state."""


def _do_nothing() -> None:
    """Do nothing: this process knows its own state."""


def _defer_nothing() -> Callable[[], None]:
    """Return what saves nothing."""
    return _do_nothing


class SharedState(Struct, frozen=True, kw_only=True):
    """All shared state. ``look`` is called before each request; raises SharedStateLost.

    ``owners`` has the client of each id that an answer gave out, ``secrets`` those of envelopes,
    ``sessions`` who is signed in to the console.
    ``is_lost`` returns whether the state cannot be read or written now.
    """

    state: UsageCounter
    memory: ConversationCache
    breakers: BreakerStore
    keys: KeyStore
    owners: AnswerCache
    secrets: SecretStore
    claims: Claims
    sessions: SessionStore = field(default_factory=LocalSessions)
    look: Callable[[], Awaitable[None]] = _nothing
    begin_look: Callable[[], Awaitable[None]] | None = None
    """Begin ``look`` with the other commands of this step; None if there is nothing to look at."""
    put_given: Callable[[Mapping[str, bytes]], Awaitable[None]]
    """Store whose ids are that an answer gives, before the client has them; no one else does."""
    defer_given: Callable[[], Callable[[], None]] = _defer_nothing
    """Let them wait for each other; return what a server calls before it writes to clients."""
    flush: Callable[[], None] = _do_nothing
    """Send what was stored in this step before anything is written to a client."""
    is_lost: Callable[[], bool] = bool
    close: Callable[[], Awaitable[None]] = _nothing
    probe: Callable[[], Awaitable[None]] = _nothing
    """Ask the shared state whether it is there; raises SharedStateLost."""
    link: RedisLink | None = None
    """The connection, if replicas share the state."""
    refresh: Callable[[], Awaitable[None]] | None = None
    """Give the shared state back what it lost; called now and then; raises SharedStateLost."""

    @property
    def is_away(self) -> bool:
        """Return whether the state cannot be read or written now; costs nothing."""
        return self.is_lost()

    async def aclose(self) -> None:
        """Close everything, after all use is counted."""
        await self.state.aclose()
        await self.close()


def make_shared_state(
    server: ServerConfig,
    *,
    keys: KeyStore | None = None,
    secrets: SecretStore | None = None,
    saves_owners: bool = False,
) -> SharedState:
    """Return a server's shared state.

    ``keys`` stores run-time keys without a Redis, ``secrets`` those of envelopes with or without.
    ``saves_owners``: without a Redis, the owners of ids and sessions are in the data folder.
    """
    own_secrets = secrets or LocalSecrets()
    owners = LocalAnswerCache(seconds=_OWNED, size=_OWNERS)
    size = server.answer_cache_bytes - server.answer_cache_bytes // REMEMBERED_SHARE
    memory = LocalAnswerCache(seconds=server.answer_cache_seconds, size=size)
    if server.state == "memory":
        saved = FileOwners(owners, seconds=_OWNED) if saves_owners else None
        return SharedState(
            state=LocalUsageCounter(),
            memory=memory,
            breakers=Breakers(),
            keys=keys or LocalKeys(),
            owners=saved or owners,
            put_given=saved.put_given if saved else owners.put,
            defer_given=saved.defer_given if saved else _defer_nothing,
            secrets=own_secrets,
            sessions=FileSessions() if saves_owners else LocalSessions(),
            claims=LocalClaims(),
            close=saved.aclose if saved else _nothing,
        )
    from .redis import RedisBreakers, RedisKeys, RedisSnapshot  # noqa: PLC0415 - an extra
    from .redis_answer_cache import LocalCopies, RedisAnswerCache  # noqa: PLC0415 - an extra
    from .redis_usage_counter import RedisUsageCounter  # noqa: PLC0415 - an extra

    address = resolve_address(server)
    link = RedisLink(address)
    seconds, size = server.answer_cache_seconds, server.answer_cache_bytes
    board = RedisSnapshot(link)
    shared_keys = RedisKeys(link, board, KeyFile(address))
    shared_owners = RedisAnswerCache(
        link, LocalCopies(seconds=_OWNED, size=_OWNERS), seconds=_OWNED
    )
    return SharedState(
        state=RedisUsageCounter(
            link, alone=server.on_state_loss == "allow", pending=PendingUse(address)
        ),
        memory=RedisAnswerCache(link, LocalCopies(seconds=seconds, size=size), seconds=seconds),
        breakers=RedisBreakers(link, board),
        keys=shared_keys,
        owners=shared_owners,
        put_given=shared_owners.put,
        secrets=RedisSecrets(link, own_secrets, lambda: board.secrets),
        sessions=RedisSessions(link),
        claims=RedisClaims(link),
        look=board.look,
        link=link,
        begin_look=board.begin,
        flush=link.flush,
        is_lost=lambda: link.is_away,
        close=link.aclose,
        probe=board.look,
        refresh=shared_keys.refresh,
    )


def resolve_address(server: ServerConfig) -> str:
    """Return the address of the shared state, which may be a reference; raises MissingKey."""
    return read_reference(server.state) if server.state.startswith(REFERENCES) else server.state


async def find_eviction_policy(server: ServerConfig) -> str | None:
    """Return the policy by which a server's Redis may remove counts; None if it removes none.

    None too if it does not say. Raises MissingKey.
    """
    if server.state == "memory":
        return None
    link = RedisLink(resolve_address(server))
    try:
        policy = await link.read_policy()
    finally:
        await link.aclose()
    return None if policy == "noeviction" else policy


async def rotate_envelope_secret(config: GatewayConfig) -> None:
    """Make a new secret of envelopes; those made with older ones still open.

    Raises BadConfig if secrets are configured, StoreError, and SharedStateLost.
    """
    if config.server.envelope_secret:
        message = (
            f"{config.path} names the secrets; put the reference of a new one first in "
            "envelope_secret, keep the others after it, and send SIGHUP"
        )
        raise BadConfig(message)
    shared = make_shared_state(config.server, secrets=FileSecrets())
    try:
        await shared.secrets.create()
        await shared.secrets.add(make_secret())
    finally:
        await shared.aclose()


@asynccontextmanager
async def load_keys(config: GatewayConfig) -> AsyncIterator[KeyRing]:
    """Yield all keys of a configuration, for the command line."""
    shared = make_shared_state(config.server, keys=FileKeys())
    try:
        await shared.look()
        yield KeyRing(
            lambda: config.keys,
            shared.keys,
            has_group=lambda name: config.find_group(name) is not None,
        )
    finally:
        await shared.aclose()
