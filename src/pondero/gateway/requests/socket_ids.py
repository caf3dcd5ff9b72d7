"""Ids of stored things in the messages of a socket: a key names its own, as in a conversation."""

import json

import msgspec

from ...canon import Json, get_path
from ...dialects import EndpointMatch, find_texts, may_escape_names
from ...errors import BadParameter, NotFound
from ..server.context import GatewayContext, Requester
from .endpoint_content import check_once
from .endpoint_ids import record_ids
from .repeated_fields import check_no_repeats
from .stored_ids import can_change_owner, describe_foreign_id, load_owners, make_owner_key


class SocketIds:
    """Looks into the messages of one socket; most have no field that names anything."""

    def __init__(self, gateway: GatewayContext, requester: Requester, match: EndpointMatch) -> None:
        self._gateway = gateway
        self._requester = requester
        self._match = match
        api, endpoint = match.api, match.endpoint
        paths = [path.split(".") for path in (*endpoint.own_at, *endpoint.account_at)]
        named = (*api.references, *api.addresses)
        self._names = (*named, *{step for path in paths for step in path})
        self._marks = tuple(
            f'"{name}"'.encode() for name in (*named, *(path[-1] for path in paths))
        )
        self._given = tuple(path.rpartition(".")[2].encode() for path in endpoint.gives)

    async def check(self, message: str | bytes) -> str | bytes:
        """Return a client's message; raises NotFound if it names what is not the client's.

        BadParameter if services may read it in two ways.
        """
        key = self._requester.key
        if key is not None and isinstance(message, bytes):
            _check_encoding(message)
        if key is None or key.account_state:
            return message
        data = _encode(message)
        if not (any(map(data.__contains__, self._marks)) or may_escape_names(data.__contains__)):
            return message
        check_once(data, self._names)
        check_no_repeats(data, "a message")
        try:
            raw = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise BadParameter("a message that names something is not JSON") from None
        await self._check(raw)
        return message

    async def _check(self, raw: Json) -> None:
        endpoint = self._match.endpoint
        for path in endpoint.account_at:
            if (named := get_path(raw, tuple(path.split(".")))) is not None:
                id = named.get("id") if isinstance(named, dict) else named
                raise NotFound(describe_foreign_id(str(id)), status=404)
        for path in endpoint.own_at:
            if not isinstance(get_path(raw, path.split(".")), str | None):
                raise BadParameter(f"{path} is not a text")
        own = {id for path in endpoint.own_at for id in find_texts(raw, path)}
        wanted = (*own, *self._match.api.find_references(raw))
        if not wanted:
            return
        keys = {make_owner_key(id): id for id in wanted}
        latest = any(map(can_change_owner, wanted))
        found = await load_owners(self._gateway, keys, latest=latest)
        for record, id in keys.items():
            owner = found.get(record, b"").partition(b"\0")[0]
            if owner != self._requester.id.encode() and (owner or id in own):
                raise NotFound(describe_foreign_id(id), status=404)

    async def record(self, message: str | bytes, provider: str) -> None:
        """Store whose the things are that a service's message gives."""
        if not self._given:
            return
        data = _encode(message)
        if not any(map(data.__contains__, self._given)):
            return
        try:
            raw = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        ids = [id for path in self._match.endpoint.gives for id in find_texts(raw, path)]
        await record_ids(self._gateway, self._requester, ids, home=provider)


def _check_encoding(message: bytes) -> None:
    """Raise BadParameter for a message in which names could not be found: JSON in UTF-16."""
    if json.detect_encoding(message).startswith("utf-8"):
        return
    try:
        json.loads(message)
    except (ValueError, RecursionError):
        return
    raise BadParameter("a message is not JSON in UTF-8")


def _encode(message: str | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.encode("utf-8", "surrogatepass")
