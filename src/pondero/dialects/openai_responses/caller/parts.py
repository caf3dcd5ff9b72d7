"""Reads output items into parts, whole or in pieces, for ``response`` and ``stream``.

The signature of thinking is the whole item. That of a follower (text, call) is ``{"item": its other
keys, "after": the id of the thinking before it}``, so that neither goes back without the other.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

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
    ToolCall,
    ToolDelta,
    UnknownPart,
    dump_json,
    make_call_id,
)
from pondero.dialects.token_logprobs import read_logprobs
from pondero.errors import Malformed
from pondero.framing import UNREADABLE, parse_json_or_none

NAME = "openai_responses"


def thinking_value(item: dict[str, Json]) -> dict[str, Json]:
    """Return the signature of a thinking item: all its fields that are not null."""
    return {key: value for key, value in item.items() if key != "type" and value is not None}


def follower_value(
    item: dict[str, Json], without: frozenset[str], after: str | None
) -> dict[str, Json]:
    """Return the signature of a follower; empty if it has no fields to keep."""
    fields = {key: value for key, value in item.items() if key not in without and value is not None}
    if after is not None:
        return {"item": fields, "after": after}
    return {"item": fields} if fields else {}


def open_signature(signature: Signature | None) -> dict[str, Any] | None:
    """Return the value of a signature of this wire; None for any other."""
    if signature is None or signature.dialect != NAME or not isinstance(signature.value, dict):
        return None
    return signature.value


def read_arguments(text: str) -> tuple[Json, str | None]:
    """Return the arguments, and their text if encoding would change it."""
    try:
        value = msgspec.json.decode(text) if text else {}
    except UNREADABLE:
        return text, None
    if isinstance(value, str):
        return text, None  # arguments that are a string are text that is not JSON
    return value, None if dump_json(value) == text else text


def write_arguments(arguments: Json, noted: str | None) -> str:
    """Return the arguments as text: the original text unless they were changed."""
    if isinstance(arguments, str):
        return arguments
    if noted is not None and read_arguments(noted)[0] == arguments:
        return noted
    return dump_json(arguments)


_Delta = type[TextDelta] | type[ThinkingDelta] | type[ToolDelta]

_OF_MESSAGE = frozenset({"type", "role", "content"})
_OF_CALL = frozenset({"type", "call_id", "name", "arguments", "input"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_THOUGHTS = frozenset({"reasoning_content", "reasoning_text", "summary_text", "reasoning"})


class SeenItems(Struct, gc=False):
    """The kinds of parts that an answer has so far; its finish depends on them."""

    text: bool = False
    calls: bool = False
    thinking: bool = False
    refusal: bool = False


class Piece(Struct, gc=False):
    """A part that is being read; ``section`` is the current paragraph of thinking."""

    index: int
    kind: PartKind
    texts: list[str]
    section: int = 0


class Item(Struct):
    """An item that is being read; a message has a piece for each of its contents.

    ``signature``: that of a message which ends with the fields that it began with.
    """

    raw: dict[str, Json]
    type: str
    pieces: dict[int, Piece]
    after: "Item | None" = None
    call_id: str = ""
    minted: bool = False
    signature: Signature | None = None

    @property
    def id(self) -> str | None:
        """Return the item's id, where the service gives one."""
        found = self.raw.get("id")
        return found if isinstance(found, str) and found else None


