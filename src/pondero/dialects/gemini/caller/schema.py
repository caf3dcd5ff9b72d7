"""Which schemas this wire's own dialect of OpenAPI can say; the others go as JSON Schema.

``parameters`` and ``responseSchema`` refuse any key they do not know (additionalProperties, $ref,
const ...); ``parametersJsonSchema`` and ``responseJsonSchema`` take JSON Schema as it is, so
nothing has to be taken out.
"""

from collections.abc import Callable

from pondero.canon import Json

_FORMATS = frozenset({"float", "double", "int32", "int64", "enum", "date-time"})
_PLAIN = frozenset(
    {"title", "description", "nullable", "required", "propertyOrdering", "default", "example"}
)
_SIZES = frozenset(
    {"minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"}
)
_BOUNDS = frozenset({"minimum", "maximum", "pattern"})
_EASY = _PLAIN | _SIZES | _BOUNDS


def is_plain(schema: Json) -> bool:
    """Return whether a schema stays inside what this wire's own form can say."""
    return isinstance(schema, dict) and all(
        key in _EASY or (key in _CHECKS and _CHECKS[key](value)) for key, value in schema.items()
    )


def _strings(values: Json) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


_CHECKS: dict[str, Callable[[Json], bool]] = {
    "type": lambda value: isinstance(value, str) and value.lower() != "null",
    "format": lambda value: value in _FORMATS,
    "enum": _strings,
    "items": is_plain,
    "anyOf": lambda value: isinstance(value, list) and all(map(is_plain, value)),
    "properties": lambda value: isinstance(value, dict) and all(map(is_plain, value.values())),
}
