"""The turns of a conversation as an earlier request wrote them, which need not be written again."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Raw, Struct

from .parts import Message


class WrittenTurns(Struct, frozen=True):
    """The first messages of a conversation in a service's JSON; ``turns`` are its bytes.

    ``by``: what they depend on besides. ``state``: where the writer of the next turns continues.
    """

    messages: tuple[Message, ...]
    turns: tuple[bytes, ...]
    by: object
    state: object


class WrittenBody(bytes):
    """A body with the bytes that it was made of, so that it need not be read again.

    ``name`` is that of the field with the ``turns``; ``fields`` are all others.
    """

    name: str
    turns: tuple[bytes, ...]
    fields: Mapping[str, Raw]


class EarlierTurns(Protocol):
    """What is known of one conversation since its earlier requests."""

    def find_end(self, messages: tuple[Message, ...]) -> int:
        """Return how many first messages the next request will begin with too."""

    def find_written(self, messages: tuple[Message, ...], by: object) -> WrittenTurns | None:
        """Return some first messages as an earlier request wrote them; None if none did."""

    def keep_written(self, written: WrittenTurns, *, new: int) -> None:
        """Keep what a request has written; ``new``: how many bytes of it were not kept before."""