class Items:
    """The items of one answer; every method adds its events to ``out``."""

    def __init__(self, *, model: str | None, route: str | None) -> None:
        self.model = model
        self.answer_id: str | None = None
        self.stored = True
        self.reads_logprobs: bool = False
        self.tools: Raw = Raw()  # the request's tools as the answer repeats them
        self.seen: SeenItems = SeenItems()
        self.open: dict[int, Item] = {}
        self._route = route
        self._ended: set[int] = set()
        self.latest: int = -1
        self._parts = 0
        self._thought: Item | None = None

    @property
    def none_came(self) -> bool:
        """Return whether the answer has had no item."""
        return not self._parts and not self._ended

    def find(self, place: int, kind: str, out: list[Event]) -> Item | None:
        """Return the item at a place (-1: the latest), begun if new; None if it has ended."""
        place = self.latest if place < 0 else place
        if place in self._ended:
            return None
        return self.open.get(place) or self.begin(place, {"type": kind}, out)

    # -- beginnings ----------------------------------------------------------------------------

    def begin(self, place: int, raw: Json, out: list[Event], *, at: str = "$.item") -> Item:
        """Begin an item at this place of the output (-1: the next one)."""
        raw = as_dict(raw, at=at)
        kind = raw.get("type")
        if not isinstance(kind, str):
            raise Malformed("missing required field `type`", path=at)
        if place < 0:
            place = self.latest + 1
        if place in self.open:
            self._abandon(place, out)
        self._ended.discard(place)
        if kind == "custom_tool_call" and is_hosted_call(
            _name(raw), parse_json_or_none(bytes(self.tools))
        ):
            kind = "hosted_call"
        item = Item(raw, kind, {}, self._thought)
        self.open[place] = item
        self.latest = place
        if kind == "reasoning":
            self._thought = item
            self._start(item, 0, "thinking", out)
        elif kind in _CALLS:
            self._start_call(item, out)
        elif kind != "message":
            self._start(item, 0, "other", out)
        return item

    def piece(self, item: Item, number: int, kind: PartKind, out: list[Event]) -> Piece:
        """Return a content of a message by its number; a new one begins as this kind."""
        piece = item.pieces.get(number)
        if piece is None:
            return self._start(item, number, kind, out)
        if piece.kind != kind:
            text = "".join(piece.texts)
            self._put(piece, Thinking(text) if piece.kind == "thinking" else Text(text), out)
            return self._start(item, number, kind, out)
        return piece

    def _start(self, item: Item, number: int, kind: PartKind, out: list[Event]) -> Piece:
        piece = item.pieces[number] = Piece(self._parts, kind, [])
        self._parts += 1
        if kind == "tool_call":
            signature = self._early(item, _OF_CALL)
            name = _name(item.raw) or None
            out.append(PartStart(piece.index, kind, item.call_id, name, signature))
        else:
            signature = self._early(item, _OF_MESSAGE) if kind == "text" else None
            out.append(PartStart(piece.index, kind, signature=signature))
        return piece

    def _early(self, item: Item, without: frozenset[str]) -> Signature | None:
        """Return a follower's signature, as if completed; announced thinking is not final."""
        if item.id is None:
            return None
        if item.signature is not None:
            return item.signature
        done = {**item.raw, "status": "completed"} if "status" in item.raw else item.raw
        value = follower_value(done, without, item.after.id if item.after else None)
        if item.type == "custom_tool_call":
            value["type"] = item.type
        return self._sign(value)

    def _start_call(self, item: Item, out: list[Event]) -> None:
        given = item.raw.get("call_id") or item.raw.get("id")
        if isinstance(given, str) and given:
            item.call_id = given
        else:
            item.minted = True
            item.call_id = _mint(self.answer_id, self._parts, _name(item.raw))
        self._start(item, 0, "tool_call", out)

    # -- ends ----------------------------------------------------------------------------------

    def end_text(self, place: int, raw: Json, out: list[Event]) -> bool:
        """End a message that was not announced and is one plain text, as most answers are.

        False if it is another item. ``end`` has the same events for it, and takes far longer.
        """
        if not isinstance(raw, dict) or raw.get("type") != "message" or self.reads_logprobs:
            return False
        content, id = raw.get("content"), raw.get("id")
        part = content[0] if isinstance(content, list) and len(content) == 1 else None
        if not isinstance(part, dict) or part.get("type") != "output_text":
            return False
        text = part.get("text")
        if not isinstance(text, str) or not text or part.get("annotations") not in (None, []):
            return False
        if raw.get("status", "completed") != "completed":
            return False
        if place in self.open or place in self._ended:
            return False
        after = self._thought.id if self._thought else None
        signature = self._sign(follower_value(raw, _OF_MESSAGE, after))
        begun = signature if isinstance(id, str) and id else None
        out.append(PartStart(self._parts, "text", signature=begun))
        out.append(TextDelta(self._parts, text))
        out.append(PartEnd(self._parts, Text(text, signature)))
        self._parts += 1
        self.seen.text = True
        self.latest = place
        self._ended.add(place)
        return True

    def end(self, place: int, raw: Json, out: list[Event], *, at: str = "$.item") -> None:
        """End an item; one that was not announced begins now."""
        raw = as_dict(raw, at=at)
        if place < 0:
            place = self._place_of(raw)
        if place in self._ended:
            return
        item = self.open.get(place) or self.begin(place, raw, out, at=at)
        item.raw = raw
        self._close(place, item, out, at=at)

    def _place_of(self, raw: dict[str, Json]) -> int:
        for place, item in self.open.items():
            if item.id is not None and item.id == raw.get("id"):
                return place
        return self.latest if self.latest in self.open else self.latest + 1

    def _abandon(self, place: int, out: list[Event]) -> None:
        item = self.open[place]
        if item.type == "reasoning":
            item.raw = {}
        self._close(place, item, out, at=f"$.output[{place}]")

    def end_rest(self, output: list[Json], out: list[Event]) -> None:
        """End every open item when the answer is complete, in its final form if there is one."""
        for place, item in sorted(self.open.items()):
            final = output[place] if 0 <= place < len(output) else None
            if isinstance(final, dict) and final.get("type") == item.raw.get("type"):
                item.raw = final
                self._close(place, item, out, at=f"$.response.output[{place}]")
            else:
                self._abandon(place, out)

    def _close(self, place: int, item: Item, out: list[Event], *, at: str) -> None:
        if item.type == "reasoning":
            self._end_thinking(item, out, at=at)
        elif item.type in _CALLS:
            self._end_call(item, out, at=at)
        elif item.type == "message":
            self._end_message(item, out, at=at)
        else:
            after = item.after.id if item.after else None
            signature = self._sign({} if after is None else {"after": after})
            self._put(item.pieces[0], UnknownPart(NAME, item.raw, signature), out)
        self.open.pop(place, None)
        self._ended.add(place)

    def _put(self, piece: Piece, part: Part, out: list[Event]) -> None:
        out.append(PartEnd(piece.index, part))

    def _end_thinking(self, item: Item, out: list[Event], *, at: str) -> None:
        texts = [
            _read_thought(part, at=f"{at}.{key}[{number}]")
            for key in ("summary", "content")
            for number, part in enumerate(as_list(item.raw.get(key), at=f"{at}.{key}"))
        ]
        piece = item.pieces[0]
        text = _settle(piece, "\n\n".join(text for text in texts if text), ThinkingDelta, out)
        self.seen.thinking = True
        self._put(piece, Thinking(text, self._sign(self._replayable(item.raw))), out)

    def _replayable(self, raw: dict[str, Json]) -> dict[str, Json]:
        """Return the fields to send back; none if they are only the id of an unstored item."""
        value = thinking_value(raw)
        fields = self.stored or value.get("encrypted_content") or value.get("content")
        return value if fields else {}

    def _end_call(self, item: Item, out: list[Event], *, at: str) -> None:
        name = _name(item.raw)
        if not name:
            raise Malformed("missing required field `name`", path=at)
        key = _CALLS[item.type]
        given = item.raw.get(key)
        value = follower_value(item.raw, _OF_CALL, item.after.id if item.after else None)
        piece = item.pieces[0]
        arguments: Json = given
        if not isinstance(given, dict):  # not of this wire, but unambiguous
            arguments = _settle(piece, as_text(given, at=f"{at}.{key}"), ToolDelta, out)
        if item.type == "custom_tool_call":
            value["type"] = item.type
        elif isinstance(arguments, str):
            arguments, noted = read_arguments(arguments)
            if noted is not None:
                value["arguments"] = noted
        call_id = item.raw.get("call_id")
        call_id = call_id if isinstance(call_id, str) and call_id else item.call_id
        self.seen.calls = True
        call = ToolCall(call_id, name, arguments, self._sign(value), minted=item.minted)
        self._put(piece, call, out)

    def _end_message(self, item: Item, out: list[Event], *, at: str) -> None:
        content = as_list(item.raw.get("content"), at=f"{at}.content")
        value = follower_value(item.raw, _OF_MESSAGE, item.after.id if item.after else None)
        signature = self._sign(value)
        if item.raw.get("status", "completed") == "completed":
            item.signature = signature
        for number, part in enumerate(content):
            self._end_content(item, number, part, signature, out, at=f"{at}.content[{number}]")
        if not content and not item.pieces:
            self._start(item, 0, "text", out)
        for piece in item.pieces.values():  # announced, and missing in the final form
            text = "".join(piece.texts)
            thought = piece.kind == "thinking"
            self._saw_text(text, thought=thought)
            self._put(piece, Thinking(text) if thought else Text(text, signature), out)

    def _end_content(
        self,
        item: Item,
        number: int,
        raw: Json,
        signature: Signature | None,
        out: list[Event],
        *,
        at: str,
    ) -> None:
        raw = as_dict(raw, at=at)
        kind = str(raw.get("type"))
        if kind in ("output_text", "text"):
            piece = self.piece(item, number, "text", out)
            text = _settle(piece, as_text(raw.get("text"), at=f"{at}.text"), TextDelta, out)
            cited = tuple(as_list(raw.get("annotations"), at=f"{at}.annotations"))
            self._saw_text(text)
            tokens = read_logprobs(raw.get("logprobs")) if self.reads_logprobs else ()
            self._put(piece, Text(text, signature, cited, tokens=tokens or UNSET), out)
        elif kind == "refusal":
            piece = self.piece(item, number, "text", out)
            text = _settle(piece, as_text(raw.get("refusal"), at=f"{at}.refusal"), TextDelta, out)
            self.seen.refusal = True
            value = {**(signature.value if signature else {}), "part": "refusal"}
            self._put(piece, Text(text, self._sign(value)), out)
        elif kind in _THOUGHTS:
            piece = self.piece(item, number, "thinking", out)
            text = _settle(piece, _read_thought(raw, at=at), ThinkingDelta, out)
            self._saw_text(text, thought=True)
            self._put(piece, Thinking(text), out)
        else:
            self._put(self.piece(item, number, "other", out), UnknownPart(NAME, raw), out)
        del item.pieces[number]

    def _saw_text(self, text: str, *, thought: bool = False) -> None:
        if thought:
            self.seen.thinking = True
        elif text:
            self.seen.text = True

    def _sign(self, value: dict[str, Json]) -> Signature | None:
        return Signature(NAME, value, self.model, self._route) if value else None


