"""Calls of hooks that raise anything, never end, or depend on what one client sends."""

import asyncio
import functools
import json
import logging
import sys
import threading
import time
from contextlib import suppress

import anyio
import pytest
from tests.gateway.asgi import came
from tests.gateway.hooks.gates import Gate, make_key, make_post

from pondero.canon import Reply
from pondero.gateway import Hook, HookCall, Reject
from pondero.gateway.config.model import HookConfig
from pondero.gateway.hooks import threads

ODD = "odd"
_LET_GO = threading.Event()


@pytest.fixture(autouse=True)
def _let_go():
    _LET_GO.clear()
    yield
    _LET_GO.set()


def _hook(name: str, **settings) -> HookConfig:
    return HookConfig(use=f"{__name__}:{name}", name=name.lower(), **settings)


def _body(text: str = "fine", **fields) -> dict:
    said = [{"role": "user", "content": text}]
    return {"model": "claude-opus-5", "max_tokens": 9_000, "messages": said, **fields}


def _ask(gate: Gate, text: str = "fine", *, key: str = "", **fields):
    return gate.post("/v1/messages", _body(text, **fields), key=key)


def _message(answer) -> str:
    return json.loads(answer.body)["error"]["message"]


class Own(BaseException):
    pass


RAISED = {
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "CancelledError": asyncio.CancelledError(),
    "StopIteration": StopIteration(),
    "StopAsyncIteration": StopAsyncIteration(),
    "RecursionError": RecursionError(),
    "Own": Own(),
}


class Raising(Hook):
    def __init__(self, settings) -> None:
        self._error = RAISED[settings["name"]]

    def on_request(self, call: HookCall, /) -> None:
        raise self._error


class AsyncRaising(Raising):
    async def on_request(self, call: HookCall, /) -> None:  # type: ignore[override]  # both are hooks
        await asyncio.sleep(0)
        raise self._error


class EventRaising(Raising):
    def on_request(self, call: HookCall, /) -> None:
        return None

    async def on_event(self, call: HookCall, event, /) -> None:
        raise self._error


@pytest.mark.parametrize("name", RAISED)
@pytest.mark.parametrize("hook", ["Raising", "AsyncRaising", "EventRaising"])
def test_whatever_a_hook_raises_is_its_failure(hook, name, caplog):
    gate = Gate(_hook(hook, settings={"name": name}, seconds=30))
    if name == "StopIteration" and hook != "Raising":
        name = "RuntimeError"  # what Python makes of it in a coroutine
    begun = time.monotonic()

    with caplog.at_level(logging.ERROR):
        answer = _ask(gate)

    assert time.monotonic() - begun < 15
    assert answer.status == 503
    assert f"the hook '{hook.lower()}' failed: {name} in line" in _message(answer)
    assert f"failed: {name}" in caplog.text
    assert [each.status for each in gate.receipts] == [503]


@pytest.mark.parametrize("name", RAISED)
def test_whatever_a_hook_raises_it_can_be_skipped(name):
    gate = Gate(_hook("Raising", settings={"name": name}, on_failure="skip"))

    answer = _ask(gate)

    assert answer.status == 200
    assert answer.headers["x-pondero-adjustments"] == "hook_failed:raising"


def _decorate(method):
    @functools.wraps(method)
    def call(*arguments):
        return method(*arguments)

    return call


class Awaited(Hook):
    """An ``async def`` in a decorator is a plain function that returns an awaitable."""

    def __init__(self, settings) -> None:
        self._at = settings["at"]

    @_decorate
    async def on_request(self, call: HookCall, /) -> Reject | None:
        return Reject("not this request") if self._at == "request" else None

    @_decorate
    async def on_event(self, call: HookCall, event, /) -> Reject | None:
        return Reject("not this request") if self._at == "event" else None

    @_decorate
    async def on_reply(self, call: HookCall, reply: Reply, /) -> Reject | None:
        return Reject("not this request") if self._at == "reply" else None


@pytest.mark.parametrize("at", ["request", "event", "reply"])
def test_what_a_plain_method_returns_to_be_awaited_is_awaited(at):
    gate = Gate(_hook("Awaited", settings={"at": at}))

    answer, stream = _ask(gate), _ask(gate, stream=True)

    assert (answer.status, _message(answer)) == (403, "not this request")
    assert b"not this request" in stream.body
    assert b"message_stop" not in stream.body


class LateAwaited(Hook):
    def on_request(self, call: HookCall, /):
        return asyncio.sleep(60)


