"""Writes messages as input items, for ``request``.

Thinking and a follower with an id go back only together; a follower alone loses its id (pydantic-ai
recording test_openai_responses_thinking_with_modified_history, 2026-08-22).
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Json,
    LevelUpdate,
    Message,
    Part,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.dialects.level_turns import LevelTurns

from .parts import NAME, open_signature, write_arguments

Items = list[dict[str, Json]]

_UPDATE = "configuration_update"  # openai 3.49.0 types: only effort (wires/in-band, section 4)
_LIFETIMES = ("30m", "12h")
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_KINDS_OF_CONTENT = ("input_", "output_")


def write_level_turn(word: str) -> dict[str, Json]:
    """Return the item that sets the effort from its place on."""
    return {"type": _UPDATE, "reasoning": {"effort": word}}


LEVEL_TURNS = LevelTurns(at=("reasoning", "effort"), write=write_level_turn)


class InputItems:
    """Writes the input of one request; ``by`` is what its items depend on besides messages."""

    def __init__(
        self, quirks: Mapping[str, Json], *, cache: bool, tools: Sequence[Tool] = ()
    ) -> None:
        self._items: Items = []
        self._takes_text = frozenset([tool.name for tool in tools if _takes_text(tool)])
        self._pairing = quirks.get("pairing") is not False
        self._cache = cache and quirks.get("cache_marks") is not False
        self._custom: set[str] = set()  # calls of tools that take plain text
        self.by: object = (NAME, self._pairing, self._cache, self._takes_text)

    def write(self, messages: Sequence[Message]) -> Items:
        """Write the next messages; return all items since the last that were saved."""
        for message in messages:
            self._add(message)
        return self._items

    def save(self) -> object:
        """Return the calls of tools that take plain text; None if the last item may yet go."""
        if self._items and self._items[-1].get("type") == _UPDATE:
            return None
        self._items = []
        return frozenset(self._custom)

    def load(self, state: object) -> None:
        """Continue after items that are written already."""
        self._custom = set(cast("frozenset[str]", state))

    def _add(self, message: Message) -> None:
        if (update := message.level_update) is not None:
            self._update_level(update)
        elif message.role == "assistant":
            self._assistant(message.parts)
        else:
            self._add_given(message.role, message.parts)

    def write_system(self, texts: Sequence[Text]) -> Items:
        """Return the system prompt as an item, if ``instructions`` cannot hold it."""
        content = [self._content(text) for text in texts]
        return [{"type": "message", "role": "developer", "content": content}] if texts else []

    def _update_level(self, update: LevelUpdate) -> None:
        """Change the level from here on; two such items in a row are rejected, the later counts."""
        if self._items and self._items[-1].get("type") == _UPDATE:
            self._items.pop()
        self._items.append(write_level_turn(update.level))

    # -- the caller's side of the conversation ---------------------------------------------------

    def _add_given(self, role: str, parts: Sequence[Part]) -> None:
        if len(parts) == 1 and type(parts[0]) is Text and parts[0].cache is None:
            self._items.append({"type": "message", "role": role, "content": parts[0].text})
            return
        content: Items = []
        for part in parts:
            if isinstance(part, ToolResult):
                content = self._say(role, content)
                self._items.append(self._result(part))
            elif isinstance(part, UnknownPart):
                if part.dialect != NAME:
                    continue
                if _is_content(part.raw):
                    content.append(part.raw)
                else:
                    content = self._say(role, content)
                    self._items.append(part.raw)
            elif isinstance(part, Text | Image | Blob):
                content.append(self._content(part))
        self._say(role, content)

    def _say(self, role: str, content: Items) -> Items:
        if content:
            self._items.append({"type": "message", "role": role, "content": content})
        return []

    def _content(self, part: Text | Image | Blob) -> dict[str, Json]:
        if isinstance(part, Text):
            content: dict[str, Json] = {"type": "input_text", "text": part.text}
        elif isinstance(part, Image):
            content = _image(part)
        else:
            content = _file(part)
        self._mark(content, part.cache)
        return content

    def _mark(self, content: dict[str, Json], cache: CacheBreakpoint | None) -> None:
        if cache is None or not self._cache:
            return
        mark = {"mode": "explicit"}
        if cache.ttl in _LIFETIMES:
            mark["ttl"] = cache.ttl
        content["prompt_cache_breakpoint"] = mark

    def _result(self, part: ToolResult) -> dict[str, Json]:
        custom = part.call_id in self._custom
        return {
            "type": "custom_tool_call_output" if custom else "function_call_output",
            "call_id": part.call_id,
            "output": self._output(part),
        }

    def _output(self, part: ToolResult) -> Json:
        content = part.content
        if not content:
            return ""
        first = content[0]
        alone = len(content) == 1 and part.cache is None
        if alone and isinstance(first, Text) and first.cache is None:
            return first.text
        output: Items = []
        for each in content:
            if not isinstance(each, UnknownPart):
                output.append(self._content(each))
            elif each.dialect == NAME:
                output.append(each.raw)
        if output:
            self._mark(output[-1], part.cache)
        return output

    # -- the model's side ------------------------------------------------------------------------

    def _assistant(self, parts: Sequence[Part]) -> None:
        turn = _Turn(self._items, pairing=self._pairing, takes_text=self._takes_text)
        for part in parts:
            if isinstance(part, Text):
                turn.text(part)
            elif isinstance(part, Thinking):
                turn.thinking(part)
            elif isinstance(part, ToolCall):
                turn.call(part)
                self._remember(part)
            elif isinstance(part, UnknownPart) and part.dialect == NAME:
                turn.other(part)
        turn.end()

    def _remember(self, part: ToolCall) -> None:
        if _is_custom(part, self._takes_text):
            self._custom.add(part.id)


def _takes_text(tool: Tool) -> bool:
    return isinstance(tool.raw, dict) and tool.raw.get("type") == "custom"


def _is_custom(part: ToolCall, takes_text: frozenset[str]) -> bool:
    """Return whether a call has a text for input; another model's goes by the tool on offer."""
    value = open_signature(part.signature)
    if value is None:
        return part.name in takes_text
    return value.get("type") == "custom_tool_call"


