"""What an answer is made of: its parts as they come, and the counts and words at its end."""

from msgspec import Struct

from pondero.canon import (
    Event,
    Finish,
    Finished,
    Part,
    PartEnd,
    PartStart,
    Signature,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
    is_thinking_only,
    parse_arguments,
)
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed

NAME = "skeleton"
_FINISHES: dict[str, Finish] = {"end": "stop", "limit": "length", "calls": "tool_calls"}


_DELTAS: dict[str, type[TextDelta] | type[ThinkingDelta] | type[ToolDelta]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "call": ToolDelta,
}


class Piece(Struct, frozen=True):
    """A part of an answer, whole or the next bit of one."""

    type: str = ""
    text: str = ""
    proof: str | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


class Counts(Struct, frozen=True):
    """How many tokens were read and written."""

    input: int = 0
    output: int = 0

    def usage(self) -> Usage:
        """Return the counts in our words."""
        return Usage(input=self.input, output=self.output, total=self.input + self.output)


class Parts:
    """Turns pieces into events; one a part, however many pieces it comes in."""

    def __init__(self, where: AnswerContext) -> None:
        self._where = where
        self._open: Piece | None = None
        self._texts: list[str] = []
        self._next = 0
        self.ended: list[Part] = []

    def begin(self, piece: Piece, events: list[Event]) -> None:
        """Begin a part."""
        self.end(events)
        self._open, self._texts = piece, []
        match piece.type:
            case "text":
                events.append(PartStart(self._next, "text"))
            case "thinking":
                events.append(PartStart(self._next, "thinking"))
            case "call":
                events.append(PartStart(self._next, "tool_call", piece.id, piece.name))
            case _:
                raise Malformed(f"a part of type {piece.type!r}")
        self.add(piece.text or piece.arguments, events)

    def add(self, text: str, events: list[Event]) -> None:
        """Add to the part that is open."""
        if self._open is None:
            raise Malformed("a piece of no part")
        if not text:
            return
        self._texts.append(text)
        events.append(_DELTAS[self._open.type](self._next, text))

    def end(self, events: list[Event], proof: str | None = None) -> None:
        """End the part that is open, if one is."""
        if self._open is None:
            return
        part = self._part(self._open, proof or self._open.proof)
        self.ended.append(part)
        events.append(PartEnd(self._next, part))
        self._open = None
        self._next += 1

    def _part(self, piece: Piece, proof: str | None) -> Part:
        text = "".join(self._texts)
        if piece.type == "text":
            return Text(text)
        if piece.type == "thinking":
            return Thinking(text, self._seal(proof))
        return ToolCall(piece.id, piece.name, parse_arguments(text))

    def _seal(self, proof: str | None) -> Signature | None:
        return Signature(NAME, proof, self._where.model, self._where.route) if proof else None


def finished(word: str, counts: Counts, model: str | None, parts: list[Part]) -> Finished:
    """Return the end of an answer; one that spent all its tokens on thinking is exhausted."""
    finish = _FINISHES.get(word, "other")
    if finish == "length" and is_thinking_only(parts, counts.usage()):
        finish = "exhausted"
    return Finished(finish, usage=counts.usage(), raw_finish=word, model=model)
