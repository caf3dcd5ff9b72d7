"""The elements of a JSON array, in every split."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.errors import Malformed, Truncated
from pondero.framing import JsonArrayReader

from .pieces import splits


def read(data: bytes, cuts: list[int] | None = None) -> list[bytes]:
    reader = JsonArrayReader()
    frames = []
    for piece in splits(data, cuts or []):
        frames += reader.feed(piece)
    return frames + reader.eof()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\{}[],\né\U0001f600'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\{'), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.text('a"\\{}['), values, max_size=3)
cuts = st.lists(st.integers(0, 300))


@given(st.lists(objects), cuts, st.booleans(), st.sampled_from([None, 2]))
def test_elements_come_out_in_any_split(elements, cuts, ascii_, indent):
    data = json.dumps(elements, ensure_ascii=ascii_, indent=indent).encode()
    assert [json.loads(frame) for frame in read(data, cuts)] == elements
    assert read(data, cuts) == read(data, list(range(len(data))))


@given(objects, cuts)
def test_a_bare_object_is_an_array_of_one(element, cuts):
    data = json.dumps(element, indent=1).encode()
    assert read(b" \n" + data + b"\n", cuts) == [data]


def test_elements_come_as_soon_as_they_are_complete():
    reader = JsonArrayReader()
    assert reader.feed(b'[{"a": 1}') == [b'{"a": 1}']
    assert reader.feed(b"\n,\r\n") == []
    assert reader.feed(b'{"b": "}') == []
    assert reader.feed(b'"}]') == [b'{"b": "}"}']
    assert reader.eof() == []


def test_a_byte_order_mark_is_passed_over():
    assert read(b'\xef\xbb\xbf[{"a":1}]', [1, 2]) == [b'{"a":1}']
    assert read(b'\xef\xbb\xbf{"a":1}') == [b'{"a":1}']


@pytest.mark.parametrize(
    "data", [b"[", b"[{", b'[{"a', b'[{"a":"\\', b'[{"a":1}', b'[{"a":1},', b"{"]
)
def test_an_array_left_open_is_truncated(data):
    reader = JsonArrayReader()
    reader.feed(data)
    with pytest.raises(Truncated):
        reader.eof()


@pytest.mark.parametrize(
    "data", [b"x", b"[1]", b'["a"]', b"[[{}]]", b"[] x", b"[]{}", b"]", b"<html>"]
)
def test_what_is_no_array_of_objects_is_malformed(data):
    with pytest.raises(Malformed, match="expected a JSON array of objects"):
        read(data)


def test_elements_before_a_break_are_not_lost():
    reader = JsonArrayReader()
    assert reader.feed(b"[{}, 1]") == [b"{}"]
    with pytest.raises(Malformed):
        reader.feed(b"")
    with pytest.raises(Malformed):
        reader.eof()


@given(st.binary() | st.text('[]{}",\\ a').map(str.encode), cuts)
def test_any_bytes_end_the_same_way_in_any_split(data, cuts):
    def outcome(cuts: list[int]) -> object:
        reader, frames = JsonArrayReader(), []
        try:
            for piece in splits(data, cuts):
                frames += reader.feed(piece)
            return frames + reader.eof()
        except (Malformed, Truncated) as error:
            return frames, type(error)

    assert outcome(cuts) == outcome(list(range(len(data))))


def test_a_frame_above_the_limit_is_refused():
    reader = JsonArrayReader(max_frame=100)
    with pytest.raises(Malformed, match="more than 100 bytes"):
        reader.feed(b'[{"a": "' + b"x" * 200)


@pytest.mark.parametrize("step", [b"x", b"\\n", b'{"', b"[", b"\\"])
def test_a_long_element_in_small_pieces_costs_linear_time(step):
    def spent(size: int) -> float:
        reader = JsonArrayReader()
        reader.feed(b'[{"a": "')
        start = time.process_time()
        for _ in range(size):
            reader.feed(step)
        return time.process_time() - start

    short = min(spent(10_000) for _ in range(3))
    assert spent(100_000) < 40 * short  # quadratic would be 100
