"""Turns an answer's pieces into events; a lone signature next to a call is given to the call."""

import base64
import binascii
from operator import itemgetter

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from pondero.canon import (
    Blob,
    Event,
    Finish,
    Finished,
    Image,
    Json,
    MediaKind,
    Part,
    PartEnd,
    PartKind,
    PartStart,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprob,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
    UsageUpdate,
    assume_medium,
    make_call_id,
)
from pondero.dialects.dialect import AnswerContext
from pondero.dialects.media_counts import find_medium
from pondero.dialects.token_logprobs import attach_logprobs
from pondero.errors import Malformed, Truncated

from .chunks import (
    Arguments,
    Call,
    Candidate,
    Chunk,
    Counts,
    Feedback,
    Inline,
    Piece,
    find_candidate,
    raw_part,
    read_logprobs,
)
from .usage import merge_usage, usage

NAME = "gemini"
_EXTRAS = {
    "citation_metadata": "citationMetadata",
    "url_context_metadata": "urlContextMetadata",
    "logprobs_result": "logprobsResult",
    "avg_logprobs": "avgLogprobs",
    "finish_message": "finishMessage",
    "continuation_token": "continuationToken",
}
_get_extras = itemgetter(*map(Candidate.__struct_fields__.index, _EXTRAS))
_NO_EXTRAS = (None,) * len(_EXTRAS)

_ENDINGS: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"),
            "JAILBREAK",
        ),
        "content_filter",
    ),
    **dict.fromkeys(
        (
            *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"),
            *("TOO_MANY_TOOL_CALLS", "LANGUAGE", "NO_IMAGE"),
        ),
        "error",
    ),
}
# Some recordings have the enum as numbers; from 6 on the two deployments number differently.
_NUMBERED = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")


