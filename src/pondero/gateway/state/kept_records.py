"""What the gateway keeps of answers and conversations, and under which names.

A record has its own items alone, and the names of all records before it. So a conversation of many
turns is stored once, is read in two steps, and one that was deleted is really gone.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Raw, Struct, json

from ...canon import get_decoder
from ...dialects import ItemRow, KeptResponses
from .kept_store import KeptStore

KeptItems = tuple[tuple[str, Raw], ...]


_NONE = Raw(b"null")


class KeptRecord(Struct, frozen=True, kw_only=True):
    """An answer with the items of its request, or some items of a conversation.

    ``answer`` is the answer as the client got it, null for items of a conversation. ``before``:
    the names of the records before it. ``home``: the model whose service stores the answer too,
    ``name`` the client's name for it. ``tokens``: the most tokens of the answer and of all before
    it. ``hidden``: what items of a conversation do not show, as in an answer.
    ``maker``: the model whose service gave the items of an answer, if their ids are its own.
    ``has_events``: an answer in the background whose events are kept.
    """

    answer: Raw = _NONE
    input: KeptItems = ()
    before: tuple[str, ...] = ()
    home: str = ""
    maker: str = ""
    name: str = ""
    tokens: int | None = None
    hidden: dict[str, int | None] = {}
    is_background: bool = False
    has_events: bool = False


class KeptConversation(Struct, frozen=True, kw_only=True):
    """A conversation: its labels, and the names of the records with its items, in order.

    ``is_deleted``: its records are about to be deleted, and no other may be added.
    """

    id: str
    created: int
    metadata: Raw = Raw(b"{}")
    records: tuple[str, ...] = ()
    is_deleted: bool = False


_RECORD = get_decoder(KeptRecord)
_CONVERSATION = get_decoder(KeptConversation)
_POINTER = get_decoder(str)


def read_record(data: bytes | None) -> KeptRecord | None:
    """Return a record; None if there is none, or a later version wrote it."""
    try:
        return None if data is None else _RECORD.decode(data)
    except msgspec.MsgspecError:
        return None


def read_conversation(data: bytes | None, *, also_deleted: bool = False) -> KeptConversation | None:
    """Return a conversation; None if there is none, or a later version wrote it."""
    try:
        found = None if data is None else _CONVERSATION.decode(data)
    except msgspec.MsgspecError:
        return None
    return found if found is None or also_deleted or not found.is_deleted else None


def make_entry_name(kind: str, client: str, id: str) -> str:
    """Return the name of an entry in a store; no client finds those of another."""
    named = f"{kind}\0{client}\0{id}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=24).hexdigest()


def name_response(client: str, id: str) -> str:
    """Return the name of an answer."""
    return make_entry_name("response", client, id)


def name_conversation(client: str, id: str) -> str:
    """Return the name of a conversation."""
    return make_entry_name("conversation", client, id)


def pack_items(rows: Iterable[ItemRow]) -> KeptItems:
    """Return items as a record has them."""
    return tuple([(id, Raw(item)) for id, item in rows])


def list_rows(record: KeptRecord, rules: KeptResponses) -> tuple[ItemRow, ...]:
    """Return the items of a record with their ids: those of a request, then those of its answer."""
    given = tuple((id, bytes(item)) for id, item in record.input)
    answer = rules.find_answer(bytes(record.answer)) if record.answer != _NONE else None
    return given if answer is None else (*given, *answer.items)


def find_makers(record: KeptRecord, rows: Sequence[ItemRow]) -> dict[str, str]:
    """Return the model that made the items of a record, by their ids; ``rows`` are all of them.

    Items that came in a request may be of any other.
    """
    maker = record.maker or record.home
    is_answer = record.answer != _NONE
    made = [id for id, _ in rows[len(record.input) :]] if is_answer else record.hidden
    return dict.fromkeys(made, maker) if maker else {}


def list_hidden(record: KeptRecord, rules: KeptResponses) -> dict[str, int | None]:
    """Return the most tokens that the items of a record do not show."""
    answer = rules.find_answer(bytes(record.answer)) if record.answer != _NONE else None
    return record.hidden if answer is None else {**record.hidden, **answer.hidden}


class FoundItem(Struct, frozen=True):
    """A kept item, the name of its record, what it does not show, and where it is stored too.

    ``maker``: the model that made it, "" if that is not known.
    """

    item: bytes
    holder: str
    hidden: int | None
    home: str
    maker: str


async def find_items(
    store: KeptStore, rules: KeptResponses, client: str, ids: Iterable[str]
) -> dict[str, FoundItem]:
    """Return the items that ids name, as far as they are kept."""
    wanted = set(ids)
    pointers = {make_entry_name("item", client, id): id for id in wanted}
    found = await store.get(pointers)
    holders = {pointers[name]: _POINTER.decode(value) for name, value in found.items()}
    for id in wanted - holders.keys():
        if (answer := rules.find_holder(id)) is not None:
            holders[id] = name_response(client, answer)
    items: dict[str, FoundItem] = {}
    for name, data in (await store.get(set(holders.values()))).items():
        if (record := read_record(data)) is not None:
            hidden, rows = list_hidden(record, rules), list_rows(record, rules)
            made = find_makers(record, rows)
            for id, item in rows:
                # Other records may have the item too, as their clients sent it.
                if holders.get(id) == name and not rules.references([item]):
                    most = hidden.get(id, 0)
                    items[id] = FoundItem(item, name, most, record.home, made.get(id, ""))
    return items


def point_to(client: str, ids: Iterable[str], holder: str) -> dict[str, bytes]:
    """Return the entries that lead from items to their record."""
    value = json.encode(holder)
    entries: dict[str, bytes] = {}
    for id in ids:
        entries[make_entry_name("item", client, id)] = value
    return entries


async def find_pointers(
    store: KeptStore, client: str, ids: Iterable[str], holders: Iterable[str]
) -> list[str]:
    """Return the names of the entries that lead from items to these records, and no others."""
    found = await store.get({make_entry_name("item", client, id) for id in ids})
    values = set(map(json.encode, holders))
    return [name for name, value in found.items() if value in values]


async def load_before(store: KeptStore, names: Sequence[str]) -> list[KeptRecord] | None:
    """Return the records with these names, in order; None if one of them is gone."""
    found = await store.get(names) if names else {}
    records = [read_record(found.get(name)) for name in names]
    known = [each for each in records if each is not None]
    return known if len(known) == len(records) else None
