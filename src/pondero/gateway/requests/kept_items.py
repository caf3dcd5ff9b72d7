"""Keeps the items of answers, so that later requests can name them by id on any model.

The service of the Responses API stores answers unless a request says ``store: false``, and some
clients then send references by default. The service of another API knows none of these items.
"""

from hashlib import blake2b

from msgspec import json

from ...canon import HttpRequest, Json
from ...dialects import ParsedRequest, Service
from ..server.context import GatewayContext


async def put_kept_items(
    gateway: GatewayContext, http: HttpRequest, service: Service[Json], *, client: str
) -> HttpRequest:
    """Return a client's request with kept items in the places of their references."""
    stores = service.stored_responses
    named = stores.references(http) if stores is not None else ()
    if stores is None or not named:
        return http
    keys = {_make_item_key(id, client): id for id in named}
    found = await gateway.memory.get(keys)
    known = {keys[key]: json.decode(item) for key, item in found.items()}
    return stores.put_items(http, known) if known else http


class KeptItemRecorder:
    """Collects the items that an answer gives to a client; it sees the client's bytes."""

    def __init__(self, service: Service[Json], parsed: ParsedRequest[Json], client: str) -> None:
        stores = service.stored_responses
        self._stores = stores if stores is not None and stores.is_stored(parsed.context) else None
        self._client = client
        self._items: dict[str, bytes] = {}

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        if self._stores is None or not any(mark in data for mark in self._stores.end_marks):
            return
        for line in data.split(b"\n"):
            if line.startswith(b"data:"):
                self._items |= self._stores.find_items(line[5:], stream=True)

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        if self._stores is not None:
            self._items |= self._stores.find_items(body, stream=False)

    def list_entries(self) -> dict[str, bytes]:
        """Return the entries for the answer cache."""
        return {_make_item_key(id, self._client): item for id, item in self._items.items()}


def _make_item_key(id: str, client: str) -> str:
    """Return the key of an item in the cache; no client finds those of another."""
    named = f"item\0{client}\0{id}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=18).hexdigest()
