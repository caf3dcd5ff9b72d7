"""A stream that is read at once, as ``ask`` does: one request, and the end is told once."""

import asyncio

import pytest

import pondero
from pondero.canon import Finished, TextDelta
from pondero.emulator import Emulator
from pondero.errors import Overloaded, UsageError
from pondero.exchange import Retry

MODEL, SUM = "claude-opus-5/low", "What is 17 * 23?"
ONCE = Retry(attempts=1)


async def events_of(stream):
    """Return the events of either kind of stream."""
    if isinstance(stream, pondero.AsyncStream):
        return [event async for event in stream]
    return list(stream)


async def read_all(stream):
    found = stream.read_all()
    return await found if isinstance(stream, pondero.AsyncStream) else found


def both(emulator, work, **options):
    """Give the work a stream of each kind; return what each gave."""
    return [
        asyncio.run(work(kind(transport=emulator, **options).stream(MODEL, SUM)))
        for kind in (pondero.Client, pondero.AsyncClient)
    ]


def test_what_was_read_at_once_has_no_events_left_and_is_asked_for_once():
    async def work(stream):
        first = await read_all(stream)
        return first is await read_all(stream), await events_of(stream), stream.reply is first

    emulator, replies = Emulator(), []
    assert both(emulator, work, on_reply=replies.append) == [(True, [], True)] * 2
    assert len(emulator.log.entries) == len(replies) == 2


def test_events_that_were_begun_are_read_to_their_end():
    async def work(stream):
        if isinstance(stream, pondero.AsyncStream):
            await anext(aiter(stream))
        else:
            next(iter(stream))
        reply = await read_all(stream)
        return "391" in reply.text, await events_of(stream)

    emulator, replies = Emulator(), []
    assert both(emulator, work, on_reply=replies.append) == [(True, [])] * 2
    assert len(emulator.log.entries) == len(replies) == 2


def test_what_failed_is_not_asked_again_by_reading_again():
    async def work(stream):
        with pytest.raises(Overloaded):
            await read_all(stream)
        with pytest.raises(UsageError, match="not ended"):
            await read_all(stream)
        return await events_of(stream)

    emulator = Emulator(faults=[529, 529])
    assert both(emulator, work, retry=ONCE) == [[]] * 2
    assert len(emulator.log.entries) == 2


def test_a_stream_that_was_closed_sends_nothing():
    async def work(stream):
        if isinstance(stream, pondero.AsyncStream):
            await stream.aclose()
        else:
            stream.close()
        with pytest.raises(UsageError, match="not ended"):
            await read_all(stream)

    emulator = Emulator()
    both(emulator, work)
    assert emulator.log.entries == ()


def test_read_at_once_or_event_by_event_the_reply_is_the_same():
    async def work(stream):
        events = await events_of(stream)
        kinds = [type(event) for event in (events[0], events[-1])]
        words = "".join(event.text for event in events if isinstance(event, TextDelta))
        return kinds[1], words, stream.reply.usage

    async def at_once(stream):
        reply = await read_all(stream)
        return Finished, reply.text, reply.usage

    emulator = Emulator()
    assert both(emulator, work) == both(emulator, at_once)
