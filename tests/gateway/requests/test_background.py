"""Answers in the background: the gateway works on them, clients poll, follow and cancel them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.gateway.counting_service import CountingService, Script
from tests.gateway.stored_world import BACKS, KEYS, World, make_keys, read_stream

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayRoute,
    RateLimitRule,
    ResponsesConfig,
    SpendBudget,
)
from pondero.gateway.requests import background
from pondero.gateway.state.background_runs import RunState

Test = Callable[[World], Awaitable[None]]
ROUTES = tuple(
    GatewayRoute(match=name, to=(to,), retries=0)
    for name, to in {**BACKS, "gpt": "openai:gpt-5.5"}.items()
)


class PausedService(CountingService):
    """A service that waits for ``go`` before it writes its third frame, or another."""

    def __init__(self, scripts: list[Script] | None = None, *, frame: int = 3) -> None:
        super().__init__(scripts)
        self.frame = frame
        self.go = asyncio.Event()
        self.reached = asyncio.Event()

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        return _Paused(await super().send(request, timeouts), self)


class _Paused:
    def __init__(self, answer: Any, service: PausedService) -> None:
        self.head = answer.head
        self._answer = answer
        self._service = service

    async def __aiter__(self) -> AsyncIterator[bytes]:
        number = 0
        async for frame in self._answer:
            number += 1
            if number == self._service.frame:
                self._service.reached.set()
                await self._service.go.wait()
            yield frame

    async def aclose(self) -> None:
        await self._answer.aclose()


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LOOK", 0.02)


def run(test: Test, **more: Any) -> None:
    async def body() -> None:
        world = World(routes=ROUTES, **more)
        try:
            await asyncio.wait_for(test(world), 60)
        finally:
            await world.aclose()

    asyncio.run(body())


async def begin(world: World, model: str = "claude", key: str = "any", **more: Any) -> Any:
    request = {"model": model, "input": "Hello?", "background": True, **more}
    return await world.call("POST", "/responses", request, key)


async def poll(world: World, id: str, key: str = "any") -> Any:
    """Return an answer once it has ended."""
    while True:
        status, answer = await world.call("GET", f"/responses/{id}", None, key)
        assert status == 200, answer
        if answer["status"] not in ("queued", "in_progress"):
            return answer
        await asyncio.sleep(0.01)


async def ended(world: World) -> None:
    """Wait for all answers that a gateway works on."""
    for under_way in list(world.gateway.runs.running.values()):
        await under_way.ended.wait()


def rows(world: World) -> list[Any]:
    """Return the records of answers, without those of polls."""
    return [row for row in world.rows if row.reason != "stored answer"]


def use(row: Any) -> tuple[int, int, int]:
    usage = row.usage
    return usage.known_total, usage.thinking or 0, usage.input or 0


@pytest.mark.parametrize("back", BACKS)
def test_an_answer_is_polled_to_its_end_on_every_upstream(back):
    async def body(world: World) -> None:
        status, begun = await begin(world, back)
        assert (status, begun["status"], begun["background"]) == (200, "queued", True)
        answer = await poll(world, begun["id"])
        assert (answer["status"], answer["id"]) == ("completed", begun["id"])
        assert answer["usage"]["output_tokens"] > 0
        await ended(world)
        more = {"model": back, "input": "Go on.", "previous_response_id": begun["id"]}
        assert (await world.call("POST", "/responses", more))[0] == 200
        (first, _) = rows(world)
        assert (first.end, first.status) == ("done", 200)

    run(body)


@pytest.mark.parametrize("back", ["claude", "gemini", "deepseek", "gpt"])
def test_one_row_has_the_counts_that_the_service_has(back):
    service = CountingService([Script(thinking=7)])

    async def body(world: World) -> None:
        _, begun = await begin(world, back)
        await poll(world, begun["id"])
        await ended(world)
        (served,) = service.served
        (row,) = rows(world)
        assert use(row)[0] == served.total
        assert not row.estimated

    run(body, service=service)


def test_the_state_is_queued_then_in_progress_then_completed():
    async def body(world: World) -> None:
        service = world.service
        _, begun = await begin(world)
        assert begun["status"] == "queued"
        await service.reached.wait()
        states = []
        while "in_progress" not in states:
            states.append((await world.call("GET", f"/responses/{begun['id']}"))[1]["status"])
            await asyncio.sleep(0.01)
        assert set(states[:-1]) <= {"queued"}
        service.go.set()
        assert (await poll(world, begun["id"]))["status"] == "completed"

    run(body, service=PausedService())


def test_cancelling_stops_the_service_and_counts_what_it_served():
    service = PausedService([Script(thinking=7)])
    budget = SpendBudget(tokens=10_000_000)

    async def body(world: World) -> None:
        mine = KEYS["mine"]
        _, begun = await begin(world, "claude", mine, max_output_tokens=500)
        await service.reached.wait()
        path = f"/responses/{begun['id']}/cancel"
        status, answer = await world.call("POST", path, None, mine)
        assert (status, answer["status"]) == (200, "cancelled")
        await ended(world)
        (served,) = service.served
        assert served.closed
        (row,) = [row for row in rows(world) if row.model]
        assert row.end == "left"
        assert row.estimated
        assert use(row)[0] >= served.total
        again = await world.call("POST", path, None, mine)
        assert again == (200, answer)
        assert (await world.call("GET", f"/responses/{begun['id']}", None, mine))[1] == answer
        assert (await world.call("POST", path, None, KEYS["other"]))[0] == 404

    run(body, service=service, keys=make_keys(budget=budget))


def test_only_an_answer_in_the_background_can_be_cancelled():
    async def body(world: World) -> None:
        answer = await world.ask("claude", "Hello?")
        status, error = await world.call("POST", f"/responses/{answer['id']}/cancel")
        assert status == 400
        assert error["error"]["message"] == "Cannot cancel a synchronous response."
        assert (await world.call("POST", "/responses/resp_unknown/cancel"))[0] == 404

    run(body)


def test_an_answer_whose_service_fails_is_failed_with_the_reason_and_one_row():
    service = CountingService([Script(status=400)])

    async def body(world: World) -> None:
        _, begun = await begin(world, "claude", stream=False)
        answer = await poll(world, begun["id"])
        await ended(world)
        assert answer["status"] == "failed"
        assert answer["error"]["message"]
        (row,) = rows(world)
        assert (row.end, use(row)[0]) == ("failed", 0)

    run(body, service=service)


class FailingService(CountingService):
    """A service whose errors have these bytes."""

    def __init__(self, body: bytes) -> None:
        super().__init__([Script(status=400)])
        self._body = body

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        answer = await super().send(request, timeouts)
        answer._frames = iter([self._body])
        return answer


@pytest.mark.parametrize("back", ["gpt", "claude"])
@pytest.mark.parametrize(
    "said",
    [
        b'{"error": {"message": "no", "type": "server_error"}}',
        b'{"error": {"message": 7}}',
        b'{"error": "no"}',
        b'{"detail": "no"}',
        b"[]",
        b"<html>no</html>",
        b"",
    ],
)
def test_an_error_in_any_words_fails_an_answer_and_frees_its_place(back, said):
    service = FailingService(said)

    async def body(world: World) -> None:
        _, begun = await begin(world, back, stream=False)
        async with asyncio.timeout(30):
            await ended(world)
        assert (await poll(world, begun["id"]))["status"] == "failed"
        cancelled = await world.call("POST", f"/responses/{begun['id']}/cancel")
        assert (cancelled[0], cancelled[1]["status"]) == (200, "failed")
        assert (await begin(world, back))[0] == 200

    run(body, service=service, responses=ResponsesConfig(background=1))


def test_the_end_of_the_gateway_fails_what_is_under_way_and_counts_it():
    service = PausedService()

    async def body(world: World) -> None:
        _, begun = await begin(world)
        await service.reached.wait()
        await world.gateway.runs.aclose()
        status, answer = await world.call("GET", f"/responses/{begun['id']}")
        assert (status, answer["status"]) == (200, "failed")
        (row,) = rows(world)
        assert (row.end, row.status) == ("failed", 503)
        assert use(row)[0] >= service.served[0].total

    run(body, service=service)


def test_an_answer_that_is_stopped_as_it_begins_has_its_row_and_its_end():
    async def body(world: World) -> None:
        runs = world.gateway.runs

        class Closing(dict[str, Any]):
            """Stops what is put into it, before its task can run."""

            def __setitem__(self, name: str, started: Any) -> None:
                super().__setitem__(name, started)
                asyncio.get_running_loop().call_soon(started.stop)

        runs.running = Closing()
        # The task is created after this call: its first step comes after the stop.
        _, begun = await begin(world, stream=False)
        async with asyncio.timeout(30):
            await ended(world)
        assert (await poll(world, begun["id"]))["status"] == "failed"
        assert len(rows(world)) == 1

    run(body, service=CountingService())


def test_a_budget_is_reserved_while_an_answer_is_worked_on():
    service = PausedService()

    async def body(world: World) -> None:
        mine = KEYS["mine"]
        _, begun = await begin(world, "claude", mine, max_output_tokens=6_000)
        await service.reached.wait()
        status, _ = await begin(world, "claude", mine, max_output_tokens=6_000)
        assert status == 429
        service.go.set()
        await poll(world, begun["id"], mine)
        await ended(world)
        status, _ = await begin(world, "claude", mine, max_output_tokens=6_000)
        assert status == 200

    run(body, service=service, keys=make_keys(budget=SpendBudget(tokens=7_000)))


def test_a_rate_limit_counts_answers_in_the_background():
    async def body(world: World) -> None:
        mine = KEYS["mine"]
        assert (await begin(world, "claude", mine))[0] == 200
        assert (await begin(world, "claude", mine))[0] == 429

    run(body, keys=make_keys(limit=RateLimitRule(requests=1, per="hour")))


def test_a_key_and_a_process_have_a_limit_of_answers_at_one_time():
    service = PausedService()
    limits = ResponsesConfig(background=3, background_per_key=2)

    async def body(world: World) -> None:
        mine, other = KEYS["mine"], KEYS["other"]
        asked = (mine, mine, mine, other, other)
        found = [(await begin(world, "claude", key))[0] for key in asked]
        assert found == [200, 200, 429, 200, 429]
        service.go.set()
        await ended(world)
        assert (await begin(world, "claude", mine))[0] == 200

    run(body, service=service, keys=make_keys(), responses=limits)


def test_the_limit_of_answers_holds_for_requests_that_come_at_once(data_dir):
    service = PausedService()
    limits = ResponsesConfig(store="sqlite", background=3, background_per_key=2)

    async def body(world: World) -> None:
        asked = (begin(world, "claude", KEYS[name]) for name in ["mine", "other"] * 5)
        found = [status for status, _ in await asyncio.gather(*asked)]
        assert sorted(found) == [200] * 3 + [429] * 7
        service.go.set()
        await ended(world)
        assert len(service.served) == 3
        assert (await begin(world, "claude", KEYS["mine"]))[0] == 200

    run(body, service=service, keys=make_keys(), responses=limits)


def test_an_error_of_the_request_is_told_at_once():
    async def body(world: World) -> None:
        status, error = await begin(world, "no such model")
        assert status in (400, 404)
        assert "no such model" in json.dumps(error)
        assert not world.gateway.runs.running

    run(body)


# -- streams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("back", ["claude", "gemini", "openai"])
def test_a_stream_can_be_followed_again_from_any_event(back):
    async def body(world: World) -> None:
        status, data = await begin(world, back, stream=True)
        assert status == 200
        events = read_stream(data)
        assert events[0]["type"] == "response.created"
        assert events[-1]["type"] == "response.completed"
        numbers = [event["sequence_number"] for event in events]
        assert numbers == list(range(len(events)))
        id = events[0]["response"]["id"]
        for number in (-1, 0, 2, numbers[-1]):
            query = "?stream=true" + (f"&starting_after={number}" if number >= 0 else "")
            _, rest = await world.call("GET", f"/responses/{id}{query}")
            assert read_stream(rest) == events[number + 1 :]
        assert (await poll(world, id))["status"] == "completed"

    run(body)


def test_a_client_that_leaves_loses_nothing():
    service = PausedService()

    async def body(world: World) -> None:
        first = asyncio.ensure_future(begin(world, stream=True))
        await service.reached.wait()
        (under_way,) = world.gateway.runs.running.values()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        path = f"/responses/{under_way.place.id}?stream=true&starting_after=0"
        again = asyncio.ensure_future(world.call("GET", path))
        await asyncio.sleep(0)
        service.go.set()
        _, data = await again
        events = read_stream(data)
        assert events[0]["sequence_number"] == 1
        assert events[-1]["type"] == "response.completed"
        await ended(world)
        (served,) = service.served
        (row,) = rows(world)
        assert use(row)[0] == served.total

    run(body, service=service)


def test_an_answer_without_events_cannot_be_followed():
    async def body(world: World) -> None:
        _, begun = await begin(world)
        await poll(world, begun["id"])
        status, error = await world.call("GET", f"/responses/{begun['id']}?stream=true")
        assert (status, error["error"]["param"]) == (400, "stream")

    run(body)


def test_deleting_an_answer_that_is_worked_on_stops_it():
    service = PausedService()

    async def body(world: World) -> None:
        _, begun = await begin(world)
        await service.reached.wait()
        assert (await world.call("DELETE", f"/responses/{begun['id']}"))[0] == 200
        assert service.served[0].closed
        assert (await world.call("GET", f"/responses/{begun['id']}"))[0] == 404

    run(body, service=service)


# -- several processes -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["redis", "sqlite", "postgresql"])
def test_replicas_poll_follow_and_cancel_the_answers_of_each_other(
    kind, request, data_dir, monkeypatch
):
    more: dict[str, Any] = {"service": PausedService()}
    if kind == "redis":
        more["state"] = request.getfixturevalue("redis").url
    elif kind == "sqlite":
        more["responses"] = ResponsesConfig(store="sqlite")
    else:
        monkeypatch.setenv("KEPT_ANSWERS", request.getfixturevalue("postgres").make())
        more["responses"] = ResponsesConfig(store="env:KEPT_ANSWERS")
    service: PausedService = more["service"]

    async def body(world: World) -> None:
        other = World(routes=ROUTES, **more)
        try:
            _, begun = await begin(world)
            await service.reached.wait()
            path = f"/responses/{begun['id']}"
            assert (await other.call("GET", path))[1]["status"] in ("queued", "in_progress")
            status, answer = await other.call("POST", f"{path}/cancel")
            assert (status, answer["status"]) == (200, "cancelled")
            assert service.served[0].closed
            await ended(world)
            service.reached.clear()
            task = asyncio.ensure_future(begin(world, stream=True))
            await service.reached.wait()
            (under_way,) = world.gateway.runs.running.values()
            service.go.set()
            query = "?stream=true&starting_after=1"
            _, data = await other.call("GET", f"/responses/{under_way.place.id}{query}")
            _, whole = await task
            assert read_stream(data) == read_stream(whole)[2:]
            done = await poll(other, under_way.place.id)
            assert done["status"] == "completed"
        finally:
            await other.aclose()

    run(body, **more)


def test_an_answer_whose_process_is_gone_has_failed():
    service = PausedService()

    async def body(world: World) -> None:
        _, begun = await begin(world)
        await service.reached.wait()
        (under_way,) = world.gateway.runs.running.values()
        place, store = under_way.place, world.gateway.kept
        assert store is not None
        world.gateway.runs.running.clear()  # as another process sees it
        path = f"/responses/{begun['id']}"
        assert (await world.call("GET", path))[1]["status"] in ("queued", "in_progress")
        old = RunState(beat=world.gateway.now() - background.SILENCE)
        await store.put({place.state: json.dumps({"beat": old.beat}).encode()})
        status, answer = await world.call("GET", path)
        assert (status, answer["status"]) == (200, "failed")
        assert "has ended" in answer["error"]["message"]
        world.gateway.runs.running[place.record] = under_way

    run(body, service=service)


@pytest.mark.parametrize("fetched", [False, True])
def test_the_events_of_an_answer_whose_process_is_gone_end_with_its_failure(fetched):
    service = PausedService(frame=6)

    async def body(world: World) -> None:
        task = asyncio.ensure_future(begin(world, stream=True))
        await service.reached.wait()
        (under_way,) = world.gateway.runs.running.values()
        place, store = under_way.place, world.gateway.kept
        assert store is not None
        while not await store.get([place.events(0)]):  # noqa: ASYNC110 - what was looked at
            await asyncio.sleep(0.01)
        world.gateway.runs.running.clear()  # as another process sees it
        old = {"beat": world.gateway.now() - background.SILENCE}
        await store.put({place.state: json.dumps(old).encode()})
        path = f"/responses/{place.id}"
        if fetched:
            assert (await world.call("GET", path))[1]["status"] == "failed"
        _, data = await world.call("GET", f"{path}?stream=true")
        *before, last = read_stream(data)
        assert before[0]["type"] == "response.created"
        assert last["type"] == "response.failed"
        assert last["sequence_number"] == before[-1]["sequence_number"] + 1
        assert (last["response"]["id"], last["response"]["status"]) == (place.id, "failed")
        _, rest = await world.call("GET", f"{path}?stream=true&starting_after={len(before) - 1}")
        assert read_stream(rest) == [last]
        world.gateway.runs.running[place.record] = under_way
        service.go.set()
        await task

    run(body, service=service)


class CarriageService(CountingService):
    """A service whose lines end with CR and LF."""

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        return _WithCarriageReturns(await super().send(request, timeouts))


class _WithCarriageReturns:
    def __init__(self, answer: Any) -> None:
        self.head = answer.head
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for frame in self._answer:
            whole = frame.replace(b"\n", b"\r\n")
            yield whole[:-1]
            yield whole[-1:]

    async def aclose(self) -> None:
        await self._answer.aclose()


def test_a_service_with_other_line_ends_is_followed_too():
    async def body(world: World) -> None:
        _, data = await begin(world, "openai", stream=True)
        events = read_stream(data)
        assert events[-1]["type"] == "response.completed"
        path = f"/responses/{events[0]['response']['id']}?stream=true"
        assert read_stream((await world.call("GET", path))[1]) == events

    run(body, service=CarriageService())
