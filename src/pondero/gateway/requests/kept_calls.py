"""Requests about answers and conversations that the gateway keeps: fetch, list, change, delete."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from secrets import token_hex

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...dialects import (
    NAMES,
    ConversationFacts,
    ItemRow,
    KeptCall,
    KeptResponses,
    Rejected,
    Service,
    get_dialect,
)
from ...errors import PermissionDenied, PonderoError
from ..answers.response_writer import ResponseWriter
from ..observability.receipt import make_id
from ..quotas.endpoint_use import count_one_request
from ..quotas.quota import find_quotas
from ..server.context import GatewayContext, Requester
from ..state.background_runs import RunPlace
from ..state.kept_records import (
    KeptConversation,
    KeptRecord,
    find_items,
    find_pointers,
    list_rows,
    load_before,
    name_conversation,
    pack_items,
    read_conversation,
    read_record,
)
from ..state.kept_store import KeptStore
from .background import (
    SSE,
    cancel_run,
    check_life,
    delete_run,
    follow_events,
    is_after,
    is_open,
)
from .errors import write_error
from .kept_answers import add_items, change_conversation, change_entry
from .stored_calls import answer_stored_call
from .stored_ids import find_home

_SSE = {"content-type": SSE}
_WRITES = frozenset({"create", "update", "add_items"})


class _KeptRequest(Struct, frozen=True, kw_only=True):
    """A request about something kept, and all that is needed to answer it."""

    gateway: GatewayContext
    store: KeptStore
    service: Service[Json]
    rules: KeptResponses
    call: KeptCall
    http: HttpRequest
    requester: Requester
    writer: ResponseWriter

    @property
    def client(self) -> str:
        """Return whose things these are."""
        return self.requester.id

    @property
    def place(self) -> RunPlace:
        """Return where the answer is."""
        return RunPlace(self.client, self.call.id)


async def answer_kept_call(
    gateway: GatewayContext, http: HttpRequest, requester: Requester, writer: ResponseWriter
) -> HttpResponse | None:
    """Return the answer to a request about a kept thing; None to any other request.

    A stream is written to its end; what is returned then says only how it went.
    """
    store = gateway.kept
    for name in NAMES if store is not None else ():
        service = get_dialect(name).service()
        rules = service.kept_responses
        call = rules.endpoints.classify(http) if rules is not None else None
        if rules is None or call is None or store is None:
            continue
        asked = _KeptRequest(
            gateway=gateway,
            store=store,
            service=service,
            rules=rules,
            call=call,
            http=http,
            requester=requester,
            writer=writer,
        )
        try:
            _check_models(requester)
            return await _answer(asked)
        except (PonderoError, Rejected) as error:
            if writer.begun:
                raise
            return write_error(error, name, service)
    return None


def _check_models(requester: Requester) -> None:
    """Raise PermissionDenied for a key that may ask no model, and so has nothing to continue."""
    if (key := requester.key) is not None and key.models == ():
        message = f"the key {key.name!r} has models = [], so it has no answers and conversations"
        raise PermissionDenied(message, status=403)


async def _answer(asked: _KeptRequest) -> HttpResponse | None:
    """Answer; what writes counts as a request, and one that is rejected does not."""
    handler = _HANDLERS[asked.call.what, asked.call.verb]
    if asked.call.verb not in _WRITES:
        return await handler(asked)
    gateway, requester = asked.gateway, asked.requester
    quotas = find_quotas(requester.key, requester.group)
    async with count_one_request(gateway, make_id(gateway.now()), quotas):
        return await handler(asked)


# -- answers -------------------------------------------------------------------------------------


async def _load(asked: _KeptRequest) -> KeptRecord | None:
    return await check_life(asked.gateway, asked.store, asked.rules, asked.place)


async def _miss(asked: _KeptRequest) -> HttpResponse | None:
    """Answer for an answer that is not kept; None if the service that gave it may have it."""
    if await find_home(asked.gateway, asked.call.id) is not None:
        found = await answer_stored_call(asked.gateway, asked.http, asked.requester, asked.writer)
        if found is not None and found.status != 404:
            return found
    return asked.rules.endpoints.reject_response(asked.call.id)


async def _fetch(asked: _KeptRequest) -> HttpResponse | None:
    record = await _load(asked)
    if record is None:
        return await _miss(asked)
    if asked.call.streams:
        return await _stream(asked, record)
    return asked.rules.endpoints.write_response(asked.http, bytes(record.answer))


async def _stream(asked: _KeptRequest, record: KeptRecord) -> HttpResponse:
    """Write the events of an answer in the background, after the one that the client has."""
    if not record.has_events:
        return asked.rules.endpoints.reject_stream()
    writer = asked.writer
    writer.streams(_SSE, asked.service.ping)
    events = follow_events(asked.gateway, asked.store, asked.rules, asked.place)
    async for event in events:
        if is_after(event, asked.rules, asked.call.after):
            await writer.write(event)
    await writer.end()
    return HttpResponse(200, _SSE)


async def _delete(asked: _KeptRequest) -> HttpResponse | None:
    record = await _load(asked)
    if record is None:
        return await _miss(asked)
    if is_open(record, asked.rules):
        await cancel_run(asked.gateway, asked.store, asked.rules, asked.place)
    if record.home:  # the service that gave the answer has it too
        found = await answer_stored_call(asked.gateway, asked.http, asked.requester, asked.writer)
        if found is not None and found.status >= 400 and found.status != 404:
            return found
    place = asked.place
    ids = [id for id, _ in list_rows(record, asked.rules)]
    names = await find_pointers(asked.store, asked.client, ids, [place.record])
    await asked.store.delete([*names, place.record])
    if record.is_background:
        await delete_run(asked.store, place)
    return asked.rules.endpoints.write_deleted(asked.call)


async def _cancel(asked: _KeptRequest) -> HttpResponse | None:
    record = await _load(asked)
    if record is None:
        return await _miss(asked)
    if not record.is_background:
        return asked.rules.endpoints.reject_cancel()
    record = await cancel_run(asked.gateway, asked.store, asked.rules, asked.place) or record
    return asked.rules.endpoints.write_response(asked.http, bytes(record.answer))


async def _list_input(asked: _KeptRequest) -> HttpResponse | None:
    """List what the model was given: all before the answer, and the items of its request."""
    record = await _load(asked)
    if record is None:
        return await _miss(asked)
    earlier = await load_before(asked.store, record.before)
    if earlier is None:
        return asked.rules.endpoints.reject_response(asked.call.id)
    own = tuple((id, bytes(item)) for id, item in record.input)
    rows = (*(row for each in earlier for row in list_rows(each, asked.rules)), *own)
    return asked.rules.endpoints.write_items(asked.http, await _put_items(asked, rows))


async def _put_items(asked: _KeptRequest, rows: Sequence[ItemRow]) -> list[ItemRow]:
    """Return items with those that references mean in their places, as far as they are kept."""
    rules = asked.rules
    wanted = rules.references([item for _, item in rows])
    found = await find_items(asked.store, rules, asked.client, wanted) if wanted else {}
    known = {id: each.item for id, each in found.items()}
    return [(id, rules.put([item], known)[0]) for id, item in rows]


# -- conversations -------------------------------------------------------------------------------


async def _create(asked: _KeptRequest) -> HttpResponse | None:
    new = asked.rules.endpoints.read_conversation(asked.http)
    id = f"conv_{token_hex(24)}"
    made = KeptConversation(id=id, created=int(asked.gateway.now()), metadata=Raw(new.metadata))
    await asked.store.put({name_conversation(asked.client, id): json.encode(made)})
    if new.items:
        rows = asked.rules.name_items(new.items, token_hex(16).encode()).rows
        await add_items(asked.store, (asked.client, id), rows, hidden={})
    return _write_conversation(asked, made)


def _write_conversation(asked: _KeptRequest, found: KeptConversation) -> HttpResponse:
    facts = ConversationFacts(found.id, found.created, bytes(found.metadata))
    return asked.rules.endpoints.write_conversation(facts)


async def _find_conversation(asked: _KeptRequest) -> KeptConversation:
    name = name_conversation(asked.client, asked.call.id)
    found = read_conversation((await asked.store.get([name])).get(name))
    if found is None:
        raise Rejected(asked.rules.endpoints.reject_conversation(asked.call.id))
    return found


async def _fetch_conversation(asked: _KeptRequest) -> HttpResponse | None:
    return _write_conversation(asked, await _find_conversation(asked))


async def _update(asked: _KeptRequest) -> HttpResponse | None:
    await _find_conversation(asked)
    labels = Raw(asked.rules.endpoints.read_conversation(asked.http).metadata)
    changed = await change_conversation(
        asked.store, (asked.client, asked.call.id), lambda _: {"metadata": labels}
    )
    if changed is None:
        raise Rejected(asked.rules.endpoints.reject_conversation(asked.call.id))
    return _write_conversation(asked, changed)


async def _delete_conversation(asked: _KeptRequest) -> HttpResponse | None:
    """Delete a conversation, with what others add to it at the same time."""
    own = name_conversation(asked.client, asked.call.id)

    def mark(data: bytes) -> bytes | None:
        found = read_conversation(data, also_deleted=True)
        return None if found is None else json.encode(replace(found, is_deleted=True))

    marked = await change_entry(asked.store, own, mark)
    found = read_conversation(marked, also_deleted=True)
    if found is None:
        raise Rejected(asked.rules.endpoints.reject_conversation(asked.call.id))
    kept = (await asked.store.get(found.records)).values()
    records = [each for each in map(read_record, kept) if each is not None]
    ids = [id for each in records for id, _ in list_rows(each, asked.rules)]
    pointers = await find_pointers(asked.store, asked.client, ids, found.records)
    await asked.store.delete([own, *found.records, *pointers])
    return asked.rules.endpoints.write_deleted(asked.call)


async def _list_rows(asked: _KeptRequest, found: KeptConversation) -> list[ItemRow]:
    records = await load_before(asked.store, found.records)
    if records is None:
        raise Rejected(asked.rules.endpoints.reject_conversation(asked.call.id))
    return [row for record in records for row in list_rows(record, asked.rules)]


async def _list_items(asked: _KeptRequest) -> HttpResponse | None:
    rows = await _list_rows(asked, await _find_conversation(asked))
    return asked.rules.endpoints.write_items(asked.http, await _put_items(asked, rows))


async def _add_items(asked: _KeptRequest) -> HttpResponse | None:
    await _find_conversation(asked)
    new = asked.rules.endpoints.read_conversation(asked.http)
    rows = asked.rules.name_items(new.items, token_hex(16).encode()).rows
    place = (asked.client, asked.call.id)
    if await add_items(asked.store, place, rows, hidden={}) is None:
        raise Rejected(asked.rules.endpoints.reject_conversation(asked.call.id))
    # A page has the newest first; these are told in the order in which they came.
    return asked.rules.endpoints.write_items(asked.http, rows[::-1])


async def _fetch_item(asked: _KeptRequest) -> HttpResponse | None:
    rows = await _list_rows(asked, await _find_conversation(asked))
    row = next((each for each in rows if each[0] == asked.call.item), None)
    if row is None:
        return asked.rules.endpoints.reject_item(asked.call.item)
    (row,) = await _put_items(asked, [row])
    return asked.rules.endpoints.write_item(asked.http, row)


async def _delete_item(asked: _KeptRequest) -> HttpResponse | None:
    found = await _find_conversation(asked)
    item = asked.call.item

    def take_out(data: bytes) -> bytes | None:
        record = read_record(data)
        rows = [] if record is None else list_rows(record, asked.rules)
        left = [row for row in rows if row[0] != item]
        if record is None or len(left) == len(rows):
            return None
        return json.encode(replace(record, input=pack_items(left)))

    kept = await asked.store.get(found.records)
    for name in (name for name, data in kept.items() if take_out(data) is not None):
        if await change_entry(asked.store, name, take_out) is not None:
            pointers = await find_pointers(asked.store, asked.client, [item], [name])
            await asked.store.delete(pointers)
            return _write_conversation(asked, found)
    return asked.rules.endpoints.reject_item(item)


_HANDLERS: Mapping[tuple[str, str], Callable[[_KeptRequest], Awaitable[HttpResponse | None]]] = {
    ("response", "fetch"): _fetch,
    ("response", "delete"): _delete,
    ("response", "cancel"): _cancel,
    ("response", "items"): _list_input,
    ("conversation", "create"): _create,
    ("conversation", "fetch"): _fetch_conversation,
    ("conversation", "update"): _update,
    ("conversation", "delete"): _delete_conversation,
    ("conversation", "items"): _list_items,
    ("conversation", "add_items"): _add_items,
    ("conversation", "fetch_item"): _fetch_item,
    ("conversation", "delete_item"): _delete_item,
}
