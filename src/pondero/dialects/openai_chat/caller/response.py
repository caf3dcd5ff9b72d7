"""Reads a whole answer into events, with the builder that ``stream`` uses too."""

import base64
import binascii
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec
from msgspec.structs import replace

from pondero.canon import (
    Event,
    Image,
    Json,
    ResponseHead,
    Started,
    TextDelta,
    ThinkingDelta,
    TokenLogprob,
    ToolDelta,
    UnknownPart,
    Usage,
    assume_medium,
    join_pieces,
)
from pondero.dialects.dialect import AnswerContext
from pondero.dialects.token_logprobs import fit_logprobs, read_logprobs
from pondero.errors import Malformed, ServerFailed
from pondero.framing import MAX_FRAME, OversizedAnswer

from .errors import error_in
from .parts import NAME, Answer, Calls, Choice, Delta, Parts, read
from .plain_answer import read_plain
from .quirks import Quirks, quirks_of
from .thinking import Details, Piece, Tags
from .usage import Notes, usage_of

_THOUGHTS = ("thinking", "reasoning")
_THOUGHT_TEXTS = ("thinking", "reasoning", "text")
_OF_THOUGHT = ("type", *_THOUGHT_TEXTS)
_OBJECTS = ("chat.completion", "chat.completion.chunk")


def decode(head: ResponseHead, body: bytes, where: AnswerContext) -> list[Event]:
    """Return the events of a whole answer, the same as of its stream."""
    answer = _read_whole(head, body)
    plain = read_plain(answer, where, quirks_of(where.quirks))
    return _build_events(answer, builder_for(where)) if plain is None else plain


def builder_for(where: AnswerContext) -> "Builder":
    """Return the builder for one answer of this deployment."""
    quirks = quirks_of(where.quirks)
    builder = Builder(where.model, where.route, quirks, candidate=where.candidate)
    builder.reads_logprobs = where.logprobs
    return builder


def events_of(head: ResponseHead, body: bytes, builder: "Builder") -> list[Event]:
    """Return the events of a whole body; raises the error in it."""
    return _build_events(_read_whole(head, body), builder)


def _read_whole(head: ResponseHead, body: bytes) -> Answer:
    if len(body) > MAX_FRAME:
        raise OversizedAnswer(f"a body of more than {MAX_FRAME:,} bytes")
    answer = read(body)
    if (answer.error or not answer.choices) and (error := error_in(head, body)):
        raise error
    if answer.choices is msgspec.UNSET:
        raise Malformed("the answer has no choices", path="$.choices")
    if not answer.choices:
        raise ServerFailed("the service answered with no choice to read", body=body)
    for choice in answer.choices:
        if choice.message is not None:
            choice.delta = None  # some services add an empty delta to a body
    return answer


def _build_events(answer: Answer, builder: "Builder") -> list[Event]:
    events: list[Event] = []
    builder.take(answer, events)
    builder.end(events)
    return events


def match_score(raw: Json, *, stream: bool) -> int:
    """Return from 0 to 100 how surely this JSON is of this wire; errors look alike on many."""
    if not isinstance(raw, dict):
        return 0
    choices = raw.get("choices")
    if raw.get("object") == _OBJECTS[stream]:
        return 95
    if raw.get("object") in _OBJECTS:
        return 90
    if isinstance(choices, list):
        first = choices[0] if choices else None
        return 80 if isinstance(first, dict) and first.keys() & {"message", "delta"} else 50
    return _score_error(raw)


def _score_error(raw: dict[str, Json]) -> int:
    failed = raw.get("error")
    if isinstance(failed, dict) and "message" in failed:
        if "status" in failed or raw.get("type") == "error":  # another wire's fields
            return 10
        ours = isinstance(failed.get("code"), int) or failed.keys() & {"code", "param", "metadata"}
        return 45 if ours else 20
    if isinstance(failed, str) or raw.get("object") == "error":
        return 30
    told = {"message", "type", "code", "reason"}
    return 15 if "detail" in raw or len(raw.keys() & told) > 1 else 0


