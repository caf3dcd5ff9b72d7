"""Explains cache misses: compares a request with an earlier one, layer by layer."""

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from msgspec.structs import replace

from ..canon import Request
from ..dialects import CacheReport, Layer, MissReason, PromptPrefix
from .prompt_places import make_digest, make_piece_digest, take_mark
from .tokens import iter_pieces

_KEPT = 1_000  # requests


class Fingerprint(NamedTuple):
    """What a later request is compared with; ``tokens``: its prefix in the cache.

    ``settings`` are those whose change the service does not explain.
    """

    model: bytes
    tools: bytes
    system: bytes
    messages: tuple[bytes, ...]
    settings: bytes
    tokens: int


class CacheDiagnoses:
    """The requests that asked for a diagnosis, by account and by the ids of their answers."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Fingerprint] = OrderedDict()
        self._lock = Lock()

    def explain(
        self, prefix: PromptPrefix, now: Fingerprint | None, report: CacheReport
    ) -> CacheReport:
        """Add to a report why the prefix of an earlier request was not found."""
        if prefix.diagnosis is None or now is None:
            return report
        report = replace(report, diagnosed=True)
        if (previous := prefix.diagnosis.previous_id) is None:
            return report
        with self._lock:
            before = self._known.get((prefix.account, previous))
        if before is None:
            return replace(report, miss="previous_message_not_found")
        return replace(report, miss=_compare(before, now), missed=before.tokens)

    def keep(self, prefix: PromptPrefix, now: Fingerprint | None) -> None:
        """Remember a request that asked for a diagnosis."""
        if prefix.diagnosis is None or now is None:
            return
        with self._lock:
            self._known[prefix.account, prefix.diagnosis.answer_id] = now
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def clear(self) -> None:
        """Forget all requests."""
        with self._lock:
            self._known.clear()


def make_fingerprint(request: Request, prefix: PromptPrefix, tokens: int) -> Fingerprint | None:
    """Return the fingerprint of a request that asks for a diagnosis, else None."""
    if prefix.diagnosis is None:
        return None
    layers: dict[Layer, list[bytes]] = {"tools": [], "system": [], "messages": []}
    updates = sorted(prefix.updates.items())
    for piece in iter_pieces(request):
        while piece.layer == "messages" and updates and updates[0][0] <= piece.number:
            layers["messages"].append(make_digest(updates.pop(0)))
        layers[piece.layer].append(make_piece_digest(take_mark(piece, prefix.mark_field)[0]))
    rest = {name: value for name, value in prefix.settings.items() if name != "speed"}
    return Fingerprint(
        model=make_digest(request.model, prefix.settings.get("speed")),
        tools=b"".join(layers["tools"]),
        system=b"".join(layers["system"]),
        messages=tuple(layers["messages"]),
        settings=make_digest(rest),
        tokens=tokens,
    )


def _compare(before: Fingerprint, now: Fingerprint) -> MissReason | None:
    if before.model != now.model:
        return "model_changed"
    if before.tools != now.tools:
        return "tools_changed"
    if before.system != now.system:
        return "system_changed"
    if now.messages[: len(before.messages)] != before.messages:
        return "messages_changed"
    return "unavailable" if before.settings != now.settings else None
