"""Stored answers whose store fails at any step, and two replicas that change the same thing.

An answer that a client got is continued with its whole history or rejected, never without it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import pytest
from tests.gateway.counting_service import CountingService
from tests.gateway.stored_world import World, read_stream

from pondero.canon import HttpRequest
from pondero.errors import Overloaded
from pondero.gateway.config.model import GatewayRoute, ResponsesConfig
from pondero.gateway.requests import background
from pondero.gateway.state.kept_store import KeptStore, LocalKeptStore

TURNS = 3
ROUTES = (
    GatewayRoute(match="claude", to=("anthropic:claude-opus-5", "anthropic:claude-opus-4-8")),
)
Step = Callable[[], Awaitable[None]]


class FailingStore:
    """A store that fails at one of its uses; ``is_done``: it did what it was told all the same."""

    def __init__(self, store: KeptStore, *, is_done: bool = False) -> None:
        self._store = store
        self._is_done = is_done
        self.fails_at: int | None = None
        self.uses = 0
        self.first: dict[str, Step] = {}  # what happens before the next use of a kind

    async def _use(self, kind: str, *given: Any) -> Any:
        if (step := self.first.pop(kind, None)) is not None:
            await step()
        fails, self.uses = self.uses == self.fails_at, self.uses + 1
        if fails and not self._is_done:
            raise Overloaded("away", status=503)
        found = await getattr(self._store, kind)(*given)
        if fails:
            raise Overloaded("its answer is lost", status=503)
        return found

    async def get(self, names: Iterable[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = await self._use("get", list(names))
        return found

    async def put(self, items: Mapping[str, bytes]) -> None:
        await self._use("put", items)

    async def delete(self, names: Iterable[str]) -> None:
        await self._use("delete", list(names))

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        return bool(await self._use("swap", name, old, new))

    async def aclose(self) -> None:
        return None


def make_world(**more: Any) -> tuple[World, FailingStore]:
    world = World(routes=ROUTES, responses=more.pop("responses", None))
    assert world.gateway.kept is not None
    store = world.gateway.kept = FailingStore(world.gateway.kept, **more)
    return world, store


async def ask(world: World, **body: Any) -> Any:
    """Return an answer that is complete; None if the client was told that there is none."""
    status, answer = await world.call("POST", "/responses", {"model": "claude", **body})
    if isinstance(answer, bytes):
        last = read_stream(answer)[-1]
        answer, status = last.get("response", last), 200 if "completed" in last["type"] else 503
    if status != 200:
        assert answer["error"]["message"], answer
        return None
    return answer


def count_questions(world: World) -> list[int]:
    """Return how often the service was sent each question."""
    turns = [each for each in world.sent["messages"] if each["role"] == "user"]
    return [json.dumps(turns).count(f"question {turn}") for turn in range(TURNS + 1)]


async def run_turns(
    world: World, store: FailingStore, kind: str, *, stream: bool, fails_at: int | None = None
) -> int:
    """Hold a conversation and check each answer; return how often its store was used."""
    _, conversation = await world.call("POST", "/conversations", {})
    store.uses, store.fails_at = 0, fails_at
    previous: str | None = None
    given: list[int] = []
    used = 0
    for turn in range(TURNS + 1):
        if turn == TURNS:
            used, store.fails_at = store.uses, None
        place = {"conversation": conversation["id"]} if kind == "conversation" else {}
        if kind == "previous" and previous is not None:
            place = {"previous_response_id": previous}
        answer = await ask(world, input=f"question {turn}", stream=stream, **place)
        if answer is not None:
            sent = count_questions(world)
            assert all(sent[each] == 1 for each in given), (turn, sent, given)
            assert max(sent) == 1, (turn, sent)
            given.append(turn)
            previous = answer["id"]
    if kind == "conversation":
        assert TURNS in given, "a conversation that is there again goes on"
    return used


@pytest.mark.parametrize("kind", ["conversation", "previous"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("is_done", [False, True], ids=["nothing done", "done"])
def test_no_answer_is_continued_without_its_history_whenever_the_store_fails(kind, stream, is_done):
    async def main() -> None:
        world, store = make_world(is_done=is_done)
        uses = await run_turns(world, store, kind, stream=stream)
        await world.aclose()
        assert uses >= TURNS
        for number in range(uses):
            world, store = make_world(is_done=is_done)
            await run_turns(world, store, kind, stream=stream, fails_at=number)
            await world.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_answer_that_its_conversation_cannot_take_is_an_error_and_no_other_model_is_asked(
    stream,
):
    async def main() -> None:
        world, store = make_world()
        _, conversation = await world.call("POST", "/conversations", {})
        store.uses, store.fails_at = 0, 1
        assert (
            await ask(world, input="Hello?", stream=stream, conversation=conversation["id"]) is None
        )
        assert len(world.service.log.entries) == 1
        (row,) = (row for row in world.rows if row.model)
        assert (row.status, row.end) == (503, "failed")
        assert row.usage.output  # it was served, and is counted
        await world.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_answer_that_is_too_large_to_keep_is_an_error_in_a_conversation(stream):
    async def main() -> None:
        world, _ = make_world(responses=ResponsesConfig(answer_bytes=2_000))
        _, conversation = await world.call("POST", "/conversations", {})
        long = "Hello? " * 1_000
        place = {"conversation": conversation["id"], "stream": stream}
        assert await ask(world, input=long, **place) is None
        assert await ask(world, input=long, stream=stream) is not None  # given, and not kept
        _, items = await world.call("GET", f"/conversations/{conversation['id']}/items")
        assert items["data"] == []
        await world.aclose()

    asyncio.run(main())


def list_segments(world: World) -> list[bytes]:
    """Return what the store has of conversations."""
    store = world.gateway.kept
    assert isinstance(store, FailingStore)
    assert isinstance(store._store, LocalKeptStore)
    values = [value for _, value in store._store._items.values()]
    return [value for value in values if b'"input":[[' in value and b'"answer":null' in value]


@pytest.mark.parametrize("back", ["claude", "gemini", "chat", "openai"])
@pytest.mark.parametrize("place", ["previous", "conversation"])
def test_the_end_of_a_stream_is_written_when_its_answer_is_kept(back, place):
    """Who has read that an answer is complete continues it at once, with any store."""

    async def main() -> None:
        world = World()
        assert world.gateway.kept is not None
        store = world.gateway.kept = FailingStore(world.gateway.kept)
        _, conversation = await world.call("POST", "/conversations", {})
        got: list[bytes] = []
        ended: list[bool] = []
        put = store._store.put

        async def put_slowly(items: Mapping[str, bytes]) -> None:
            await asyncio.sleep(0.02)
            ended.append(any(b'"response.completed"' in each for each in got))
            await put(items)

        store._store.put = put_slowly  # type: ignore[method-assign]  # a database takes its time
        body: dict[str, Any] = {"model": back, "input": "Hello?", "stream": True}
        if place == "conversation":
            body["conversation"] = conversation["id"]
        await world.read("/responses", body, got.append)
        assert b'"response.completed"' in b"".join(got)
        assert ended
        assert not any(ended)
        assert len(got) > 1, "what comes before the end does not wait"
        await world.aclose()

    asyncio.run(main())


class OpenService(CountingService):
    """A service that ends its answers, and closes their streams when ``go`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        return _OpenAnswer(await super().send(request, timeouts), self.go)


class _OpenAnswer:
    def __init__(self, answer: Any, go: asyncio.Event) -> None:
        self.head = answer.head
        self._answer = answer
        self._go = go

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for frame in self._answer:
            yield frame
        await self._go.wait()

    async def aclose(self) -> None:
        await self._answer.aclose()


@pytest.mark.parametrize("back", ["claude", "chat", "openai"])
@pytest.mark.parametrize("place", ["previous", "conversation"])
def test_the_end_of_a_stream_does_not_wait_until_the_service_closes_it(back, place):
    async def main() -> None:
        service = OpenService()
        world = World(service=service)
        _, conversation = await world.call("POST", "/conversations", {})
        body: dict[str, Any] = {"model": back, "input": "Hello?", "stream": True}
        if place == "conversation":
            body["conversation"] = conversation["id"]
        got: list[bytes] = []
        ended = asyncio.Event()

        def take(piece: bytes) -> None:
            got.append(piece)
            if b'"response.completed"' in piece:
                ended.set()

        reading = asyncio.ensure_future(world.read("/responses", body, take))
        await asyncio.wait_for(ended.wait(), 10)
        answer = read_stream(b"".join(got))[-1]["response"]
        found = await world.call("GET", f"/responses/{answer['id']}")
        assert found == (200, answer)
        service.go.set()
        await reading
        if place == "conversation":
            _, items = await world.call("GET", f"/conversations/{conversation['id']}/items")
            assert len(items["data"]) == 1 + len(answer["output"])
        (row,) = [each for each in world.rows if each.usage.known_total]
        assert row.usage.known_total == service.served[0].total
        await world.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("back", ["claude", "openai"])
@pytest.mark.parametrize("background", [False, True])
def test_a_request_with_the_type_of_the_last_event_in_it_is_kept_with_its_answer(back, background):
    """The first event of an answer repeats what the request says."""

    async def main() -> None:
        world = World()
        says: Any = {"metadata": {"kind": "response.completed"}, "background": background}
        answer = await world.ask(back, "Hello?", stream=True, **says)
        assert answer["output"]
        path = f"/responses/{answer['id']}?include[]=reasoning.encrypted_content"
        _, found = await world.call("GET", path)
        assert (found["status"], found["output"]) == ("completed", answer["output"])
        assert await world.ask(back, "And?", previous_response_id=answer["id"])
        await world.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("moment", ["get", "swap", "delete"])
@pytest.mark.parametrize("first", ["adding", "deleting"])
def test_a_deleted_conversation_leaves_nothing_that_was_added_at_the_same_time(moment, first):
    """Whichever replica is interrupted by the other one, and wherever."""

    async def main() -> None:
        world, store = make_world()
        _, conversation = await world.call("POST", "/conversations", {})
        path = f"/conversations/{conversation['id']}"
        await ask(world, input="question 0", conversation=conversation["id"])

        async def add() -> None:
            message = {"type": "message", "role": "user", "content": "question 1"}
            await world.call("POST", f"{path}/items", {"items": [message]})

        async def delete() -> None:
            await world.call("DELETE", path)

        store.first[moment] = delete if first == "adding" else add
        await (add() if first == "adding" else delete())
        status, _ = await world.call("GET", path)
        if not store.first:  # else that moment never came
            assert status == 404
            assert list_segments(world) == []
        await world.aclose()

    asyncio.run(main())


def test_a_conversation_without_one_of_its_records_can_be_deleted():
    async def main() -> None:
        world, store = make_world()
        _, conversation = await world.call("POST", "/conversations", {})
        for turn in range(2):
            await ask(world, input=f"question {turn}", conversation=conversation["id"])
        assert isinstance(store._store, LocalKeptStore)
        items = store._store._items
        gone = next(n for n, (_, value) in items.items() if value in list_segments(world))
        await store.delete([gone])
        path = f"/conversations/{conversation['id']}"
        assert await ask(world, input="question 2", conversation=conversation["id"]) is None
        status, deleted = await world.call("DELETE", path)
        assert (status, deleted["deleted"]) == (200, True)
        assert list_segments(world) == []
        await world.aclose()

    asyncio.run(main())


def test_an_answer_deleted_while_it_is_worked_on_does_not_come_back(monkeypatch):
    """Its process slept for so long that another one took it for dead."""
    monkeypatch.setattr(background, "LOOK", 0.02)

    async def main() -> None:
        world, store = make_world()
        body = {"model": "claude", "input": "Hello?", "background": True}
        _, begun = await world.call("POST", "/responses", body)
        (run,) = world.gateway.runs.running.values()
        await store.delete([run.place.record, run.place.state])
        await run.ended.wait()
        status, _ = await world.call("GET", f"/responses/{begun['id']}")
        assert status == 404
        assert await ask(world, input="And?", previous_response_id=begun["id"]) is None
        await world.aclose()

    asyncio.run(main())
