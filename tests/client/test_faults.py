"""Whatever goes wrong on the way: the right error, or a second try that goes well; never a hang."""

import asyncio

import pytest

import pondero
from pondero.emulator import Emulator, Fault
from pondero.errors import (
    AuthFailed,
    BadRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    RateLimited,
    ServerFailed,
    ServiceError,
    Timeout,
    Truncated,
    Unreachable,
    WireError,
)
from pondero.exchange import Retry

MODELS = (
    "claude-opus-5/low",
    "gpt-5.1/low",
    "gemini-3-flash-preview/low",
    "deepseek:deepseek-chat",
)
SUM = "What is 17 * 23?"
FINAL = {400: BadRequest, 401: AuthFailed, 403: PermissionDenied, 404: NotFound}
PASSING = {
    429: RateLimited,
    500: ServerFailed,
    503: (Overloaded, ServerFailed),
    529: (Overloaded, ServerFailed),
    "html": ServiceError,
    "empty": (Truncated, ServiceError, WireError),
    "refused": Unreachable,
    "hang": Timeout,
}
HARMLESS = ("trickle", "split")


def emulator(*faults):
    async def asleep(seconds):
        await asyncio.sleep(0)

    return Emulator(faults=faults, sleep=lambda seconds: None, asleep=asleep)


def both(transport, model, retry):
    """Ask waiting and awaiting; yield each answer, or its error."""
    client = pondero.Client(transport=transport, retry=retry)
    yield lambda: client.ask(model, SUM)
    aclient = pondero.AsyncClient(transport=transport, retry=retry)
    yield lambda: asyncio.run(aclient.ask(model, SUM))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("fault", "kind"), FINAL.items())
def test_what_stays_wrong_is_raised_at_once(model, fault, kind):
    transport = emulator(fault, fault)
    for ask in both(transport, model, Retry(waits=False)):
        with pytest.raises(kind):
            ask()
    assert len(transport.log.entries) == 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("fault", "kind"), PASSING.items())
def test_what_passes_is_raised_after_the_last_try_and_forgotten_after_a_good_one(
    model, fault, kind
):
    for ask in both(emulator(fault, fault), model, Retry(attempts=1)):
        with pytest.raises(kind):
            ask()
    for ask in both(emulator(fault, None, fault, None), model, Retry(waits=False)):
        assert "391" in ask().text


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", HARMLESS)
def test_how_bytes_are_cut_changes_nothing(model, fault):
    for ask in both(emulator(fault, fault), model, Retry(attempts=1)):
        assert "391" in ask().text


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["cut", "broken", "error_event", "hang"])
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(model, kind):
    """Before anything is seen it is tried again; after, it is an error; once it has ended, neither."""
    whole = Emulator()
    pondero.Client(transport=whole).ask(model, SUM)
    for at in range(0, whole.log.entries[0].sent, 97):
        place = at // 97 if kind == "error_event" else at
        transport = emulator(Fault(kind=kind, at=place), None)
        chat = pondero.Chat(
            model, client=pondero.Client(transport=transport, retry=Retry(waits=False))
        )
        try:
            reply = chat.send(SUM)
        except (Truncated, Timeout, ServiceError):
            assert chat.messages == ()
            assert len(transport.log.entries) == 1
        else:
            assert "391" in reply.text
            assert len(chat.messages) == 2
