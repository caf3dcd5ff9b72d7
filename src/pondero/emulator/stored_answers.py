"""The latest thousand answers and conversations, so that a request can continue them by id."""

from collections import OrderedDict
from threading import Lock
from typing import Literal

import msgspec

from ..canon import HttpRequest, HttpResponse, Json, Reply
from ..dialects import AcceptedRequest, Dialect, StoredAnswer, StoredCall, StoredResponses

_MOST = 1_000
_Status = Literal["foreground", "queued", "in_progress", "finished", "cancelled"]
# Each look at an answer in the background finds it further.
_NEXT: dict[_Status, _Status] = {"queued": "in_progress", "in_progress": "finished"}


class _Entry:
    """One stored answer; it is written when it is needed."""

    def __init__(
        self, request: HttpRequest, accepted: AcceptedRequest[Json], reply: Reply, status: _Status
    ) -> None:
        self.request = request
        self.status = status
        self._accepted = accepted
        self._reply = reply

    def write(self, wire: Dialect) -> StoredAnswer:
        """Return the answer as the service wrote it."""
        answer = wire.service().reply(self._accepted, self._reply)
        return StoredAnswer(self.request, answer, self.status)


class StoredAnswers:
    """The answers and conversations of one emulator by id."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: OrderedDict[str, _Entry] = OrderedDict()
        self._items: OrderedDict[str, dict[str, Json]] = OrderedDict()
        self._conversations: OrderedDict[str, list[Json]] = OrderedDict()
        self._created = 0

    def keep(
        self, request: HttpRequest, accepted: AcceptedRequest[Json], reply: Reply, wire: Dialect
    ) -> HttpResponse | None:
        """Store an answer if its service does; return what is sent now if it is fetched later."""
        stores = wire.service().stored_responses
        if stores is None:
            return None
        self._grow_conversation(request, accepted, reply, wire)
        if (id := stores.stored_id(accepted)) is None:
            return None
        later = stores.is_background(accepted) and not accepted.request.stream
        entry = _Entry(request, accepted, reply, "queued" if later else "foreground")
        if stores.is_background(accepted) and not later:
            entry.status = "finished"
        with self._lock:
            self._answers[id] = entry
            if len(self._answers) > _MOST:
                gone, _ = self._answers.popitem(last=False)
                self._items.pop(gone, None)
        call = StoredCall("response", id, "fetch")
        return stores.write(request, call, entry.write(wire)) if later else None

    def resume(self, request: HttpRequest, wire: Dialect) -> HttpRequest:
        """Add the stored answers, conversations and items that a request names by id."""
        stores = wire.service().stored_responses
        if stores is None:
            return request
        request = self._resume_conversation(request, stores)
        id = stores.previous_id(request)
        with self._lock:
            found = self._answers.get(id) if id is not None else None
        if found is not None:
            written = found.write(wire)
            request = stores.resume(request, written.request, written.answer)
        if named := stores.references(request):
            known = self._find_items(wire, stores)
            request = stores.put_items(request, {id: known[id] for id in named if id in known})
        return request

    def answer(self, request: HttpRequest, wire: Dialect) -> HttpResponse | None:
        """Answer a request about stored things, or raise Rejected; None for any other."""
        stores = wire.service().stored_responses
        call = stores.classify(request) if stores is not None else None
        if stores is None or call is None:
            return None
        if call.what == "conversation":
            return self._answer_conversation(request, call, stores)
        with self._lock:
            found = self._answers.get(call.id)
            if found is not None and call.verb == "fetch":
                found.status = _NEXT.get(found.status, found.status)
            elif found is not None and call.verb == "cancel" and found.status in _NEXT:
                found.status = "cancelled"
        stored = found.write(wire) if found is not None else None
        response = stores.write(request, call, stored)
        if call.verb == "delete":
            with self._lock:
                self._answers.pop(call.id, None)
                self._items.pop(call.id, None)
        return response

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._answers.clear()
            self._items.clear()
            self._conversations.clear()

    def _find_items(self, wire: Dialect, stores: StoredResponses) -> dict[str, Json]:
        with self._lock:
            new = [(id, each) for id, each in self._answers.items() if id not in self._items]
        for id, entry in new:
            written = entry.write(wire)
            listed = stores.list_items(written.request, written.answer)
            items = {str(item["id"]): item for item in listed if "id" in item}
            with self._lock:
                self._items[id] = items
        with self._lock:
            held = [item for items in self._conversations.values() for item in items]
            found = {id: item for items in self._items.values() for id, item in items.items()}
        return {**{str(item.get("id")): item for item in held}, **found}

    # -- conversations ---------------------------------------------------------------------------

    def _resume_conversation(self, request: HttpRequest, stores: StoredResponses) -> HttpRequest:
        id = stores.conversation_id(request)
        with self._lock:
            items = self._conversations.get(id) if id is not None else None
        if id is None or items is None:
            return request
        return stores.resume_conversation(request, id, items)

    def _grow_conversation(
        self, request: HttpRequest, accepted: AcceptedRequest[Json], reply: Reply, wire: Dialect
    ) -> None:
        stores = wire.service().stored_responses
        id = stores.resumed_conversation(request) if stores is not None else None
        if stores is None or id is None:
            return
        items = stores.list_items(request, wire.service().reply(accepted, reply))
        with self._lock:
            if id in self._conversations:
                self._conversations[id] = list(items)

    def _answer_conversation(
        self, request: HttpRequest, call: StoredCall, stores: StoredResponses
    ) -> HttpResponse:
        if call.verb == "create":
            return self._create_conversation(request, call, stores)
        with self._lock:
            items = self._conversations.get(call.id)
        response = stores.write_conversation(request, call, items)
        if call.verb == "delete":
            with self._lock:
                self._conversations.pop(call.id, None)
        return response

    def _create_conversation(
        self, request: HttpRequest, call: StoredCall, stores: StoredResponses
    ) -> HttpResponse:
        with self._lock:
            self._created += 1
            call = msgspec.structs.replace(call, id=f"conv_{self._created:048x}")
        items = list(stores.list_items(request, None))
        response = stores.write_conversation(request, call, items)
        with self._lock:
            self._conversations[call.id] = items
            if len(self._conversations) > _MOST:
                self._conversations.popitem(last=False)
        return response
