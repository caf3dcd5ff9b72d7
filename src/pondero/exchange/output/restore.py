"""Restores an answer to the schema that was asked for, also while it is still arriving.

The root is unwrapped, nulls that stand for missing keys are removed, and a code fence is stripped
from an answer that was only asked for in the prompt. Text that is no JSON passes unchanged.
"""

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Event, Json, PartEnd, PartStart, Text, TextDelta
from .fit import WRAPPER, allows_null
from .references import Unfit, follow_reference

_FENCE = re.compile(r"```[\w+-]*[ \t]*\r?\n")
_BEGINS_FENCE = re.compile(r"`{1,2}|```[\w+-]*[ \t]*\r?")
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_IN_STRING = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_COLON = re.compile(r"[ \t\r\n]*:")
_SCALAR = re.compile(r"[-+.\w]+")
_STARTS = frozenset('{["-0123456789tfn')
_AFTER = re.compile(r"[ \t\r\n`]*")


class OutputRestore(Struct, frozen=True):
    """How the answer differs from the requested output.

    ``wrapped``: it is in an object. ``schema``: the original one, if null stands for a missing key.
    """

    wrapped: bool = False
    fenced: bool = False
    schema: Json = None


class OutputRestorer:
    """Restores the text in the events of an answer."""

    def __init__(self, restore: OutputRestore) -> None:
        self._restore = restore
        self._open: dict[int, tuple[JsonRewriter, list[str]]] = {}

    def take(self, events: list[Event]) -> list[Event]:
        """Return the events with restored text."""
        return [each for event in events for each in self._convert_event(event)]

    def _convert_event(self, event: Event) -> tuple[Event, ...]:
        match event:
            case PartStart(kind="text"):
                self._open[event.index] = (JsonRewriter(self._restore), [])
            case TextDelta() if event.index in self._open:
                rewriter, shown = self._open[event.index]
                shown.append(text := rewriter.feed(event.text))
                return (TextDelta(event.index, text),) if text else ()
            case PartEnd(part=Text() as part):
                return self._end_part(event, part)
        return (event,)

    def _end_part(self, event: PartEnd, part: Text) -> tuple[Event, ...]:
        _, pieces = self._open.pop(event.index, (None, []))
        whole, shown = restore_text(part.text, self._restore), "".join(pieces)
        end = PartEnd(event.index, replace(part, text=whole))
        rest = whole[len(shown) :] if pieces and whole.startswith(shown) else ""
        return (TextDelta(event.index, rest), end) if rest else (end,)


def restore_text(text: str, restore: OutputRestore) -> str:
    """Return a whole answer as it was asked for."""
    rewriter = JsonRewriter(restore)
    return rewriter.feed(text) + rewriter.end()


class _Container:
    """An object or a list that is open; ``schemas`` are those that its value may have."""

    def __init__(self, closer: str, schemas: tuple[Mapping[str, Json], ...]) -> None:
        self.closer = closer
        self.schemas = schemas
        self.key: str | None = None
        self.held = ""  # a key and its colon, until its value is known
        self.count = 0
        self.wants = "key" if closer == "}" else "value"
        self.is_wrapper = False


class _NotJson(Exception):
    """The text is no JSON."""