class Steady(Hook):
    """Takes some time for every event, and for all of them more than one call may take."""

    async def on_event(self, call: HookCall, event, /) -> None:
        await asyncio.sleep(0.1)


class PlainSteady(Hook):
    def on_event(self, call: HookCall, event, /) -> None:
        time.sleep(0.1)


class AwaitedSteady(Hook):
    def on_event(self, call: HookCall, event, /):
        return asyncio.sleep(0.1)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hook", ["Steady", "PlainSteady", "AwaitedSteady"])
def test_events_that_arrive_together_have_the_time_of_a_call_each(hook, stream):
    begun = time.monotonic()

    answer = _ask(Gate(_hook(hook, seconds=0.5)), stream=stream)

    assert time.monotonic() - begun > 0.5
    assert answer.status == 200
    assert b"event: error" not in answer.body


def test_what_is_awaited_has_the_same_time():
    answer = _ask(Gate(_hook("LateAwaited", seconds=0.1)))
    assert "took longer than 0.1 s" in _message(answer)


def _is_odd(call: HookCall) -> bool:
    return call.request.messages[-1].text == ODD


class Hang(Hook):
    def on_request(self, call: HookCall, /) -> None:
        if _is_odd(call):
            _LET_GO.wait(60)


class SlowAndStrict(Hook):
    """Rejects a word, and is slow if a client wants it to be."""

    def on_request(self, call: HookCall, /) -> Reject | None:
        if _is_odd(call):
            time.sleep(0.4)
        return Reject("secret") if call.request.messages[-1].text == "Bluebird" else None


class BrokenAndStrict(SlowAndStrict):
    def on_request(self, call: HookCall, /) -> Reject | None:
        if _is_odd(call):
            raise IndexError
        return super().on_request(call)


def _run(gate: Gate, *asked: tuple[str, str]):
    """Return the answers to requests that are sent at once: each a text and a key."""

    async def run():
        posts = [make_post("/v1/messages", _body(text), key=key) for text, key in asked]
        return await asyncio.gather(*(came(gate.app, post) for post in posts))

    return asyncio.run(run())


KEYS = (make_key("ann"), make_key("bob"))


def test_calls_that_hang_hold_up_no_other_call(monkeypatch):
    monkeypatch.setattr(threads, "SHARE", 2)
    monkeypatch.setattr(threads, "THREADS", 4)
    gate = Gate(_hook("Hang", seconds=0.1), keys=KEYS)

    for _ in range(2):  # more than there are threads
        answers = _run(gate, *[(ODD, "ann")] * 2)
        assert {each.status for each in answers} == {503}
    for key in ("ann", "bob"):
        assert _ask(gate, key=key).status == 200


class Meeting(Hook):
    """Ends once two requests are in it."""

    def __init__(self, settings) -> None:
        self._barrier = threading.Barrier(2)

    def on_request(self, call: HookCall, /) -> None:
        if _is_odd(call):
            self._barrier.wait(5)


def test_requests_that_arrive_together_do_not_wait_for_one_thread():
    gate = Gate(_hook("Meeting"))

    async def run():
        await came(gate.app, make_post("/v1/messages", _body()))
        await asyncio.sleep(0.05)  # its thread is idle now
        odd = [came(gate.app, make_post("/v1/messages", _body(ODD))) for _ in range(2)]
        return await asyncio.gather(*odd)

    assert [answer.status for answer in asyncio.run(run())] == [200, 200]


def test_a_client_has_only_so_many_calls_that_never_end(monkeypatch, caplog):
    monkeypatch.setattr(threads, "LOST_OF_CLIENT", 2)
    gate = Gate(_hook("Hang", seconds=0.1), keys=KEYS)

    _run(gate, *[(ODD, "ann")] * 2)
    answer = _ask(gate, key="ann")

    assert answer.status == 503
    assert "has too many calls that never ended" in _message(answer)
    assert _ask(gate, key="bob").status == 200
    _LET_GO.set()
    time.sleep(0.2)
    assert _ask(gate, key="ann").status == 200


def test_a_client_that_uses_all_its_threads_does_not_take_those_of_others(monkeypatch):
    monkeypatch.setattr(threads, "SHARE", 2)
    gate = Gate(_hook("SlowAndStrict", seconds=1, on_failure="skip"), keys=KEYS)

    *slow, guarded = _run(gate, *[(ODD, "ann")] * 12, ("Bluebird", "bob"))

    assert guarded.status == 403
    assert any("hook_failed" in each.headers.get("x-pondero-adjustments", "") for each in slow)


