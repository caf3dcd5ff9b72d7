"""Items of conversations: those that no request could be answered with, and those sent twice."""

import asyncio
from typing import Any

import pytest
from tests.gateway.stored_world import CALL, World, results, user

BAD = {
    "no role": ({"type": "message"}, "'items[1].role'"),
    "nothing": ({}, "'items[1].role'"),
    "no content": ({"role": "user"}, "'items[1].content'"),
    "content of another type": ({"role": "user", "content": 5}, "'items[1].content'"),
}
GOOD: dict[str, Any] = {
    "a reference": {"type": "item_reference", "id": "msg_gone"},
    "a reference without a type": {"id": "msg_gone"},
    "an answer alone": {"role": "assistant", "content": "Hello."},
    "a rule": {"role": "developer", "content": [{"type": "input_text", "text": "Be terse."}]},
    "an open call": {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
    "a result": {"type": "function_call_output", "call_id": "c", "output": "x"},
    "a text with the place in it": {"role": "user", "content": "input[0]"},
    "a search": {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    "a kind of later": {"type": "crystal_ball_call", "id": "cb_1"},
}


async def _list_items(world: World, path: str) -> Any:
    return (await world.call("GET", f"{path}/items"))[1]["data"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("item", "text"), BAD.values(), ids=BAD)
def test_an_item_that_would_spoil_a_conversation_is_rejected_by_its_place(item, text, first):
    async def body() -> None:
        world = World()
        items = [user("Hello."), item]
        _, made = await world.call("POST", "/conversations", {})
        path = "/conversations" if first else f"/conversations/{made['id']}/items"
        status, error = await world.call("POST", path, {"items": items})
        assert status == 400
        assert text in error["error"]["message"]
        assert await _list_items(world, f"/conversations/{made['id']}") == []
        # Each request with it would have been rejected in the same words.
        status, told = await world.call("POST", "/responses", {"model": "claude", "input": items})
        assert status == 400
        assert told["error"]["message"].replace("input[", "items[") == error["error"]["message"]
        await world.aclose()

    asyncio.run(body())


@pytest.mark.parametrize("item", GOOD.values(), ids=GOOD)
def test_every_other_item_is_taken(item):
    async def body() -> None:
        world = World()
        status, made = await world.call("POST", "/conversations", {"items": [item]})
        assert status == 200, made
        assert len(await _list_items(world, f"/conversations/{made['id']}")) == 1
        await world.aclose()

    asyncio.run(body())


@pytest.mark.parametrize("back", ["claude", "gemini", "deepseek", "openai", "chat"])
def test_what_an_answer_has_can_be_added(back):
    """As a session of openai-agents does it: without the ids, apart from that of thinking."""

    async def body() -> None:
        world = World()
        first = await world.ask(back, CALL, reasoning={"effort": "high"})
        last = await world.ask(back, results(first), previous_response_id=first["id"])
        given = [user(CALL), *first["output"], *results(first), *last["output"]]
        items = [
            {name: item[name] for name in item if name != "id" or item["type"] == "reasoning"}
            for item in given
        ]
        for each in (given, items):
            status, made = await world.call("POST", "/conversations", {"items": each})
            assert status == 200, made
            answer = await world.ask("claude", "Go on.", conversation=made["id"])
            assert answer["status"] == "completed"
        await world.aclose()

    asyncio.run(body())


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"previous_response_id": {"id": "resp_1"}}, "Invalid type for 'previous_response_id'"),
        ({"previous_response_id": 5}, "Invalid type for 'previous_response_id'"),
        ({"conversation": 5}, "Invalid type for 'conversation'"),
        ({"conversation": {"id": 5}}, "Invalid type for 'conversation'"),
        ({"conversation": {}}, "Missing required parameter: 'conversation.id'"),
    ],
    ids=str,
)
def test_an_id_that_is_none_is_said_in_the_words_of_the_service(fields, text):
    async def body() -> None:
        world = World()
        for back in ("claude", "openai"):
            asked = {"model": back, "input": "Hello?", **fields}
            status, error = await world.call("POST", "/responses", asked)
            assert (status, text in error["error"]["message"]) == (400, True), error
        await world.aclose()

    asyncio.run(body())


async def _read_pages(world: World, path: str, *, limit: int, order: str) -> list[str]:
    """Return the ids that a client gets which reads all pages, as the SDKs do."""
    ids: list[str] = []
    after = ""
    for _ in range(20):
        _, page = await world.call("GET", f"{path}?limit={limit}&order={order}{after}")
        ids += [item["id"] for item in page["data"]]
        if not page["has_more"]:
            return ids
        after = f"&after={page['last_id']}"
    raise AssertionError("the pages have no end")


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_pages_end_if_a_client_sends_the_history_with_its_id(limit, order):
    async def body() -> None:
        world = World()
        first = await world.ask("claude", "My name is Ann.", reasoning={"effort": "high"})
        both = [*first["output"], user("Who am I?")]
        second = await world.ask("claude", both, previous_response_id=first["id"])
        path = f"/responses/{second['id']}/input_items"
        found = await _read_pages(world, path, limit=limit, order=order)
        assert len(found) == len(set(found)) == 2 + len(first["output"])
        items = [*both, *first["output"]]
        _, made = await world.call("POST", "/conversations", {"items": items})
        path = f"/conversations/{made['id']}/items"
        found = await _read_pages(world, path, limit=limit, order=order)
        assert len(found) == len(set(found)) == len(both)
        await world.aclose()

    asyncio.run(body())
