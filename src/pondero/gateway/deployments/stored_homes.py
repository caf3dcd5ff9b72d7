"""Keeps requests with ids of stored things on the account that stores them.

Containers can be new elsewhere, so these are left out of a request that goes to another account.
Ids also tell who made the answers that they are in, long after the answer cache has forgotten it.
"""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from ...canon import Json, LevelUpdate, Message, Origin, ToolResult, UnknownPart
from ...catalog import ModelEntry
from ...dialects import Rejected, StoredId
from ...errors import UsageError
from ...exchange import Exchange
from ...thinking import Adjustment
from ..requests.routed_request import RoutedRequest
from ..server.context import GatewayContext
from ..signatures.envelope import iter_strings


def stay_at_home(
    gateway: GatewayContext, routed: RoutedRequest, homes: Mapping[str, str]
) -> RoutedRequest:
    """Return a request for the account that has what its ids name.

    ``homes``: the models that gave its ids, as ``name_home`` names them. Raises Rejected if no
    model of the route is of that account: another one would not know these ids.
    """
    entries = {name: entry for name in set(homes.values()) if (entry := _find(gateway, name))}
    makers = {id: entries[name] for id, name in homes.items() if name in entries}
    messages = tuple(_name_maker(each, makers) for each in routed.request.messages)
    # What the gateway keeps itself can be sent to another account, in whole.
    named = [each for each in routed.stored.named if each.id not in routed.stored.known]
    accounts = {id: gateway.routing.find_account(home) or "" for id, home in homes.items()}
    resolved = routed.resolved
    for each in named:
        if each.needs_account and each.id in accounts:
            kept = [entry for entry in resolved.entries if entry.account == accounts[each.id]]
            if not kept and routed.service.stored_ids is not None:
                raise Rejected(routed.service.stored_ids.reject(each))
            resolved = replace(resolved, entries=tuple(kept))
    bound = {each.id: accounts[each.id] for each in named if _is_bound(each, accounts)}
    conversation = routed.conversation
    if conversation is not None:
        for id in bound.keys() & makers.keys():
            conversation = conversation.with_usual(makers[id])
        for id in routed.stored.known & makers.keys():
            conversation = conversation.with_home(makers[id])
    return replace(
        routed,
        request=replace(routed.request, messages=messages),
        resolved=resolved,
        conversation=conversation,
        bound=tuple(bound.items()),
    )


def _is_bound(each: StoredId, accounts: Mapping[str, str]) -> bool:
    return each.is_optional and each.id in accounts


def leave_out_bound(exchange: Exchange, routed: RoutedRequest, entry: ModelEntry) -> Exchange:
    """Return a request without the containers and files of other accounts, and with a note."""
    rules = routed.service.stored_ids
    others = frozenset(id for id, account in routed.bound if account != entry.account)
    body = exchange.http.body
    if not others or rules is None or rules.leave_out is None:
        return exchange
    if exchange.dialect != routed.call.client_dialect:
        return exchange  # no other API is sent such an id
    named = {each.id for each in rules.find(exchange.http)} & others
    if not named:
        return exchange
    plan = replace(exchange.plan, adjustments=(*exchange.plan.adjustments, _note_left_out(named)))
    http = replace(exchange.http, body=rules.leave_out(bytes(body), others))
    return replace(exchange, http=http, plan=plan)


def _note_left_out(ids: Collection[str]) -> Adjustment:
    why = "another account has these containers or files, and only that one can use them"
    return Adjustment("account_moved", "stored things", len(ids), None, why)


def _find(gateway: GatewayContext, name: str) -> ModelEntry | None:
    try:
        return gateway.routing.find_entry(name)
    except UsageError:  # a deployment that is not configured any more
        return None


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
