"""Items of answers that a client may name later instead of sending them (``item_reference``).

The gateway keeps those that it wrote itself, because no service knows their ids. They are the
client's that got them, and last as long as the answer cache.
"""

from hashlib import blake2b

from msgspec.structs import replace

from ...canon import Json
from ...dialects import Service
from ..server.context import GatewayContext
from .routed_request import ClientRequest


async def resolve_references(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json]
) -> ClientRequest:
    """Return the request with kept items in place of references; unknown ones stay."""
    rules = service.stored_items
    ids = rules.find(call.http) if rules is not None else ()
    if rules is None or not ids:
        return call
    keys = {_make_key(id, call.requester.id): id for id in ids}
    found = await gateway.memory.get(keys)
    items = {keys[key]: raw for key, raw in found.items()}
    return replace(call, http=rules.replace(call.http, items)) if items else call


class KeptItems:
    """Keeps the items of an answer; it sees the client's bytes."""

    def __init__(self, service: Service[Json], call: ClientRequest, *, stored: bool) -> None:
        rules = service.stored_items
        self._rules = rules if rules is not None and stored and rules.keeps(call.http) else None
        self._client = call.requester.id
        self._items: dict[str, bytes] = {}

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        if self._rules is None or self._rules.mark not in data:
            return
        for line in data.split(b"\n"):
            if self._rules.mark in line:
                self._items |= self._rules.given(line.removeprefix(b"data:"), stream=True)

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        if self._rules is not None:
            self._items |= self._rules.given(body, stream=False)

    async def record(self, gateway: GatewayContext) -> None:
        """Keep them."""
        if self._items:
            kept = {_make_key(id, self._client): raw for id, raw in self._items.items()}
            await gateway.memory.put(kept)


def _make_key(id: str, client: str) -> str:
    text = f"item\0{client}\0{id}".encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=18).hexdigest()