class Answer:
    """One answer. It ends when no more bytes come: some answers have several finish reasons."""

    def __init__(self, where: AnswerContext) -> None:
        self._candidate = candidate = where.candidate
        self._reads_logprobs = where.logprobs
        self._tokens: tuple[TokenLogprob, ...] = ()  # that no text has had yet
        self._weighed: list[TokenLogprob] = []  # of the text that is open
        self._model = where.model
        self._route = where.route
        self._started: Started | None = None
        self._counts: Counts | None = None
        self._next = 0  # the index of the next part
        self._kind = ""  # of the text that is open, thinking or text
        self._texts: list[str] = []
        self._fresh = True  # the open text has nothing of the chunk being read
        self._calling: _Calling | None = None
        self._loose: str | None = None  # a signature that came alone and may be a call's
        self._ids: set[str] = set()
        self._called = self._answered = self._thought = False
        self._medium: MediaKind | None = None  # of a picture, a sound or a film in the answer
        self._reason: str | int | None = None
        self._blocked: str | int | None = None
        self._is_there = not candidate  # an answer without candidates is an empty first one
        self._grounding: Json = None
        self._safety: Json = None
        self._extras: dict[str, Json] = {}

    def take(self, chunk: Chunk, frame: bytes, events: list[Event]) -> None:
        """Take one chunk, and the bytes it was read from."""
        if self._started is None or chunk.prompt_feedback is not None:
            self._begin(chunk, events)
        if chunk.usage_metadata is not None:
            self._counts = merge_usage(self._counts, chunk.usage_metadata)
        for candidate in self._find(chunk):
            self._is_there = True
            self._fresh = True
            begin = len(events)
            content = candidate.content
            if content is not None:
                if content.thoughts:
                    self._words("thinking", content.thoughts, events)
                for number, piece in enumerate(content.parts or ()):
                    text = piece.text
                    if not text or piece.thought_signature is not None:
                        self._special(piece, number, frame, events)
                        continue
                    kind: PartKind = "thinking" if piece.thought else "text"
                    if self._fresh and self._kind == kind:  # the usual case, so it is first
                        self._fresh = False
                        self._texts.append(text)
                        events.append(_DELTAS[kind](self._next, text))
                    else:
                        self._words(kind, text, events)
            if candidate.logprobs_result is not None:
                self._weigh(candidate, begin, events)
            if (
                candidate.finish_reason is not None
                or candidate.grounding_metadata is not None
                or candidate.safety_ratings is not None
                or candidate.citation_metadata is not None
                or candidate.url_context_metadata is not None
                or candidate.continuation_token is not None
            ):
                self._keep(candidate)

    def _find(self, chunk: Chunk) -> list[Candidate]:
        """Return the piece of this answer, if a chunk has one."""
        given = chunk.candidates or []
        if len(given) == 1 and (given[0].index or 0) == self._candidate:  # nearly always
            return given
        place = find_candidate([each.index for each in given], self._candidate)
        return [] if place is None else [given[place]]

    def _weigh(self, candidate: Candidate, begin: int, events: list[Event]) -> None:
        """Give the tokens of a chunk to its text."""
        self._extras["logprobsResult"] = candidate.logprobs_result
        if not self._reads_logprobs:
            return
        self._tokens += read_logprobs(candidate.logprobs_result)
        index = attach_logprobs(events, begin, self._tokens) if self._tokens else None
        if index is not None:
            if index == self._next:  # it is still open
                self._weighed += self._tokens
            self._tokens = ()

    def end(self, events: list[Event], *, whole: bool) -> None:
        """End the answer; without a finish reason, only a ``whole`` body counts as complete."""
        if not self._is_there and self._blocked is None:
            path = f"$.candidates[{self._candidate}]"
            raise Malformed(f"the service gave no answer {self._candidate + 1}", path=path)
        if self._reason is None and self._blocked is None and not whole:
            raise Truncated("the stream ended before a finishReason")
        self._close(events)
        used = usage(self._counts)
        if self._medium is not None:
            used = assume_medium(used, self._medium)
        thought = self._thought or bool(used.thinking)
        ending = _finish(
            self._reason, called=self._called, answered=self._answered, thought=thought
        )
        reason = self._reason
        if reason is None and self._blocked is not None:
            reason, ending = self._blocked, "content_filter" if self._blocked else "other"
        events.append(
            Finished(
                ending,
                usage=used,
                raw_finish=None if reason is None else str(reason),
                model=self._started.model if self._started else None,
                grounding=self._grounding,
                safety=self._safety,
                extras=self._extras or None,
            )
        )

    def _begin(self, chunk: Chunk, events: list[Event]) -> None:
        if self._started is None:
            self._started = Started(chunk.model_version, chunk.response_id)
            events.append(self._started)
        if chunk.prompt_feedback is not None:
            self._block(chunk.prompt_feedback)

    def _words(self, kind: PartKind, text: str, events: list[Event]) -> None:
        if self._kind != kind or not self._fresh:
            self._close(events)
            self._kind = kind
            events.append(PartStart(self._next, kind))
        self._fresh = False
        self._texts.append(text)
        events.append(_DELTAS[kind](self._next, text))

    def _special(self, piece: Piece, number: int, frame: bytes, events: list[Event]) -> None:
        signature = piece.thought_signature or None
        if piece.function_call is not None:
            self._call(piece.function_call, signature, number, events)
        elif piece.text is not None:
            if signature is not None:
                self._add_signed(piece.text, signature, events, thinking=bool(piece.thought))
            elif piece.text:
                self._words("thinking" if piece.thought else "text", piece.text, events)
        elif piece.inline_data is not None and not piece.thought:
            self._whole(_medium(piece.inline_data, self._make_signature(signature)), events)
        else:
            self._unknown(raw_part(frame, number, self._candidate), signature, events)

    def _add_signed(
        self, text: str, signature: str, events: list[Event], *, thinking: bool
    ) -> None:
        own = self._make_signature(signature)
        if thinking:
            self._whole(Thinking(text, own), events)
        elif text:
            self._whole(Text(text, own), events)
        elif self._calling is not None and self._calling.may_be_signed:
            self._calling.signature = own
            self._close(events)
        else:
            self._close(events)
            self._loose = signature

    def _unknown(self, raw: dict[str, Json], signature: str | None, events: list[Event]) -> None:
        known = {key: value for key, value in raw.items() if key != "thoughtSignature"}
        if known.keys() - {"thought"}:
            self._whole(UnknownPart(NAME, known, self._make_signature(signature)), events)
        elif signature is not None:
            self._add_signed("", signature, events, thinking=bool(known.get("thought")))

    def _call(self, call: Call, signature: str | None, number: int, events: list[Event]) -> None:
        calling = self._calling
        if calling is not None and calling.streamed is not None and calling.goes_on(call):
            calling.streamed.add(call.partial_args or [])
            calling.signature = calling.signature or self._make_signature(signature)
            if not call.will_continue:
                self._close(events)
            return
        if call.name is None and (call.args is not None or call.partial_args):
            path = f"$.candidates[0].content.parts[{number}].functionCall.name"
            raise Malformed("a function call without a name", path=path)
        if call.name is None or call.id in self._ids:
            return  # the end of a call that is over, or the same call again
        first, self._called = not self._called, True
        if first and signature is None:
            signature, self._loose = self._loose, None
        self._close(events)
        calling = self._calling = _Calling(
            call, self._id(call), self._make_signature(signature), first=first
        )
        events.append(PartStart(self._next, "tool_call", calling.id, call.name, calling.signature))
        if calling.streamed is not None:
            calling.streamed.add(call.partial_args or [])
        elif not calling.may_be_signed:
            self._close(events)

    def _whole(
        self, part: Text | Thinking | Image | Blob | UnknownPart, events: list[Event]
    ) -> None:
        self._close(events)
        kind = _KINDS[type(part)]
        events.append(PartStart(self._next, kind, signature=part.signature))
        if isinstance(part, Text | Thinking) and part.text:
            events.append(_DELTAS[kind](self._next, part.text))
        self._add_end(part, events)

    def _close(self, events: list[Event]) -> None:
        if self._kind:
            text, self._texts = "".join(self._texts), []
            part: Text | Thinking = Thinking(text)
            if self._kind == "text":
                part, self._weighed = Text(text, tokens=tuple(self._weighed) or UNSET), []
            self._kind = ""
            self._add_end(part, events)
        elif self._calling is not None:
            call, self._calling = self._calling.call(), None
            events.append(ToolDelta(self._next, msgspec.json.encode(call.arguments).decode()))
            self._add_end(call, events)
        elif self._loose is not None:
            signature, self._loose = self._loose, None
            self._whole(Text("", self._make_signature(signature)), events)

    def _add_end(self, part: Part, events: list[Event]) -> None:
        events.append(PartEnd(self._next, part))
        self._next += 1
        if isinstance(part, Thinking):
            self._thought = True
            if self._counts is not None:
                events.append(UsageUpdate(usage(self._counts)))
        elif isinstance(part, Text):
            self._answered = self._answered or bool(part.text.strip())
        elif isinstance(part, Image | Blob):
            self._answered = True
            self._medium = find_medium(part)

    @property
    def counted(self) -> Usage | None:
        """Return the counts so far."""
        return None if self._counts is None else usage(self._counts)

    @property
    def ending(self) -> bool:
        """Return whether a finish reason has come."""
        return self._reason is not None

    def _keep(self, candidate: Candidate) -> None:
        if candidate.finish_reason is not None:
            self._reason = candidate.finish_reason
        if candidate.grounding_metadata:
            self._grounding = candidate.grounding_metadata
        if candidate.safety_ratings is not None:
            self._safety = candidate.safety_ratings
        if (given := _get_extras(astuple(candidate))) != _NO_EXTRAS:
            named = zip(_EXTRAS.values(), given, strict=True)
            self._extras |= {name: value for name, value in named if value is not None}

    def _block(self, feedback: Feedback) -> None:
        self._blocked = feedback.block_reason
        self._safety = feedback.safety_ratings
        self._extras["promptFeedback"] = {
            "blockReason": feedback.block_reason,
            "blockReasonMessage": feedback.block_reason_message,
        }

    def _make_signature(self, signature: str | None) -> Signature | None:
        if not signature:
            return None
        answering = self._started.model if self._started else None
        return Signature(NAME, signature, self._model or answering, self._route)

    def _id(self, call: Call) -> str:
        if call.id:
            self._ids.add(call.id)
            return call.id
        answer = self._started.id if self._started else None
        return make_call_id(msgspec.json.encode([answer, self._next, call.name, call.args]))


