"""Keeps the items of answers, so that later requests can name them by id on any model.

The service of the Responses API stores answers unless a request says ``store: false``, and some
clients then send references by default. The service of another API knows none of these items.
How large stored answers are is kept too: a budget reserves no more than that for them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

import msgspec
from msgspec import Raw, Struct, json

from ...canon import HttpRequest, Json, get_decoder
from ...dialects import (
    Continuation,
    GivenAnswer,
    ParsedRequest,
    Service,
    StoredId,
    StoredIds,
    StoredResponses,
)
from ..server.context import GatewayContext
from .split_body import SplitBody, leave_out_turns


class KeptItem(Struct, frozen=True):
    """An item; ``hidden``: the most tokens of it that it does not show, None if unlimited."""

    item: Raw
    answer: str
    hidden: int | None


_KEPT_ITEM = get_decoder(KeptItem)
_SIZE = get_decoder(int)


class StoredContent(Struct, frozen=True):
    """A client's request with the items that it names by the ids ``named``.

    ``tokens``: the most of stored items and answers that the service adds to it; None if that is
    not known here.

    If the gateway keeps answers: ``own`` is the request as it is passed on to a service that has
    them too. ``said``: what it says of stored answers. ``before``: the names of the records with
    its past. ``known``: the ids of ``named`` that are kept. ``homes``: the providers that store
    them too ("": none does), None if it names nothing that is kept. ``makers``: the models that
    made items of its past, by the ids of these. ``sent_tokens``: as ``tokens``, of ``http`` itself.
    """

    http: HttpRequest
    tokens: int | None
    named: tuple[StoredId, ...] = ()
    own: HttpRequest | None = None
    said: Continuation | None = None
    before: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    homes: frozenset[str] | None = None
    makers: Mapping[str, str] = {}
    sent_tokens: int | None = 0


async def resolve_stored(
    gateway: GatewayContext, http: HttpRequest, service: Service[Json], *, client: str
) -> StoredContent:
    """Return a client's request with kept items in the places of their references."""
    stores, rules = service.stored_responses, service.stored_ids
    named = find_stored_ids(rules, http) if rules is not None else ()
    if stores is None:
        return StoredContent(http, None if any(map(_is_reference, named)) else 0, named)
    items = {_make_key("item", each.id, client): each.id for each in named if each.is_item}
    answers = {_make_key("answer", each.id, client): each.id for each in named if each.is_history}
    if not items and not answers:
        return StoredContent(http, 0, named)
    found = await gateway.memory.get([*items, *answers])
    kept = {id: each for key, id in items.items() if (each := _read_item(found.get(key)))}
    sizes = {id: _SIZE.decode(found[key]) for key, id in answers.items() if key in found}
    references = {each.id for each in named if _is_reference(each)}
    known = {id: json.decode(kept[id].item) for id in references & kept.keys()}
    answered, hidden = _sum_answers(named, sizes), sum_hidden(named, kept)
    tokens = None if answered is None or hidden is None else answered + hidden
    return StoredContent(stores.put_items(http, known) if known else http, tokens, named)


def find_stored_ids(rules: StoredIds, http: HttpRequest) -> tuple[StoredId, ...]:
    """Return what ``rules.find`` does; turns that are known to name nothing are not read again."""
    body, is_named_in = http.body, rules.is_named_in
    if isinstance(body, SplitBody) and is_named_in is not None:
        return rules.find(http if body.has_in_turns(is_named_in) else leave_out_turns(http))
    return rules.find(http)


def _is_reference(named: StoredId) -> bool:
    return named.is_item and not named.may_be_dropped


def _read_item(data: bytes | None) -> KeptItem | None:
    try:
        return None if data is None else _KEPT_ITEM.decode(data)
    except msgspec.DecodeError:  # kept by an earlier version
        return None


def _sum_answers(named: Iterable[StoredId], sizes: Mapping[str, int]) -> int | None:
    """Return the tokens of all stored answers and conversations that a request continues."""
    total = 0
    for each in named:
        if each.is_history:
            if each.of_account or each.id not in sizes:
                return None
            total += sizes[each.id]
    return total


def sum_hidden(named: Iterable[StoredId], kept: Mapping[str, KeptItem]) -> int | None:
    """Return what named items do not show; those of one answer have no more than the answer."""
    hidden: dict[str, int] = {}
    for id, count in Counter(each.id for each in named if each.is_item).items():
        item = kept.get(id)
        if item is None or item.hidden is None:
            return None
        hidden[item.answer] = max(hidden.get(item.answer, 0), item.hidden * count)
    return sum(hidden.values())


def make_item_recorder(
    service: Service[Json], parsed: ParsedRequest[Json], client: str
) -> "KeptItemRecorder | None":
    """Return what collects the items of an answer; None if the client asks to store none."""
    stores = service.stored_responses
    if stores is None or not stores.is_stored(parsed.context):
        return None
    return KeptItemRecorder(stores, client)


class KeptItemRecorder:
    """Collects the items that an answer gives to a client; it sees the client's bytes."""

    def __init__(self, stores: StoredResponses, client: str) -> None:
        self._stores = stores
        self._client = client
        self._answer: GivenAnswer | None = None

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        if not any(mark in data for mark in self._stores.end_marks):
            return
        for line in data.split(b"\n"):
            if line.startswith(b"data:"):
                found = self._stores.find_answer(line[5:], stream=True)
                self._answer = found or self._answer

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        self._answer = self._stores.find_answer(body, stream=False)

    def list_entries(self, find_prompt: Callable[[], int]) -> dict[str, bytes]:
        """Return the entries for the answer cache; ``find_prompt``: the most that it continues."""
        answer = self._answer
        if answer is None:
            return {}
        entries = {
            _make_key("item", id, self._client): json.encode(
                KeptItem(Raw(item), answer.id or id, answer.hidden.get(id))
            )
            for id, item in answer.items.items()
        }
        size = _measure_answer(answer, find_prompt)
        if answer.id is not None and size is not None:
            entries[_make_key("answer", answer.id, self._client)] = json.encode(size)
        return entries


def _measure_answer(answer: GivenAnswer, find_prompt: Callable[[], int]) -> int | None:
    """Return the most tokens of an answer and all before it; None if nothing limits them.

    The service may count less of a prompt than it stores, such as earlier thinking.
    """
    if answer.input is None or answer.output is None or None in answer.hidden.values():
        return None
    return max(answer.input, find_prompt()) + answer.output


def _make_key(kind: str, id: str, client: str) -> str:
    """Return the key of an item in the cache; no client finds those of another."""
    named = f"{kind}\0{client}\0{id}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=18).hexdigest()
