"""The store of answers of all replicas, in Redis; it removes the oldest before Redis is full."""

from collections.abc import Iterable, Mapping
from typing import Any

from .redis_link import PREFIX, RedisLink
from .redis_protocol import Argument

_KEYS = ("kept:index", "kept:sizes", "kept:sum")
_NAMES = f"{PREFIX}kept:of:"


class RedisKeptStore:
    """A store in Redis; raises SharedStateLost while it is unreachable."""

    def __init__(self, link: RedisLink, *, seconds: float, size: int) -> None:
        self._link = link
        self._settings: tuple[Argument, ...] = (_NAMES, max(1, round(seconds)), size)

    async def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these names, and extend their time."""
        wanted = list(names)
        if not wanted:
            return {}
        values = await self._run("get", wanted)
        pairs = zip(wanted, values, strict=False)  # Redis leaves out what is missing at the end
        return {name: value for name, value in pairs if value is not None}

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        if items:
            await self._run("put", [each for pair in items.items() for each in pair])

    async def delete(self, names: Iterable[str]) -> None:
        """Forget these names."""
        await self._run("delete", list(names))

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a value, or add it if ``old`` is None; return False if it is another by now."""
        arguments = [name, 0 if old is None else 1, old or b"", new]
        return bool(await self._run("swap", arguments))

    async def aclose(self) -> None:
        """The shared state closes its connection itself."""

    async def _run(self, step: str, arguments: Iterable[Argument]) -> Any:
        return await self._link.run("kept", _KEYS, (step, *self._settings, *arguments))