class JsonRewriter:
    """Rewrites JSON text that arrives in pieces."""

    def __init__(self, restore: OutputRestore) -> None:
        self._restore = restore
        self._places = _Places(restore.schema) if isinstance(restore.schema, dict) else None
        self._waiting = ""
        self._before = ""  # removed from the front: put back if no JSON follows
        self._out: list[str] = []
        self._stack: list[_Container] = []
        self._state = "front"
        self._passes = False

    def feed(self, text: str) -> str:
        """Return the text that this piece adds."""
        self._waiting += text
        return self._read(at_end=False)

    def end(self) -> str:
        """Return the rest, after the last piece."""
        text = self._read(at_end=True)
        rest = (
            "" if self._state == "after" else f"{self._front()}{self._take_held()}{self._waiting}"
        )
        self._waiting = ""
        return text + rest

    def _read(self, *, at_end: bool) -> str:
        if not self._passes:
            try:
                while self._step(at_end=at_end):
                    pass
            except _NotJson:
                self._passes = True
                self._out += [self._front(), self._take_held()]
        if self._passes:
            self._out.append(self._waiting)
            self._waiting = ""
        text = "".join(self._out)
        self._out.clear()
        return text

    def _front(self) -> str:
        front, self._before = self._before, ""
        return front

    def _take_held(self) -> str:
        if not self._stack or self._state == "string":
            return ""
        top = self._stack[-1]
        comma = "," if top.count and top.wants != "comma" else ""
        held, top.held, top.count = comma + top.held, "", 0
        return held

    def _step(self, *, at_end: bool) -> bool:
        """Read one token; return whether there may be another."""
        if self._state == "front":
            return self._read_front(at_end=at_end)
        if self._state == "after":
            return self._read_after()
        if self._state == "string":
            return self._read_string()
        space = _SPACE.match(self._waiting)
        blank = space[0] if space else ""
        if len(blank) == len(self._waiting):
            return False
        first = self._waiting[len(blank)]
        top = self._stack[-1] if self._stack else None
        if top is None or top.wants == "value":
            return self._read_value(first, blank, at_end=at_end)
        if top.wants == "key":
            return self._read_key(top, first, blank)
        if first not in (top.closer, ","):
            raise _NotJson
        self._drop(blank, first)
        if first == ",":
            top.wants = "key" if top.closer == "}" else "value"
        else:
            self._close(top, blank)
        return True

    def _read_front(self, *, at_end: bool) -> bool:
        space = _SPACE.match(self._waiting)
        blank = space[0] if space else ""
        rest = self._waiting[len(blank) :]
        if not rest:
            return False
        if self._restore.fenced and not at_end and _BEGINS_FENCE.fullmatch(rest):
            return False
        if self._restore.fenced and not self._before and (fence := _FENCE.match(rest)):
            self._before = blank + fence[0]
            self._waiting = rest[fence.end() :]
            return True
        if rest[0] not in _STARTS:
            raise _NotJson
        self._waiting, self._state = rest, "inside"
        return True

    def _read_after(self) -> bool:
        """Drop what closes a fence; anything else after the value is kept."""
        found = _AFTER.match(self._waiting)
        if found is None or found.end() < len(self._waiting):
            raise _NotJson
        self._waiting = ""
        return False

    def _read_key(self, top: _Container, first: str, blank: str) -> bool:
        if first == top.closer:
            self._drop(blank, first)
            self._close(top, blank)
            return True
        found = _STRING.match(self._waiting, len(blank))
        if first != '"':
            raise _NotJson
        if found is None:
            return False
        colon = _COLON.match(self._waiting, found.end())
        if colon is None:
            if self._waiting[found.end() :].strip():
                raise _NotJson
            return False
        top.key = _read_text(found[0])
        top.held = self._waiting[: colon.end()]
        self._waiting = self._waiting[colon.end() :]
        top.wants = "value"
        if top.is_wrapper:
            self._open_wrapper(top)
        return True

    def _open_wrapper(self, top: _Container) -> None:
        if top.key == WRAPPER:
            top.held = ""
            return
        top.is_wrapper = False  # the service answered without the wrapper
        top.schemas = self._places.root if self._places is not None else ()
        self._emit("{")

    def _read_value(self, first: str, blank: str, *, at_end: bool) -> bool:
        top = self._stack[-1] if self._stack else None
        if first in "{[":
            self._drop(blank, first)
            self._begin(top, blank)
            self._push(first)
            return True
        if first == '"':
            self._drop(blank, first)
            self._begin(top, blank)
            self._emit('"')
            self._state = "string"
            return True
        if first == "]" and top is not None and top.closer == "]" and not top.count:
            self._drop(blank, first)
            self._close(top, blank)
            return True
        found = _SCALAR.match(self._waiting, len(blank))
        if found is None:
            raise _NotJson
        if found.end() == len(self._waiting) and not at_end:
            return False
        word = found[0]
        if word[0] not in _STARTS or (word[0] in "tfn" and word not in ("true", "false", "null")):
            raise _NotJson
        self._waiting = self._waiting[found.end() :]
        if word == "null" and top is not None and self._is_missing(top):
            top.held, top.wants = "", "comma"
            return True
        self._begin(top, blank)
        self._emit(word)
        self._finish_value()
        return True

    def _read_string(self) -> bool:
        found = _IN_STRING.match(self._waiting)
        end = found.end() if found else 0
        self._emit(self._waiting[:end])
        self._waiting = self._waiting[end:]
        if not self._waiting.startswith('"'):
            return False
        self._emit('"')
        self._waiting = self._waiting[1:]
        self._state = "inside"
        self._finish_value()
        return True

    def _push(self, first: str) -> None:
        wrapper = self._restore.wrapped and not self._stack and first == "{"
        container = _Container("}" if first == "{" else "]", () if wrapper else self._schemas_at())
        container.is_wrapper = wrapper
        self._stack.append(container)
        if not wrapper:
            self._emit(first)

    def _close(self, top: _Container, blank: str) -> None:
        self._stack.pop()
        if not top.is_wrapper:
            self._emit(blank + top.closer)
        self._finish_value()

    def _begin(self, top: _Container | None, blank: str) -> None:
        """Write a comma and the key before a value."""
        if top is None or top.is_wrapper:
            return
        comma = "," if top.count else ""
        self._emit(comma + top.held + blank)
        top.held = ""
        top.count += 1

    def _finish_value(self) -> None:
        if self._stack:
            self._stack[-1].wants = "comma"
        else:
            self._state = "after"

    def _drop(self, blank: str, first: str) -> None:
        self._waiting = self._waiting[len(blank) + len(first) :]

    def _emit(self, text: str) -> None:
        self._before = ""
        self._out.append(text)

    def _schemas_at(self) -> tuple[Mapping[str, Json], ...]:
        """Return the schemas of the value that begins here."""
        if self._places is None:
            return ()
        outer = [each for each in self._stack if not each.is_wrapper]
        if not outer:
            return self._places.root
        top = outer[-1]
        return self._places.inside(top.schemas, top.key if top.closer == "}" else None)

    def _is_missing(self, top: _Container) -> bool:
        if self._places is None or top.key is None or top.is_wrapper:
            return False
        return self._places.is_missing(top.schemas, top.key)


