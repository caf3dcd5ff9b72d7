"""Keeps the answers that clients get, with the items of their requests.

It sees the client's bytes, as ``KeptItemRecorder`` does, which keeps the items alone if the gateway
has no store of answers.
"""

import logging
from collections.abc import Callable, Iterable
from secrets import token_hex

from msgspec import Raw, json

from ...dialects import ItemRow, KeptAnswer, KeptResponses
from ...errors import PonderoError
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
from ..state.kept_store import KeptStore
from .routed_request import RoutedRequest

LOG = logging.getLogger("pondero.gateway")

_TRIES = 20  # to change a conversation that others change at the same time


class AnswerKeeper:
    """Collects the answer to one request; ``home``: the model whose service stores it too."""

    def __init__(
        self, gateway: GatewayContext, routed: RoutedRequest, hidden: KeyFilter, *, home: str
    ) -> None:
        said, call = routed.stored.said, routed.call
        self._gateway = gateway
        self._routed = routed
        self._hidden = hidden
        self._home = home if said is not None and said.is_stored else ""
        self._rules = routed.service.kept_responses
        self._store = gateway.kept if said is not None and said.is_stored else call.local
        self._store = self._store if self._store is not None else call.local
        self.is_active: bool = said is not None and self._store is not None
        self._answer: KeptAnswer | None = None

    def feed(self, data: bytes) -> None:
        """Take some whole lines of a stream."""
        rules = self._rules
        if not self.is_active or rules is None:
            return
        if not any(mark in data for mark in rules.end_marks):
            return
        for line in data.split(b"\n"):
            if line.startswith(b"data:") and any(mark in line for mark in rules.end_marks):
                self._answer = rules.find_ended(line[5:]) or self._answer

    def take_whole(self, body: bytes) -> None:
        """Take an answer in one piece."""
        if self.is_active and self._rules is not None:
            self._answer = self._rules.find_answer(body)

    async def save(self, find_prompt: Callable[[], int]) -> None:
        """Keep the answer before its end is written; ``find_prompt``: the most of its prompt.

        A store that fails costs the client its history, and not its answer.
        """
        answer, said, rules = self._answer, self._routed.stored.said, self._rules
        if answer is None or said is None or rules is None or self._store is None:
            return
        body = self._hidden.whole(answer.body)
        size = len(body) + sum(map(len, said.input))
        if size > (most := self._gateway.config.responses.answer_bytes):
            LOG.warning("an answer of %d bytes is not kept; answer_bytes is %d", size, most)
            return
        try:
            await self._put(self._store, rules, answer, body=body, find_prompt=find_prompt)
        except PonderoError as error:
            LOG.error("an answer is not kept: %s", error)  # noqa: TRY400 - no traceback

    async def _put(
        self,
        store: KeptStore,
        rules: KeptResponses,
        answer: KeptAnswer,
        *,
        body: bytes,
        find_prompt: Callable[[], int],
    ) -> None:
        routed = self._routed
        said, client, seed = routed.stored.said, routed.call.requester.id, routed.call.id.encode()
        if said is None:
            return
        rows = rules.name_items(said.input, seed)
        record = KeptRecord(
            answer=Raw(body),
            input=pack_items(rows),
            before=routed.stored.before,
            home=self._home,
            name=routed.resolved.name,
            tokens=_measure(answer, find_prompt),
            is_background=said.is_background,
            has_events=said.is_background and said.streams,
        )
        name = name_response(client, answer.id)
        made = (id for id, _ in rows if rules.find_holder(id) == rules.make_id(seed))
        ids = (*made, *(id for id, _ in answer.items))  # other items were kept before
        entries = point_to(client, ids, name, rules=rules, of=answer.id)
        await store.put({**entries, name: json.encode(record)})
        if said.conversation is not None and said.is_stored:
            items = (*rows, *answer.items)
            await add_items(
                store, rules, (client, said.conversation), items, hidden=dict(answer.hidden)
            )


def _measure(answer: KeptAnswer, find_prompt: Callable[[], int]) -> int | None:
    """Return the most tokens of an answer and all before it; None if nothing limits them.

    The service may count less of a prompt than it stores, such as earlier thinking.
    """
    if answer.input is None or answer.output is None or None in answer.hidden.values():
        return None
    return max(answer.input, find_prompt()) + answer.output


async def add_items(
    store: KeptStore,
    rules: KeptResponses,
    place: tuple[str, str],
    rows: Iterable[ItemRow],
    *,
    hidden: dict[str, int | None],
) -> KeptConversation | None:
    """Add items to the conversation ``place`` (client and id); None if it is gone by now."""
    client, id = place
    items = tuple(rows)
    record = KeptRecord(input=pack_items(items), hidden=hidden)
    name = make_entry_name("segment", client, f"{id}\0{token_hex(16)}")
    entries = point_to(client, [each for each, _ in items], name, rules=rules)
    await store.put({**entries, name: json.encode(record)})
    changed = await change_conversation(
        store, place, lambda found: {"records": (*found.records, name)}
    )
    if changed is None:
        await store.delete([name, *entries])
    return changed


async def change_conversation(
    store: KeptStore,
    place: tuple[str, str],
    change: Callable[[KeptConversation], dict[str, object]],
) -> KeptConversation | None:
    """Change fields of a conversation, also if others do at once; None if it is gone."""
    name = name_conversation(*place)
    for _ in range(_TRIES):
        data = (await store.get([name])).get(name)
        found = read_conversation(data)
        if found is None:
            return None
        fields = {each: getattr(found, each) for each in found.__struct_fields__}
        changed = KeptConversation(**{**fields, **change(found)})
        if await store.swap(name, data, json.encode(changed)):
            return changed
    return None
