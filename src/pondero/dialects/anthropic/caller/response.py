"""Reads a whole answer into the events of its stream; ``Answer`` serves both."""

from collections.abc import Iterable, Mapping

from msgspec import Raw, Struct
from msgspec.json import Decoder

from pondero.canon import (
    Event,
    Finish,
    Finished,
    Json,
    Part,
    PartEnd,
    ResponseHead,
    Signature,
    Started,
    Usage,
    UsageUpdate,
    get_decoder,
    is_thinking_only,
)
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed
from pondero.framing import parse_payload

from .errors import failure
from .parts import NAME, Block, Delta, block
from .usage import Counts

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "pause_turn": "paused",
    "compaction": "paused",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_full",
}


class Opening(Struct):
    """The message before its first block."""

    id: str | None = None
    model: str | None = None
    usage: Counts | None = None
    container: Json = None
    input_transformations: Json = None


class _Whole(Opening):
    type: str = "message"
    content: list[Raw] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Json = None
    context_management: Json = None


_WHOLE = get_decoder(_Whole)
_ANY: Decoder[Json] = Decoder()


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer; raises ServiceError if a 200 has an error in it."""
    whole = parse_payload(body, _WHOLE)
    if whole.type == "error":
        raise failure(parse_payload(body, _ANY), head, body=body, status=None)
    if whole.content is None:
        raise Malformed("a required key is missing", path="$.content")
    answer = Answer(head, where)
    events = answer.start(whole)
    for index, raw in enumerate(whole.content):
        opened = block(raw, index, at=f"$.content[{index}]")
        events += answer.begin_part(opened)
        events.append(answer.end_part(opened))
    ending = Delta(
        stop_reason=whole.stop_reason,
        stop_sequence=whole.stop_sequence,
        stop_details=whole.stop_details,
    )
    answer.note_ending(ending, None, whole.context_management)  # start() read the counts
    events.append(answer.finish())
    return events


def match_score(raw: Json, *, stream: bool) -> int:
    """Return how likely this JSON is an answer of this API: 0 to 100."""
    if not isinstance(raw, dict):
        return 0
    kind = raw.get("type")
    if kind == "error" and isinstance(raw.get("error"), dict):
        return 80
    if stream:
        return {"message_start": 100, "content_block_start": 90, "ping": 50}.get(str(kind), 0)
    return 100 if kind == "message" and isinstance(raw.get("content"), list) else 0


_NO_COUNTS, _NO_USAGE, _NO_DELTA = Counts(), Usage(), Delta()


class Answer:
    """The parts, counts and ending of an answer, as far as they were read."""

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self.head = head
        self.parts: list[Part] = []
        self._model, self._route = where.model, where.route
        # Signatures name the requested model: an answer to an alias names a snapshot.
        self._maker = where.model
        self._counts = _NO_COUNTS
        self._usage = _NO_USAGE
        self._extras: dict[str, Json] = {}
        self._last = _NO_DELTA

    @property
    def usage(self) -> Usage | None:
        """Return the counts that have come."""
        return self._usage if self._usage != _NO_USAGE else None

    def start(self, opening: Opening) -> list[Event]:
        """Read the start of the message; return its events."""
        self._model = opening.model or self._model
        self._maker = self._maker or opening.model
        if opening.container is not None:
            self._extras["container"] = opening.container
        if opening.input_transformations is not None:
            self._extras["input_transformations"] = opening.input_transformations
        events: list[Event] = [Started(opening.model, opening.id)]
        if opening.usage is not None:
            self._counts = opening.usage
            self._usage = opening.usage.usage()
            events.append(UsageUpdate(self._usage))
        return events

    def begin_part(self, opened: Block) -> list[Event]:
        """Return the events of a part that begins."""
        return opened.begin(self._sign)

    def end_part(self, open_: Block) -> Event:
        """Store a complete part; return its event."""
        part = open_.end(self._sign)
        self.parts.append(part)
        return PartEnd(open_.index, part)

    def forget_output(self) -> None:
        """Forget how much was written: a stream says at its start only what it begins with."""
        self._counts = self._counts.without_output()
        self._usage = self._counts.usage()

    def note_ending(self, delta: Delta, counts: Counts | None, context_management: Json) -> None:
        """Read how the message ended."""
        self._last = delta
        if counts is not None:
            self._counts = self._counts.then(counts)
            self._usage = self._counts.usage()
        if delta.container is not None:
            self._extras["container"] = delta.container
        if delta.stop_sequence is not None:
            self._extras["stop_sequence"] = delta.stop_sequence
        if context_management is not None:
            self._extras["context_management"] = context_management

    def finish(self) -> Event:
        """Return the last event."""
        word = self._last.stop_reason
        return Finished(
            _resolve_finish(word, self.parts, self._usage),
            usage=self._usage,
            raw_finish=word,
            model=self._model,
            safety=self._last.stop_details,
            extras=(self._extras | self._counts.extras()) or None,
        )

    def _sign(self, value: Json) -> Signature:
        return Signature(NAME, value, self._maker, self._route)


def _resolve_finish(word: str | None, parts: Iterable[Part], usage: Usage) -> Finish:
    ended = _FINISH.get(word or "", "other")
    return "exhausted" if ended == "length" and is_thinking_only(parts, usage) else ended
