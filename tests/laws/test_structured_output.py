"""Any type on any wire: what is sent is accepted, what comes back is the value, nothing is lost.

Types are drawn as pydantic builds them. The answer is made from the schema that was sent, as the
service would make it, and jsonschema judges that it is one.
"""

import json
from collections import Counter
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter, create_model
from tests.exchange.output.judges import judge_claude, judge_gemini, judge_strict, walk

import pondero
from pondero.emulator import Emulator, ScriptedTurn
from pondero.errors import Malformed

MODELS = {
    "gpt-5.1": judge_strict,
    "openai-chat:gpt-5.1": judge_strict,
    "groq:openai/gpt-oss-120b": judge_strict,
    "mistral:mistral-large-latest": judge_strict,
    "claude-opus-5": judge_claude,
    "bedrock:anthropic.claude-opus-5": judge_claude,
    "gemini-3-flash-preview": judge_gemini,
    "cohere:command-a-03-2025": None,
    "ollama:qwen3": None,
    "deepseek:deepseek-v4-flash": None,
    "openrouter:qwen/qwen3-235b-a22b": None,
    "claude-3-5-haiku-latest": None,
}
KEYWORDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"),
    *("maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "format"),
)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Tree(BaseModel):
    name: str
    left: Optional["Tree"] = None
    leaves: list["Tree"] = []


def scalars():
    """Return pairs of a type and a strategy of its values, as JSON."""
    text = st.text(max_size=5)
    return st.sampled_from(
        [
            (str, text),
            (int, st.integers(-(2**40), 2**40)),
            (bool, st.booleans()),
            (float, st.floats(-1e6, 1e6, allow_nan=False)),
            (Annotated[int, Field(ge=0, le=9)], st.integers(0, 9)),
            (Annotated[float, Field(gt=1, multiple_of=0.5)], st.sampled_from([1.5, 2.0])),
            (Annotated[str, Field(min_length=1, max_length=3)], st.text(min_size=1, max_size=3)),
            (Annotated[str, Field(pattern="^a+$")], st.sampled_from(["a", "aa"])),
            (Literal["a", "b"], st.sampled_from(["a", "b"])),
            (Literal["only"], st.just("only")),
            (Literal[1, "x"] | None, st.sampled_from([1, "x", None])),
            (Color, st.sampled_from(["red", "blue"])),
            (date, st.just("2026-11-16")),
            (UUID, st.just("00000000-0000-4000-8000-000000000000")),
            (Tree, st.just({"name": "a", "left": {"name": "b"}, "leaves": [{"name": "c"}]})),
            (Any, st.just({"x": [1]})),
        ]
    )


def larger(inner):
    def build(pair):
        kind, values = pair
        return st.sampled_from(
            [
                (list[kind], st.lists(values, max_size=2)),
                (Annotated[list[kind], Field(min_length=2, max_length=3)],
                 st.lists(values, min_size=2, max_size=3)),
                (Optional[kind], st.none() | values),  # noqa: UP045 - the value is a variable
                (dict[str, kind], st.dictionaries(st.text(max_size=3), values, max_size=2)),
                (tuple[kind, int], st.tuples(values, st.integers(0, 9)).map(list)),
            ]
        )  # fmt: skip

    return inner.flatmap(build) | st.lists(inner, min_size=1, max_size=3).flatmap(models)


def models(fields):
    """Return a model with these fields, the later ones optional, and its values."""
    given = {f"k{n}": pair for n, pair in enumerate(fields)}

    def build(required):
        made = {
            name: (kind, ... if n < required else _default(kind))
            for n, (name, (kind, _)) in enumerate(given.items())
        }
        names = list(given)
        model = create_model("Model" + "".join(str(len(str(kind))) for kind, _ in fields), **made)
        values = st.fixed_dictionaries(
            {name: given[name][1] for name in names[:required]},
            optional={name: given[name][1] for name in names[required:]},
        )
        return model, values

    return st.integers(0, len(fields)).map(build)


def _default(kind):
    """Return a default; null stands for a missing key, so it is null where null is a value."""
    try:
        return TypeAdapter(kind).validate_python(None)
    except ValueError:
        return "unset"


kinds = st.recursive(scalars(), larger, max_leaves=4)


