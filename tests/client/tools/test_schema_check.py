"""Values against a JSON Schema: every constraint counts, and a schema is read alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pondero.client import SchemaCheck
from pondero.errors import BadParameter

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True},
        "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.sampled_from(["", "A", "Ab", "ab", "a", 1.0, 2.5]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "age", "tags", "next", "odd"]), inner, max_size=4
        )
    ),
    max_leaves=6,
)
PEOPLE = st.fixed_dictionaries(
    {"name": st.sampled_from(["Ann", "ann", "A", 3])},
    optional={
        "age": st.sampled_from([0, 30, 150, -1, 2.0, 2.5, True]),
        "tags": st.lists(st.sampled_from(["a", "b", 1, True, 1.0]), max_size=3),
        "next": st.sampled_from([None, {"name": "Bo"}, {"name": "b"}, 3]),
        "odd": st.just(1),
    },
)
OTHERS = [
    {"oneOf": [{"type": "integer"}, {"minimum": 5}]},
    {"not": {"type": "string"}},
    {"if": {"type": "integer"}, "then": {"multipleOf": 3}, "else": {"type": ["string", "null"]}},
    {"allOf": [{"type": "array"}, {"minItems": 1, "maxItems": 2}], "prefixItems": [{"const": 1}]},
    {"patternProperties": {"^n": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
    {"minProperties": 1, "maxProperties": 2, "properties": {"age": False}},
    True,
]


@given(VALUES | PEOPLE, st.sampled_from([SCHEMA, *OTHERS]))
def test_a_value_is_valid_if_jsonschema_says_so(value, schema):
    theirs = Draft202012Validator(schema).is_valid(value)
    assert (SchemaCheck(schema).find_problem(value) is None) == theirs


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        (
            {"properties": {"age": {"minimum": 0}}},
            {"age": -1},
            "$.age: -1 is less than the minimum of 0",
        ),
        ({"required": ["name"]}, {}, "$: 'name' is a required property"),
        ({"type": "string", "minLength": 2}, "A", "$: 'A' is too short (minLength 2)"),
        ({"enum": ["a", 1]}, True, "$: True is not one of ['a', 1]"),
        ({"items": {"type": "integer"}}, [1, "x"], "$[1]: 'x' is not of type 'integer'"),
        (False, 3, "$: 3 is not allowed here"),
        (
            {"anyOf": [{"type": "string"}, {"minimum": 3}]},
            1,
            (
                "$: 1 is not valid under any of the given schemas; 1 is not of type 'string'; "
                "1 is less than the minimum of 3"
            ),
        ),
        ({"maxItems": 1}, ["x" * 300, 2], f"$: ['{'x' * 198}... is too long (maxItems 1)"),
    ],
)
def test_a_problem_names_the_path_the_value_and_what_is_wanted(schema, value, problem):
    assert SchemaCheck(schema).find_problem(value) == problem


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"contains": {"type": "string"}, "maxContains": 1}, ["a", 1], ["a", "b"]),
        ({"propertyNames": {"maxLength": 2}}, {"ab": 1}, {"abc": 1}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"dependentSchemas": {"a": {"minProperties": 2}}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"properties": {"a": True}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1], [1, 2]),
        ({"format": "date"}, "2026-02-28", "2026-02-30"),
        ({"format": "date-time"}, "2026-02-28T10:00:00.5z", "2026-02-28 10:00"),
        ({"format": "date-time"}, 5, "2026-02-28T25:00:00Z"),
        ({"format": "ipv4"}, "127.0.0.1", "127.0.0.256"),
        ({"$defs": {"s": {"$anchor": "text", "type": "string"}}, "$ref": "#text"}, "a", 1),
        (
            {"$id": "https://e.org/s", "items": {"$ref": "https://e.org/s"}, "type": "array"},
            [[]],
            [1],
        ),
        ({"multipleOf": 0.1}, 0.3, 0.35),
        ({"multipleOf": 7}, 9007199254740993 * 7, 1e999),
    ],
)
def test_constraints_that_are_seldom_seen_count_too(schema, good, bad):
    check = SchemaCheck(schema)
    assert check.find_problem(good) is None
    assert check.find_problem(bad) is not None


def test_a_schema_may_name_its_draft():
    rows = {"items": [{"type": "string"}], "additionalItems": False}
    check = SchemaCheck({"$schema": "http://json-schema.org/draft-07/schema#", **rows})
    assert check.find_problem(["a"]) is None
    assert check.find_problem(["a", "b"]) is not None
    with pytest.raises(BadParameter, match=r"\$\.items"):
        SchemaCheck(rows)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (5, "invalid JSON schema 5; use an object, true or false"),
        ({"type": "strin"}, r"\$\.type: 'strin' is not valid .* not one of \['array'"),
        ({"$schema": 5}, "5 is not of type 'string'"),
        ({"pattern": "("}, "is not a 'regex'"),
        ({"properties": {"a": {"minLenght": 3}}}, "'minLenght', a keyword that is not checked"),
        ({"contentMediaType": "text/html"}, "'contentMediaType', a keyword that is not checked"),
        ({"$ref": "#/none"}, "refers to '#/none', which it does not contain"),
        ({"$ref": "#/default", "default": {"type": 5}}, "'#/default', which is not a schema"),
        ({"$ref": "#"}, "refers to '#', which leads back to itself"),
        ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "'#/\\$defs/a', which leads back to itself"),
    ],
)
def test_an_invalid_schema_is_rejected(schema, problem):
    with pytest.raises(BadParameter, match=problem):
        SchemaCheck(schema)


@pytest.mark.parametrize("word", ["$ref", "$dynamicRef"])
def test_no_reference_is_fetched(word, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_: pytest.fail("it was fetched"))
    for address in ("https://json-schema.org/draft/2020-12/schema", "file:///etc/hostname"):
        with pytest.raises(BadParameter, match="which it does not contain"):
            SchemaCheck({"properties": {"a": {word: address}}})


def test_a_deep_schema_takes_no_time():
    schema, value = {"type": "integer"}, 1
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}, "additionalProperties": False}
        value = {"a": value}
    begun = time.perf_counter()
    assert SchemaCheck(schema).find_problem(value) is None
    assert time.perf_counter() - begun < 5


def test_nothing_nested_too_deeply_ends_in_a_traceback():
    assert "too deeply" in SchemaCheck({"allOf": [{"$ref": "#"}]}).find_problem(1)
    value = []
    for _ in range(5000):
        value = [value]
    assert "too deeply" in SchemaCheck({"items": {"$ref": "#"}}).find_problem(value)
    schema = {}
    for _ in range(5000):
        schema = {"not": schema}
    with pytest.raises(BadParameter, match="nested too deeply"):
        SchemaCheck(schema)
