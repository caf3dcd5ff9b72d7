"""Keeps the answers that clients get, with the items of their requests.

It sees the client's bytes, as ``KeptItemRecorder`` does, which keeps the items alone if the gateway
has no store of answers.
"""

import logging
from asyncio import sleep
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import random
from secrets import token_hex

from msgspec import Raw, json

from ...dialects import ItemRow, KeptAnswer, KeptResponses
from ...errors import BadRequest, Overloaded, PonderoError, StoreError
from ..answers.key_filter import KeyFilter
from ..server.context import GatewayContext
from ..state.kept_records import (
    KeptConversation,
    KeptRecord,
    make_entry_name,
    name_conversation,
    name_response,
    pack_items,
    point_to,
    read_conversation,
)
from ..state.kept_store import KeptStore, LocalKeptStore
from .routed_request import RoutedRequest

LOG = logging.getLogger("pondero.gateway")

_TRIES = 100  # to change an entry that others change at the same time
_PAUSE = 0.005  # seconds before the second try, at most
_DOUBLED = 6  # times that it becomes twice as long


class AnswerKeeper:
    """Collects the answer to one request.

    ``home``: the model whose service stores it too, and ``maker``: the one whose ids it has.
    """

    def __init__(
        self,
        gateway: GatewayContext,
        routed: RoutedRequest,
        hidden: KeyFilter,
        *,
        home: str = "",
        maker: str = "",
    ) -> None:
        said, call = routed.stored.said, routed.call
        self._gateway = gateway
        self._routed = routed
        self._hidden = hidden
        self._home = home if said is not None and said.is_stored else ""
        self._maker = maker
        self._rules = routed.service.kept_responses
        self._store = gateway.kept if said is not None and said.is_stored else call.local
        self._store = self._store if self._store is not None else call.local
        self.is_active: bool = said is not None and self._store is not None
        self._answer: KeptAnswer | None = None
        self._is_saved = False

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        rules = self._rules
        if not self.is_active or rules is None or self._answer is not None:
            return
        if not any(mark in data for mark in rules.end_marks):
            return
        for line in data.split(b"\n"):
            if line.startswith(b"data:") and any(mark in line for mark in rules.end_marks):
                self._answer = rules.find_ended(line[5:]) or self._answer

    def find_end(self, data: bytes) -> int:
        """Find the answer in the event that ends it; return where that begins, or the size.

        A client that has this event may name the answer at once, so it waits until that is kept.
        """
        rules = self._rules
        if rules is None or self._answer is not None:
            return len(data)
        if not any(mark in data for mark in rules.end_marks):
            return len(data)
        begin = at = 0  # of the event, and of its line
        for line in data.split(b"\n"):
            has_mark = line.startswith(b"data:") and any(mark in line for mark in rules.end_marks)
            if has_mark and (answer := rules.find_ended(line[5:])) is not None:
                self._answer = answer
                return begin
            at += len(line) + 1
            begin = begin if line.strip() else at
        return len(data)

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        if self.is_active and self._rules is not None:
            self._answer = self._rules.find_answer(body)

    async def save(self, find_prompt: Callable[[], int]) -> None:
        """Keep the answer once, before its end is written; ``find_prompt``: the most of its prompt.

        A store that fails costs the client its history, and not its answer: no request can continue
        from an id that is not there. A conversation is there without the answer, and would go on
        as if it had never been given: for one, this raises StoreError or BadRequest.
        """
        answer, said, rules = self._answer, self._routed.stored.said, self._rules
        if answer is None or said is None or rules is None or self._store is None:
            return
        if self._is_saved:
            return
        self._is_saved = True
        body = self._hidden.whole(answer.body)
        conversation = said.conversation if said.is_stored else None
        size = len(body) + sum(map(len, said.input))
        if size > (most := self._gateway.config.responses.answer_bytes):
            LOG.warning("an answer of %d bytes is not kept; answer_bytes is %d", size, most)
            if conversation is not None:
                raise BadRequest(
                    f"this answer is too large for the conversation {conversation!r}: "
                    f"{size:,} bytes with its request, and {most:,} are allowed",
                    status=400,
                )
            return
        try:
            await self._put(self._store, rules, answer, body=body, find_prompt=find_prompt)
        except PonderoError as error:
            LOG.error("an answer is not kept: %s", error)  # noqa: TRY400 - no traceback
            if conversation is not None:
                message = f"the answer could not be added to the conversation {conversation!r}"
                raise StoreError(message) from None

    async def _put(
        self,
        store: KeptStore,
        rules: KeptResponses,
        answer: KeptAnswer,
        *,
        body: bytes,
        find_prompt: Callable[[], int],
    ) -> None:
        routed, said = self._routed, self._routed.stored.said
        if said is None:
            return
        client, seed = routed.call.requester.id, routed.call.id.encode()
        make_record = partial(
            KeptRecord,
            answer=Raw(body),
            before=routed.stored.before,
            home=self._home,
            maker=self._maker,
            name=routed.resolved.name,
            tokens=_measure(answer, find_prompt),
            is_background=said.is_background,
            has_events=said.is_background and said.streams,
        )
        make = partial(_make_entries, rules, answer, make_record, client, own=said.input, seed=seed)
        conversation = said.conversation if said.is_stored else None
        is_plain = conversation is None and not said.is_background
        if is_plain and isinstance(store, LocalKeptStore):
            store.put_later(make, 2 * len(body) + sum(map(len, said.input)))
            return
        name, entries = name_response(client, answer.id), make()
        # The conversation comes first: an answer that can be fetched is in it.
        if conversation is not None:
            rows = (*rules.name_items(said.input, seed).rows, *answer.items)
            place = (client, conversation)
            hidden = dict(answer.hidden)
            if await add_items(store, place, rows, hidden=hidden, maker=self._maker):
                entries = {name: entries[name]}  # its items lead to the conversation
        if said.is_background:  # its client may have deleted it while it was worked on
            value = entries.pop(name)
            if await change_entry(store, name, lambda _: value) is not None:
                await store.put(entries)
            return
        await store.put(entries)


