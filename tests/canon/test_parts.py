"""What a tool call lacks on some wires."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    LevelUpdate,
    Message,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    is_simple,
    make_call_id,
    parse_arguments,
)


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


MARK = CacheBreakpoint()
WORD, PICTURE = Text("a"), Image(url="https://example.com/a.png")


@pytest.mark.parametrize(
    ("part", "simple"),
    [
        (WORD, True),
        (Text("a", cache=MARK), False),
        (Thinking("a", Signature("x", "y")), True),
        (ToolCall("1", "look", {}), True),
        (ToolCall("1", "look", {}, cache=MARK), False),
        (ToolResult("1", (WORD,)), True),
        (ToolResult("1", (WORD,), error=True), False),
        (ToolResult("1", (WORD,), cache=MARK), False),
        (ToolResult("1", (WORD, Text("a", cache=MARK))), False),
        (ToolResult("1", (WORD, PICTURE)), False),
        (PICTURE, False),
        (Blob("application/pdf", data=b"a"), False),
        (UnknownPart("x", {}), False),
        (LevelUpdate("low"), False),
    ],
)
def test_a_simple_message_has_nothing_that_a_service_may_not_take(part, simple):
    assert is_simple(Message("user", (part,))) == simple
    assert is_simple(Message("user", (WORD, part))) == simple
