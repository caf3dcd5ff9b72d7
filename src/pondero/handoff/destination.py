"""Who will read the thread, and what they take: facts of the catalog and the dialect, as values."""

from typing import Literal

from msgspec import Struct

from ..canon import Takes


class Destination(Struct, frozen=True, kw_only=True):
    """One model at one provider, and what it takes of a past.

    ``provider`` and ``model`` are compared with a message's origin, ``route`` and ``model`` with
    a seal's; ``aliases`` are other names of the same model. ``foreign`` is what becomes of
    another model's thinking: dropped, or a note of the user's. ``refused`` are the marks of seals
    that the destination did not take back.
    """

    dialect: str
    model: str
    provider: str
    route: str
    aliases: tuple[str, ...] = ()
    foreign: Literal["drop", "note"] = "drop"
    refused: frozenset[str] = frozenset()
    takes: Takes = Takes()
