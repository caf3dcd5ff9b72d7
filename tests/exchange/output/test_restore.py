"""An answer gets the shape that was asked for, whole or in pieces of any size."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import PartEnd, PartStart, Text, TextDelta
from pondero.exchange.output.restore import (
    JsonRewriter,
    OutputRestore,
    OutputRestorer,
    restore_text,
)

WRAPPED, FENCED = OutputRestore(wrapped=True), OutputRestore(fenced=True)
OBJECT = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "c": {"type": "array", "items": {"$ref": "#/$defs/C"}},
    },
    "required": [],
    "$defs": {"C": {"type": "object", "properties": {"d": {"type": "integer"}}, "required": []}},
}
NULLS = OutputRestore(schema=OBJECT)


@pytest.mark.parametrize(
    ("restore", "said", "meant"),
    [
        (WRAPPED, '{"result": [1, {"a": null}]}', '[1, {"a": null}]'),
        (WRAPPED, '{\n  "result": "x"\n}\n', '"x"'),
        (WRAPPED, '{"result": 3}', "3"),
        (WRAPPED, '{"result": null}', "null"),
        (WRAPPED, "[1, 2]", "[1, 2]"),
        (WRAPPED, '{"other": 1}', '{"other": 1}'),
        (WRAPPED, "I cannot do that.", "I cannot do that."),
        (FENCED, '```json\n{"a": 1}\n```', '{"a": 1}'),
        (FENCED, "  ```\n[1]\n```\n", "[1]"),
        (FENCED, '{"a": "```"}', '{"a": "```"}'),
        (FENCED, "```python\nprint()\n```", "```python\nprint()\n```"),
        (FENCED, "Here: {}", "Here: {}"),
        (OutputRestore(wrapped=True, fenced=True), '```json\n{"result": [1]}\n```', "[1]"),
        (NULLS, '{"a": null, "b": null}', '{ "b": null}'),
        (NULLS, '{"a": 1, "b": "x", "c": [{"d": null}, {"d": 2}]}',
         '{"a": 1, "b": "x", "c": [{}, {"d": 2}]}'),
        (NULLS, '{"b": "x", "a": null}', '{"b": "x"}'),
        (NULLS, '{"x": null}', '{"x": null}'),
        (OutputRestore(wrapped=True, schema={"type": "array", "items": OBJECT}),
         '{"result": [{"a": null}, {"a": 1}]}', '[{}, {"a": 1}]'),
    ],
)  # fmt: skip
def test_an_answer_is_restored(restore, said, meant):
    assert restore_text(said, restore) == meant
    for size in (1, 2, 3, 7):
        rewriter = JsonRewriter(restore)
        pieces = [said[at : at + size] for at in range(0, len(said), size)]
        assert "".join(map(rewriter.feed, pieces)) + rewriter.end() == meant


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(values, st.sampled_from([None, 1]), st.booleans(), st.booleans(), st.data())
def test_any_value_comes_back_from_any_pieces(value, indent, wrapped, fenced, data):
    said = json.dumps({"result": value} if wrapped else value, indent=indent)
    if fenced:
        said = f"```json\n{said}\n```"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=5)))
    pieces = [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    rewriter = JsonRewriter(OutputRestore(wrapped=wrapped, fenced=fenced))
    assert json.loads("".join(map(rewriter.feed, pieces)) + rewriter.end()) == value


@given(st.text(alphabet='{}[],:"\\ ntrue1`\n', max_size=20), st.integers(1, 4))
def test_whatever_a_model_writes_pieces_and_the_whole_are_the_same(said, size):
    restore = OutputRestore(wrapped=True, fenced=True, schema=OBJECT)
    rewriter = JsonRewriter(restore)
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    assert "".join(map(rewriter.feed, pieces)) + rewriter.end() == restore_text(said, restore)


@pytest.mark.parametrize("said", ['{"result": tru', '{"a" 1}', "[1 2]", '{"a": 1} and more', "{,}"])
def test_text_that_is_no_json_loses_nothing_that_matters(said):
    assert restore_text(said, FENCED).replace(" ", "") == said.replace(" ", "")


def test_events_end_with_the_restored_text():
    restorer = OutputRestorer(WRAPPED)
    said = '{"result": [1, 2]}'
    events = [PartStart(0, "text"), *(TextDelta(0, each) for each in said)]
    out = restorer.take([*events, PartEnd(0, Text(said))])
    assert "".join(each.text for each in out if isinstance(each, TextDelta)) == "[1, 2]"
    assert out[-1].part.text == "[1, 2]"


def test_a_whole_answer_without_pieces_is_restored_too():
    restorer = OutputRestorer(WRAPPED)
    out = restorer.take([PartStart(0, "text"), PartEnd(0, Text('{"result": 7}'))])
    assert out[-1].part.text == "7"
