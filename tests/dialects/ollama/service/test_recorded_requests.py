"""What real clients sent is taken or refused as the real server did."""

from pathlib import Path

import pytest
from tests.recordings.corpus import exchanges

from pondero.dialects import Rejected

from ..making import asked

pytestmark = pytest.mark.recordings


def fared(exchange):
    try:
        asked(exchange.asked)
    except Rejected as refused:
        return refused.response.status
    return 200


def test_recorded_requests_fare_as_they_did(recordings: Path):
    found = [
        each
        for each in exchanges(recordings, "ollama")
        if each.request["path"] == "/api/chat"  # a few are of /api/generate
    ]
    if not found:
        pytest.skip(f"no ollama.jsonl in {recordings}")
    wrong = {
        each.id: (each.status, status) for each in found if (status := fared(each)) != each.status
    }
    assert wrong == {}
