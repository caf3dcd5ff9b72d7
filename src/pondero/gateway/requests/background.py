"""Answers in the background: the gateway works on them itself, and clients fetch them later.

Any process can be asked for an answer or told to stop it: the store has how far it is, and the
process that works on it looks there.
"""

import logging
from asyncio import CancelledError, ensure_future, sleep
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from msgspec import Raw, json
from msgspec.structs import replace

from ...canon import HttpResponse, get_decoder
from ...dialects import KeptResponses
from ...errors import PonderoError, RateLimited
from ..answers.response_writer import ResponseWriter
from ..server.context import GatewayContext, Requester
from ..state.background_runs import BackgroundRun, RunPlace, RunState
from ..state.kept_records import KeptRecord, pack_items, read_record
from ..state.kept_store import KeptStore
from .errors import read_reason
from .kept_answers import change_entry
from .request_id import HEADER
from .routed_request import RoutedRequest
from .translation import make_reply_context

LOG = logging.getLogger("pondero.gateway")

LOOK = 0.5
"""Seconds between two looks of a process at the answers that it works on."""
BEAT = 10.0
"""Seconds between two signs of life of an answer."""
SILENCE = 60.0
"""Seconds without a sign of life after which an answer has failed: its process is gone."""
SSE = "text/event-stream; charset=utf-8"
_GONE = "the gateway that worked on this answer has ended"
_ENDED = ("completed", "incomplete", "failed")  # for which a stream has a last event

Work = Callable[[ResponseWriter], Awaitable[None]]


_STATE = get_decoder(RunState)
_EVENTS = get_decoder(list[str])


def check_room(gateway: GatewayContext, requester: Requester) -> None:
    """Raise RateLimited if this process, or this client, has too many answers under way."""
    settings, runs = gateway.config.responses, gateway.runs
    is_free = runs.count() < settings.background
    if is_free and runs.count(requester.id) < settings.background_per_key:
        return
    message = "too many answers in the background at one time; wait until some are complete"
    raise RateLimited(message, status=429, retry_after=5.0)


async def begin_run(gateway: GatewayContext, routed: RoutedRequest, work: Work) -> BackgroundRun:
    """Begin to work on an answer, after the store knows of it."""
    rules, store, said = routed.service.kept_responses, gateway.kept, routed.stored.said
    if rules is None or store is None or said is None:
        raise TypeError("an answer in the background needs a store")
    call, runs = routed.call, gateway.runs
    answering = make_reply_context(routed.service, routed.parsed, id=call.id)
    seed = call.id.encode()
    record = KeptRecord(
        answer=Raw(rules.begin(answering)),
        input=pack_items(rules.name_items(said.input, seed).rows),
        before=routed.stored.before,
        name=routed.resolved.name,
        is_background=True,
        has_events=said.streams,
    )
    run = BackgroundRun(RunPlace(call.requester.id, rules.make_id(seed)), record)
    run.beat = gateway.now()
    state = RunState(beat=run.beat)
    entries = {run.place.record: json.encode(record), run.place.state: json.encode(state)}
    with runs.hold(call.requester.id):
        await store.put(entries)
    runs.running[run.place.record] = run
    run.task = ensure_future(_work(gateway, routed, run, work))
    if runs.looking is None or runs.looking.done():
        runs.looking = ensure_future(_look(gateway, store, rules))
    return run


async def _work(
    gateway: GatewayContext, routed: RoutedRequest, run: BackgroundRun, work: Work
) -> None:
    rules, store = routed.service.kept_responses, gateway.kept
    run.begin_work()
    try:
        with suppress(CancelledError):
            await work(run.writer)
    except Exception:
        LOG.exception("an answer in the background failed")
    finally:
        run.is_ending = True
        try:
            if run.failure is not None:
                run.events += _write_failure(routed, run.failure)
            if rules is not None and store is not None:
                await _end(gateway, store, rules, run)
        except PonderoError as error:
            LOG.error("the end of an answer is not kept: %s", error)  # noqa: TRY400 - no traceback
        except Exception:
            LOG.exception("the end of an answer is not kept")
        gateway.runs.running.pop(run.place.record, None)  # its client may begin another
        run.ended.set()
        async with run.changed:
            run.changed.notify_all()


