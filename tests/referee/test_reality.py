"""What the real services accepted and rejected, the emulator accepts and rejects."""

from pathlib import Path

import pytest
from tests.recordings.corpus import FILES, exchanges
from tests.referee.exceptions import EXCEPTIONS
from tests.referee.reality import can_be_sent_again, send_again

pytestmark = pytest.mark.recordings


@pytest.mark.parametrize("file", [file for files in FILES.values() for file in files])
def test_recorded_requests_are_decided_as_they_were(recordings: Path, file):
    found = [each for each in exchanges(recordings, file) if can_be_sent_again(each)]
    if not found:
        pytest.skip(f"no {file}.jsonl in {recordings}")
    verdicts = {each.id: send_again(file, each) for each in found}
    wrong = {id: verdict for id, verdict in verdicts.items() if not verdict.agrees}
    left_out = EXCEPTIONS.get(file, {})
    surprises = [f"{id}: {verdict}" for id, verdict in wrong.items() if id not in left_out]
    assert not surprises, f"{len(surprises)} requests:\n" + "\n".join(surprises)
    stale = [id for id in left_out if id in verdicts and id not in wrong]
    assert not stale, f"no longer an exception: {stale}"
