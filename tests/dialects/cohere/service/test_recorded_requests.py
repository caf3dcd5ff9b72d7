"""What real clients sent is taken or refused as the real service did."""

import json
from pathlib import Path

import pytest
from tests.dialects.cohere.making import NAME
from tests.recordings.corpus import exchanges

from pondero.canon import HttpRequest
from pondero.dialects import Rejected
from pondero.dialects.cohere.service import SERVICE

pytestmark = pytest.mark.recordings

# By id, with the reason. An entry that is no longer needed fails the test.
OTHERWISE = {
    "cebd64713e-49f402708f": "it was the answer that failed, not the question",
}


def fared(exchange):
    headers = {"authorization": "Bearer k"}
    data = json.dumps(exchange.asked).encode()
    try:
        SERVICE.accept(HttpRequest("POST", "https://x/v2/chat", headers, data), NAME)
    except Rejected as refused:
        return refused.response.status
    return 200


def test_recorded_requests_fare_as_they_did(recordings: Path):
    found = [
        each
        for each in exchanges(recordings, "cohere")
        # the older wire, no request, or a key we cannot tell from a good one
        if each.request and each.request["path"] == "/v2/chat" and each.status != 401
    ]
    if not found:
        pytest.skip(f"no cohere.jsonl in {recordings}")
    wrong = {
        each.id: (each.status, status) for each in found if (status := fared(each)) != each.status
    }
    assert wrong.keys() == OTHERWISE.keys(), wrong
