"""Laws of strict schemas: one of OpenAI's subset is taken, and every single step out of it is not."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.referee.corpus.openai_responses import form, function

from pondero.dialects import Rejected
from pondero.dialects.openai_responses.service import SERVICE

Schema = dict[str, Any]
NAMES = st.text("abcdef", min_size=1, max_size=3)
LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
        {"type": "string", "format": "date-time", "description": "when"},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "boolean", "const": True},
        {"type": "string", "pattern": "^[a-z]+$"},
        {"$ref": "#"},
        {"$ref": "#/$defs/Node"},
    ]
)


def close(properties: Schema) -> Schema:
    """Return an object that is as the subset has it."""
    required = list(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def arrays(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return inner.map(lambda each: {"type": "array", "items": each, "minItems": 1})


def unions(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.lists(inner, min_size=1, max_size=3).map(lambda several: {"anyOf": several})


INNER = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner, max_size=3).map(close), arrays(inner), unions(inner)
    ),
    max_leaves=6,
)
ROOTS = st.dictionaries(NAMES, INNER, max_size=3).map(
    lambda properties: {**close(properties), "$defs": {"Node": close({"next": {"$ref": "#"}})}}
)
ASKED = st.sampled_from([form, function])


def iter_inside(schema: Schema) -> Iterator[Schema]:
    """Yield all schemas in a schema, itself first."""
    yield schema
    below = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", []),
        *([schema["items"]] if "items" in schema else []),
    ]
    for each in below:
        yield from iter_inside(each)


def is_plain(schema: Schema) -> bool:
    return "$ref" not in schema


def is_object(schema: Schema) -> bool:
    return schema.get("type") == "object"


# Each step out of the subset: whether a place allows it, and how it is made.
STEPS = {
    "open": (is_object, lambda each: each.pop("additionalProperties")),
    "opened": (is_object, lambda each: each.update(additionalProperties=True)),
    "optional": (lambda each: bool(each.get("properties")), lambda each: each["required"].pop()),
    "unknown": (is_object, lambda each: each["required"].append("unheard")),
    "keyword": (is_plain, lambda each: each.update(uniqueItems=True)),
    "oneOf": (is_plain, lambda each: each.update(oneOf=[{"type": "string"}])),
    "beside": (lambda each: "$ref" in each, lambda each: each.update(description="d")),
    "elsewhere": (lambda each: "$ref" in each, lambda each: each.update({"$ref": "#/properties/a"})),
    "untyped": (lambda each: "items" in each, lambda each: each.update(items={})),
    "no items": (lambda each: "items" in each, lambda each: each.pop("items")),
    "format": (lambda each: "format" in each, lambda each: each.update(format="uri")),
    "look-around": (lambda each: "pattern" in each, lambda each: each.update(pattern="(?=a)b")),
}  # fmt: skip


@given(schema=ROOTS, ask=ASKED)
def test_a_schema_of_the_subset_is_taken(schema, ask):
    assert SERVICE.accept(ask(schema), "openai")


@pytest.mark.parametrize("step", STEPS)
@given(schema=ROOTS, ask=ASKED, data=st.data())
def test_one_step_out_of_the_subset_is_rejected_if_it_is_strict(step, schema, ask, data):
    fits, change = STEPS[step]
    broken = copy.deepcopy(schema)
    places = [each for each in iter_inside(broken) if fits(each)]
    if not places:
        return
    change(data.draw(st.sampled_from(places)))
    with pytest.raises(Rejected) as caught:
        SERVICE.accept(ask(broken), "openai")
    assert caught.value.rule.startswith("schema_")
    # a function's root may never be a union, and its arrays always need items
    if broken.get("oneOf") is None and (ask is form or step != "no items"):
        assert SERVICE.accept(ask(broken, strict=False), "openai")
    assert SERVICE.accept(ask(broken, model="grok-4.3"), "xai-responses") if ask is form else True
