"""Embeds signatures as envelopes in an answer; ``record`` is the unchanged answer."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ...canon import (
    Blob,
    Event,
    Finish,
    Finished,
    Image,
    Json,
    LevelUpdate,
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


def read_envelope(part: Part, _shown: str, _before: Sequence[Json], /) -> Json | None:
    """Return the envelope on a part: the signer of a translated answer."""
    signature = None if isinstance(part, ToolResult | LevelUpdate) else part.signature
    return signature.value if signature is not None and signature.dialect == DIALECT else None


def embed_nothing(
    message: Message, origin: Origin, seed: bytes
) -> tuple[Message, CachedAnswer] | None:
    """Return what ``SignatureEmbedder`` makes of an answer that is a text without a signature.

    That is the message that the client is to see, and its record; None for any other answer.
    """
    parts = message.parts
    if len(parts) != 1 or not isinstance(part := parts[0], Text):
        return None
    if not part.text or part.signature is not None:
        return None
    shown = Message("assistant", (Text(part.text, None, part.citations, tokens=part.tokens),))
    kept = Message("assistant", (_leave_out_logprobs(part),), origin)
    return shown, CachedAnswer(_name_answer(seed), kept, (), part.text)


def _name_answer(seed: bytes) -> str:
    return blake2b(seed, digest_size=6).hexdigest()


class _OpenPart(Struct):
    """The part being written; ``index`` is the client's, None if it does not see the part.

    ``entry`` is its entry in an earlier envelope, ``signature`` the envelope in its own slot.
    """

    start: PartStart
    index: int | None = None
    entry: Entry | None = None
    signature: Signature | None = None


class SignatureEmbedder:
    """Feed it the events of an answer and write those it returns.

    An envelope precedes the part it describes: the end of thinking is held until the next part
    begins. Entries known later wait for the next envelope, or are only in the answer cache.
    ``seed`` is unique to the answer; ``call_id`` makes an id of 32 hexadecimal digits.
    ``pack`` writes an envelope for this client. ``text_inside``: the envelope has the text of
    thinking, because the client may lose it. ``hide`` returns the events without thinking in texts.
    """

    def __init__(
        self,
        slots: SignatureSlots,
        origin: Origin,
        *,
        pack: Callable[[Envelope], str],
        seed: bytes,
        call_id: Callable[[str], str],
        text_inside: bool,
        hide: Callable[[list[Event]], list[Event]] | None = None,
    ) -> None:
        self._slots = slots
        self._origin = origin
        self._pack = pack
        self._seed = seed
        self._call_id = call_id
        self._hide = hide
        self._text_inside = text_inside or slots.may_lose_thinking
        self._answer = _name_answer(seed)
        self._sequence = PartOrder()
        self._parts: dict[int, Part] = {}  # the model's, unchanged
        self._ids: dict[int, str] = {}  # the client's, by the index of the call
        self._texts: list[tuple[int, str]] = []  # that the client sees, each with its index
        self._open_part: _OpenPart | None = None
        self._held: tuple[int, Thinking] | None = None
        self._waiting: list[Entry] = []
        self._has_envelope = False  # the client has an envelope, or will have one
        self._next = 0

    @property
    def record(self) -> CachedAnswer:
        """Return the answer's complete parts, for the answer cache."""
        places = sorted(self._parts)
        return CachedAnswer(
            self._answer,
            Message("assistant", tuple(map(self._parts.__getitem__, places)), self._origin),
            tuple([self._ids[at] for at in places if at in self._ids]),
            "".join([text for _, text in self._texts]),
        )

    def whole(self, message: Message, finish: Finish = "stop") -> Message:
        """Return an answer in one piece as the client is to see it."""
        events: list[Event] = []
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolResult | LevelUpdate):
                continue
            start = PartStart(index, _KINDS[type(part)], signature=part.signature)
            if isinstance(part, ToolCall):
                start = replace(start, id=part.id, name=part.name)
            events += (start, PartEnd(index, part))
        opened = self.feed([*events, Finished(finish)])
        return Message("assistant", tuple(e.part for e in opened if isinstance(e, PartEnd)))

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events for the client; some wait for later ones."""
        if self._hide is not None:
            events = self._hide(events)
        if self._open_part is not None and self._sequence.take_words(events, self._open_part.index):
            return events
        out: list[Event] = []
        for event in events:
            if isinstance(event, PartEnd):
                self._parts[event.index] = _leave_out_logprobs(event.part)
        for event in self._sequence.feed(events):
            if isinstance(event, DELTAS):
                self._delta(event, out)
            elif isinstance(event, PartStart):
                self._start_part(event, out)
            elif isinstance(event, PartEnd):
                self._end_part(event, out)
            else:
                if isinstance(event, Finished):
                    self._finish(out)
                out.append(event)
        return out

    # -- beginnings --------------------------------------------------------------------------------

    def _start_part(self, event: PartStart, out: list[Event]) -> None:
        opened = self._open_part = _OpenPart(event)
        if event.kind == "tool_call":
            self._start_call(opened, out)
        elif event.kind not in ("text", "other"):  # a text begins with its first delta
            self._release(out)
            self._open(opened, out)

    def _delta(self, event: TextDelta | ThinkingDelta | ToolDelta, out: list[Event]) -> None:
        opened = self._open_part
        if opened is None or not (event.json if isinstance(event, ToolDelta) else event.text):
            return
        if opened.index is None:
            self._start_text(opened, out)
        out.append(event if event.index == opened.index else replace(event, index=opened.index))

    def _start_text(self, opened: _OpenPart, out: list[Event]) -> None:
        known = self._parts.get(opened.start.index)
        signature = known.signature if isinstance(known, Text) else opened.start.signature
        # The entry also marks where a text begins: clients store it in pieces.
        if signature is not None or (self._slots.text and self._has_envelope):
            opened.entry = EnvelopeText(opened.start.index, len(self._texts), signature)
            self._waiting.append(opened.entry)
        if self._slots.text:
            opened.signature = self._envelope()
        elif self._slots.trailing_thinking:
            self._send_waiting(out)
        else:  # an empty part before text would be visible
            self._release(out)
        self._open(opened, out)

    def _start_call(self, opened: _OpenPart, out: list[Event]) -> None:
        start = opened.start
        digest = blake2b(b"%b %d" % (self._seed, start.index), digest_size=16).hexdigest()
        id = self._ids[start.index] = self._call_id(digest)
        known = self._parts.get(start.index)
        opened.entry = (
            EnvelopeCall(start.index, id, known.id, known.name, known.signature, known.minted)
            if isinstance(known, ToolCall)  # it came whole
            else EnvelopeCall(start.index, id, start.id or "", start.name or "", start.signature)
        )
        if self._slots.call is None:
            self._waiting.append(opened.entry)
            self._send_waiting(out)
        elif self._slots.call == "start":
            self._release(out)
            self._waiting.append(opened.entry)
            opened.signature = self._envelope()
        self._open(opened, out, id=id)

    def _open(self, opened: _OpenPart, out: list[Event], *, id: str | None = None) -> None:
        opened.index = self._next
        self._next += 1
        out.append(
            PartStart(opened.index, opened.start.kind, id, opened.start.name, opened.signature)
        )

    # -- ends --------------------------------------------------------------------------------------

    def _end_part(self, event: PartEnd, out: list[Event]) -> None:
        opened, part, at = self._open_part, event.part, event.index
        if opened is None or opened.start.index != at:
            self._end_late(part, at)
            return
        self._open_part = None
        match part:
            case Text() if opened.start.kind == "other":  # a plan, which the client may not see
                self._waiting.append(EnvelopeHidden(at, part))
            case Thinking():
                self._end_thinking(opened, part, out)
            case Text():
                self._end_text(opened, part, out)
            case ToolCall():
                self._end_call(opened, part, out)
            case Image() | Blob():
                out.append(PartEnd(opened.index or 0, replace(part, signature=None)))
            case _:
                self._waiting.append(EnvelopeHidden(at, part))

    def _end_thinking(self, opened: _OpenPart, part: Thinking, out: list[Event]) -> None:
        index, text = opened.index or 0, part.text if self._text_inside else None
        self._has_envelope = True
        self._waiting.append(
            EnvelopeThinking(opened.start.index, part.signature, part.redacted, text)
        )
        shown = Thinking(part.text, None, part.redacted)
        if self._slots.thinking:
            self._held = (index, shown)
        else:
            out.append(PartEnd(index, shown))

    def _end_text(self, opened: _OpenPart, part: Text, out: list[Event]) -> None:
        at = opened.start.index
        if opened.index is None and not part.text:
            if part.signature is not None:
                self._waiting.append(EnvelopeHidden(at, part))
            return
        if opened.index is None:
            self._start_text(opened, out)
        entry = EnvelopeText(at, len(self._texts), part.signature)
        if part.signature is not None and entry != opened.entry:
            self._waiting.append(entry)
        self._texts.append((at, part.text))
        shown = Text(part.text, opened.signature, part.citations, tokens=part.tokens)
        out.append(PartEnd(opened.index or 0, shown))

    def _end_call(self, opened: _OpenPart, part: ToolCall, out: list[Event]) -> None:
        id = self._ids[opened.start.index]
        entry = EnvelopeCall(
            opened.start.index, id, part.id, part.name, part.signature, part.minted
        )
        if entry != opened.entry or self._slots.call == "end":
            self._waiting.append(entry)
        if self._slots.call == "end":
            opened.signature = self._envelope()
        out.append(
            PartEnd(opened.index or 0, ToolCall(id, part.name, part.arguments, opened.signature))
        )

    def _end_late(self, part: Part, at: int) -> None:
        """Take the end of a part that had to be ended earlier."""
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
            self._send_waiting(out)

    # -- envelopes ---------------------------------------------------------------------------------

    def _send_waiting(self, out: list[Event]) -> None:
        """Send waiting entries: with held thinking, or in a part of their own."""
        if self._held is None and self._slots.thinking and self._needs_envelope():
            out.append(PartStart(self._next, "thinking"))
            self._held = (self._next, Thinking(""))
            self._next += 1
        self._release(out)

    def _release(self, out: list[Event]) -> None:
        """End the held thinking, with all waiting entries in its envelope."""
        if self._held is not None:
            index, part = self._held
            self._held = None
            out.append(PartEnd(index, replace(part, signature=self._envelope())))

    def _envelope(self) -> Signature | None:
        """Return an envelope of all waiting entries; None if none is needed yet."""
        if not self._needs_envelope():
            return None
        entries, self._waiting, self._has_envelope = tuple(self._waiting), [], True
        return Signature(DIALECT, self._pack(Envelope(self._origin, self._answer, entries)))

    def _needs_envelope(self) -> bool:
        """Return whether an entry waits that must come back.

        For a call without a signature that is only its id: thinking may be bound to all ids before
        it.
        """
        return any(self._has_envelope or not _has_no_signature(entry) for entry in self._waiting)


def _leave_out_logprobs(part: Part) -> Part:
    """Return a part as the answer cache has it: no client sends log probabilities back."""
    return replace(part, tokens=UNSET) if isinstance(part, Text) and part.logprobs else part


def _has_no_signature(entry: Entry) -> bool:
    return isinstance(entry, EnvelopeCall | EnvelopeText) and entry.signature is None
