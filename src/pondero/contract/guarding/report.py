"""What a guard found: the traps, each with its place and its cure, and what is fine."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

Kind = Literal["cassette", "vcrpy", "exchanges", "chat", "thread"]


class Finding(Struct, frozen=True, kw_only=True):
    """One trap. ``refused``: the service says no; else thinking is lost without a word.

    ``exchange`` counts from 1, ``path`` is the place in its body; None: of a chat or thread, whose
    next request is judged. ``status`` is what the service answered, where that was recorded.
    """

    code: str
    exchange: int | None
    line: int | None
    path: str
    dialect: str
    model: str | None
    what: str
    then: str
    cure: str
    refused: bool = True
    status: int | None = None


class Report(Struct, frozen=True, kw_only=True):
    """One file: what it is, what is in it, and what was found.

    ``exchanges`` are those of a wire we know, of ``lines`` in all; ``with_past`` send back what a
    model said; ``seals`` of the answers went back as they came. ``errors`` are the exchanges a
    service refused, ``explained`` those of them in which a trap was found.
    """

    name: str
    kind: Kind
    lines: int
    exchanges: int
    with_past: int
    seals: int
    dialects: tuple[str, ...]
    errors: int
    explained: int
    findings: tuple[Finding, ...] = ()

    @property
    def traps(self) -> tuple[Finding, ...]:
        """Return what a service refuses."""
        return tuple(each for each in self.findings if each.refused)

    @property
    def losses(self) -> tuple[Finding, ...]:
        """Return where thinking is lost without a word."""
        return tuple(each for each in self.findings if not each.refused)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; the keys are a stable contract."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made