class _Turn:
    """Writes the items of one answer that is sent back."""

    def __init__(self, items: Items, *, pairing: bool, takes_text: frozenset[str]) -> None:
        self._items = items
        self._takes_text = takes_text
        self._pairing = pairing
        self._waiting: Items = []  # thinking whose follower has not been added yet
        self._last: str | None = None  # the id of the thinking added last
        self._message: tuple[Json, Items] | None = None  # the message being filled

    def thinking(self, part: Thinking) -> None:
        self._message = None
        value = open_signature(part.signature)
        if value is None:
            return
        item = {"type": "reasoning", **value}
        item.setdefault("summary", [])  # required, even if empty
        self._waiting.append(item)

    def text(self, part: Text) -> None:
        value = open_signature(part.signature) or {}
        if value.get("part") == "refusal":
            content: dict[str, Json] = {"type": "refusal", "refusal": part.text}
        else:
            content = {"type": "output_text", "text": part.text}
            if value:
                content["annotations"] = list(part.citations)
        self._say(value, content)

    def _say(self, value: dict[str, Any], content: dict[str, Json]) -> None:
        if self._message is not None and self._message[0] == value:
            self._message[1].append(content)
            return
        keys = self._follow(value)
        contents = [content]
        self._items.append({"type": "message", "role": "assistant", **keys, "content": contents})
        self._message = (value, contents)

    def call(self, part: ToolCall) -> None:
        self._message = None
        value = open_signature(part.signature)
        keys = self._follow(value or {})
        item: dict[str, Json] = {"type": "function_call", **keys}
        item |= {"call_id": part.id, "name": part.name}
        if _is_custom(part, self._takes_text):
            item["type"] = "custom_tool_call"
            item["input"] = write_arguments(part.arguments, None)
        else:
            noted = value.get("arguments") if value else None
            item["arguments"] = write_arguments(part.arguments, noted)
        self._items.append(item)

    def other(self, part: UnknownPart) -> None:
        if _is_content(part.raw):
            if self._message is not None:
                self._message[1].append(part.raw)
            return
        self._message = None
        value = open_signature(part.signature) or {}
        self._follow(value)
        if not self._is_orphan(value):  # the service rejects it without its id
            self._items.append(part.raw)

    def end(self) -> None:
        if not self._pairing:
            self._release()

    def _follow(self, value: dict[str, Any]) -> dict[str, Json]:
        after = value.get("after")
        waiting = self._waiting
        if waiting:
            thought = waiting[-1].get("id")
            if thought == after or thought is None or not self._pairing:
                self._release()
            else:
                self._waiting, self._last = [], None
        keys: dict[str, Json] = value.get("item") or {}
        if "id" in keys and self._is_orphan(value):
            return {key: each for key, each in keys.items() if key != "id"}
        return keys

    def _is_orphan(self, value: dict[str, Any]) -> bool:
        after = value.get("after")
        return self._pairing and after is not None and after != self._last

    def _release(self) -> None:
        if self._waiting:
            self._last = self._waiting[-1].get("id")
            self._items += self._waiting
            self._waiting = []


_UNFOLLOWED = "the item after it is gone or does not name it, and the service takes only both"
_ORPHANED = "the thinking before it is gone, and the service takes only both"


def find_unpaired(parts: Sequence[Part]) -> dict[int, str]:
    """Return the parts of an answer that ``InputItems`` leaves out, and why."""
    left: dict[int, str] = {}
    waiting: list[int] = []
    thought: Json = None  # the id of the thinking read last
    last: Json = None  # the same, once it was followed
    for index, part in enumerate(parts):
        if isinstance(part, ToolResult | Image | Blob | LevelUpdate):
            continue
        value = open_signature(part.signature) or {}
        if isinstance(part, Thinking):
            if value:
                waiting.append(index)
                thought = value.get("id")
            continue
        if isinstance(part, UnknownPart) and (part.dialect != NAME or _is_content(part.raw)):
            continue
        after = value.get("after")
        if waiting:
            followed = thought is None or thought == after
            left |= {} if followed else dict.fromkeys(waiting, _UNFOLLOWED)
            last = thought if followed else None
            waiting = []
        if isinstance(part, UnknownPart) and after is not None and after != last:
            left[index] = _ORPHANED
    return left | dict.fromkeys(waiting, _UNFOLLOWED)


def _is_content(raw: Json) -> bool:
    kind = raw.get("type") if isinstance(raw, dict) else None
    return isinstance(kind, str) and kind.startswith(_KINDS_OF_CONTENT)


# -- media -----------------------------------------------------------------------------------------


def _image(part: Image) -> dict[str, Json]:
    url = part.url if part.data is None else _inline(part.media_type or "image/png", part.data)
    content: dict[str, Json] = {"type": "input_image", "image_url": url}
    if part.detail is not None:
        content["detail"] = part.detail
    return content


def _file(part: Blob) -> dict[str, Json]:
    if part.data is None:
        return {"type": "input_file", "file_url": part.url}
    if part.media_type in _SOUNDS:
        sound = {"data": b64encode(part.data).decode(), "format": _SOUNDS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    name = part.name or f"file.{part.media_type.rpartition('/')[2]}"
    data = _inline(part.media_type, part.data)
    return {"type": "input_file", "filename": name, "file_data": data}


def _inline(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"
