"""The same faults over a real connection: the caller's own clocks end what hangs."""

import asyncio

import pytest
from tests.shells import Awaiting, Waiting

import pondero
from pondero.emulator import Emulator, Fault, run_emulator_in_thread
from pondero.errors import Overloaded, RateLimited, Timeout, TransportError, Truncated
from pondero.exchange import Retry, Timeouts
from pondero.transport import AsyncHttpTransport, HttpTransport

SUM = "What is 17 * 23?"
PATIENT = Timeouts()
IMPATIENT = {"hang": Timeouts(first_byte=0.2), "hang 2000": Timeouts(between_bytes=1.0)}


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


@pytest.fixture(params=["sync", "async"])
def talking(request, url, emulator):
    """A shell, and a function that makes a chat over real HTTP, of so much patience."""
    emulator.reset()
    waits = request.param == "sync"
    shell = Waiting() if waits else Awaiting()
    made = []

    def chat(timeouts, history=()):
        client = (pondero.Client if waits else pondero.AsyncClient)(
            transport=(HttpTransport if waits else AsyncHttpTransport)(),
            urls={"anthropic": url},
            keys={"anthropic": "k"},
            timeouts=timeouts,
            retry=Retry(attempts=2, waits=False),
        )
        made.append(client)
        return shell.chat("claude-opus-5/low", client, messages=history)

    yield shell, chat
    for client in made:
        client.close() if waits else asyncio.run(client.aclose())


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("hang", Timeout),
        ("hang 2000", Timeout),
        ("cut 2000", Truncated),
        ("broken 2000", Truncated),
        ("refused", (TransportError, Truncated)),
        ("no_end", Truncated),
        ("503", Overloaded),
        ("429", RateLimited),
    ],
)
def test_what_goes_wrong_ends_in_its_error_and_the_next_turn_goes_well(
    talking, emulator, fault, kind
):
    shell, chat = talking
    emulator.faults.extend([Fault.parse(fault)] * 2)
    failing = chat(IMPATIENT.get(fault, PATIENT))
    with pytest.raises(kind):
        shell.send(failing, SUM)
    assert len(emulator.log.entries) == 2
    assert failing.messages == ()
    assert "391" in shell.send(chat(PATIENT, failing.messages), SUM).text


@pytest.mark.parametrize("fault", ["refused", "503", "trickle", "split", "slow 0.01"])
def test_what_passes_is_not_noticed(talking, emulator, fault):
    shell, chat = talking
    emulator.faults.append(Fault.parse(fault))
    talk = chat(PATIENT)
    assert "391" in shell.send(talk, SUM).text
    assert len(talk.messages) == 2
