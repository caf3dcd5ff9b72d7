"""What OpenAI's own SDK makes strict is accepted; without any one of its promises it is not."""

import copy
import datetime as dt
import uuid
from enum import Enum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib._pydantic import to_strict_json_schema
from pydantic import create_model

from pondero.dialects.openai_chat.service.checks.schemas import find_fault

Color = Enum("Color", {"RED": "red", "BLUE": "blue"})
PLAIN = st.sampled_from(
    [str, int, float, bool, Color, Literal["a"], Literal["a", 1], dt.date, uuid.UUID]
)
NAMES = st.sampled_from(["a", "b", "items", "properties", "type", "required"])


def models(fields):
    """Draw pydantic models with these fields."""
    named = st.dictionaries(NAMES, fields, min_size=1, max_size=3)
    return named.map(
        lambda own: create_model("M", **{name: (kind, ...) for name, kind in own.items()})
    )


ANNOTATIONS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        inner.map(lambda kind: kind | None),
        inner.map(list.__class_getitem__),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        models(inner),
    ),
    max_leaves=6,
)


@given(models(ANNOTATIONS))
def test_what_the_vendor_s_sdk_makes_strict_is_accepted(model):
    schema = to_strict_json_schema(model)
    assert find_fault(schema, strict=True, function=True) is None


def objects(node):
    """Yield every object of a schema that the SDK made."""
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for inner in node.values():
            yield from objects(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from objects(inner)


@given(models(ANNOTATIONS), st.data())
def test_without_one_of_its_promises_it_is_rejected_and_accepted_if_not_strict(model, data):
    schema = copy.deepcopy(to_strict_json_schema(model))
    broken = data.draw(st.sampled_from(list(objects(schema))))
    promise = data.draw(st.sampled_from(["additionalProperties", "required"]))
    del broken[promise]
    fault = find_fault(schema, strict=True, function=False)
    assert fault is not None
    assert (
        fault.rule
        == {"additionalProperties": "schema_additional", "required": "schema_required"}[promise]
    )
    assert find_fault(schema, strict=False, function=False) is None


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("odd", [True, None, [], "string", 3])
def test_a_schema_of_any_json_is_judged_without_an_error_of_ours(odd, strict):
    places = ("properties", "items", "anyOf", "$defs", "type", "required", "$ref", "format")
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    closed["additionalProperties"] = False
    for place in places:
        find_fault({**closed, place: odd}, strict=strict, function=True)
        for kind in ("array", "object"):
            inner = {**closed, "properties": {"a": {**closed, "type": kind, place: odd}}}
            find_fault(inner, strict=strict, function=True)
        referring = {**closed, "properties": {"a": {"$ref": "#/$defs/A"}}, place: odd}
        find_fault(referring, strict=strict, function=True)
