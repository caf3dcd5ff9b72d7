"""The ids that the Responses service writes: each tells where its item was."""

import pytest

from pondero.dialects.openai_responses.service.signatures import (
    ItemId,
    parse_id,
    stem_of,
    write_id,
)

STEM = stem_of(b"an answer")


@pytest.mark.parametrize("thought", [None, 0, 65_534])
def test_an_id_tells_where_its_item_and_the_thinking_before_it_were(thought):
    item = ItemId(STEM, 65_535, thought, stored=True)
    assert parse_id(write_id("msg", item)) == item


@pytest.mark.parametrize("thought", [65_535, 65_536, 2**40])
def test_thinking_that_an_id_has_no_room_for_is_not_told(thought):
    found = parse_id(write_id("msg", ItemId(STEM, 7, thought, stored=False)))
    assert found == ItemId(STEM, 7, None, stored=False)
