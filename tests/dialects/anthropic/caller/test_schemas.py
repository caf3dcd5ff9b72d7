"""Schemas that the service compiles: closed, and without limits, which become words."""

from copy import deepcopy

import pytest
from anthropic import transform_schema
from hypothesis import given
from hypothesis import strategies as st

from pondero.dialects.anthropic.caller.schemas import make_compilable
from pondero.dialects.anthropic.service.checks.schemas import check_shape

texts = st.fixed_dictionaries(
    {"type": st.just("string")}, optional={"maxLength": st.integers(1, 9), "minLength": st.just(1)}
)
numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={"minimum": st.integers(0, 9), "multipleOf": st.just(2), "description": st.just("n")},
)
schemas = st.recursive(
    texts | numbers,
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={})
        | st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from(["a", "minimum", "items"]), inner),
            },
            optional={"additionalProperties": st.booleans(), "required": st.just(["a"])},
        )
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
    ),
    max_leaves=6,
)


@given(schemas)
def test_any_schema_is_one_that_the_service_compiles(schema):
    before = deepcopy(schema)
    made = make_compilable(schema)
    check_shape(made, "schema")
    assert schema == before
    assert make_compilable(made) == made


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 1, "maximum": 10, "description": "A number"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "array", "items": {"type": "object", "properties": {}}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ],
)
def test_the_vendors_own_sdk_makes_the_same_of_it(schema):
    assert make_compilable(schema) == transform_schema(deepcopy(schema))


def test_a_strict_tool_is_compiled_and_a_plain_one_is_not():
    opened = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    assert make_compilable(opened) == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "{minimum: 1}"}},
        "additionalProperties": False,
    }
