"""Every provider's batches against the emulator, which was written apart from the same facts."""

import pytest
from tests.batch.services import MODELS

from pondero import Client, Retry
from pondero.emulator import Emulator

ASKS = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(5)]
ENDINGS = {
    None: {"answered"},
    "lost": {"answered"},
    "lost 500": {"answered"},
    "expired": {"expired"},
    "partial": {"answered", "failed", "expired"},
    "failed": {"failed"},
    "cancelled": {"answered", "cancelled"},
}


@pytest.mark.parametrize("fault", ENDINGS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_ends_as_the_service_says_and_is_made_once(name, fault):
    emulator = Emulator(any_model=True, faults=[fault] if fault else [])
    client = Client(transport=emulator, retry=Retry(attempts=3, waits=False))
    batch = client.batch(ASKS, MODELS[name], "low", max_tokens=4000)
    answers = batch.wait()
    assert list(answers) == [ask["id"] for ask in ASKS]
    expected = ENDINGS[fault]
    if (name, fault) == ("google", "cancelled"):  # counts two answers, and gives none of them
        expected = {"lost"}
    assert {answer.ending for answer in answers.values()} <= expected
    assert len({lot.remote for lot in batch.lots}) == 1
    for number, answer in enumerate(answers.values()):
        if answer.ending == "answered":
            assert str(number * 23) in answer.text
            assert answer.reply.usage.output
        else:
            assert answer.error
    if fault in (None, "lost", "lost 500"):
        assert len(_made(emulator)) == 1


def _made(emulator):
    """The requests that make a batch; adding to one, uploads and looks are none."""
    tails = ("/batches", "/batch/jobs", ":batchGenerateContent")
    return [e for e in emulator.log.entries if e.method == "POST" and e.path.endswith(tails)]
