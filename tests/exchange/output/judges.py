"""What services reject in a schema, written from their rules and not from our code.

Each judge yields the faults of a schema: OpenAI's if it is strict (pydantic-ai 2.66.0 and its
sources), Claude's (recorded rejections), Gemini's keywords (the reference of GenerationConfig).
"""

import re
from collections.abc import Iterator

REFUSED_STRICT = {
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "minLength",
    "maxLength",
    "patternProperties",
    "unevaluatedProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "default",
    "dependentRequired",
    "prefixItems",
    "const",
}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
REFUSED_CLAUDE = {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "oneOf",
    "prefixItems",
    "patternProperties",
}
GEMINI = {
    "$id",
    "$defs",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
}


def walk(schema: object) -> Iterator[dict]:
    """Yield a schema and those inside it, also its definitions."""
    if not isinstance(schema, dict):
        return
    yield schema
    for word in ("properties", "$defs", "definitions", "patternProperties"):
        for each in schema.get(word, {}).values():
            yield from walk(each)
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for each in schema.get(word, []):
            yield from walk(each)
    for word in ("items", "additionalProperties"):
        yield from walk(schema.get(word))


def judge_strict(schema: dict) -> Iterator[str]:
    """Yield why OpenAI rejects a strict schema."""
    if schema.get("type") != "object" or {"anyOf", "oneOf", "enum", "$ref"} & schema.keys():
        yield "the root is no plain object"
    for each in walk(schema):
        if "$ref" in each:
            if set(each) - {"$ref", "$defs", "definitions"}:
                yield f"beside a reference: {each}"
            if not re.fullmatch(r"#/(\$defs|definitions)/[^/]+", each["$ref"]):
                yield f"reference {each['$ref']}"
            continue
        yield from (f"keyword {word}" for word in REFUSED_STRICT & each.keys())
        if not {"type", "anyOf", "enum"} & each.keys():
            yield f"no type: {each}"
        if each.get("format") not in (None, *FORMATS):
            yield f"format {each['format']}"
        if re.search(r"\(\?<?[=!]", str(each.get("pattern"))):
            yield "a pattern that looks around"
        yield from _judge_containers(each)


def _judge_containers(schema: dict) -> Iterator[str]:
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "array" in kinds and "items" not in schema:
        yield "no items"
    if "object" in kinds and schema.get("additionalProperties") is not False:
        yield "an open object"
    if "object" in kinds and set(schema.get("required", [])) != set(schema.get("properties", {})):
        yield "not all required"


def judge_claude(schema: dict) -> Iterator[str]:
    """Yield why Claude rejects a schema."""
    if schema.get("type") != "object":
        yield "the root is no object"
    for each in walk(schema):
        yield from (f"keyword {word}" for word in REFUSED_CLAUDE & each.keys())
        if each.get("minItems", 0) > 1:
            yield "minItems"
        if each.get("type") == "object" and each.get("additionalProperties") is not False:
            yield "an open object"
        if any(not isinstance(inner, dict) for inner in each.get("properties", {}).values()):
            yield "a boolean schema"
    for name, meant in schema.get("$defs", {}).items():
        if _reaches(schema, meant, f"#/$defs/{name}", set()):
            yield f"{name} contains itself"


def _reaches(root: dict, schema: dict, wanted: str, seen: set) -> bool:
    for each in walk(schema):
        pointer = each.get("$ref")
        if pointer == wanted:
            return True
        if pointer and pointer not in seen:
            seen.add(pointer)
            if _reaches(root, root["$defs"][pointer.rpartition("/")[2]], wanted, seen):
                return True
    return False


def judge_gemini(schema: dict) -> Iterator[str]:
    """Yield what Gemini ignores."""
    for each in walk(schema):
        yield from (f"ignored: {word}" for word in each.keys() - GEMINI)
        if "$ref" in each and any(not word.startswith("$") for word in each):
            yield "beside a reference"
        if any(
            not isinstance(v, str | int | float) or isinstance(v, bool)
            for v in each.get("enum", ())
        ):
            yield "enum of other values"
