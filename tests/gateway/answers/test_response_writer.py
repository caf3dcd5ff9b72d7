"""The end of an answer, and a client that hangs up before it."""

import asyncio

import pytest

from pondero.canon import HttpResponse
from pondero.gateway.answers import response_writer as outlet_module
from pondero.gateway.answers.response_writer import ClientWatch, ResponseWriter


async def _nowhere(_message) -> None:
    pass


async def _nothing():
    await asyncio.Event().wait()


def asked(*, ends: bool) -> bool:
    """Return whether what follows was done, after a server said "disconnect"."""

    async def run() -> bool:
        said = asyncio.Event()

        async def receive():
            await said.wait()
            return {"type": "http.disconnect"}

        outlet = ResponseWriter(_nowhere)
        with ClientWatch().watch(outlet, receive):
            if ends:
                await outlet.whole(HttpResponse(200))
            said.set()
            await asyncio.sleep(0.3)
        return True

    return asyncio.run(run())


def test_what_follows_an_answer_that_has_ended_goes_on():
    assert asked(ends=True)


def test_a_client_that_hangs_up_before_the_end_ends_it():
    with pytest.raises(asyncio.CancelledError):
        asked(ends=False)


@pytest.mark.parametrize(("headers", "pinged"), [({}, False), ({"content-type": "x"}, True)])
def test_nothing_is_started_for_an_answer_that_takes_no_sign_of_life(monkeypatch, headers, pinged):
    monkeypatch.setattr(outlet_module, "SILENCE", -1.0)
    monkeypatch.setattr(outlet_module, "_LOOK", 0.001)
    pings = 0

    class Counted(ResponseWriter):
        async def ping(self) -> None:
            nonlocal pings
            pings += 1

    async def run() -> None:
        outlet = Counted(_nowhere)
        if headers:
            outlet.streams(headers, b": still here\n\n")
        with ClientWatch().watch(outlet, _nothing):
            await asyncio.sleep(0.1)

    asyncio.run(run())
    assert (pings > 0) is pinged
