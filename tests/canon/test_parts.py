"""What a tool call lacks on some wires."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import make_call_id, parse_arguments


@given(st.binary())
def test_a_minted_id_has_22_letters_that_every_wire_takes(mark):
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", make_call_id(mark))
    assert make_call_id(mark) == make_call_id(mark)
    assert make_call_id(mark) != make_call_id(mark + b".")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("null", {}),
        ('{"a": [1]}', {"a": [1]}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ('"a"', '"a"'),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_arguments_are_an_object_or_the_text_that_came(text, arguments):
    assert parse_arguments(text) == arguments
