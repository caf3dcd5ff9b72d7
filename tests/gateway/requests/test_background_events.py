"""Events of answers in the background, in a store that takes its time or loses its process."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import pytest
from tests.gateway.counting_service import CountingService
from tests.gateway.requests.test_background import PausedService, ended
from tests.gateway.stored_world import World, read_stream

from pondero.gateway.requests import background
from pondero.gateway.state.background_runs import BackgroundRun, RunPlace
from pondero.gateway.state.kept_store import LocalKeptStore

BODY = {"model": "claude", "input": "Hello?", "background": True, "stream": True}


class HoldingStore(LocalKeptStore):
    """A store in which the first write of events waits for ``go``, and others do not."""

    def __init__(self) -> None:
        super().__init__(seconds=100, size=1 << 24)
        self.go = asyncio.Event()
        self.reached = asyncio.Event()

    async def put(self, items: Mapping[str, bytes]) -> None:
        is_first = not self.reached.is_set()
        if is_first and any(value.startswith(b'["event') for value in items.values()):
            self.reached.set()
            await self.go.wait()
        await super().put(items)

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        await asyncio.sleep(0)  # as a database, it lets others run
        return await super().get(keys)


async def give_way() -> None:
    for _ in range(1000):
        await asyncio.sleep(0)


def run(test: Callable[[World, HoldingStore], Awaitable[None]], service: Any) -> None:
    async def body() -> None:
        world = World(service=service)
        store = world.gateway.kept = HoldingStore()
        await asyncio.wait_for(test(world, store), 30)
        await world.aclose()

    asyncio.run(body())


def find_run(world: World) -> BackgroundRun:
    (found,) = world.gateway.runs.running.values()
    return found


async def follow(world: World, id: str) -> list[Any]:
    """Return the events as another process tells them."""
    assert not world.gateway.runs.running
    return read_stream((await world.send("GET", f"/responses/{id}?stream=true")).body)


def test_the_end_of_the_events_is_stored_after_their_beginning(monkeypatch):
    monkeypatch.setattr(background, "LOOK", 0.02)
    service = PausedService(frame=5)

    async def body(world: World, store: HoldingStore) -> None:
        asking = asyncio.ensure_future(world.call("POST", "/responses", BODY))
        await store.reached.wait()
        under_way = find_run(world)
        service.go.set()
        await give_way()
        assert under_way.is_ending
        store.go.set()
        await asking
        await under_way.ended.wait()
        events = await follow(world, under_way.place.id)
        assert [each["sequence_number"] for each in events] == list(range(len(events)))
        assert events[-1]["type"] == "response.completed"

    run(body, service)


def test_an_answer_deleted_while_its_events_are_stored_leaves_nothing():
    async def body(world: World, store: HoldingStore) -> None:
        asking = asyncio.ensure_future(world.call("POST", "/responses", BODY))
        await store.reached.wait()
        under_way = find_run(world)
        path = f"/responses/{under_way.place.id}"
        assert (await world.call("GET", path))[1]["status"] == "completed"
        assert (await world.call("DELETE", path))[0] == 200
        store.go.set()
        await asking
        await under_way.ended.wait()
        assert (await world.call("GET", path))[0] == 404
        assert list(store._items) == []

    run(body, CountingService())


@pytest.mark.parametrize("says", [{}, {"metadata": {"kind": "response.completed"}}])
@pytest.mark.parametrize("left", [1, 3])
def test_the_events_of_a_complete_answer_end_though_its_process_was_killed(left, says):
    """The answer is stored before the last of its events."""

    async def body(world: World, store: HoldingStore) -> None:
        store.go.set()
        _, told = await world.call("POST", "/responses", {**BODY, **says})
        id = read_stream(told)[0]["response"]["id"]
        await ended(world)
        place = RunPlace("local", id)
        events = json.loads((await store.get([place.events(0)]))[place.events(0)])
        silent = world.gateway.now() - background.SILENCE
        await store.put(
            {
                place.events(0): json.dumps(events[:left]).encode(),
                place.state: json.dumps({"beat": silent}).encode(),
            }
        )
        found = await follow(world, id)
        assert [each["sequence_number"] for each in found] == list(range(left + 1))
        assert found[-1]["type"] == "response.completed"
        assert found[-1]["response"] == read_stream(told)[-1]["response"]

    run(body, CountingService())
