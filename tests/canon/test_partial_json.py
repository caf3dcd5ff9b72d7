"""Values that are still arriving are read as far as they are certain."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import parse_partial


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("{", {}),
        ('{"na', {}),
        ('{"name"', {}),
        ('{"name":', {}),
        ('{"name": "Be', {"name": "Be"}),
        ('{"name": "Bern", "people": 13', {"name": "Bern"}),
        ('{"name": "Bern", "people": 13,', {"name": "Bern", "people": 13}),
        ('[{"a": [1, 2', [{"a": [1]}]),
        ('["\\u00e', [""]),
        ('["\\ud83d', [""]),
        ('["\\ud83d\\ude00', ["\U0001f600"]),
        ('["a\\\\', ["a\\"]),
        ('["a\\', ["a"]),
        ("tru", None),
        ("true", True),
        ("[tru", []),
        ('[1, "a"]', [1, "a"]),
        ("no JSON", None),
    ],
)
def test_a_beginning_is_read(text, value):
    assert parse_partial(text) == value


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def _begins(part, whole):
    """Whether a value may be the beginning of another."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and _begins(each, whole[name]) for name, each in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(
            _begins(each, other) for each, other in zip(part, whole, strict=False)
        )
    return whole.startswith(part) if isinstance(part, str) else part == whole


@given(values.filter(lambda value: isinstance(value, dict | list)), st.booleans())
def test_every_beginning_of_a_value_is_a_part_of_it(value, escaped):
    text = json.dumps(value, ensure_ascii=escaped)
    for end in range(1, len(text)):
        part = parse_partial(text[:end])
        assert part is not None
        assert _begins(part, value)
    assert parse_partial(text) == value
