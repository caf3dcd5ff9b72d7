"""Who will read the thread, and what they take: facts of the catalog and the dialect, as values."""

from typing import Literal

from msgspec import Struct

Scope = Literal["dialect", "model", "route", "route+model"]
"""Who may read a seal beside its own dialect: the same model, the same route, or only both."""


class Destination(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model at one provider. What is not said is the strictest about seals, the laxest else.

    ``provider`` and ``model`` are compared with a message's origin, ``route`` and ``model`` with
    a seal's; ``aliases`` are other names of the same model.

    Thinking: ``seals`` says who may read them; ``unsealed`` whether thinking without a seal may
    go back to its maker; ``foreign`` what becomes of another's: dropped, or a note of the user's;
    ``refused`` are the marks of seals that the destination did not take back.

    Calls: an id must match ``id_pattern`` (None: any); one made anew has ``id_length`` letters
    and digits; ``minted`` is whether ids that no service gave may be sent; ``answers_calls``
    whether the calls of an unfinished last turn must have results too.

    Turns: ``merges`` neighbours of one role into one; ``begins_with_user`` is whether the first
    word must be the user's.

    Media: the beginnings of media types that are taken in a user's words, in tool results, and
    in what the model itself said (``spoken_media``); an empty beginning takes all. ``addresses``
    is whether a medium may be given by where it is to be found.
    """

    dialect: str
    model: str
    provider: str
    route: str
    aliases: tuple[str, ...] = ()

    seals: Scope = "route+model"
    unsealed: bool = False
    foreign: Literal["drop", "note"] = "drop"
    refused: frozenset[str] = frozenset()

    id_pattern: str | None = None
    id_length: int = 22
    minted: bool = True
    answers_calls: bool = True

    merges: bool = False
    begins_with_user: bool = False

    media: tuple[str, ...] = ("",)
    result_media: tuple[str, ...] = ("",)
    spoken_media: tuple[str, ...] = ()
    addresses: bool = True
