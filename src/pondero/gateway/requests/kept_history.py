"""Puts the history of a stored conversation into a request, so that any model can continue it.

From then on, the request is the one that a client sends who keeps the history itself: the same
rules hold for it, and the model's service gets the same bytes.
"""

from collections.abc import Sequence

from msgspec import Raw, Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Json
from ...dialects import Continuation, KeptResponses, Rejected, Service, StoredId
from ..state.kept_records import (
    FoundItem,
    KeptRecord,
    find_items,
    find_makers,
    list_hidden,
    list_rows,
    load_before,
    name_conversation,
    name_response,
    read_conversation,
    read_record,
)
from ..state.kept_store import KeptStore
from .kept_items import KeptItem, StoredContent, find_stored_ids, sum_hidden
from .split_body import SplitBody, leave_out_turns

_ENDED = ("completed", "incomplete")


class _History(Struct, frozen=True, kw_only=True):
    """The records before a request, and their names.

    ``home``: where the stored answer is that the request continues; "" if only here.
    """

    names: tuple[str, ...] = ()
    records: tuple[KeptRecord, ...] = ()
    known: tuple[str, ...] = ()
    home: str = ""
    tokens: int | None = 0


async def resolve_kept(
    store: KeptStore, http: HttpRequest, service: Service[Json], *, client: str
) -> StoredContent:
    """Return a client's request with everything that it names by id, as far as it is kept.

    Raises Rejected if a part of a kept history is gone.
    """
    rules, ids = service.kept_responses, service.stored_ids
    if rules is None or ids is None:
        return StoredContent(http, 0)
    said, named = _read_continuation(rules, http), find_stored_ids(ids, http)
    own = rules.stream(http) if said.is_background else http
    history = await _load_history(store, service, client, (said.previous, said.conversation))
    rows = [list_rows(record, rules) for record in history.records]
    before = [item for each in rows for _, item in each]
    wanted = rules.references((*before, *said.input)) if named or before else ()
    found = await find_items(store, rules, client, wanted) if wanted else {}
    for id in rules.references(before):
        if id not in found:
            raise Rejected(ids.reject(StoredId("input", id, is_item=True)))
    known = {id: each.item for id, each in found.items()}
    is_resumed = bool(history.records or history.known or known)
    sent = own
    if is_resumed or (said.is_stored and b'"store"' in http.body):
        sent = rules.resume(own, before, known)
    kept = _list_kept(history, found, rules)
    makers = {id: each.maker for id, each in found.items() if each.maker}
    for record, each in zip(history.records, rows, strict=True):
        makers |= find_makers(record, each)
    homes = {each.home.partition(":")[0] for each in found.values()}
    if history.known:
        homes.add(history.home.partition(":")[0])
    referred = sum_hidden((each for each in named if each.is_item), kept)
    if any(each.is_history and each.id not in history.known for each in named):
        referred = None  # its size is not known here
    return StoredContent(
        sent,
        None if history.tokens is None or referred is None else history.tokens + referred,
        named,
        own=own,
        said=said,
        before=history.names,
        known=frozenset((*history.known, *found)),
        homes=frozenset(homes) if is_resumed else None,
        makers=makers,
        sent_tokens=_sum_sent(ids.find(sent), kept) if is_resumed else 0,
    )


def _read_continuation(rules: KeptResponses, http: HttpRequest) -> Continuation:
    """Return what a request says of stored answers; its turns are not split again."""
    if not isinstance(http.body, SplitBody):
        return rules.read(http)
    return replace(rules.read(leave_out_turns(http)), input=tuple(http.body.turns))


async def _load_history(
    store: KeptStore,
    service: Service[Json],
    client: str,
    ids: tuple[str | None, str | None],
) -> _History:
    previous, conversation = ids
    if previous is not None:
        return await _load_answers(store, service, client, previous)
    if conversation is not None:
        return await _load_conversation(store, service, client, conversation)
    return _History()


async def _load_answers(store: KeptStore, service: Service[Json], client: str, id: str) -> _History:
    """Return all that came before and with an answer; nothing if it is not kept."""
    name = name_response(client, id)
    record = read_record((await store.get([name])).get(name))
    if record is None or service.kept_responses is None or service.stored_ids is None:
        return _History()
    if (status := service.kept_responses.status_of(bytes(record.answer))) not in _ENDED:
        message = f"previous_response_id: {id!r} cannot be continued; its status is {status!r}"
        raise Rejected(service.error(400, message, code=None, retry_after=None))
    earlier = await load_before(store, record.before)
    if earlier is None:
        each = StoredId("previous_response_id", id, is_history=True)
        raise Rejected(service.stored_ids.reject(each))
    return _History(
        names=(*record.before, name),
        records=(*earlier, record),
        known=(id,),
        home=record.home,
        tokens=record.tokens,
    )


async def _load_conversation(
    store: KeptStore, service: Service[Json], client: str, id: str
) -> _History:
    name = name_conversation(client, id)
    found = read_conversation((await store.get([name])).get(name))
    if found is None:
        return _History()
    records = await load_before(store, found.records)
    if records is None and service.kept_responses is not None:
        raise Rejected(service.kept_responses.endpoints.reject_conversation(id))
    return _History(names=found.records, records=tuple(records or ()), known=(id,))


def _sum_sent(named: Sequence[StoredId], kept: dict[str, KeptItem]) -> int | None:
    """Return what the items of a whole request do not show."""
    return sum_hidden((each for each in named if each.is_item), kept)


def _list_kept(
    history: _History, found: dict[str, FoundItem], rules: KeptResponses
) -> dict[str, KeptItem]:
    """Return what is known of items by id, for the most tokens that they have."""
    empty = Raw(b"null")
    kept = {
        id: KeptItem(empty, name, tokens)
        for name, record in zip(history.names, history.records, strict=True)
        for id, tokens in list_hidden(record, rules).items()
    }
    return kept | {id: KeptItem(empty, each.holder, each.hidden) for id, each in found.items()}


def find_unknown(stored: StoredContent) -> Sequence[StoredId]:
    """Return the ids in a request that stand for its past and are not kept here."""
    said = stored.said
    past = (said.previous, said.conversation) if said is not None else ()
    return [
        each
        for each in stored.named
        if each.id not in stored.known
        and (each.id in past or (each.is_item and not each.may_be_dropped))
    ]