def as_service(schema, root, value):
    """Return a value as a strict service writes it: every required key is there, or null."""
    if "$ref" in schema:
        return as_service(root["$defs"][schema["$ref"].rpartition("/")[2]], root, value)
    for word in ("anyOf", "allOf"):
        for option in schema.get(word, []):
            made = as_service(option, root, value)
            if Draft202012Validator({**option, "$defs": root.get("$defs", {})}).is_valid(made):
                return made
    if isinstance(value, dict) and "properties" in schema:
        inner = schema["properties"]
        required = dict.fromkeys(schema.get("required", []))
        return {
            name: as_service(inner[name], root, value[name]) if name in inner and name in value
            else value.get(name)
            for name in {**required, **value}
        }  # fmt: skip
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [as_service(schema["items"], root, each) for each in value]
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        more = schema["additionalProperties"]
        return {name: as_service(more, root, each) for name, each in value.items()}
    return value


def sent_schema(body):
    """Return the schema in a request's field, and whether it is said to be strict."""
    if "text" in body and "schema" in body["text"]["format"]:
        return body["text"]["format"]["schema"], body["text"]["format"].get("strict")
    if isinstance(found := body.get("response_format", {}).get("json_schema"), dict):
        return found.get("schema", found), found.get("strict")
    if "output_config" in body and "format" in body["output_config"]:
        return body["output_config"]["format"]["schema"], None
    if "outputConfig" in body:
        text = body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]
        return json.loads(text), None
    if found := body.get("generationConfig", {}).get("responseJsonSchema"):
        return found, None
    if isinstance(found := body.get("format"), dict):
        return found, None
    return None, None


def is_wrapped(schema):
    return isinstance(schema, dict) and list(schema.get("properties", {})) == ["result"]


@given(st.sampled_from(sorted(MODELS)), kinds, st.data())
def test_a_value_of_any_type_comes_back_from_any_service(model, pair, data):
    kind, values = pair
    value = data.draw(values)
    adapter = TypeAdapter(kind)
    asker = Emulator()
    first = pondero.Client(transport=asker).ask(model, "Say.", output=kind)
    body = asker.log.entries[-1].body
    schema, strict = sent_schema(body)
    notes = [each for each in first.adjustments if each.what == "output"]
    said = _write_answer(schema, body, value)
    if schema is not None and (strict or MODELS[model] in (judge_claude, judge_gemini)):
        assert list(MODELS[model](schema)) == []
    if schema is not None:
        assert list(Draft202012Validator(schema).iter_errors(said)) == []
        _check_nothing_lost(adapter.json_schema(), schema, notes)
    else:
        assert [each.code for each in notes] == ["output_prompted"]
    emulator = Emulator(script=[ScriptedTurn(text=json.dumps(said))])
    reply = pondero.Client(transport=emulator).ask(model, "Say.", output=kind)
    assert reply.value == adapter.validate_python(value) or (
        reply.value == adapter.validate_json(json.dumps(value))
    )


def _write_answer(schema, body, value):
    if schema is None:
        wrapped = '\\"required\\":[\\"result\\"]' in json.dumps(body)
        return {"result": value} if wrapped else value
    if is_wrapped(schema):
        return {"result": as_service(schema["properties"]["result"], schema, value)}
    return as_service(schema, schema, value)


def _check_nothing_lost(original, sent, notes):
    """Every constraint is still in the schema, or named in an adjustment."""
    told = " ".join(each.why for each in notes)
    before, after = (
        Counter(word for each in walk(schema) for word in KEYWORDS if word in each)
        for schema in (original, sent)
    )
    for word, count in before.items():
        assert after[word] >= count or word in told, (word, sent, told)


WRONG: list[Any] = [None, "zz", 12_345, [], {}, [None], {"zz": []}, [["zz"]]]


@given(st.sampled_from(sorted(MODELS)), kinds, st.sampled_from(WRONG))
def test_a_wrong_value_is_an_error_whatever_the_service_checks(model, pair, wrong):
    kind, _ = pair
    try:
        TypeAdapter(kind).validate_json(json.dumps(wrong))
    except ValueError:
        pass
    else:
        assume(False)
    emulator = Emulator(script=[ScriptedTurn(text=json.dumps(wrong))])
    reply = pondero.Client(transport=emulator).ask(model, "Say.", output=kind)
    with pytest.raises(Malformed):
        _ = reply.value