def _make_entries(
    rules: KeptResponses,
    answer: KeptAnswer,
    make_record: Callable[..., KeptRecord],
    client: str,
    *,
    own: Sequence[bytes],
    seed: bytes,
) -> dict[str, bytes]:
    """Return the record of an answer with the request's ``own`` items, and what leads to it."""
    named, name = rules.name_items(own, seed), name_response(client, answer.id)
    # Ids made with this seed tell the answer of that seed; other items were kept before.
    ids = [] if named.holder == answer.id else [*named.made]
    for id, _ in answer.items:
        if rules.find_holder(id) != answer.id:
            ids.append(id)
    entries = point_to(client, ids, name)
    entries[name] = json.encode(make_record(input=pack_items(named.rows)))
    return entries


def _measure(answer: KeptAnswer, find_prompt: Callable[[], int]) -> int | None:
    """Return the most tokens of an answer and all before it; None if nothing limits them.

    The service may count less of a prompt than it stores, such as earlier thinking.
    """
    if answer.input is None or answer.output is None or None in answer.hidden.values():
        return None
    return max(answer.input, find_prompt()) + answer.output


async def add_items(
    store: KeptStore,
    place: tuple[str, str],
    rows: Iterable[ItemRow],
    *,
    hidden: dict[str, int | None],
    maker: str = "",
) -> KeptConversation | None:
    """Add items to the conversation ``place`` (client and id); None if it is gone by now.

    ``hidden`` has the tokens that items of an answer do not show; ``maker``: the model of these.

    A store that fails may have changed the conversation all the same, so the items stay then.
    """
    client, id = place
    items = tuple(rows)
    record = KeptRecord(input=pack_items(items), hidden=hidden, maker=maker)
    name = make_entry_name("segment", client, f"{id}\0{token_hex(16)}")
    entries = point_to(client, [each for each, _ in items], name)
    await store.put({**entries, name: json.encode(record)})

    def add(found: KeptConversation) -> dict[str, object]:
        return {"records": (*(each for each in found.records if each != name), name)}

    changed = await change_conversation(store, place, add)
    if changed is None:
        await store.delete([name, *entries])
    return changed


async def change_conversation(
    store: KeptStore,
    place: tuple[str, str],
    change: Callable[[KeptConversation], dict[str, object]],
) -> KeptConversation | None:
    """Change fields of a conversation, also if others do at once; None if it is gone."""

    def write(data: bytes) -> bytes | None:
        found = read_conversation(data)
        if found is None:
            return None
        fields = {each: getattr(found, each) for each in found.__struct_fields__}
        return json.encode(KeptConversation(**{**fields, **change(found)}))

    return read_conversation(await change_entry(store, name_conversation(*place), write))


async def change_entry(
    store: KeptStore, name: str, change: Callable[[bytes], bytes | None]
) -> bytes | None:
    """Change an entry, also if others do at once; None if it is gone, or ``change`` says so.

    Raises Overloaded if the others leave no moment for it.
    """
    for number in range(_TRIES):
        data = (await store.get([name])).get(name)
        changed = None if data is None else change(data)
        if data is None or changed is None:
            return None
        if await store.swap(name, data, changed):
            return changed
        # At different times: many who try again at once would be in each other's way again.
        await sleep(_PAUSE * 2 ** min(number, _DOUBLED) * random())  # noqa: S311 - no secret
    raise Overloaded("too many change the same thing at once", status=503, retry_after=1.0)
