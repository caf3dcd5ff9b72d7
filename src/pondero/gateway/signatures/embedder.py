"""The carrier: an answer of the back on its way to the client, with envelopes in the front's slots.

The translated road makes one for each answer and writes what it returns with the front's service
side, sealed by ``embedded_signature``. For the memory, ``record`` is the answer as it was.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from ...canon import (
    Blob,
    Event,
    Finished,
    Image,
    Json,
    Message,
    Origin,
    Part,
    PartEnd,
    PartKind,
    PartStart,
    Signature,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    ToolResult,
    UnknownPart,
)
from ...dialects import SignatureSlots
from ..state.answer_cache import CachedAnswer
from .envelope import (
    DIALECT,
    Entry,
    Envelope,
    EnvelopeCall,
    EnvelopeHidden,
    EnvelopeText,
    EnvelopeThinking,
    pack_envelope,
)
from .part_order import DELTAS, PartOrder

_KINDS: dict[type, PartKind] = {
    Text: "text",
    Thinking: "thinking",
    ToolCall: "tool_call",
    Image: "image",
    Blob: "blob",
    UnknownPart: "other",
}


def embedded_signature(part: Part, _shown: str, _before: Sequence[Json], /) -> Json | None:
    """Return the envelope that the carrier put on a part: the ``Sealer`` of a translated answer."""
    seal = None if isinstance(part, ToolResult) else part.signature
    return seal.value if seal is not None and seal.dialect == DIALECT else None


class _Told(Struct):
    """The part that is being told; ``index`` is where the client sees it, None where it does not.

    ``entry`` is what an envelope ahead of it says, ``signature`` the envelope in its own slot.
    """

    start: PartStart
    index: int | None = None
    entry: Entry | None = None
    seal: Signature | None = None


class SignatureEmbedder:
    """Feed the events of an answer as they come; write those that it returns.

    Parts come strictly one after another, calls have ids of the front, and no seal is left but
    envelopes. A seal goes ahead of its part: the end of thinking is held until the next part begins
    and takes what is known of that part along. What is known later waits for the next envelope; if
    none comes, only the memory has it.

    ``seed`` is unique to the answer; ``call_id`` makes an id of 32 hexadecimal digits.
    ``text_inside``: the client may lose the text of thinking, or is not shown it.
    """

    def __init__(
        self,
        slots: SignatureSlots,
        origin: Origin,
        *,
        seed: bytes,
        call_id: Callable[[str], str],
        text_inside: bool,
    ) -> None:
        self._slots = slots
        self._origin = origin
        self._seed = seed
        self._call_id = call_id
        self._text_inside = text_inside or slots.may_lose_thinking
        self._answer = blake2b(seed, digest_size=6).hexdigest()
        self._sequence = PartOrder()
        self._parts: dict[int, Part] = {}  # of the back, as they were
        self._ids: dict[int, str] = {}  # of the front, by the index of the call
        self._texts: list[tuple[int, str]] = []  # that the client sees, with the index of each
        self._told: _Told | None = None
        self._held: tuple[int, Thinking] | None = None
        self._waiting: list[Entry] = []
        self._keeps = False  # the client has an envelope, or will
        self._next = 0

    @property
    def record(self) -> CachedAnswer:
        """Return the answer as far as its parts are complete, for the memory."""
        places = sorted(self._parts)
        return CachedAnswer(
            self._answer,
            Message("assistant", tuple(self._parts[at] for at in places), self._origin),
            tuple(self._ids[at] for at in places if isinstance(self._parts[at], ToolCall)),
            "".join(text for _, text in self._texts),
        )

    def whole(self, message: Message) -> Message:
        """Return an answer that came in one piece as the client is to see it."""
        events: list[Event] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                continue
            start = PartStart(index, _KINDS[type(part)], signature=part.signature)
            if isinstance(part, ToolCall):
                start = replace(start, id=part.id, name=part.name)
            events += (start, PartEnd(index, part))
        told = self.feed([*events, Finished("stop")])
        return Message("assistant", tuple(e.part for e in told if isinstance(e, PartEnd)))

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events for the client; those that must wait come with later ones."""
        if self._told is not None and self._sequence.goes_on(events, self._told.index):
            return events
        out: list[Event] = []
        for event in events:
            if isinstance(event, PartEnd):
                self._parts[event.index] = event.part
        for event in self._sequence.feed(events):
            if isinstance(event, DELTAS):
                self._delta(event, out)
            elif isinstance(event, PartStart):
                self._start(event, out)
            elif isinstance(event, PartEnd):
                self._end(event, out)
            else:
                if isinstance(event, Finished):
                    self._finish(out)
                out.append(event)
        return out

    # -- beginnings --------------------------------------------------------------------------------

    def _start(self, event: PartStart, out: list[Event]) -> None:
        told = self._told = _Told(event)
        if event.kind == "tool_call":
            self._start_call(told, out)
        elif event.kind not in ("text", "other"):  # a text begins with its first word
            self._release(out)
            self._open(told, out)

    def _delta(self, event: TextDelta | ThinkingDelta | ToolDelta, out: list[Event]) -> None:
        told = self._told
        if told is None or not (event.json if isinstance(event, ToolDelta) else event.text):
            return
        if told.index is None:
            self._start_text(told, out)
        out.append(event if event.index == told.index else replace(event, index=told.index))

    def _start_text(self, told: _Told, out: list[Event]) -> None:
        known = self._parts.get(told.start.index)
        seal = known.signature if isinstance(known, Text) else told.start.signature
        # In a slot of its own the entry says too where a text begins: clients keep it in pieces.
        if seal is not None or (self._slots.text and self._keeps):
            told.entry = EnvelopeText(told.start.index, len(self._texts), seal)
            self._waiting.append(told.entry)
        if self._slots.text:
            told.seal = self._envelope()
        elif self._slots.trailing_thinking:
            self._ahead(out)
        else:  # an empty part before mere words would be seen
            self._release(out)
        self._open(told, out)

    def _start_call(self, told: _Told, out: list[Event]) -> None:
        start = told.start
        digest = blake2b(b"%b %d" % (self._seed, start.index), digest_size=16).hexdigest()
        id = self._ids[start.index] = self._call_id(digest)
        known = self._parts.get(start.index)
        told.entry = (
            EnvelopeCall(start.index, id, known.id, known.name, known.signature, known.minted)
            if isinstance(known, ToolCall)  # it came whole
            else EnvelopeCall(start.index, id, start.id or "", start.name or "", start.signature)
        )
        if self._slots.call is None:
            self._waiting.append(told.entry)
            self._ahead(out)
        elif self._slots.call == "start":
            self._release(out)
            self._waiting.append(told.entry)
            told.seal = self._envelope()
        self._open(told, out, id=id)

    def _open(self, told: _Told, out: list[Event], *, id: str | None = None) -> None:
        told.index = self._next
        self._next += 1
        out.append(PartStart(told.index, told.start.kind, id, told.start.name, told.seal))

    # -- ends --------------------------------------------------------------------------------------

    def _end(self, event: PartEnd, out: list[Event]) -> None:
        told, part, at = self._told, event.part, event.index
        if told is None or told.start.index != at:
            self._late(part, at)
            return
        self._told = None
        match part:
            case Thinking():
                self._end_thinking(told, part, out)
            case Text():
                self._end_text(told, part, out)
            case ToolCall():
                self._end_call(told, part, out)
            case Image() | Blob():
                out.append(PartEnd(told.index or 0, replace(part, signature=None)))
            case _:
                self._waiting.append(EnvelopeHidden(at, part))

    def _end_thinking(self, told: _Told, part: Thinking, out: list[Event]) -> None:
        index, text = told.index or 0, part.text if self._text_inside else None
        self._keeps = True
        self._waiting.append(
            EnvelopeThinking(told.start.index, part.signature, part.redacted, text)
        )
        shown = Thinking(part.text, None, part.redacted)
        if self._slots.thinking:
            self._held = (index, shown)
        else:
            out.append(PartEnd(index, shown))

    def _end_text(self, told: _Told, part: Text, out: list[Event]) -> None:
        at = told.start.index
        if told.index is None and not part.text:
            if part.signature is not None:
                self._waiting.append(EnvelopeHidden(at, part))
            return
        if told.index is None:
            self._start_text(told, out)
        entry = EnvelopeText(at, len(self._texts), part.signature)
        if part.signature is not None and entry != told.entry:
            self._waiting.append(entry)
        self._texts.append((at, part.text))
        out.append(PartEnd(told.index or 0, Text(part.text, told.seal, part.citations)))

    def _end_call(self, told: _Told, part: ToolCall, out: list[Event]) -> None:
        id = self._ids[told.start.index]
        entry = EnvelopeCall(told.start.index, id, part.id, part.name, part.signature, part.minted)
        if entry != told.entry or self._slots.call == "end":
            self._waiting.append(entry)
        if self._slots.call == "end":
            told.seal = self._envelope()
        out.append(PartEnd(told.index or 0, ToolCall(id, part.name, part.arguments, told.seal)))

    def _late(self, part: Part, at: int) -> None:
        """Take the true end of a part that had to end before it."""
        match part:
            case Thinking() if part.signature is not None:
                self._waiting.append(EnvelopeThinking(at, part.signature, part.redacted, ""))
            case Text() if part.signature is not None:
                number = next(n for n, (index, _) in enumerate(self._texts) if index == at)
                self._waiting.append(EnvelopeText(at, number, part.signature))
            case ToolCall():
                id = self._ids[at]
                self._waiting.append(
                    EnvelopeCall(at, id, part.id, part.name, part.signature, part.minted)
                )

    def _finish(self, out: list[Event]) -> None:
        self._release(out)
        if self._slots.trailing_thinking:
            self._ahead(out)

    # -- envelopes ---------------------------------------------------------------------------------

    def _ahead(self, out: list[Event]) -> None:
        """Send off the seals that wait: with held thinking, or in a part of their own."""
        if self._held is None and self._slots.thinking and self._is_worth_one():
            out.append(PartStart(self._next, "thinking"))
            self._held = (self._next, Thinking(""))
            self._next += 1
        self._release(out)

    def _release(self, out: list[Event]) -> None:
        """End the thinking that is held, with all that waits in its envelope."""
        if self._held is not None:
            index, part = self._held
            self._held = None
            out.append(PartEnd(index, replace(part, signature=self._envelope())))

    def _envelope(self) -> Signature | None:
        """Return all that waits in an envelope; None where nothing is worth one yet."""
        if not self._is_worth_one():
            return None
        entries, self._waiting, self._keeps = tuple(self._waiting), [], True
        return Signature(DIALECT, pack_envelope(Envelope(self._origin, self._answer, entries)))

    def _is_worth_one(self) -> bool:
        """Return whether something waits that must come back.

        Of a call without a seal that is only the id: thinking may be bound to all ids before it.
        """
        return any(self._keeps or not _is_bare(entry) for entry in self._waiting)


def _is_bare(entry: Entry) -> bool:
    return isinstance(entry, EnvelopeCall | EnvelopeText) and entry.signature is None
