"""What a handoff changed, and why; without signatures and text, so that it can be logged."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .surrogates import replace_surrogates_in_json

Action = Literal["withheld", "rewritten", "added", "merged"]
Place = tuple[int, int]


class Change(Struct, frozen=True, gc=False):
    """One difference; ``message`` and ``part`` count from 0, ``part`` is None for all of one."""

    action: Action
    what: str
    why: str
    message: int
    part: int | None = None
    before: str | None = None
    after: str | None = None

    @property
    def where(self) -> str:
        """Return the place in the thread, such as ``3.1``."""
        return f"{self.message}" if self.part is None else f"{self.message}.{self.part}"


class Manifest(Struct, frozen=True):
    """All changes, and counts: the thread has ``kept + withheld + rewritten`` parts."""

    kept: int = 0
    withheld: int = 0
    rewritten: int = 0
    added: int = 0
    changes: tuple[Change, ...] = ()

    @property
    def ids(self) -> dict[str, str]:
        """Return the ids calls have in the view, each with the one it has in the thread."""
        return {
            change.after: change.before
            for change in self.changes
            if change.what == "id" and change.after is not None and change.before is not None
        }

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; the keys are a stable contract."""
        made: dict[str, Any] = replace_surrogates_in_json(msgspec.to_builtins(self))
        return made

    @property
    def _parts(self) -> str:
        return f"{self.kept:,} part{'' if self.kept == 1 else 's'}"

    def __str__(self) -> str:
        if not self.changes:
            return f"all {self._parts} kept as they are"
        others = (
            (self.withheld, "withheld"),
            (self.rewritten, "rewritten"),
            (self.added, "added"),
        )
        counts = [f"{self._parts} kept", *(f"{n:,} {what}" for n, what in others if n)]
        return "\n".join([", ".join(counts), *_lines(self.changes)])


_PHRASES = {
    ("rewritten", "seal"): "removed the signature of another model",
    ("withheld", "seal"): "withheld the signature of another model",
    ("rewritten", "id"): "changed the id of a tool call",
    ("rewritten", "place"): "moved a tool result",
    ("rewritten", "system"): "moved a system turn",
}
_NOUNS = {
    "blob": "file",
    "call": "tool call",
    "level_update": "change of level",
    "other": "unreadable part",
    "result": "tool result",
}


def _lines(changes: Iterable[Change]) -> Iterator[str]:
    alike = Counter((change.action, change.what, change.why) for change in changes)
    for (action, what, why), times in alike.items():
        phrase = _PHRASES.get((action, what)) or f"{action} {_NOUNS.get(what, what)}"
        yield f"  {phrase}: {why}{f' ({times:,} times)' if times > 1 else ''}"


class ChangeLog:
    """Collects changes; ``manifest`` returns them as a value."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._withheld: set[Place] = set()
        self._rewritten: set[Place] = set()
        self._added = 0

    def withhold(self, at: Place, kind: str, why: str) -> None:
        """Note that a part is not in the view."""
        self._withheld.add(at)
        self._rewritten.discard(at)
        self._changes.append(Change("withheld", kind, why, *at))

    def rewrite(
        self, at: Place, kind: str, why: str, *, before: str | None = None, after: str | None = None
    ) -> None:
        """Note that a part is in the view, changed."""
        self._rewritten.add(at)
        self._changes.append(Change("rewritten", kind, why, *at, before, after))

    def add(self, message: int, kind: str, why: str) -> None:
        """Note a part that the thread does not have."""
        self._added += 1
        self._changes.append(Change("added", kind, why, message))

    def leave_out(self, message: int) -> None:
        """Note that nothing is left of a message."""
        why = "no part of it can be sent"
        self._changes.append(Change("withheld", "message", why, message))

    def merge(self, message: int) -> None:
        """Note that a message became part of the one before it."""
        why = "neighbours of one role are one message here"
        self._changes.append(Change("merged", "message", why, message))

    def manifest(self, parts: int) -> Manifest:
        """Return the manifest of a thread with this number of parts, in the thread's order."""
        changes = sorted(self._changes, key=_order)
        withheld, rewritten = len(self._withheld), len(self._rewritten)
        kept = parts - withheld - rewritten
        return Manifest(kept, withheld, rewritten, self._added, tuple(changes))


def _order(change: Change) -> Place:
    return change.message, -1 if change.part is None else change.part