_CARRIERS = frozenset({"namespace", "tool_search"})  # tools that hold or load other tools
_OF_CALLER = frozenset({"function", "custom"})


def is_hosted_call(name: str, tools: Json) -> bool:
    """Return whether the service runs this custom call itself, by the tools its answer lists.

    xAI's search of X comes as a custom call that is already done (x_keyword_search and others,
    for the tool ``x_search``); only a call of a tool that the request declared is the caller's.
    Where the answer lists no hosted tool, or one that loads more tools, the call is the caller's.
    """
    listed = [each for each in tools if isinstance(each, dict)] if isinstance(tools, list) else []
    kinds = {str(each.get("type")) for each in listed}
    if not kinds - _OF_CALLER or kinds & _CARRIERS:
        return False
    return all(each.get("name") != name for each in listed)


def _settle(piece: Piece, final: str, delta: _Delta, out: list[Event]) -> str:
    streamed = "".join(piece.texts)
    if final != streamed and final.startswith(streamed):
        out.append(delta(piece.index, final[len(streamed) :]))
    return final or streamed


def _read_thought(part: Json, *, at: str) -> str:
    part = as_dict(part, at=at)
    return as_text(part.get("text") or part.get("reasoning_content"), at=f"{at}.text")


def _name(raw: dict[str, Json]) -> str:
    name = raw.get("name")
    return name if isinstance(name, str) else ""


def _mint(answer_id: str | None, position: int, name: str) -> str:
    return make_call_id(f"{answer_id}\0{position}\0{name}".encode("utf-8", "surrogatepass"))


# -- JSON of the right type, or Malformed --------------------------------------------------------


def as_dict(value: Json, *, at: str) -> dict[str, Json]:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise Malformed(f"expected an object, got {type(value).__name__}", path=at)
    return value


def as_text(value: Json, *, at: str) -> str:
    """Return the value if it is text; null is empty text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"expected text, got {type(value).__name__}", path=at)
    return value


def as_list(value: Json, *, at: str) -> list[Json]:
    """Return the value if it is a list; null is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"expected a list, got {type(value).__name__}", path=at)
    return value
