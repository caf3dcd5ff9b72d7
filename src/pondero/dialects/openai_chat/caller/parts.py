"""Types and parts of an answer; the wire has no order among parts, so that of arrival counts."""

import base64
import hashlib
import json

import msgspec
from msgspec import UNSET

from pondero.canon import (
    Event,
    Json,
    Part,
    PartEnd,
    PartKind,
    PartStart,
    Signature,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprob,
    ToolCall,
    ToolDelta,
    convert_json,
    get_decoder,
)
from pondero.dialects.token_logprobs import attach_logprobs
from pondero.errors import Malformed
from pondero.framing import parse_json_or_none

from .thinking import Details

NAME = "openai_chat"


class Delta(msgspec.Struct, gc=False):
    """A message, or the next piece of one."""

    content: str | list[Json] | dict[str, Json] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[dict[str, Json]] | None = None
    tool_calls: list[dict[str, Json]] | None = None
    refusal: str | None = None
    function_call: dict[str, Json] | None = None
    annotations: list[Json] | None = None
    images: list[Json] | None = None
    audio: dict[str, Json] | None = None
    extra_content: Json = None
    thought_signature: Json = None
    executed_tools: Json = None
    provider_metadata: Json = None


class Choice(msgspec.Struct, gc=False):
    """One of the answers; a builder reads one of them."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    index: int | None = 0
    native_finish_reason: Json = None
    content_filter_results: Json = None
    error: Json = None
    usage: Json = None
    logprobs: Json = None


class Answer(msgspec.Struct, gc=False):
    """A body, or one chunk of a stream."""

    choices: list[Choice] | msgspec.UnsetType | None = msgspec.UNSET
    usage: Json = None
    error: Json = None
    id: str | int | None = None
    model: str | None = None
    provider: Json = None
    service_tier: Json = None
    x_groq: Json = None
    citations: Json = None
    search_results: Json = None
    prompt_filter_results: Json = None
    cost: Json = None


_read = get_decoder(Answer).decode


def read(data: bytes) -> Answer:
    """Read a body or chunk; raises Malformed with the path of a misfit."""
    try:
        return _read(data)
    except msgspec.ValidationError as error:
        return _read_without_empties(data, error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if b"\\ud" in data or b"\\uD" in data:
            return _read_lone_surrogates(data)
        raise Malformed(f"not JSON: {error}") from None


def _read_lone_surrogates(data: bytes) -> Answer:
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return _read(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
    except msgspec.ValidationError as error:
        raise _make_malformed(error) from None
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from None


def _read_without_empties(data: bytes, first: msgspec.ValidationError) -> Answer:
    raw = parse_json_or_none(data)
    choices = raw.get("choices") if isinstance(raw, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        for holder in _holders(choice):
            for key in [key for key, value in holder.items() if value in ("", [], {})]:
                del holder[key]
    try:
        return convert_json(raw, Answer)
    except msgspec.ValidationError:
        raise _make_malformed(first) from None


def _holders(choice: Json) -> list[dict[str, Json]]:
    if not isinstance(choice, dict):
        return []
    inside = (choice.get("delta"), choice.get("message"))
    return [*(each for each in inside if isinstance(each, dict)), choice]


def _make_malformed(error: msgspec.ValidationError) -> Malformed:
    what, _, path = str(error).partition(" - at `")
    return Malformed(what, path=path.removesuffix("`") or "$")


_KNOWN = {"index", "id", "type", "function", "custom"}


class Call:
    """One call while it arrives; ``part`` is its index among the answer's parts."""

    def __init__(self) -> None:
        self.part = -1
        self.answered = ""  # the id its result will name
        self.id: str = ""
        self.given: str | None = None  # the service's id, which may be empty
        self.name: str = ""
        self.custom: bool = False
        self.texts: list[str] = []
        self.extras: dict[str, Json] = {}

    @property
    def blank(self) -> bool:
        """Return whether it has only empty fields so far."""
        return not (self.id or self.name or self.texts or self.extras)

    def feed(self, raw: dict[str, Json]) -> str:
        """Take the next piece; return the argument text it adds."""
        if not self.id and isinstance(given := raw.get("id"), str | int):
            self.id = self.given = str(given)
        for key, value in raw.items():
            if key not in _KNOWN and value is not None:
                self.extras[key] = value
        self.custom = self.custom or raw.get("type") == "custom"
        body = raw.get("custom" if self.custom else "function")
        if not isinstance(body, dict):
            return ""
        if isinstance(name := body.get("name"), str) and not self.name:
            self.name = name
        text = _text(body.get("input" if self.custom else "arguments"))
        if not self.texts and not self.custom:
            text = text.lstrip()
        if text:
            self.texts.append(text)
        return text

    def arguments(self) -> Json:
        """Return the arguments as JSON values, or the text if it is not JSON."""
        text = "".join(self.texts)
        if self.custom:
            return text
        if not text:
            return {}
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return text
        return text if isinstance(value, str) else value

    def make_id(self, answer: str | None, number: int) -> str:
        """Make an id for a call without one."""
        seed = "\0".join((answer or "", str(number), self.name, *self.texts))
        digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
        return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")