@pytest.mark.parametrize("on_failure", ["skip", "reject"])
@pytest.mark.parametrize("name", ["SlowAndStrict", "BrokenAndStrict"])
def test_no_client_switches_a_hook_off_for_others(name, on_failure):
    gate = Gate(_hook(name, seconds=0.1, on_failure=on_failure), keys=KEYS)

    for _ in range(6):
        _ask(gate, ODD, key="ann")

    assert _ask(gate, key="bob").status == 200
    assert _ask(gate, "Bluebird", key="bob").status == 403


def test_a_hook_that_raises_errors_is_not_paused_at_all():
    gate = Gate(_hook("BrokenAndStrict", on_failure="skip"), keys=KEYS)

    for _ in range(6):
        assert _ask(gate, ODD, key="ann").status == 200

    assert _ask(gate, "Bluebird", key="ann").status == 403


TIDIED: list[str] = []


class Deaf(Hook):
    """Swallows what should end it."""

    async def on_request(self, call: HookCall, /) -> None:
        while _is_odd(call):
            with suppress(BaseException):
                await asyncio.sleep(3600)


class Tidy(Hook):
    async def on_request(self, call: HookCall, /) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.05)
            TIDIED.append(call.id)


def test_a_hook_that_swallows_its_end_is_left_where_it_is():
    gate = Gate(_hook("Deaf", seconds=0.1))
    begun = time.monotonic()

    answer = _ask(gate, ODD)  # the event loop ends too, which waits for all tasks

    assert time.monotonic() - begun < 10
    assert "took longer than 0.1 s" in _message(answer)
    assert _ask(gate).status == 200


def test_a_hook_that_swallows_its_end_keeps_no_gateway_from_ending():
    gate = Gate(_hook("Deaf", seconds=60))
    begun = time.monotonic()

    async def run():
        asked = asyncio.create_task(came(gate.app, make_post("/v1/messages", _body(ODD))))
        await asyncio.sleep(0.1)
        asked.cancel()
        with suppress(asyncio.CancelledError):
            await asked
        gate.context.close_hooks()

    asyncio.run(run())

    assert time.monotonic() - begun < 30


def test_a_hook_that_is_too_slow_may_tidy_up():
    TIDIED.clear()
    gate = Gate(_hook("Tidy", seconds=0.2))

    async def run():
        answer = await came(gate.app, make_post("/v1/messages", _body()))
        await asyncio.sleep(0.15)
        return answer

    assert asyncio.run(run()).status == 503
    assert len(TIDIED) == 1


class Asking(Hook):
    """Asks a service as httpx does: it cancels its own task until the tasks it began have ended."""

    async def on_request(self, call: HookCall, /) -> Reject:
        async def connect(scope: anyio.CancelScope) -> None:
            scope.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.02)
            for _ in range(5):
                await asyncio.sleep(0)

        async with anyio.create_task_group() as group:
            group.start_soon(connect, group.cancel_scope)
            await asyncio.sleep(3600)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(3600)
        return Reject("as the service says")


def test_a_hook_asks_a_service_with_a_library_that_cancels_its_task():
    answer = _ask(Gate(_hook("Asking")))

    assert (answer.status, _message(answer)) == (403, "as the service says")


class Blocking(Hook):
    async def on_request(self, call: HookCall, /) -> Reject | None:
        await asyncio.sleep(0.01)
        if _is_odd(call):
            time.sleep(0.5)  # noqa: ASYNC251 - what the gateway cannot interrupt
        await asyncio.sleep(0.01)
        return Reject("secret") if call.request.messages[-1].text == "Bluebird" else None


def test_a_call_that_blocks_all_others_is_the_failure_of_its_own_request_alone():
    gate = Gate(_hook("Blocking", seconds=0.2, on_failure="skip"), keys=KEYS)

    blocking, guarded = _run(gate, (ODD, "ann"), ("Bluebird", "bob"))

    assert blocking.headers["x-pondero-adjustments"] == "hook_failed:blocking"
    assert guarded.status == 403


class Closing(Hook):
    def close(self) -> None:
        sys.exit(3)


def test_a_hook_that_fails_as_it_is_closed_stops_nothing(caplog):
    gate = Gate(_hook("Closing"))
    gate.context.close_hooks()
    assert "failed: SystemExit" in caplog.text
