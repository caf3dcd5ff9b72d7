"""One JSON object laid over another, and control characters made visible."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import escape_controls, merge_json

LEAVES = st.none() | st.integers() | st.text(max_size=2) | st.lists(st.integers(), max_size=2)
OBJECTS = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_size=3,
)


def test_objects_are_joined_and_anything_else_is_replaced():
    below = {"a": {"x": 1, "y": [1]}, "b": 1, "c": {"z": 1}}
    above = {"a": {"y": [2], "w": None}, "c": 3, "d": {}}

    assert merge_json(below, above) == {
        "a": {"x": 1, "y": [2], "w": None},
        "b": 1,
        "c": 3,
        "d": {},
    }


@given(OBJECTS, OBJECTS)
def test_neither_is_changed(below, above):
    before = deepcopy((below, above))

    merge_json(below, above)

    assert (below, above) == before


@given(OBJECTS, OBJECTS)
def test_laid_over_twice_is_laid_over_once(below, above):
    once = merge_json(below, above)

    assert merge_json(once, above) == once


@given(OBJECTS, OBJECTS)
def test_all_of_the_upper_one_is_in_what_comes_out(below, above):
    both = merge_json(below, above)

    assert both.keys() == below.keys() | above.keys()
    assert all(both[key] == value for key, value in above.items() if not isinstance(value, dict))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("good\rbad", "good\\u000dbad"),
        ("\x1b]0;owned\x07", "\\u001b]0;owned\\u0007"),
        ("\x9b2J\x7f", "\\u009b2J\\u007f"),
        ("\u202eback\u2066", "\\u202eback\\u2066"),
        ("\ud800", "\\ud800"),
        ("é 中 \U0001f468\u200d\U0001f469", "é 中 \U0001f468\u200d\U0001f469"),
    ],
)
def test_control_characters_are_made_visible(text, shown):
    assert escape_controls(text) == shown
    assert escape_controls(shown) == shown
