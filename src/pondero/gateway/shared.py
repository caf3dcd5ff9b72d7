"""What replicas of a gateway share, or one keeps for itself: counts, answers, breakers and keys.

``gate.Gate`` has one ``Shared``. ``[server] state`` says which: this process's memory, or a Redis.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct

from .breakers import Breakers
from .config import REFERENCES, Config, Server
from .keys import FileKeys, Keys, KeyStore, LocalKeys
from .memory import LocalMemory, Memory
from .secrets import read
from .state import LocalState, State


class AnyBreakers(Protocol):
    """Rests deployments that keep failing; by ``provider:model``."""

    async def is_open(self, name: str) -> bool:
        """Return whether to leave this deployment alone; False once, for the probe after a rest."""
        ...

    async def went_well(self, name: str) -> None:
        """Forget what failed."""
        ...

    async def failed(self, name: str) -> None:
        """Note a failure."""
        ...

    async def left(self, name: str) -> None:
        """End a probe that was cut short by the client."""
        ...

    def states(self) -> dict[str, str]:
        """Return every deployment that failed lately, and whether it is open, probing or closed."""
        ...


async def _nothing() -> None:
    """Do nothing: this process knows its own state."""


class Shared(Struct, frozen=True, kw_only=True):
    """Everything that is shared. ``look`` is called before each request, and raises StateLost."""

    state: State
    memory: Memory
    breakers: AnyBreakers
    keys: KeyStore
    look: Callable[[], Awaitable[None]] = _nothing
    close: Callable[[], Awaitable[None]] = _nothing

    async def aclose(self) -> None:
        """End what is open, after what is owed was counted."""
        await self.state.aclose()
        await self.close()


def shared_of(server: Server, *, keys: KeyStore | None = None) -> Shared:
    """Return what a server shares; ``keys`` is where it keeps run-time keys without a Redis."""
    memory = LocalMemory(seconds=server.memory_seconds, size=server.memory_bytes)
    if server.state == "memory":
        return Shared(
            state=LocalState(), memory=memory, breakers=Breakers(), keys=keys or LocalKeys()
        )
    from .redis_link import Link  # noqa: PLC0415 - only where there is one
    from .redis_state import (  # noqa: PLC0415 - as above
        Board,
        RedisBreakers,
        RedisKeys,
        RedisMemory,
        RedisState,
    )

    link = Link(address_of(server))
    board = Board(link)
    return Shared(
        state=RedisState(link),
        memory=RedisMemory(link, memory, seconds=server.memory_seconds),
        breakers=RedisBreakers(link, board),
        keys=RedisKeys(link, board),
        look=board.look,
        close=link.aclose,
    )


def address_of(server: Server) -> str:
    """Return the address of the shared state, which may be a reference; raises MissingKey."""
    return read(server.state) if server.state.startswith(REFERENCES) else server.state


@asynccontextmanager
async def kept_keys(config: Config) -> AsyncIterator[Keys]:
    """Give the keys of a configuration with those that its gateways keep, for the terminal."""
    shared = shared_of(config.server, keys=FileKeys())
    try:
        await shared.look()
        yield Keys(lambda: config.keys, shared.keys)
    finally:
        await shared.aclose()
