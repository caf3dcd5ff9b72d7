"""Schemas filled in from what was said."""

from hypothesis import given
from hypothesis import strategies as st

from pondero.emulator.responders.schema_values import FillMaterial, fill, names


def test_names_in_a_question_are_found_in_order():
    assert names("What is the weather in Paris, London and New York?") == (
        "Paris",
        "London",
        "New York",
    )
    assert names("nobody here") == ()


def test_every_required_property_gets_a_value_of_its_type():
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "maximum": 7},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "exact": {"type": "boolean"},
            "places": {"type": "array", "items": {"type": "string"}},
            "when": {"type": "string", "format": "date"},
            "nested": {"$ref": "#/$defs/n"},
            "spare": {"type": ["null", "number"]},
            "unneeded": {"type": "string"},
        },
        "required": ["city", "days", "unit", "exact", "places", "when", "nested", "spare"],
        "$defs": {"n": {"type": "object", "properties": {"fixed": {"const": 3}}}},
    }

    filled = fill(schema, FillMaterial("Forecast for Oslo, 12 days, in fahrenheit"))

    assert filled == {
        "city": "Oslo",
        "days": 7,
        "unit": "fahrenheit",
        "exact": True,
        "places": ["Oslo"],
        "when": "2026-01-31",
        "nested": {"fixed": 3},
        "spare": 1,
    }


def test_types_in_capitals_and_alternatives_are_understood():
    schema = {
        "type": "OBJECT",
        "properties": {"n": {"anyOf": [{"type": "null"}, {"type": "INTEGER"}]}},
    }
    assert fill(schema, FillMaterial("17 * 23", answer="17 * 23 = 391", result="391")) == {"n": 391}


def test_a_schema_that_contains_itself_ends():
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}, "required": ["child"]}
    fill(tree, FillMaterial("hello"))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "enum", "anyOf", "$ref", "required", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(_json)
def test_no_schema_breaks_it(schema):
    fill(schema, FillMaterial("hello"))
