"""A search by the C library finds what Python's finds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pondero.gateway.state import long_text
from pondero.gateway.state.long_text import LongText, contains

few = st.binary(max_size=6) | st.text("ab\0", max_size=6).map(str.encode)


@given(few, few, st.integers(0, 2_000), few)
@example(b"", b"", 2_000, b"")
@example(b"a", b"", 1_024, b"a")
def test_a_long_text_has_the_marks_that_python_finds(before, after, length, mark):
    text = before + b"x" * length + after
    assert contains(text, mark) is (mark in text)
    assert (mark in LongText(text)) is (mark in text)


def test_a_mark_is_looked_for_once_in_a_long_text(monkeypatch):
    looked: list[bytes] = []

    def note(text: bytes, mark: bytes) -> bool:
        looked.append(mark)
        return contains(text, mark)

    monkeypatch.setattr(long_text, "contains", note)
    text = LongText(b"one two")
    assert [b"one" in text, b"six" in text, b"one" in text, b"six" in text] == [True, False] * 2
    assert looked == [b"one", b"six"]


def test_a_byte_is_looked_for_as_in_other_bytes():
    text = LongText(b"one")
    assert ord("o") in text
    assert ord("x") not in text
    with pytest.raises(ValueError, match="range"):
        assert 256 in text


def test_python_searches_where_the_library_has_no_search(monkeypatch):
    monkeypatch.setattr(long_text, "_search", None)
    text = b"x" * 5_000 + b"mark"
    assert b"mark" in LongText(text)
    assert not contains(text, b"mask")
