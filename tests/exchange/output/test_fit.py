"""A schema is fitted to the service's rules; what it loses is said, what cannot be is refused."""

import pytest
from tests.exchange.output.judges import judge_claude, judge_gemini, judge_strict

from pondero.dialects.schema_rules import (
    CLAUDE,
    GEMINI,
    GRAMMAR,
    HOST_PLAIN,
    OPENAI_PLAIN,
    OPENAI_STRICT,
)
from pondero.exchange.output.fit import fit_schema
from pondero.exchange.output.references import Unfit, inline

NAME = {"type": "string"}


def obj(required=None, **properties):
    names = list(properties) if required is None else required
    return {
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


NODE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": obj(
            ["name"],
            name=NAME,
            children={"type": "array", "items": {"$ref": "#/$defs/Node"}},
        )
    },
}
SELF = obj(["name"], name=NAME, next={"anyOf": [{"$ref": "#"}, {"type": "null"}]})
FORCED = {
    "$ref": "#/$defs/Node",
    "$defs": {"Node": obj(children={"type": "array", "items": {"$ref": "#/$defs/Node"}})},
}


def test_an_optional_key_becomes_required_and_may_be_null():
    fitted = fit_schema(obj(["name"], name=NAME, age={"type": "integer"}), OPENAI_STRICT)
    assert fitted.schema["required"] == ["name", "age"]
    age = fitted.schema["properties"]["age"]
    assert age == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert fitted.nulls
    assert fitted.changes == ()


def test_an_optional_key_that_may_be_null_stays_as_it_is():
    maybe = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    fitted = fit_schema(obj(["name"], name=NAME, age=maybe), OPENAI_STRICT)
    assert fitted.schema["properties"]["age"] == {"anyOf": maybe["anyOf"]}
    assert not fitted.nulls


@pytest.mark.parametrize("rules", [OPENAI_STRICT, OPENAI_PLAIN, HOST_PLAIN, CLAUDE])
@pytest.mark.parametrize(
    "root",
    [
        {"type": "array", "items": NAME},
        {"type": "integer"},
        {"anyOf": [obj(a=NAME), obj(b=NAME)]},
        {"enum": ["a", "b"], "type": "string"},
    ],
)
def test_a_root_that_is_no_object_is_wrapped_and_that_is_said(root, rules):
    fitted = fit_schema(root, rules)
    assert fitted.wrapped
    assert fitted.schema["type"] == "object"
    assert fitted.schema["required"] == ["result"]
    assert "the root is wrapped in an object" in fitted.changes


@pytest.mark.parametrize("rules", [GEMINI, GRAMMAR])
def test_a_root_of_any_type_stays_where_it_is_taken(rules):
    root = {"type": "array", "items": NAME}
    assert fit_schema(root, rules).schema == root


@pytest.mark.parametrize("schema", [NODE, SELF, FORCED])
def test_a_schema_may_contain_itself_where_the_service_allows_it(schema):
    fitted = fit_schema(schema, OPENAI_STRICT)
    assert not list(judge_strict(fitted.schema))
    assert fit_schema(schema, GRAMMAR).schema["$defs"]
    with pytest.raises(Unfit, match="contains itself"):
        fit_schema(schema, CLAUDE)
    with pytest.raises(Unfit, match="contains itself"):
        inline(schema)


def test_gemini_takes_recursion_in_optional_keys_only():
    assert not list(judge_gemini(fit_schema(NODE, GEMINI).schema))
    with pytest.raises(Unfit, match="in a key that is required"):
        fit_schema(FORCED, GEMINI)


@pytest.mark.parametrize(
    "free",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"type": "object", "additionalProperties": True, "properties": {"a": NAME}},
        {"type": "object", "patternProperties": {"^x": NAME}},
    ],
)
@pytest.mark.parametrize("rules", [OPENAI_STRICT, CLAUDE])
def test_an_object_of_free_keys_is_never_emptied(free, rules):
    for schema in (free, obj(inner=free), {"type": "array", "items": free}):
        with pytest.raises(Unfit, match="any keys"):
            fit_schema(schema, rules)
    assert fit_schema(obj(inner=free), OPENAI_PLAIN).schema["properties"]["inner"] == free


@pytest.mark.parametrize(
    ("rules", "kept", "moved"),
    [
        (OPENAI_STRICT, {"minimum": 0, "pattern": "a+"}, {"minLength": 1, "uniqueItems": True}),
        (OPENAI_STRICT, {"format": "date"}, {"format": "uri", "pattern": "(?=x)a"}),
        (CLAUDE, {"format": "uri", "minItems": 1}, {"minimum": 0, "maxLength": 3, "minItems": 2}),
        (GEMINI, {"minimum": 0, "maxItems": 3}, {"exclusiveMinimum": 0, "pattern": "a"}),
    ],
)
def test_keywords_that_are_not_taken_go_into_the_description(rules, kept, moved):
    for word, value in kept.items():
        kind = "array" if "Items" in word else "string"
        fitted = fit_schema(obj(a={"type": kind, "items": NAME, word: value}), rules)
        assert fitted.schema["properties"]["a"][word] == value
        assert fitted.changes == ()
    for word, value in moved.items():
        kind = "array" if "Items" in word else "string"
        given = {"type": kind, "items": NAME, "description": "Before.", word: value}
        fitted = fit_schema(obj(a=given), rules)
        found = fitted.schema["properties"]["a"]
        assert word not in found
        assert found["description"].startswith("Before.\n\n{" + word)
        assert fitted.changes == (f"in the description only: {word}",)


