"""What real clients sent is taken or refused as the real service did."""

import json
from pathlib import Path

import pytest
from tests.recordings.corpus import exchanges
from tests.referee import reality

from pondero.canon import HttpRequest
from pondero.dialects import Rejected

from .wiring import WIRE

pytestmark = pytest.mark.recordings

# By id, with the reason. An entry that is no longer needed fails the test.
OTHERWISE = {
    "14a23f76e7-f82ec48c01": "claude-2.1, long retired",
}
BETAS = f"{reality.BETAS},thinking-binding-controls-2026-08-01"


def test_recorded_requests_fare_as_they_did(recordings: Path):
    wrong = {}
    here = set()
    for each in exchanges(recordings, "anthropic"):
        if not each.asked or each.provider == "local" or each.status == 401:
            continue  # another engine, no request, or a key we cannot tell from a good one
        here.add(each.id)
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        recorded = each.request.get("headers") or {}
        headers["anthropic-beta"] = recorded.get("anthropic-beta", BETAS)
        path = each.request["path"] if each.provider == "vertex" else "/v1/messages"
        http = HttpRequest("POST", f"https://x{path}", headers, json.dumps(each.asked).encode())
        try:
            WIRE.service().accept(http, "anthropic")
            refused = None
        except Rejected as rejected:
            refused = rejected.response
        replays = "replay" in each.kind  # real seals cannot verify here
        if refused is not None and replays and b"Invalid `" in refused.body:
            continue
        if refused is not None and b"File not found" in refused.body:
            continue  # uploaded to the real service only
        if (refused.status if refused else 200) != each.status:
            wrong[each.id] = (
                f"{each.status} became {refused.body[:200]!r}" if refused else "accepted"
            )
    surprises = [f"{id}: {why}" for id, why in wrong.items() if id not in OTHERWISE]
    assert not surprises, "\n".join(surprises)
    assert [id for id in OTHERWISE if id in here and id not in wrong] == []
