"""Every real exchange decodes, adds up, and can be sent back."""

from pathlib import Path

import pytest

from pondero.dialects import NAMES, get_dialect

from .corpus import FILES, exchanges
from .judge import Judge, wire

CASES = [(name, file) for name in NAMES for file in FILES[name]]

pytestmark = pytest.mark.recordings


@pytest.mark.parametrize(("name", "file"), CASES)
def test_every_exchange_of_a_file_decodes_to_what_stands_in_it(recordings: Path, name, file):
    judge = Judge(get_dialect(name), wire(name))
    found = exchanges(recordings, file)
    if not found:
        pytest.skip(f"no {file}.jsonl in {recordings}")
    wrong = {each.id: why for each in found if (why := judge.decoded(each))}
    _check(wrong, judge.wire.UNDECODED, {each.id for each in found})


@pytest.mark.parametrize(("name", "file"), CASES)
def test_thinking_that_was_sent_back_can_be_made_from_the_earlier_answers(
    recordings: Path, name, file
):
    judge = Judge(get_dialect(name), wire(name))
    found = exchanges(recordings, file)
    if not found:
        pytest.skip(f"no {file}.jsonl in {recordings}")
    wrong = {}
    for each in found:
        if "replay" in each.kind:
            earlier = [e for e in found if e.conversation == each.conversation and e is not each]
            if why := judge.replayed(each, earlier):
                wrong[each.id] = why
    _check(wrong, judge.wire.UNREPLAYED, {each.id for each in found})


def _check(wrong: dict[str, str], left_out: dict[str, str], here: set[str]) -> None:
    surprises = [f"{id}: {why}" for id, why in wrong.items() if id not in left_out]
    assert not surprises, f"{len(surprises)} exchanges:\n" + "\n".join(surprises[:40])
    stale = [id for id in left_out if id in here and id not in wrong]
    assert not stale, f"no longer needs to be left out: {stale}"