async def _look(gateway: GatewayContext, store: KeptStore, rules: KeptResponses) -> None:
    """Notice cancellations by other processes, and tell them how far the answers are."""
    while gateway.runs.running:
        await sleep(LOOK)
        try:
            await _look_once(gateway, store, rules)
        except PonderoError:
            continue  # the next look may find the store again
        except Exception:
            LOG.exception("answers in the background could not be looked after")


async def _look_once(gateway: GatewayContext, store: KeptStore, rules: KeptResponses) -> None:
    runs = [run for run in gateway.runs.running.values() if not run.is_ending]
    states = await store.get([run.place.state for run in runs])
    now = gateway.now()
    for run in runs:
        data = states.get(run.place.state)
        state = None if data is None else _STATE.decode(data)
        if state is not None and state.is_cancelled:
            run.cancel()
            continue
        if not run.is_ending:
            await _save_events(store, rules, run)
        if state is not None and now - run.beat >= BEAT and not run.is_ending:
            run.beat = now
            # If another process changed it meanwhile, the next look sees that.
            await store.swap(run.place.state, data, json.encode(replace(state, beat=now)))


def _write_failure(routed: RoutedRequest, failure: HttpResponse) -> list[bytes]:
    """Return the events of an answer that failed before its first event."""
    context = make_reply_context(routed.service, routed.parsed, id=routed.call.id)
    data = routed.service.stream(context).fail(failure)
    return [frame + b"\n\n" for frame in data.split(b"\n\n") if frame]


async def _save_events(store: KeptStore, rules: KeptResponses, run: BackgroundRun) -> None:
    """Store that an answer is worked on, and the events since the last time."""
    async with run.saving:
        if not run.begun:
            run.begun = True
            body = rules.write_status(bytes(run.record.answer), "in_progress", None)
            begun = replace(run.record, answer=Raw(body))
            # The whole answer may be there by now; it is not written over.
            await store.swap(run.place.record, json.encode(run.record), json.encode(begun))
        new, at = run.events[run.saved :], run.parts
        if not run.record.has_events or not new:
            return
        texts = [event.decode("utf-8", "replace") for event in new]
        await store.put({run.place.events(at): json.encode(texts)})
        run.saved += len(new)
        run.parts = at + 1


async def _end(
    gateway: GatewayContext, store: KeptStore, rules: KeptResponses, run: BackgroundRun
) -> None:
    """Store how an answer ended; the whole answer was stored when it was complete."""
    run.begun = True  # no status is written over the end
    await _save_events(store, rules, run)

    def end(data: bytes) -> bytes | None:
        record = read_record(data)
        if record is None or not is_open(record, rules):
            return None
        ended = _write_end(rules, run, bytes(record.answer))
        return json.encode(replace(record, answer=Raw(ended)))

    await change_entry(store, run.place.record, end)
    state = RunState(beat=gateway.now(), is_over=True, parts=run.parts)
    await store.put({run.place.state: json.encode(state)})
    if not await store.get([run.place.record]):  # its client has deleted it since it was complete
        await store.delete([run.place.state, *map(run.place.events, range(run.parts))])


def _write_end(rules: KeptResponses, run: BackgroundRun, body: bytes) -> bytes:
    """Return an answer that is not complete: cancelled by its client, or failed."""
    if run.writer.left:
        return rules.write_status(body, "cancelled", None)
    ended = (rules.find_ended(event.partition(b"data:")[2]) for event in run.events[-1:])
    if (found := next(ended, None)) is not None:
        return found.body
    why = read_reason(run.failure) if run.failure is not None else _GONE
    return rules.write_status(body, "failed", why)


def is_open(record: KeptRecord, rules: KeptResponses) -> bool:
    """Return whether an answer is still worked on."""
    status = rules.status_of(bytes(record.answer))
    return record.is_background and status in ("queued", "in_progress")


async def show_run(
    gateway: GatewayContext, routed: RoutedRequest, run: BackgroundRun, writer: ResponseWriter
) -> None:
    """Tell a client of the answer that is worked on, or show it while it is made.

    If the client leaves, the work goes on.
    """
    rules, store = routed.service.kept_responses, gateway.kept
    headers = {HEADER: routed.call.id}
    if not run.record.has_events or rules is None or store is None:
        headers["content-type"] = "application/json"
        await writer.whole(HttpResponse(200, headers, bytes(run.record.answer)))
        return
    writer.streams({"content-type": SSE, **headers}, routed.service.ping)
    async for event in follow_events(gateway, store, rules, run.place):
        await writer.write(event)
    await writer.end()


