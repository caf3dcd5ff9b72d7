"""Claims: of several processes, one does something that all of them see the need for.

Who claims a name keeps it until it is done; then all who see the need do. So another process does
what one that was killed had not done yet.
"""

from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from typing import Protocol

from .redis_link import PREFIX, RedisLink, SharedStateLost

_DONE = b"done"  # in place of who claimed it


class Claims(Protocol):
    """Who does what; a claim ends when it is given back, or some time after its last keeper."""

    async def take(self, name: str, seconds: float) -> bool:
        """Claim a name for so long, or keep it; return whether it was free before."""
        ...

    async def note_done(self, name: str, seconds: float) -> None:
        """Note that what a name was claimed for is done, if it is still claimed."""
        ...

    async def give_back(self, name: str) -> bool:
        """End a claim of any process; return whether it was there."""
        ...


class LocalClaims:
    """The claims of one process, which has all of them."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    async def take(self, name: str, seconds: float) -> bool:  # noqa: ARG002 - they last as it does
        """Claim a name; return whether it was free."""
        is_free = name not in self._names
        self._names.add(name)
        return is_free

    async def note_done(self, name: str, seconds: float) -> None:
        """Do nothing: what this process has not done ends with it."""

    async def give_back(self, name: str) -> bool:
        """End a claim; return whether it was there."""
        is_there = name in self._names
        self._names.discard(name)
        return is_there


class RedisClaims:
    """The claims of all replicas; while Redis is lost, each replica has its own."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._local = LocalClaims()
        self._replica = token_hex(6).encode()
        self._done: set[str] = set()

    async def take(self, name: str, seconds: float) -> bool:
        """Claim a name, or keep it; return whether it was free, and is not done."""
        was_free_here = await self._local.take(name, seconds)
        place, time = _make_name(name), round(seconds * 1000)
        own = _DONE if name in self._done else self._replica
        try:
            if await self._link.send("SET", place, own, "NX", "PX", time) is not None:
                return own != _DONE  # else Redis forgot it
            found = await self._link.send("GET", place)
            if found == _DONE:
                self._done.add(name)
            if found in (_DONE, own):
                await self._link.send("PEXPIRE", place, time)
        except SharedStateLost:
            return was_free_here
        return False

    async def note_done(self, name: str, seconds: float) -> None:
        """Let all who see the need keep the claim from now on."""
        self._done.add(name)
        with suppress(SharedStateLost):
            time = round(seconds * 1000)
            await self._link.send("SET", _make_name(name), _DONE, "XX", "PX", time)

    async def give_back(self, name: str) -> bool:
        """End a claim; return whether it was there."""
        was_here = await self._local.give_back(name)
        self._done.discard(name)
        try:
            return bool(await self._link.send("DEL", _make_name(name)))
        except SharedStateLost:
            return was_here


def _make_name(name: str) -> str:
    return f"{PREFIX}claim:{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