class Calls:
    """The calls of one answer, by the index their service gives them."""

    def __init__(self) -> None:
        self._slots: dict[Json, Call] = {}
        self._calls: list[Call] = []

    def more(self, raw: dict[str, Json]) -> tuple[Call, str] | None:
        """Take a piece that only adds argument text, as nearly all do; None for any other."""
        index = raw.get("index")
        if len(raw) == 2 and isinstance(index, int) and (call := self._slots.get(index)):
            body = raw.get("function")
            if isinstance(body, dict) and len(body) == 1:
                text = body.get("arguments")
                if isinstance(text, str) and call.texts:
                    call.texts.append(text)
                    return call, text
        return None

    def take(self, raw: dict[str, Json], position: int) -> tuple[Call, str]:
        """Return the call a piece belongs to, and the argument text it adds."""
        call = self._find(raw, position)
        return call, call.feed(raw)

    def find_without_id(self) -> list[Call]:
        """Return the calls without an id (not blank ones); raises Malformed if one has no name."""
        for index, call in enumerate(self._calls):
            if not call.name and not call.blank:
                path = f"$.choices[0].message.tool_calls[{index}].function.name"
                raise Malformed("a tool call without a name", path=path)
        return [call for call in self._calls if call.name and not call.id]

    def _find(self, raw: dict[str, Json], position: int) -> Call:
        slot = raw.get("index")
        given = raw.get("id")
        if not isinstance(slot, int):
            slot = str(given) if given else -1 - position
        call = self._slots.get(slot)
        if call is None or _begins_call(call, raw, given):
            call = self._slots[slot] = Call()
            self._calls.append(call)
        return call


def _begins_call(call: Call, raw: dict[str, Json], given: Json) -> bool:
    """Return whether a piece begins a call; some services give all parallel calls one index."""
    if not call.name or not _has_name(raw):
        return False
    if given and call.id:
        return str(given) != call.id
    return not given and not isinstance(raw.get("index"), int) and bool(call.texts)


def _has_name(raw: dict[str, Json]) -> bool:
    body = raw.get("custom") or raw.get("function")
    return isinstance(body, dict) and bool(body.get("name"))


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


class Words:
    """A text or thinking part while it arrives; ``signed`` becomes its signature."""

    __slots__ = ("citations", "details", "index", "logprobs", "signed", "texts", "thinking")

    def __init__(self, index: int, *, thinking: bool, signed: dict[str, Json]) -> None:
        self.index: int = index
        self.thinking: bool = thinking
        self.signed: dict[str, Json] = signed
        self.texts: list[str] = []
        self.citations: list[Json] = []
        self.logprobs: list[TokenLogprob] = []
        self.details: Details | None = None


