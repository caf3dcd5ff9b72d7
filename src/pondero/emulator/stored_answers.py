"""The latest thousand answers, so that a request can continue one by its id."""

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from ..canon import HttpRequest, Json, Reply
from ..dialects import AcceptedRequest, Dialect

_MOST = 1_000


class _StoredAnswer(NamedTuple):
    request: HttpRequest
    accepted: AcceptedRequest[Json]
    reply: Reply


class StoredAnswers:
    """The answers of one emulator by id."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: OrderedDict[str, _StoredAnswer] = OrderedDict()

    def keep(
        self, request: HttpRequest, accepted: AcceptedRequest[Json], reply: Reply, wire: Dialect
    ) -> None:
        """Store an answer if its service does."""
        stores = wire.service().stored_responses
        if stores is None or (id := stores.stored_id(accepted)) is None:
            return
        with self._lock:
            self._answers[id] = _StoredAnswer(request, accepted, reply)
            if len(self._answers) > _MOST:
                self._answers.popitem(last=False)

    def resume(self, request: HttpRequest, wire: Dialect) -> HttpRequest:
        """Add the conversation that a request continues; unchanged if there is none."""
        stores = wire.service().stored_responses
        id = stores.previous_id(request) if stores is not None else None
        if stores is None or id is None:
            return request
        with self._lock:
            found = self._answers.get(id)
        if found is None:
            return request
        answer = wire.service().reply(found.accepted, found.reply)
        return stores.resume(request, found.request, answer)

    def clear(self) -> None:
        """Remove all answers."""
        with self._lock:
            self._answers.clear()