class Builder:
    """Feed bodies or chunks with ``take``, then call ``end``; events go to the list given."""

    def __init__(
        self, model: str | None, route: str | None, quirks: Quirks, *, candidate: int = 0
    ) -> None:
        self.notes: Notes = Notes()
        self.candidate = candidate
        self.reads_logprobs: bool = False
        self._tokens: tuple[TokenLogprob, ...] = ()  # that no text has had yet
        self._is_there = not candidate  # some services give the only choice no index
        self._model = model
        self._route = route
        self._outside = quirks.thinking_outside_completion
        self._fields = tuple([f for f in quirks.thinking_fields if f != "reasoning_details"])
        self.word_fields: tuple[str, ...] = ("content", *self._fields)
        self._reads_details = "reasoning_details" in quirks.thinking_fields
        self._parts = Parts(model=model, route=route)
        self._tags = Tags(quirks.think_tags)
        self._calls = Calls()
        self._audio: dict[str, Json] = {}
        self._started = False
        self._id: str | None = None
        self._answering: str | None = None

    @property
    def usage(self) -> Usage | None:
        """Return the counts that have come."""
        counts = self.notes.counts
        return usage_of(counts, outside=self._outside) if counts else None

    def take(self, answer: Answer, events: list[Event]) -> None:
        """Take a chunk of a stream, or a body."""
        choices = answer.choices
        if choices:
            if not self._started:
                self._start(answer, events)
            for choice in choices:
                if (choice.index or 0) != self.candidate:
                    continue
                self._is_there = True
                begin = len(events)
                if choice.delta is not None:
                    self._take_delta(choice.delta, events)
                elif choice.message is not None and not self._parts.begun:  # else a repetition
                    self._take_delta(choice.message, events)
                if choice.logprobs and self.reads_logprobs:
                    self._weigh(choice, begin, events)
                if (
                    choice.finish_reason
                    or choice.native_finish_reason
                    or choice.content_filter_results
                    or choice.usage
                    or choice.error
                ):
                    self.notes.take_choice(choice)
        if answer.usage:  # some send an empty one with every chunk
            self.notes.count(answer.usage)
        elif choices and self.notes.counts is not None and _has_words(choices):
            self.notes.is_stale = True
        if (
            answer.x_groq
            or answer.citations
            or answer.search_results
            or answer.prompt_filter_results
            or answer.cost
            or answer.error
        ):
            self.notes.take(answer)

    def _weigh(self, choice: Choice, begin: int, events: list[Event]) -> None:
        """Give the tokens of a piece to its text; those of thinking between tags are not told."""
        raw = choice.logprobs if isinstance(choice.logprobs, dict) else {}
        tokens = read_logprobs(raw.get("content") or raw.get("refusal"))
        new, given = events[begin:], choice.delta or choice.message or Delta()
        apart = given.reasoning_content or given.reasoning or given.reasoning_text
        if not apart and any(isinstance(each, ThinkingDelta) for each in new):
            said = "".join(each.text for each in new if isinstance(each, TextDelta))
            tokens = tuple(fit_logprobs(tokens, said))
        self._tokens += tokens
        if self._tokens and self._parts.weigh(begin, self._tokens, events):
            self._tokens = ()

    def take_words(self, field: str, texts: list[str], events: list[Event]) -> None:
        """Take chunks that have text in one of ``word_fields`` and nothing else."""
        self.notes.is_stale = self.notes.counts is not None
        if field != "content":
            self._think(field, texts, events)
        elif self._tags.plain and "<" not in "".join(texts):
            self._parts.say(texts, events)
        else:
            for text in texts:
                self._take_text(text, events)

    def fold(self) -> None:
        """Keep the text so far in few pieces."""
        for part in (self._parts.text, self._parts.thinking):
            if part is not None:
                join_pieces(part.texts)

    def end(self, events: list[Event]) -> None:
        """Close what is open; the last event is Finished."""
        if not self._is_there:
            path = f"$.choices[{self.candidate}]"
            raise Malformed(f"the service gave no answer {self.candidate + 1}", path=path)
        if not self._started:
            self._start(Answer(), events)
        self._settle(events)
        for number, call in enumerate(self._calls.find_without_id()):
            self._parts.call(call, call.make_id(self._id, number), events)
        if self._audio:
            self._parts.add("other", UnknownPart(NAME, {"audio": self._audio}), events)
        self._parts.end(events)
        model = self._answering or self._model
        last = self.notes.make_finished(self._parts, model=model, outside=self._outside)
        if self._audio:
            last = replace(last, usage=assume_medium(last.usage, "audio"))
        events.append(last)

    def _start(self, answer: Answer, events: list[Event]) -> None:
        self._started = True
        self._id = None if answer.id is None else str(answer.id) or None
        self._answering = answer.model or None
        self._parts.model = self._model or self._answering
        if isinstance(answer.provider, str) and answer.provider:
            self.notes.extras["provider"] = answer.provider
            self._parts.route = "/".join(filter(None, (self._route, answer.provider)))
        if answer.service_tier:
            self.notes.extras["service_tier"] = answer.service_tier
        events.append(Started(self._answering or self._model, self._id))

    # -- a message, or the next piece of one -----------------------------------------------------

    def _take_delta(self, delta: Delta, events: list[Event]) -> None:
        thought = delta.reasoning_content or delta.reasoning or delta.reasoning_text
        if thought:
            self._take_thought(delta, events)
        if delta.reasoning_details and self._reads_details:
            self._take_details(delta.reasoning_details, events, shown=bool(thought))
        content = delta.content
        if content:
            if isinstance(content, str):
                self.take_words("content", [content], events)
            else:
                self._take_content(content, events)
        if delta.tool_calls:
            self._take_calls(delta.tool_calls, events)
        if (
            delta.refusal
            or delta.function_call
            or delta.annotations
            or delta.images
            or delta.audio
            or delta.extra_content
            or delta.thought_signature
            or delta.executed_tools
            or delta.provider_metadata
        ):
            self._take_rarities(delta, events)

    def _take_thought(self, delta: Delta, events: list[Event]) -> None:
        for field in self._fields:
            if thought := getattr(delta, field):
                self._think(field, [thought], events)
                break

    def _think(self, field: str, texts: list[str], events: list[Event]) -> None:
        if self._tags.reads is not None:
            self._tags.stop()
        self._parts.think(texts, {field: True}, events)

    def _take_details(
        self, raw: list[dict[str, Json]], events: list[Event], *, shown: bool
    ) -> None:
        part = self._parts.find_thinking(events)
        if part.details is None:
            part.details = Details()
        text = part.details.feed(raw)
        if text and not shown:
            self._tags.stop()
            self._parts.think([text], {}, events)

    def _take_content(self, content: list[Json] | dict[str, Json], events: list[Event]) -> None:
        if isinstance(content, dict):  # structured output as the object itself
            self._parts.say([msgspec.json.encode(content).decode()], events)
            return
        for chunk in content:
            kind = chunk.get("type") if isinstance(chunk, dict) else None
            if kind == "text" and isinstance(chunk.get("text"), str):
                self._take_text(chunk["text"], events)
            elif kind in _THOUGHTS:
                self._take_chunk(chunk, events)
            elif kind == "refusal" and isinstance(chunk.get("refusal"), str):
                self._parts.refuse(chunk["refusal"], events)
            elif kind == "image_url":
                self._show(chunk, events)
            else:
                self._parts.add("other", UnknownPart(NAME, chunk), events)

    def _take_chunk(self, chunk: dict[str, Json], events: list[Event]) -> None:
        inner = next((chunk[key] for key in _THOUGHT_TEXTS if chunk.get(key)), None)
        texts = [{"text": inner}] if isinstance(inner, str) else inner
        for each in texts if isinstance(texts, list) else ():
            text = each.get("text") if isinstance(each, dict) else None
            if isinstance(text, str) and text:
                self._parts.think([text], {"chunk": {}}, events)
        rest = {key: value for key, value in chunk.items() if key not in _OF_THOUGHT}
        if rest and (self._parts.thinking is not None or rest.get("signature")):
            self._parts.find_thinking(events).signed.setdefault("chunk", {}).update(rest)

    def _take_text(self, text: str, events: list[Event]) -> None:
        said = self._parts.text
        before = said.texts[-1][-1:] if said is not None else ""
        self._take_pieces(self._tags.feed(text, before=before), events)

    def _take_pieces(self, pieces: list[Piece], events: list[Event]) -> None:
        parts, tags = self._parts, self._tags
        unopened = parts.text is None and any(piece.kind == "unopened" for piece in pieces)
        parts.closing_tag = tags.closed
        for kind, text in pieces:
            if kind == "thinking" or (kind == "text" and unopened):
                parts.think([text], {"tags": [tags.opened]}, events)
            elif kind == "text":
                parts.say([text], events)
            elif unopened:
                unopened = False
            else:
                parts.rethink()

    def _take_calls(self, calls: list[dict[str, Json]], events: list[Event]) -> None:
        for position, raw in enumerate(calls):
            more = self._calls.more(raw)
            call, text = more or self._calls.take(raw, position)
            if call.part < 0:
                if call.name and call.id:  # without an id it waits for the end
                    self._settle(events)
                    self._parts.call(call, call.id, events)
            elif text:
                events.append(ToolDelta(call.part, text))

    def _take_rarities(self, delta: Delta, events: list[Event]) -> None:
        if delta.refusal:
            self._parts.refuse(delta.refusal, events)
        # The older form of a call, which has no id; skip one with empty fields.
        if delta.function_call and any(delta.function_call.values()):
            self._calls.take({"function": delta.function_call, "function_call": True}, -1)
        if delta.extra_content or delta.thought_signature:
            message = self._parts.find_thinking(events).signed.setdefault("message", {})
            for field in ("extra_content", "thought_signature"):
                if value := getattr(delta, field):
                    message[field] = value
        for image in delta.images or ():
            self._show(image, events)
        for key, value in (delta.audio or {}).items():
            before = self._audio.get(key)
            both = isinstance(value, str) and isinstance(before, str) and key != "id"
            self._audio[key] = before + value if both else value
        for field in ("annotations", "executed_tools", "provider_metadata"):
            if value := getattr(delta, field):
                self._note(field, value)

    def _note(self, field: str, value: Json) -> None:
        if field == "annotations" and self._parts.text is not None:
            self._parts.text.citations += value
        else:
            self.notes.extras[field] = value

    def _show(self, raw: Json, events: list[Event]) -> None:
        image = image_of(raw)
        if image is None:
            self._parts.add("other", UnknownPart(NAME, raw), events)
        else:
            self._parts.add("image", image, events)

    def _settle(self, events: list[Event]) -> None:
        if not self._tags.plain:
            self._take_pieces(self._tags.flush(), events)