# -- from any process ----------------------------------------------------------------------------


async def check_life(
    gateway: GatewayContext, store: KeptStore, rules: KeptResponses, place: RunPlace
) -> KeptRecord | None:
    """Return an answer; one whose process is gone has failed."""
    found = await store.get([place.record, place.state])
    record, data = read_record(found.get(place.record)), found.get(place.state)
    if record is None or not is_open(record, rules) or gateway.runs.find(place) is not None:
        return record
    state = None if data is None else _STATE.decode(data)
    if state is not None and not state.is_over and not _is_silent(gateway, state):
        return record
    # Its process may have written the end since.
    before = found[place.record]
    failed = rules.write_status(bytes(record.answer), "failed", _GONE)
    ended = replace(record, answer=Raw(failed))
    if await store.swap(place.record, before, json.encode(ended)):
        return ended
    return read_record((await store.get([place.record])).get(place.record))


async def cancel_run(
    gateway: GatewayContext, store: KeptStore, rules: KeptResponses, place: RunPlace
) -> KeptRecord | None:
    """Stop an answer, whichever process works on it; return it once it has stopped."""
    record = await check_life(gateway, store, rules, place)
    if record is None or not is_open(record, rules):
        return record
    if (run := gateway.runs.find(place)) is not None:
        run.cancel()
        await run.ended.wait()
        return read_record((await store.get([place.record])).get(place.record))
    while record is not None and is_open(record, rules):
        data = (await store.get([place.state])).get(place.state)
        state = None if data is None else _STATE.decode(data)
        if state is not None and not state.is_cancelled and not state.is_over:
            await store.swap(place.state, data, json.encode(replace(state, is_cancelled=True)))
        await sleep(LOOK / 2)
        record = await check_life(gateway, store, rules, place)
    return record


async def delete_run(store: KeptStore, place: RunPlace) -> None:
    """Delete the state and events of a deleted answer; its process deletes any later ones."""
    names, number = [place.state], 0
    while await store.get([place.events(number)]):
        names.append(place.events(number))
        number += 1
    await store.delete(names)


async def follow_events(
    gateway: GatewayContext, store: KeptStore, rules: KeptResponses, place: RunPlace
) -> AsyncIterator[bytes]:
    """Yield all events of an answer to its end, those that are still to come too."""
    if (run := gateway.runs.find(place)) is not None:
        sent = 0
        while new := await run.wait_for_events(sent):
            sent += len(new)
            for event in new:
                yield event
        return
    number, last = 0, b""
    while True:
        found = await store.get([place.events(number), place.state])
        data, state = found.get(place.events(number)), found.get(place.state)
        if data is not None:
            for text in _EVENTS.decode(data):
                last = text.encode()
                yield last
            number += 1
            continue
        if state is None or _STATE.decode(state).is_over:
            break
        record = await check_life(gateway, store, rules, place)
        if record is None or _is_silent(gateway, _STATE.decode(state)):
            break
        await sleep(LOOK / 2)
    record = await check_life(gateway, store, rules, place)
    end = _write_missing_end(record, rules, last) if record is not None else None
    if end is not None:
        yield end


def _write_missing_end(record: KeptRecord, rules: KeptResponses, last: bytes) -> bytes | None:
    """Return the end of the events of a process that is gone; None if it wrote one itself."""
    body, told = bytes(record.answer), last.partition(b"data:")[2]
    if rules.status_of(body) not in _ENDED or rules.find_ended(told) is not None:
        return None
    number = rules.number_of(told) if told else -1
    return rules.write_ended(body, 0 if number is None else number + 1)


def _is_silent(gateway: GatewayContext, state: RunState) -> bool:
    """Return whether the process that worked on an answer is gone."""
    return gateway.now() - state.beat >= SILENCE


def is_after(event: bytes, rules: KeptResponses, number: int) -> bool:
    """Return whether an event comes after the one with this number."""
    found = rules.number_of(event.partition(b"data:")[2])
    return found is None or found > number
