"""What stands on a wire is found whatever the framing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.contract.wire import leaves, objects, says, strings, wire_usage, wire_value

ONE = {"text": "It is ", "count": 3}
TWO = {"text": "four – 四.", "done": True, "deep": [{"n": 17}]}
FRAMED = {
    "sse": "event: x\ndata: {one}\n\n: a comment\n\ndata: {two}\n\ndata: [DONE]\n\n",
    "lines": "{one}\n{two}\n",
    "an array": "[{one},\n{two}]",
}


@pytest.mark.parametrize("framed", FRAMED)
def test_words_over_several_pieces_are_found_in_every_framing(framed):
    import json

    one, two = (json.dumps(each, ensure_ascii=False) for each in (ONE, TWO))
    data = FRAMED[framed].replace("{one}", one).replace("{two}", two).encode()
    if framed != "an array":  # there, each piece has a place of its own
        assert says(data, "It is four – 四.")
    assert says(data, "four")
    assert not says(data, "five")
    assert wire_usage(data) == {3, 17}


def test_json_is_found_between_bytes_that_are_no_text():
    data = b"\x00\x00\x01\xff{\x10:event-type" + b'{"text":"four"}' + b"\xde\xad\xbe\xef"
    assert list(objects(data)) == [{"text": "four"}]


_VALUES = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)


@given(_VALUES)
def test_every_end_of_a_value_is_found(value):
    found = [leaf for _, leaf in leaves(value)]
    assert {leaf for leaf in found if isinstance(leaf, str) and leaf} == strings(value)


def test_a_way_leads_to_its_value_or_to_nothing():
    value = {"a": [{"b": 7}]}
    assert [(path, wire_value(value, path)) for path, _ in leaves(value)] == [(("a", 0, "b"), 7)]
    for nowhere in (("a", 1), ("x",), ("a", 0, "b", "c")):
        assert wire_value(value, nowhere) is None
