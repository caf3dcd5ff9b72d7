"""Writes the turns of a request; of those that an earlier request wrote, the bytes are taken."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from ..canon import EarlierTurns, Json, Message, WrittenBody, WrittenTurns


class TurnWriter(Protocol):
    """Writes the messages of one request in order, some at a time."""

    def write(self, messages: Sequence[Message]) -> list[Json]:
        """Write the next messages; return all turns since the last that were saved."""

    def save(self) -> object:
        """Leave the turns so far, and return what another writer needs to continue.

        None if they may yet change: then they are not saved.
        """

    def load(self, state: object) -> None:
        """Begin after turns that another writer has saved."""


def write_turns(
    writer: TurnWriter, messages: tuple[Message, ...], earlier: EarlierTurns | None, by: object
) -> tuple[tuple[bytes, ...], list[Json]]:
    """Return the turns that are known, and those that are written now.

    ``by``: what the turns depend on besides their messages.
    """
    if earlier is None:
        return (), writer.write(messages)
    known, at = earlier.find_written(messages, by), 0
    written: tuple[bytes, ...] = ()
    if known is not None:
        written, at = known.turns, len(known.messages)
        writer.load(known.state)
    if at < (end := earlier.find_end(messages)):
        turns = writer.write(messages[at:end])
        at = end
        if (state := writer.save()) is not None:
            new = [msgspec.json.encode(turn) for turn in turns]
            written = (*written, *new)
            kept = WrittenTurns(messages[:end], written, by, state)
            earlier.keep_written(kept, new=sum(map(len, new)))
    return written, writer.write(messages[at:])


class EncodedTurns(Struct, frozen=True):
    """The list of all turns in a body, each in its bytes."""

    turns: tuple[bytes, ...]


def join_turns(written: Sequence[bytes], turns: Sequence[Json]) -> EncodedTurns:
    """Return the list of all turns, for ``encode_body``."""
    return EncodedTurns((*written, *map(msgspec.json.encode, turns)))


def encode_body(body: Mapping[str, Json]) -> bytes:
    """Return a body as JSON; one with the turns of ``join_turns`` keeps them.

    They are joined here: to copy them, an encoder takes twenty times as long.
    """
    name = next((key for key, value in body.items() if isinstance(value, EncodedTurns)), None)
    if name is None:
        return msgspec.json.encode(body)
    turns = body[name].turns
    pieces: list[bytes] = []
    fields: dict[str, Raw] = {}
    for key, value in body.items():
        start = b"%b%b:" % (b"," if pieces else b"{", msgspec.json.encode(key))
        if key == name:
            pieces += (start, b"[", b",".join(turns), b"]")
        else:
            fields[key] = Raw(encoded := msgspec.json.encode(value))
            pieces += (start, encoded)
    written = WrittenBody(b"".join((*pieces, b"}")))
    written.name, written.turns, written.fields = name, turns, fields
    return written
