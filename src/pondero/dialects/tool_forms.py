"""Tools that a user wrote down for one API, read for all of them.

A function in the form of any API becomes a ``Tool`` that every dialect can offer. What only its own
API has (``defer_loading``, ``cache_control`` ...) stays in ``raw`` for that API.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..canon import CacheBreakpoint, Json, Tool


class ToolForm(Struct, frozen=True, kw_only=True):
    """How an API writes a function: where its fields are, and which ``type`` it has, if any.

    ``inside``: the field that holds the function; ``schema``: the path of the parameters in it.
    """

    dialect: str
    schema: tuple[str, ...]
    inside: str | None = None
    types: tuple[str | None, ...] = (None,)
    needs_schema: bool = True


# Types of openai 3.49.0, anthropic 2.8.0, boto3 1.44 and google-genai. The first that fits counts.
_FORMS = (
    ToolForm(
        dialect="openai_chat",
        inside="function",
        schema=("parameters",),
        types=("function", None),
        needs_schema=False,
    ),
    ToolForm(
        dialect="openai_responses",
        schema=("parameters",),
        types=("function",),
        needs_schema=False,
    ),
    ToolForm(dialect="anthropic", schema=("input_schema",), types=(None, "custom")),
    ToolForm(dialect="bedrock", inside="toolSpec", schema=("inputSchema", "json")),
    # Bare declarations: the older functions of Chat, Gemini's, and those of MCP.
    ToolForm(dialect="", schema=("parameters",)),
    ToolForm(dialect="", schema=("inputSchema",)),
)
_PLAIN = frozenset({"type", "name", "description", "strict", "cache_control"})


def read_function(raw: Mapping[str, Json]) -> Tool | None:
    """Return the function that this is in some API's form; None if it is in none."""
    return next((tool for form in _FORMS if (tool := _read(raw, form)) is not None), None)


def _read(raw: Mapping[str, Json], form: ToolForm) -> Tool | None:
    inner: Any = raw if form.inside is None else raw.get(form.inside)
    if raw.get("type") not in form.types or not isinstance(inner, Mapping):
        return None
    name, description, strict = (inner.get(key) for key in ("name", "description", "strict"))
    schema: Any = inner
    for key in form.schema:
        schema = schema.get(key) if isinstance(schema, Mapping) else None
    if not isinstance(name, str) or (form.needs_schema and not isinstance(schema, Mapping)):
        return None
    rest = {*raw, *inner} - _PLAIN - {form.inside, form.schema[0]}
    keeps = bool(rest and form.dialect)
    return Tool(
        name,
        description if isinstance(description, str) else "",
        dict(schema) if isinstance(schema, Mapping) else None,
        strict if isinstance(strict, bool) else None,
        _read_cache({**raw, **inner}.get("cache_control")),
        dict(raw) if keeps else None,
        form.dialect if keeps else None,
    )


def _read_cache(control: Json) -> CacheBreakpoint | None:
    if not isinstance(control, Mapping):
        return None
    ttl = control.get("ttl")
    return CacheBreakpoint(ttl if isinstance(ttl, str) else None)