def test_words_for_the_same_thing_are_exchanged():
    schema = obj(
        kind={"const": "a"},
        pet={"oneOf": [obj(cat=NAME), obj(dog=NAME)], "discriminator": {"propertyName": "x"}},
        both={"allOf": [{"type": "string"}, {"description": "Words."}]},
    )
    fitted = fit_schema(schema, OPENAI_STRICT)
    found = fitted.schema["properties"]
    assert found["kind"] == {"enum": ["a"], "type": "string"}
    assert [set(each["properties"]) for each in found["pet"]["anyOf"]] == [{"cat"}, {"dog"}]
    assert found["both"] == {"type": "string", "description": "Words."}
    assert fitted.changes == ("oneOf is sent as anyOf",)
    assert not list(judge_strict(fitted.schema))


@pytest.mark.parametrize("rules", [OPENAI_STRICT, GEMINI, CLAUDE])
def test_nothing_stands_beside_a_reference(rules):
    schema = {
        **obj(a={"$ref": "#/$defs/A", "description": "The first."}),
        "$defs": {"A": obj(b=NAME)},
    }
    found = fit_schema(schema, rules).schema["properties"]["a"]
    assert found["description"] == "The first."
    assert found[rules.ref_word] == [{"$ref": "#/$defs/A"}]


@pytest.mark.parametrize("any_value", [{}, True, {"description": "Whatever."}])
@pytest.mark.parametrize("rules", [OPENAI_STRICT, CLAUDE])
def test_a_value_of_any_type_cannot_be_enforced(any_value, rules):
    with pytest.raises(Unfit, match="any type"):
        fit_schema(obj(a=any_value), rules)
    with pytest.raises(Unfit):
        fit_schema(obj(a={"type": "array"}), rules)


@pytest.mark.parametrize(
    ("schema", "rules", "fits"),
    [
        (obj([], **{f"k{n}": NAME for n in range(24)}), CLAUDE, True),
        (obj([], **{f"k{n}": NAME for n in range(25)}), CLAUDE, False),
        (obj(**{f"k{n}": {"type": ["string", "null"]} for n in range(16)}), CLAUDE, True),
        (obj(**{f"k{n}": {"type": ["string", "null"]} for n in range(17)}), CLAUDE, False),
        (obj(**{f"k{n}": NAME for n in range(5_000)}), OPENAI_STRICT, True),
        (obj(**{f"k{n}": NAME for n in range(5_001)}), OPENAI_STRICT, False),
    ],
)
def test_the_limits_of_a_service_are_kept(schema, rules, fits):
    if fits:
        assert fit_schema(schema, rules).schema
    else:
        with pytest.raises(Unfit, match="and the service takes"):
            fit_schema(schema, rules)


@pytest.mark.parametrize("depth", [9, 10])
def test_the_depth_of_a_strict_schema_is_limited(depth):
    schema = obj(a=NAME)
    for _ in range(depth):
        schema = obj(a=schema)
    if depth == 9:
        assert fit_schema(schema, OPENAI_STRICT).schema
    else:
        with pytest.raises(Unfit, match="11 levels"):
            fit_schema(schema, OPENAI_STRICT)


@pytest.mark.parametrize("pointer", ["#/properties/a", "#/$defs/None", "https://example.com/s"])
@pytest.mark.parametrize("rules", [OPENAI_STRICT, CLAUDE, GEMINI, HOST_PLAIN])
def test_a_reference_that_no_service_follows_is_refused(pointer, rules):
    with pytest.raises(Unfit, match="refers to"):
        fit_schema(obj(a={"$ref": pointer}), rules)


def test_definitions_are_written_out_where_a_service_wants_that():
    schema = {**obj(a={"$ref": "#/$defs/A"}), "$defs": {"A": obj(b=NAME)}}
    assert inline(schema) == obj(a=obj(b=NAME))


def test_a_schema_for_claude_passes_its_judge():
    schema = obj(["a"], a={"type": "integer", "minimum": 3}, b={"type": "array", "items": NAME})
    assert not list(judge_claude(fit_schema(schema, CLAUDE).schema))


def test_the_given_schema_is_not_changed():
    schema = obj([], a={"type": "integer", "minimum": 3, "default": 3})
    before = repr(schema)
    for rules in (OPENAI_STRICT, CLAUDE, GEMINI, GRAMMAR, HOST_PLAIN):
        fit_schema(schema, rules)
    assert repr(schema) == before
