"""Binds the ids of things that a provider stores to the client whose answer gave them.

All clients of a gateway share one account at the provider, which would hand any of them the answers
of the others.
"""

from collections.abc import Iterable
from hashlib import blake2b

from ...dialects import Rejected, StoredId
from ..server.context import GatewayContext
from .portability import is_same_dialect
from .routed_request import RoutedRequest
from .translation import check_translatable


async def check_stored_ids(gateway: GatewayContext, routed: RoutedRequest) -> None:
    """Reject ids that are not the client's, or that no model of the route can know.

    Raises Rejected and BadParameter.
    """
    rules = routed.service.stored_ids
    found = rules.find(routed.call.http) if rules is not None else ()
    if rules is None or not found:
        return
    if not any(is_same_dialect(routed, entry) for entry in routed.resolved.entries):
        check_translatable(routed)
    dialect = routed.call.client_dialect
    if not any(entry.provider.dialect == dialect for entry in routed.resolved.entries):
        return  # no other API is sent such an id
    key, client = routed.call.requester.key, routed.call.requester.id.encode()
    if key is None or key.account_state:
        return
    owners = await _load_owners(gateway, found)
    for each in found:
        owner = owners.get(each.id, client if each.has_content else None)
        if each.of_account or owner != client:
            raise Rejected(rules.reject(each))


async def _load_owners(gateway: GatewayContext, found: Iterable[StoredId]) -> dict[str, bytes]:
    """Return the clients whose answers gave these ids."""
    keys = {_make_owner_key(each.id): each.id for each in found if not each.of_account}
    owners = await gateway.shared.owners.get(keys) if keys else {}
    return {keys[key]: owner for key, owner in owners.items()}


class GivenIdRecorder:
    """Records the ids that an answer gives to a client; it sees the client's bytes."""

    def __init__(self, routed: RoutedRequest) -> None:
        self._rules = routed.service.stored_ids if routed.call.requester.key is not None else None
        self._client = routed.call.requester.id
        self._ids: set[str] = set()

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        if self._rules is None or self._rules.mark not in data:
            return
        for line in data.split(b"\n"):
            if self._rules.mark in line:
                self._ids.update(self._rules.find_given(line.removeprefix(b"data:"), stream=True))

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        if self._rules is not None:
            self._ids.update(self._rules.find_given(body, stream=False))

    async def record(self, gateway: GatewayContext) -> None:
        """Store whose they are."""
        if self._ids:
            owner = self._client.encode()
            await gateway.shared.owners.put({_make_owner_key(id): owner for id in self._ids})


def _make_owner_key(id: str) -> str:
    return blake2b(b"stored\0" + id.encode("utf-8", "surrogatepass"), digest_size=18).hexdigest()