class _Calling:
    """A function call that may still get arguments or a signature."""

    def __init__(self, call: Call, id: str, signature: Signature | None, *, first: bool) -> None:
        self.id = id
        self.signature = signature
        self.streamed: Arguments | None = None
        if call.partial_args is not None or call.will_continue:
            self.streamed = Arguments(call.args)
        self._call = call
        self._first = first

    @property
    def may_be_signed(self) -> bool:
        """Return whether a signature that comes next is this call's: only a first call has one."""
        return self._first and self.signature is None and self.streamed is None

    def goes_on(self, call: Call) -> bool:
        """Return whether this continues the same call instead of beginning another."""
        same = call.id in (None, self._call.id) and call.name in (None, self._call.name)
        return same and (call.name is None or bool(call.partial_args))

    def call(self) -> ToolCall:
        """Return the call received so far."""
        arguments = self.streamed.whole() if self.streamed is not None else self._call.args or {}
        return ToolCall(
            self.id, self._call.name or "", arguments, self.signature, not self._call.id
        )


_DELTAS: dict[PartKind, type[TextDelta] | type[ThinkingDelta]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
}
_KINDS: dict[type, PartKind] = {
    Text: "text",
    Thinking: "thinking",
    Image: "image",
    Blob: "blob",
    UnknownPart: "other",
}


def _medium(inline: Inline, signature: Signature | None) -> Image | Blob:
    standard = inline.data.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        data = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed(str(error), path="$..inlineData.data") from error
    if inline.mime_type.startswith("image/"):
        return Image(inline.mime_type, data, signature=signature)
    return Blob(inline.mime_type, data, signature=signature)


def _finish(reason: str | int | None, *, called: bool, answered: bool, thought: bool) -> Finish:
    if isinstance(reason, int):
        reason = _NUMBERED[reason] if 0 <= reason < len(_NUMBERED) else "OTHER"
    ending = _ENDINGS.get(reason or "", "other")
    if called and (ending == "stop" or reason is None):
        return "tool_calls"
    if ending == "length" and thought and not answered and not called:
        return "exhausted"
    return ending
