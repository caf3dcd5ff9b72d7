"""A transport that can be looked into."""

import pytest

from pondero import AsyncClient
from pondero.cassettes import AsyncTap
from pondero.emulator import Emulator
from pondero.errors import AuthFailed, Unreachable
from pondero.exchange import Retry
from pondero.transport import AsyncHttpTransport

pytestmark = pytest.mark.anyio

KEY = "sk-" + "ant-planted-0123456789-abcdefghij"  # in two: nothing key-shaped stands in a file


@pytest.fixture
def anyio_backend():
    return "asyncio"


def client(tap):
    return AsyncClient(transport=tap, keys={"anthropic": KEY}, retry=Retry(attempts=1))


async def test_it_remembers_the_last_exchange_without_its_key():
    tap = AsyncTap(Emulator())
    assert tap.last is None
    for words in ("say one", "say two"):
        await client(tap).ask("claude-opus-5", words)
    last = tap.last
    assert b"say two" in last.request.body
    assert last.head.status == 200
    assert b"message_stop" in last.body
    assert last.request.headers["x-api-key"] == "REDACTED"
    assert KEY not in repr(last)


async def test_it_remembers_what_was_refused_and_what_nobody_answered():
    tap = AsyncTap(Emulator(faults=[401, "refused"]))
    with pytest.raises(AuthFailed):
        await client(tap).ask("claude-opus-5", "say one")
    assert tap.last.head.status == 401
    with pytest.raises(Unreachable):
        await client(tap).ask("claude-opus-5", "say two")
    assert tap.last.head is None
    assert "refused" in tap.last.end.message


async def test_it_needs_a_key_where_the_transport_behind_it_does():
    assert not AsyncTap(Emulator()).needs_key
    assert AsyncTap(AsyncHttpTransport()).needs_key
