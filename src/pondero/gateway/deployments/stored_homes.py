"""Keeps requests with ids of stored things on the deployment that stores them.

Ids also tell who made the answers that they are in, long after the answer cache has forgotten it.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from ...canon import Json, LevelUpdate, Message, Origin, ToolResult, UnknownPart
from ...catalog import ModelEntry
from ...dialects import StoredId
from ...errors import UsageError
from ..requests.routed_request import RoutedRequest
from ..server.context import GatewayContext
from ..signatures.envelope import iter_strings


def stay_at_home(
    gateway: GatewayContext, routed: RoutedRequest, homes: Mapping[str, str]
) -> RoutedRequest:
    """Return a request for the deployment that has what its ids name.

    ``homes``: the models that gave its ids, as routes name them.
    """
    entries = {name: entry for name in set(homes.values()) if (entry := _find(gateway, name))}
    makers = {id: entries[name] for id, name in homes.items() if name in entries}
    messages = tuple(_name_maker(each, makers) for each in routed.request.messages)
    # What the gateway keeps itself can be sent to another account, in whole.
    named = [each for each in routed.stored.named if each.id not in routed.stored.known]
    needed = {each.id for each in named if _needs_home(each)}
    pinned = {makers[id].deployment for id in needed if id in makers}
    resolved = routed.resolved
    if len(pinned) == 1:
        (name,) = pinned
        kept = tuple(entry for entry in resolved.entries if entry.deployment == name)
        resolved = replace(resolved, entries=kept) if kept else resolved
    conversation = routed.conversation
    if conversation is not None:
        for id in routed.stored.known & makers.keys():
            conversation = conversation.with_home(makers[id])
    request = replace(routed.request, messages=messages)
    return replace(routed, request=request, resolved=resolved, conversation=conversation)


def _find(gateway: GatewayContext, name: str) -> ModelEntry | None:
    try:
        return gateway.routing.find_entry(name)
    except UsageError:  # a deployment that is not configured any more
        return None


def _needs_home(stored: StoredId) -> bool:
    """Return whether only the account that has a thing can answer a request with its id."""
    return not (stored.has_content or stored.may_be_dropped or stored.of_account)


def _name_maker(message: Message, makers: Mapping[str, ModelEntry]) -> Message:
    """Return an answer with its maker, if an id in each of its signed parts tells the same one."""
    if message.role != "assistant" or message.origin is not None:
        return message
    found: set[ModelEntry | None] = set()
    for part in message.parts:
        if isinstance(part, ToolResult | LevelUpdate):
            continue
        values = [] if part.signature is None else [part.signature.value]
        values += [part.raw] if isinstance(part, UnknownPart) else []
        if values:
            found.add(_find_maker(values, makers))
    if len(found) != 1 or (maker := found.pop()) is None:
        return message
    origin = Origin(maker.provider.name, maker.model, deployment=maker.signer)
    return replace(message, origin=origin)


def _find_maker(values: list[Json], makers: Mapping[str, ModelEntry]) -> ModelEntry | None:
    """Return the maker of the ids in a part; None if they are unknown, or of several."""
    strings = (text for value in values for text in iter_strings(value))
    found = {makers[text] for text in strings if text in makers}
    return found.pop() if len(found) == 1 else None
