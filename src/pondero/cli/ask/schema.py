"""The schema of an answer: a JSON file, JSON itself, or a line like ``name, age int: in years``."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from ...canon import Json, Reply, decode_json
from ...errors import Malformed

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_FIELD = re.compile(r"(?P<name>[A-Za-z_][\w-]*)(?:\s+(?P<type>\w+))?(?:\s*:\s*(?P<about>.+))?")


SchemaOption = str | dict[str, Json] | None


def parse_schema(single: SchemaOption, multiple: SchemaOption) -> dict[str, Json] | None:
    """Return the schema of --schema or --schema-multi; None if neither is given."""
    if single is not None and multiple is not None:
        message = "--schema is for one object, --schema-multi for several; use one of them"
        raise click.UsageError(message)
    given = single if multiple is None else multiple
    if given is None:
        return None
    from ...client import SchemaCheck

    schema: dict[str, Json] = _read(given) if isinstance(given, str) else given
    if multiple is not None:
        schema = _make_object({"items": {"type": "array", "items": schema}})
    SchemaCheck(schema)  # raises BadParameter before a request is sent
    return schema


def _read(given: str) -> Any:
    text = given.strip()
    if text.startswith("{"):
        return _json(text, repr(text))
    try:
        if Path(text).is_file():
            return _json(Path(text).read_text("utf-8"), text)
    except (OSError, ValueError):  # too long for a file's name, or no text
        pass
    if text.endswith(".json"):
        raise click.BadParameter(f"there is no file {text!r}", param_hint="--schema")
    return _make_object(dict(_fields(text)))


def _json(text: str, where: str) -> Any:
    try:
        return decode_json(text, dict[str, Any])
    except (msgspec.MsgspecError, ValueError) as error:
        message = f"{where} is not a JSON schema: {error}"
        raise click.BadParameter(message, param_hint="--schema") from None


def _fields(text: str) -> Iterator[tuple[str, Json]]:
    split = [each.strip() for each in re.split(r"\n" if "\n" in text else ",", text)]
    for each in filter(None, split):
        found = _FIELD.fullmatch(each)
        kind = found and (found["type"] or "str")
        if found is None or kind not in _TYPES:
            message = f"invalid field {each!r}; write NAME, NAME TYPE or NAME TYPE: WORDS with a "
            message += f"type of {' '.join(_TYPES)}"
            raise click.BadParameter(message, param_hint="--schema")
        about = {"description": found["about"]} if found["about"] else {}
        yield found["name"], {"type": _TYPES[str(kind)], **about}
    if not any(split):
        raise click.BadParameter("it has no fields", param_hint="--schema")


def _make_object(fields: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def parse_typed_value(schema: dict[str, Json], reply: Reply) -> Json:
    """Return the value of an answer; raise Malformed if it does not fit the schema."""
    from ...client import SchemaCheck

    if problem := SchemaCheck(schema).find_problem(reply.value):
        message = f"the answer does not fit the schema: {problem}"
        raise Malformed(message)
    return reply.value
