"""Binds files, batches and other stored things to the client that made them, and their provider.

All clients of a gateway share one account at a provider. A key with ``account_state`` may name what
the account has; any other only what it made itself.
"""

from collections.abc import Iterable, Mapping
from secrets import token_bytes

from ...canon import Json, get_path
from ...dialects import EndpointMatch, find_resource, find_texts
from ...errors import BadParameter, NotFound, PermissionDenied
from ..server.context import GatewayContext, Requester
from .stored_ids import (
    PROVIDER,
    can_change_owner,
    describe_foreign_id,
    load_owners,
    make_home_key,
    make_owner_key,
    make_stored_key,
    read_place,
)

_ENDED = b"ended"
_CLAIM = b"claim"  # another one for each time that a name is used


def check_list(match: EndpointMatch, requester: Requester) -> None:
    """Raise PermissionDenied for a list of what all clients have stored."""
    key = requester.key
    if match.is_list and key is not None and not key.account_state:
        message = (
            f"{match.call} shows what all keys of this account have stored; name things by their "
            "ids, or the operator writes account_state = true under [[key]]"
        )
        raise PermissionDenied(message, status=403)


def check_account_things(match: EndpointMatch, raw: Json, requester: Requester) -> None:
    """Raise NotFound if a body names something of the account, which all clients share."""
    key = requester.key
    if key is None or key.account_state:
        return
    for path in match.endpoint.account_at:
        if named := get_path(raw, path.split(".")):
            message = (
                f"{path} {str(named)[:100]!r} was not found: it is of the account, which all keys "
                "share; the operator writes account_state = true under [[key]]"
            )
            raise NotFound(message, status=404)


async def find_home(
    gateway: GatewayContext, requester: Requester, ids: Iterable[str]
) -> str | None:
    """Return the account that has these things; None if no answer here gave them.

    Raises NotFound for one that is not the client's, and BadParameter if they are apart.
    """
    wanted = tuple(dict.fromkeys(ids))
    if not wanted:
        return None
    owner_keys = {id: make_owner_key(id) for id in wanted}
    home_keys = {id: (make_stored_key(PROVIDER, id), make_home_key(id)) for id in wanted}
    both = [key for keys in home_keys.values() for key in keys]
    latest = any(map(can_change_owner, wanted))
    found = await load_owners(gateway, (*owner_keys.values(), *both), latest=latest)
    key = requester.key
    if key is not None and not key.account_state:
        for id in wanted:
            owner = found.get(owner_keys[id], b"").partition(b"\0")[0]
            if owner != requester.id.encode():
                raise NotFound(describe_foreign_id(id), status=404)
    # What an answer made has no record of an endpoint.
    known = (next(filter(None, map(found.get, keys)), None) for keys in home_keys.values())
    homes = {read_place(each).partition(":")[0] for each in known if each is not None}
    if len(homes) > 1:
        raise BadParameter("the request names things that two accounts have")
    return next(iter(homes), None)


async def record_ids(
    gateway: GatewayContext,
    requester: Requester,
    ids: Iterable[str],
    *,
    home: str,
    job: str | None = None,
) -> None:
    """Store which account has these things, and whose they are, if that is not known yet.

    What a ``job`` made is of the client whose job it is.
    """
    wanted = tuple(dict.fromkeys(each for each in ids if each))
    if not wanted:
        return
    names = [make_owner_key(id) for id in wanted]
    known = await gateway.shared.owners.get(names)
    maker = known.get(make_owner_key(job)) if job is not None else None
    records = dict.fromkeys(names, maker or requester.id.encode())
    records |= {make_stored_key(PROVIDER, id): home.encode() for id in wanted}
    # One that is known is stored again, so that it lasts as long as it is used.
    await gateway.shared.owners.put({**records, **{key: known[key] for key in known if known[key]}})


async def claim_names(
    gateway: GatewayContext,
    requester: Requester,
    names: Iterable[str],
    *,
    home: str,
    uploads: Iterable[str],
) -> None:
    """Store that things with names of a client's choice are its own, even if others used them.

    The service has just made them, so no other client has them now. What an upload made is told
    again if the upload is repeated, which may be after the name was used again.
    """
    wanted = tuple(dict.fromkeys(names))
    ended = [make_stored_key(_ENDED, each) for each in uploads]
    if not wanted or await load_owners(gateway, ended, latest=True):
        return
    records = {make_owner_key(name): requester.id.encode() for name in wanted}
    records |= {make_stored_key(PROVIDER, name): home.encode() for name in wanted}
    records |= {make_stored_key(_CLAIM, name): token_bytes(12) for name in wanted}
    await gateway.shared.owners.put({**records, **dict.fromkeys(ended, b"1")})


async def load_claims(gateway: GatewayContext, names: Iterable[str]) -> dict[str, bytes]:
    """Return whose these names are, and since which claim, as records of the state."""
    keys = (key for name in names for key in (make_owner_key(name), make_stored_key(_CLAIM, name)))
    return await load_owners(gateway, keys, latest=True)


async def forget_names(
    gateway: GatewayContext, names: Iterable[str], claims: Mapping[str, bytes]
) -> None:
    """Store that these names have no owner: their things were deleted.

    ``claims``: those before the deletion. A name that was used again since is that client's, even
    if it is the same one.
    """
    now = await load_claims(gateway, names)
    for name in names:
        keys = (make_owner_key(name), make_stored_key(_CLAIM, name))
        if all(now.get(key) == claims.get(key) for key in keys):
            await gateway.shared.owners.put({make_owner_key(name): b""})


def find_given(match: EndpointMatch, raw: Json) -> tuple[str, ...]:
    """Return the ids that an answer gives."""
    found = (id for path in match.endpoint.gives for id in find_texts(raw, path))
    return tuple(find_resource(id) or id for id in found)
