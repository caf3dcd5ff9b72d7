"""Makes values for a JSON Schema from the question: a tool's arguments or a JSON answer."""

import re
from collections.abc import Mapping
from json import JSONDecoder
from typing import Any

from msgspec import Struct

from ...canon import Json, Request, Text
from .question_values import find_after_tool, find_identifier, find_named, find_quoted

_DEEPEST = 8
_DEEP = 3  # a schema that contains itself ends here
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_PATH = re.compile(r"(?<![\w:/])(?:[\w.~-]*/[\w./-]+|[\w-]+\.[a-zA-Z]\w{0,7})\b")
_NAME = r"[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*)*"
_BEFORE = r"\b(?:in|for|at|of|from|to|between|about|near|is)\s+"
_NAMES = re.compile(rf"{_BEFORE}({_NAME}(?:(?:,? and|,? or|,|&) {_NAME})*)")
_APART = re.compile(r",? and |,? or |, ?| & ")
_PROMPTED = re.compile(r"\bJSON of this schema: ?")
_JSON_ALONE = re.compile(r"\bAnswer with (?:the|one) JSON\b")
_WHOLE = ("query", "question", "prompt", "text", "message", "input", "q", "content", "request")
_FORMATS: Mapping[str, str] = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


class FillMaterial(Struct, frozen=True):
    """The values to fill a schema with; ``tool`` is the name of the tool that takes them."""

    question: str
    answer: str = ""
    result: str | None = None
    expression: str | None = None
    subject: str | None = None
    tool: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return the names in the question: words with a capital letter."""
        return names(self.question)


def names(question: str) -> tuple[str, ...]:
    """Return the names in a question, in order, each once."""
    found = [each for match in _NAMES.finditer(question) for each in _APART.split(match[1])]
    return tuple(dict.fromkeys(each.rstrip(".'’") for each in found if each))


def find_prompted_schema(request: Request) -> Json:
    """Return the schema that the prompt asks for in words; None if it asks for none."""
    turns = (part for each in request.messages[-1:] for part in each.parts)
    for part in (*request.system, *turns):
        found = _PROMPTED.search(part.text) if isinstance(part, Text) else None
        if found is not None:
            try:
                return JSONDecoder().raw_decode(found.string, found.end())[0]
            except (ValueError, RecursionError):
                continue
    return None


def asks_for_json(request: Request) -> bool:
    """Return whether the prompt asks for JSON and nothing else."""
    return any(_JSON_ALONE.search(part.text) for part in request.system)


def fill(schema: Json, said: FillMaterial) -> Json:
    """Return a value that the schema allows, made from the question."""
    return _Filler(schema, said).value(schema, "", 0)


class _Filler:
    """Fills one schema; uses the question's numbers and quoted texts from left to right."""

    def __init__(self, root: Json, said: FillMaterial) -> None:
        self._root = root
        self._said = said
        self._numbers = [float(each) for each in _NUMBER.findall(said.question)]
        self._quoted = find_quoted(said.question, said.tool)

    def value(self, schema: Json, name: str, depth: int) -> Json:
        schema = self._resolve(schema)
        if depth > _DEEPEST:
            return None
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        if options := _list(schema.get("enum")):
            return self._choice(options)
        for key in ("anyOf", "oneOf", "allOf", "any_of"):
            if options := _list(schema.get(key)):
                if depth > _DEEP and {"type": "null"} in options:
                    return None
                return self.value(_first(options), name, depth + 1)
        return self._make_typed(schema, name, depth)

    def _make_typed(self, schema: Json, name: str, depth: int) -> Json:
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return self._number(schema, name, whole=kind == "integer")
        if kind == "boolean":
            return True
        return None if kind == "null" else self._text(schema, name)

    def _resolve(self, schema: Json) -> dict[str, Any]:
        for _ in range(_DEEPEST):
            pointer = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(pointer, str):
                break
            found: Json = self._root
            for key in pointer.lstrip("#/").split("/"):
                found = found.get(key) if isinstance(found, Mapping) else None
            schema = found
        return dict(schema) if isinstance(schema, Mapping) else {}

    def _object(self, schema: Json, depth: int) -> dict[str, Json]:
        properties = self._resolve(schema.get("properties"))
        needed = schema.get("required")
        wanted = properties if needed is None else [n for n in properties if n in _list(needed)]
        return {name: self.value(properties[name], name, depth + 1) for name in wanted}

    def _array(self, schema: Json, name: str, depth: int) -> list[Json]:
        item = self._resolve(schema.get("items"))
        wanted = int(_read_bound(schema, "minItems") or 0)
        if depth > _DEEP and not wanted:
            return []
        least = max(1, wanted)
        subjects = self._said.subjects
        if _kind(item) == "string" and not item.get("enum") and len(subjects) >= least:
            return list(subjects)
        return [self.value(item, name, depth + 1) for _ in range(min(least, 5))]

    def _choice(self, options: list[Json]) -> Json:
        words = self._said.question.lower()
        fitting = (each for each in options if isinstance(each, str) and each.lower() in words)
        return next(fitting, options[0])

    def _number(self, schema: Json, name: str, *, whole: bool) -> Json:
        value: float | None = None
        named = find_named(self._said.question, name)
        if self._said.result is not None:
            value = float(self._said.result)
        elif named is not None and _NUMBER.fullmatch(named):
            value = float(named)
        elif self._numbers:
            value = self._numbers.pop(0)
        least, most = _read_bound(schema, "minimum"), _read_bound(schema, "maximum")
        value = 1.0 if value is None else value
        value = value if least is None else max(value, least)
        value = value if most is None else min(value, most)
        return int(value) if whole or value.is_integer() else value

    def _text(self, schema: Json, name: str) -> str:
        said = self._said
        if (known := _FORMATS.get(str(schema.get("format")))) is not None:
            return known
        if said.expression is not None and "expr" in name.lower():
            return said.expression
        if said.answer:
            return said.answer
        return self._whole_text(name) if name.lower() in _WHOLE else self._argument(name)

    def _argument(self, name: str) -> str:
        said = self._said
        if (named := find_named(said.question, name)) is not None:
            return named
        if said.subject is not None:
            return said.subject
        if self._quoted:
            return self._quoted.pop(0) if len(self._quoted) > 1 else self._quoted[0]
        if "path" in name.lower() and (path := _PATH.search(said.question)):
            return path[0]
        if (known := find_identifier(said.question, name, said.tool)) is not None:
            return known
        if said.subjects:
            return said.subjects[0]
        return find_after_tool(said.question, said.tool) or said.question

    def _whole_text(self, name: str) -> str:
        said = self._said
        named = find_named(said.question, name, quoted_only=True)
        return named or find_after_tool(said.question, said.tool) or said.question


def _kind(schema: Json) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if isinstance(kind, str):
        return kind.lower()
    return "object" if schema.get("properties") else "string"


def _first(options: list[Json]) -> Json:
    solid = (
        each for each in options if not isinstance(each, Mapping) or each.get("type") != "null"
    )
    return next(solid, options[0])


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _read_bound(schema: Json, name: str) -> float | None:
    value = schema.get(name)
    return float(value) if isinstance(value, int | float) else None
