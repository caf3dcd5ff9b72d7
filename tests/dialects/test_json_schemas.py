"""A schema of any draft becomes one of draft 2020-12, and a valid one stays as it is."""

import pytest
from jsonschema import Draft202012Validator

from pondero.dialects import make_valid

TEXT = {"type": "string"}
ODD = [
    ({"items": [TEXT], "additionalItems": False}, {"prefixItems": [TEXT], "items": False}),
    ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
    ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
    ({"type": "STRING", "description": None}, TEXT),
    ({"type": "str"}, {}),
    ({"type": ["string", "string"]}, {"type": ["string"]}),
    ({"required": ["a", "a"], "properties": {"a": None}}, {"required": ["a"], "properties": {"a": {}}}),
    ({"required": True, "anyOf": []}, {}),
    ({"properties": {"a": {"items": [{"type": "X"}]}}}, {"properties": {"a": {"prefixItems": [{}]}}}),
]  # fmt: skip


@pytest.mark.parametrize(("odd", "valid"), ODD)
def test_what_other_drafts_say_is_said_as_this_one_does(odd, valid):
    assert make_valid(odd) == valid
    Draft202012Validator.check_schema(make_valid(odd))


@pytest.mark.parametrize("schema", [True, {}, TEXT, {"$ref": "#/$defs/A", "$defs": {"A": TEXT}}])
def test_a_valid_schema_is_the_very_same(schema):
    assert make_valid(schema) is schema
