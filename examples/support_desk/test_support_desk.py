"""The tests of the support desk: no key, no network, no cost.

cd examples/support_desk && pytest
"""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from support_desk import Ticket, answer, read_message

import pondero
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

ORDER = ScriptedTurn(text='{"topic": "order", "order": "A17"}')
REFUND = ScriptedTurn(text='{"topic": "refund", "order": null}')
HANDED_OVER = "A colleague will write to you today."


@contextmanager
def scripted(*turns: ScriptedTurn) -> Generator[pondero.Client, None, None]:
    """A client whose models say this. Requests that the real services reject are rejected."""
    with pondero.Client(transport=Emulator(script=turns)) as client:
        yield client


def test_a_message_becomes_a_ticket() -> None:
    with scripted(ORDER) as client:
        assert read_message(client, "Where is A17?") == Ticket("order", "A17")


def test_the_order_is_looked_up_before_the_answer() -> None:
    look_up = ScriptedTurn(tool_calls=(ScriptedCall("find_order", {"number": "A17"}),))
    tell = ScriptedTurn(thinking="Sent, it says.", text="It was sent on Monday.")
    with scripted(ORDER, look_up, tell) as client:
        assert answer(client, "Where is A17?") == "It was sent on Monday."


def test_a_refund_goes_to_a_person() -> None:
    with scripted(REFUND) as client:
        assert answer(client, "I want my money back.") == HANDED_OVER


@pytest.mark.parametrize("fault", ["429 30", "cut", "hang"])
def test_no_failure_loses_a_message(fault: str) -> None:
    failing = Emulator(faults=[fault])
    with pondero.Client(transport=failing, retry=pondero.Retry(attempts=1)) as client:
        assert answer(client, "Where is A17?") == HANDED_OVER


def test_sorting_sends_no_thinking() -> None:
    """The level is part of the program, so it is tested like the rest."""
    with scripted(ORDER) as client:
        prepared = client.prepare("gpt-5.5/off", "What is this about?")
    assert prepared.plan.fields["reasoning"]["effort"] == "none"