class _Places:
    """Follows a schema along with a value."""

    def __init__(self, schema: dict[str, Json]) -> None:
        self._schema = schema
        self.root = self._expand(schema, 0)

    def inside(
        self, schemas: tuple[Mapping[str, Json], ...], key: str | None
    ) -> tuple[Mapping[str, Json], ...]:
        """Return the schemas that the value of a key, or of an item, may have."""
        found: list[Mapping[str, Json]] = []
        for each in schemas:
            if key is None:
                inner = each.get("items")
            else:
                inner = (each.get("properties") or {}).get(key, each.get("additionalProperties"))
            found += self._expand(inner, 0)
        return tuple(found)

    def is_missing(self, schemas: tuple[Mapping[str, Json], ...], key: str) -> bool:
        """Return whether null stands for a missing key."""
        optional = False
        for each in schemas:
            properties = each.get("properties") or {}
            if key not in properties:
                continue
            if allows_null(self._schema, properties[key]):
                return False
            optional = optional or key not in (each.get("required") or ())
        return optional

    def _expand(self, schema: Json, depth: int) -> tuple[Mapping[str, Json], ...]:
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return ()
        if "$ref" in schema:
            try:
                return self._expand(self._resolve(schema["$ref"]), depth + 1)
            except Unfit:
                return ()
        options = [each for word in ("anyOf", "oneOf", "allOf") for each in schema.get(word) or ()]
        inner = tuple(found for each in options for found in self._expand(each, depth + 1))
        return (schema, *inner)

    def _resolve(self, pointer: Json) -> dict[str, Json]:
        return self._schema if pointer == "#" else follow_reference(self._schema, pointer)


_DEEPEST = 16


def _read_text(text: str) -> str:
    import json  # noqa: PLC0415 - few answers need it

    try:
        read: str = json.loads(text, strict=False)
    except ValueError:
        raise _NotJson from None
    return read
