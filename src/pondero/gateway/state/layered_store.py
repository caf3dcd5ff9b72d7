"""What one connection knows, before what all of them do."""

from collections.abc import Iterable, Mapping

from .kept_store import KeptStore


class LayeredStore:
    """Reads from a near store, then from a far one; ``put`` writes to the near one.

    So answers that are not to be stored can be continued on the connection that got them.
    """

    def __init__(self, near: KeptStore, far: KeptStore | None) -> None:
        self._near = near
        self._far = far

    async def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these names."""
        wanted = list(names)
        found = await self._near.get(wanted)
        missing = [name for name in wanted if name not in found]
        if missing and self._far is not None:
            found |= await self._far.get(missing)
        return found

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values on this connection alone."""
        await self._near.put(items)

    async def delete(self, names: Iterable[str]) -> None:
        """Forget these names on this connection."""
        await self._near.delete(names)

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a value where it is."""
        for store in (self._near, self._far):
            if store is not None and await store.swap(name, old, new):
                return True
        return False

    async def aclose(self) -> None:
        """Nothing is open."""
