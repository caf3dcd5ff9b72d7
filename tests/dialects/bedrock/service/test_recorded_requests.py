"""What real clients sent is taken or refused as the real service did."""

import json
from pathlib import Path

import pytest
from tests.recordings.corpus import exchanges

from pondero.canon import HttpRequest
from pondero.dialects import Rejected

from ..making import WIRE

pytestmark = pytest.mark.recordings

# By id, with the reason. An entry that is no longer needed fails the test.
OTHERWISE = {
    "ec358efc22-dfd2ec385f": "refused for its length, which is not counted here",
}


def test_recorded_requests_fare_as_they_did(recordings: Path):
    wrong = {}
    here = set()
    for each in exchanges(recordings, "bedrock-converse"):
        if not each.asked or each.status == 403:
            continue  # no request, or a key we cannot tell from a good one
        here.add(each.id)
        http = HttpRequest(
            "POST",
            f"https://x{each.request['path']}",
            {"authorization": "Bearer k"},
            json.dumps(each.asked).encode(),
        )
        try:
            WIRE.service().accept(http, "bedrock")
            refused = None
        except Rejected as rejected:
            refused = rejected.response
        replays = "replay" in each.kind  # real seals cannot verify here
        if refused is not None and replays and b"Invalid `" in refused.body:
            continue
        if (refused.status if refused else 200) != each.status:
            wrong[each.id] = (
                f"{each.status} became {refused.body[:200]!r}" if refused else "accepted"
            )
    surprises = [f"{id}: {why}" for id, why in wrong.items() if id not in OTHERWISE]
    assert not surprises, "\n".join(surprises)
    assert [id for id in OTHERWISE if id in here and id not in wrong] == []