_READ_ONCE = {"id", "model", "provider", "service_tier"}  # of the first chunk


def words_alone(chunk: Answer, fields: Sequence[str]) -> tuple[str, str] | None:
    """Return the field with text and the text, if the chunk has nothing else for a builder.

    That is the builder of the first answer: chunks of others have an index.
    """
    choices = chunk.choices
    if not isinstance(choices, list) or len(choices) != 1 or choices[0].delta is None:
        return None
    choice, delta = choices[0], choices[0].delta
    if _besides(chunk, {"choices", *_READ_ONCE}) or _besides(choice, {"delta"}):
        return None
    for field in fields:
        if isinstance(text := getattr(delta, field), str) and not _besides(delta, {field}):
            return field, text
    return None


def _besides(given: Answer | Choice | Delta, names: AbstractSet[str]) -> bool:
    return any(getattr(given, name) for name in given.__struct_fields__ if name not in names)


def image_of(raw: Json) -> Image | None:
    """Return the image of an ``image_url`` object; None for anything else."""
    inner = raw.get("image_url") if isinstance(raw, dict) else None
    url = inner.get("url") if isinstance(inner, dict) else inner
    if not isinstance(url, str) or not url:
        return None
    media_type, data = data_of(url)
    return Image(media_type, data) if data is not None else Image(url=url)


def data_of(url: str) -> tuple[str | None, bytes | None]:
    """Return the media type and bytes of a data URL; (None, None) for any other."""
    head, comma, tail = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None, None
    try:
        return head[5:-7] or None, base64.b64decode(tail, validate=True)
    except (binascii.Error, ValueError):
        return None, None


def _has_words(choices: list[Choice]) -> bool:
    said = [choice.delta for choice in choices if choice.delta is not None]
    return any(each.content or each.reasoning_content or each.reasoning for each in said)
