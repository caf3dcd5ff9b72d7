"""The rules of OpenAPI schemas: those of functions' parameters, and of the answer's shape."""

from ..types import Schema
from .facts import RequestFacts


def check_schema(schema: Schema, at: str, asked: RequestFacts) -> None:
    """Reject a schema that the types allow and the service does not."""
    kind = schema.type
    if kind == "ARRAY" and schema.items is None:
        asked.reject("no_items", at=at)
    if schema.enum and kind not in ("STRING", None):
        asked.reject("enum_type", at=at)
    if "" in schema.enum:
        asked.reject("enum_empty", at=at, number=schema.enum.index(""))
    for number, name in enumerate(schema.required):
        if schema.properties and name not in schema.properties:
            asked.reject("required", at=at, number=number)
    for name, inner in schema.properties.items():
        check_schema(inner, f"{at}.properties[{name}]", asked)
    for number, inner in enumerate(schema.any_of):
        check_schema(inner, f"{at}.any_of[{number}]", asked)
    if schema.items is not None:
        check_schema(schema.items, f"{at}.items", asked)