class Parts:
    """All parts of one answer; methods append their events to the given list."""

    def __init__(self, *, model: str | None, route: str | None) -> None:
        self.model = model
        self.route = route
        self.begun: int = 0
        self.text: Words | None = None
        self.thinking: Words | None = None
        self.closing_tag = ""
        self.spoke: bool = False
        self.thought: bool = False
        self.called: bool = False
        self.refused: bool = False
        self._refusal: Words | None = None
        self._open: dict[int, Words | Call] = {}

    def say(self, texts: list[str], events: list[Event]) -> None:
        """Add pieces of answer text."""
        part = self.text
        if part is None:
            self.rest(events)
            part = self.text = self._begin_words({}, events, thinking=False)
        elif self.thinking is not None:
            self.rest(events)
        part.texts += texts
        index = part.index
        events += [TextDelta(index, text) for text in texts]

    def think(self, texts: list[str], signed: dict[str, Json], events: list[Event]) -> None:
        """Add pieces of thinking; ``signed`` is for the part that they may begin."""
        part = self.thinking
        if part is None:
            if self.text is not None:
                self._close(self.text.index, events)
            part = self.thinking = self._begin_words(signed, events, thinking=True)
        part.texts += texts
        index = part.index
        events += [ThinkingDelta(index, text) for text in texts]

    def find_thinking(self, events: list[Event]) -> Words:
        """Return the open thinking part, or begin one."""
        if self.thinking is None:
            self.thinking = self._begin_words({}, events, thinking=True)
        return self.thinking

    def rethink(self) -> None:
        """Turn the open text into thinking, because of a closing tag without an opening one."""
        if self.text is not None:
            self.text.thinking = True
            self.text.signed = {"tags": [""]}
            self.thinking, self.text = self.text, None

    def refuse(self, text: str, events: list[Event]) -> None:
        """Add text of a refusal."""
        if self._refusal is None:
            self.rest(events)
            self._refusal = self._begin_words({"refusal": True}, events, thinking=False)
            self.refused = True
        self._refusal.texts.append(text)
        events.append(TextDelta(self._refusal.index, text))

    def call(self, call: Call, id_: str, events: list[Event]) -> None:
        """Begin a call that has a name and an id."""
        self.rest(events)
        call.part, call.answered = self._begin(), id_
        self.called = True
        self._open[call.part] = call
        signature = self._sign_call(call)
        events.append(PartStart(call.part, "tool_call", id_, call.name, signature))
        if call.texts:
            events.append(ToolDelta(call.part, "".join(call.texts)))

    def add(self, kind: PartKind, part: Part, events: list[Event]) -> None:
        """Add a whole part."""
        index = self._begin()
        events.append(PartStart(index, kind))
        events.append(PartEnd(index, part))

    def rest(self, events: list[Event]) -> None:
        """Close the thinking because another part begins; details wait for a late signature."""
        part = self.thinking
        if part is not None and part.details is None:
            self._close(part.index, events)

    def weigh(self, begin: int, tokens: tuple[TokenLogprob, ...], events: list[Event]) -> bool:
        """Add tokens to the text among the events from ``begin`` on; False if there is none."""
        index = attach_logprobs(events, begin, tokens)
        part = self._open.get(index) if index is not None else None
        if isinstance(part, Words):
            part.logprobs += tokens
        return index is not None

    def end(self, events: list[Event]) -> None:
        """Close all open parts."""
        for index in sorted(self._open):
            self._close(index, events)

    def _begin(self) -> int:
        self.begun += 1
        return self.begun - 1

    def _begin_words(
        self, signed: dict[str, Json], events: list[Event], *, thinking: bool
    ) -> Words:
        part = Words(self._begin(), thinking=thinking, signed=signed)
        self._open[part.index] = part
        events.append(PartStart(part.index, "thinking" if thinking else "text"))
        return part

    def _close(self, index: int, events: list[Event]) -> None:
        part = self._open.pop(index)
        if isinstance(part, Call):
            events.append(PartEnd(index, self._end_call(part)))
        elif part.thinking:
            self.thinking = None
            events.append(PartEnd(index, self._end_thinking(part)))
        else:
            self.text = None if part is self.text else self.text
            events.append(PartEnd(index, self._end_text(part)))

    def _end_text(self, part: Words) -> Text:
        text = "".join(part.texts)
        self.spoke = self.spoke or bool(text.strip())
        signature = self._sign(part.signed) if part.signed else None
        return Text(text, signature, tuple(part.citations), tokens=tuple(part.logprobs) or UNSET)

    def _end_thinking(self, part: Words) -> Thinking:
        self.thought = True
        signed = part.signed
        if part.details is not None:
            rest = {"message": signed["message"]} if "message" in signed else {}
            signed = {"reasoning_details": part.details.value(), **rest}
        elif "tags" in signed:
            signed = {"tags": [*signed["tags"], self.closing_tag]}
        return Thinking("".join(part.texts), self._sign(signed))

    def _end_call(self, call: Call) -> ToolCall:
        arguments, signature = call.arguments(), self._sign_call(call)
        return ToolCall(call.answered, call.name, arguments, signature, minted=not call.id)

    def _sign_call(self, call: Call) -> Signature | None:
        signed = dict(call.extras)
        if not call.id:  # some services want the same missing or empty id back
            signed["id"] = call.given
        if call.custom:
            signed["type"] = "custom"
        return self._sign(signed) if signed else None

    def _sign(self, value: dict[str, Json]) -> Signature:
        return Signature(NAME, value, self.model, self.route)
