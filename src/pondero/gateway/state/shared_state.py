"""What replicas of a gateway share, or one keeps for itself: counts, answers, breakers and keys.

``gate.Gate`` has one ``SharedState``. ``[server] state`` says which: this process's memory, or a
Redis.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct

from ..config.model import REFERENCES, GatewayConfig, ServerConfig
from ..config.secrets import read_reference
from ..quotas.usage_counter import LocalUsageCounter, UsageCounter
from .answer_cache import AnswerCache, LocalAnswerCache
from .breakers import Breakers
from .keys import FileKeys, KeyRing, KeyStore, LocalKeys


class BreakerStore(Protocol):
    """Rests deployments that keep failing; by ``provider:model``."""

    async def is_open(self, name: str) -> bool:
        """Return whether to leave this deployment alone; False once, for the probe after a rest."""
        ...

    async def record_success(self, name: str) -> None:
        """Forget what failed."""
        ...

    async def record_failure(self, name: str) -> None:
        """Note a failure."""
        ...

    async def cancel_probe(self, name: str) -> None:
        """End a probe that was cut short by the client."""
        ...

    def states(self) -> dict[str, str]:
        """Return every deployment that failed lately, and whether it is open, probing or closed."""
        ...


async def _nothing() -> None:
    """Do nothing: this process knows its own state."""


class SharedState(Struct, frozen=True, kw_only=True):
    """Everything that is shared. ``look`` is called before each request, and raises StateLost."""

    state: UsageCounter
    memory: AnswerCache
    breakers: BreakerStore
    keys: KeyStore
    look: Callable[[], Awaitable[None]] = _nothing
    close: Callable[[], Awaitable[None]] = _nothing

    async def aclose(self) -> None:
        """End what is open, after what is owed was counted."""
        await self.state.aclose()
        await self.close()


def make_shared_state(server: ServerConfig, *, keys: KeyStore | None = None) -> SharedState:
    """Return what a server shares; ``keys`` is where it keeps run-time keys without a Redis."""
    memory = LocalAnswerCache(seconds=server.answer_cache_seconds, size=server.answer_cache_bytes)
    if server.state == "memory":
        return SharedState(
            state=LocalUsageCounter(), memory=memory, breakers=Breakers(), keys=keys or LocalKeys()
        )
    from .redis import (  # noqa: PLC0415 - as above
        RedisAnswerCache,
        RedisBreakers,
        RedisKeys,
        RedisSnapshot,
        RedisUsageCounter,
    )
    from .redis_link import RedisLink  # noqa: PLC0415 - only where there is one

    link = RedisLink(resolve_address(server))
    board = RedisSnapshot(link)
    return SharedState(
        state=RedisUsageCounter(link),
        memory=RedisAnswerCache(link, memory, seconds=server.answer_cache_seconds),
        breakers=RedisBreakers(link, board),
        keys=RedisKeys(link, board),
        look=board.look,
        close=link.aclose,
    )


def resolve_address(server: ServerConfig) -> str:
    """Return the address of the shared state, which may be a reference; raises MissingKey."""
    return read_reference(server.state) if server.state.startswith(REFERENCES) else server.state


@asynccontextmanager
async def load_keys(config: GatewayConfig) -> AsyncIterator[KeyRing]:
    """Give the keys of a configuration with those that its gateways keep, for the terminal."""
    shared = make_shared_state(config.server, keys=FileKeys())
    try:
        await shared.look()
        yield KeyRing(lambda: config.keys, shared.keys)
    finally:
        await shared.aclose()
