"""A name is found by its bytes, unless an escape for one of its characters is in the text."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.dialects import NAMES, Service, get_dialect, may_escape_names

OF_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:-./"


def escape(character: str, *, upper: bool) -> str:
    digits = f"{ord(character):04x}"
    return "\\u" + (digits.upper() if upper else digits)


@given(st.text(OF_NAMES, min_size=1), st.integers(0), st.booleans(), st.text())
def test_an_escape_for_a_character_of_a_name_is_seen(name, at, upper, around):
    at %= len(name)
    spelt = name[:at] + escape(name[at], upper=upper) + name[at + 1 :]
    text = f'{{"{spelt}": {json.dumps(around)}}}'
    assert list(json.loads(text)) == [name]
    assert may_escape_names(text.encode().__contains__)


@given(st.text(st.characters(min_codepoint=0x7F) | st.sampled_from('<>&\n\x00"\\'), min_size=1))
def test_what_clients_escape_is_none(text):
    said = json.dumps(text)
    for sign in "<>&":
        said = said.replace(sign, escape(sign, upper=False))
    assert not may_escape_names(json.dumps({"text": text, "inside": said}).encode().__contains__)


def iter_names(service: Service[Any]) -> Iterator[str]:
    """Yield the names and types that are looked for in bodies by their bytes."""
    passed, depth = service.passthrough, service.depth
    hosted, others = passed.hosted, passed.others
    for paths in (passed.answers_at, depth.more, hosted.tools_at, (hosted.compacts_at or (),)):
        yield from (name for path in paths for name in path)
    yield from (name for path, _ in passed.background_at for name in path)
    yield from (*passed.stored_at, *depth.marks, *hosted.fields, hosted.turns)
    yield from (*others.tools, *others.without_thinking, *others.named_by, others.turns)


@pytest.mark.parametrize("dialect", NAMES)
def test_every_name_has_such_characters_alone(dialect):
    names = list(iter_names(get_dialect(dialect).service()))
    assert not [name for name in names if not re.fullmatch(rf"[{re.escape(OF_NAMES)}]*", name)]
