"""Answers that the gateway keeps: continued on every upstream, bound to a key, deleted, expired."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.stored_world import (
    BACKS,
    CALL,
    KEYS,
    World,
    make_keys,
    results,
    user,
)

from pondero.canon import HttpRequest
from pondero.exchange import Timeouts
from pondero.gateway.config.model import GatewayKey, GatewayRoute, LevelRules, ResponsesConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.state.kept_store import LocalKeptStore

Test = Callable[[World], Awaitable[None]]


def run(test: Test, **more: Any) -> None:
    async def body() -> None:
        world = World(**more)
        try:
            await test(world)
        finally:
            await world.aclose()

    asyncio.run(body())


# -- the law ---------------------------------------------------------------------------------------

TURNS = st.lists(
    st.tuples(st.sampled_from(sorted(BACKS)), st.sampled_from([CALL, "What is 2+2?", "Why?"])),
    min_size=2,
    max_size=4,
)
OWN = ("openai", "gpt-6")
WAYS = ("previous_response_id", "conversation", "item_reference")


@given(
    turns=TURNS,
    way=st.sampled_from(WAYS),
    effort=st.sampled_from(["low", "high"]),
    stream=st.booleans(),
)
def test_continuing_by_id_sends_the_bytes_of_the_whole_history(turns, way, effort, stream):
    """On any upstreams, in any order: only a service that has the answer itself gets its id."""

    async def body(world: World) -> None:
        more: Any = {"reasoning": {"effort": effort}, "stream": stream}
        _, made = await world.call("POST", "/conversations", {"metadata": {}})
        whole: list[Any] = []
        before: dict[str, Any] | None = None
        for name, text in turns:
            own = [*(results(before) if before else []), user(text)]
            named = _name(way, before, whole, own, made["id"])
            answer = await world.ask(name, **named, **more)
            by_id = world.sent
            await world.ask(name, [*whole, *own], store=False, **more)
            if "previous_response_id" not in by_id and "item_reference" not in json.dumps(by_id):
                assert _plain(by_id) == _plain(world.sent)
            else:
                assert name in OWN
            whole += [*own, *answer["output"]]
            before = answer

    run(body)


def _name(
    way: str, before: Any, whole: list[Any], own: list[Any], conversation: str
) -> dict[str, Any]:
    if way == "conversation":
        return {"given": own, "conversation": conversation}
    if way == "previous_response_id":
        named = {"previous_response_id": before["id"]} if before else {}
        return {"given": own, **named}
    items = [
        {"type": "item_reference", "id": item["id"]} if _is_given(item) else item for item in whole
    ]
    return {"given": [*items, *own]}


def _is_given(item: Any) -> bool:
    return "id" in item


def _plain(body: Any) -> Any:
    """Leave out what says whether the answer is stored, which the two requests say differently."""
    return {name: body[name] for name in body if name not in ("store", "include")}


@pytest.mark.parametrize("back", [name for name in BACKS if name not in OWN])
def test_a_signature_comes_back_byte_for_byte_when_the_answer_cache_is_gone(back):
    async def body(world: World) -> None:
        effort: Any = {"reasoning": {"effort": "low"}}
        first = await world.ask(back, CALL, **effort)
        whole = [user(CALL), *first["output"], *results(first)]
        await world.ask(back, whole, **effort)
        expected = world.sent
        world.gateway.memory = type(world.gateway.memory)()  # hours later
        if back == "chat":  # it has no signatures, and calls got ids of the gateway
            await world.ask(back, whole, **effort)
            expected = world.sent
        await world.ask(back, results(first), previous_response_id=first["id"], **effort)
        assert world.sent == expected

    run(body)


def test_a_chain_goes_from_openai_to_claude_and_back_with_all_of_its_past():
    async def body(world: World) -> None:
        one = await world.ask("openai", "My name is Ann.")
        assert "previous_response_id" not in world.sent
        two = await world.ask("claude", "And I am seven.", previous_response_id=one["id"])
        assert [turn["role"] for turn in world.sent["messages"]] == ["user", "assistant", "user"]
        await world.ask("openai", "Who am I?", previous_response_id=two["id"])
        assert "previous_response_id" not in world.sent
        sent = json.dumps(world.sent["input"])
        assert all(text in sent for text in ("My name is Ann.", "And I am seven.", "Who am I?"))
        assert two["previous_response_id"] == one["id"]

    run(body)


def test_an_id_of_the_service_itself_passes_through_to_it():
    async def body(world: World) -> None:
        one = await world.ask("openai", "My name is Ann.")
        await world.ask("openai", "Who am I?", previous_response_id=one["id"])
        assert world.sent["previous_response_id"] == one["id"]
        assert "Ann" not in json.dumps(world.sent["input"])

    run(body)


# -- whose it is, and how long -----------------------------------------------------------------------


@pytest.mark.parametrize("back", ["claude", "openai"])
def test_an_answer_is_unknown_to_another_key_in_the_words_of_an_unknown_one(back):
    async def body(world: World) -> None:
        mine, other = KEYS["mine"], KEYS["other"]
        answer = await world.ask(back, "Hello?", mine)
        asked = len(world.service.log.entries)
        for id in (answer["id"], "resp_unknown"):
            request = {"model": back, "input": "Go on.", "previous_response_id": id}
            status, error = await world.call("POST", "/responses", request, other)
            assert (status, error["error"]["code"]) == (400, "previous_response_not_found")
            assert error["error"]["message"] == f"Previous response with id '{id}' not found."
            for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items")):
                status, error = await world.call(method, f"/responses/{id}{path}", None, other)
                assert (status, error["error"]["message"]) == (
                    404,
                    f"Response with id '{id}' not found.",
                )
        item = {"type": "item_reference", "id": answer["output"][-1]["id"]}
        request = {"model": back, "input": [item]}
        assert (await world.call("POST", "/responses", request, other))[0] == 404
        assert len(world.service.log.entries) == asked
        await world.ask(back, "Go on.", mine, previous_response_id=answer["id"])

    run(body, keys=make_keys())


def test_a_conversation_is_unknown_to_another_key():
    async def body(world: World) -> None:
        mine, other = KEYS["mine"], KEYS["other"]
        first = {"items": [user("Hello?")]}
        _, made = await world.call("POST", "/conversations", first, mine)
        path = f"/conversations/{made['id']}"
        _, items = await world.call("GET", f"{path}/items", None, mine)
        item = items["data"][0]["id"]
        request = {"model": "claude", "input": "Hello?", "conversation": made["id"]}
        calls: tuple[tuple[str, str, Any], ...] = (
            ("GET", path, None),
            ("POST", path, {"metadata": {"a": "b"}}),
            ("DELETE", path, None),
            ("GET", f"{path}/items", None),
            ("POST", f"{path}/items", first),
            ("GET", f"{path}/items/{item}", None),
            ("DELETE", f"{path}/items/{item}", None),
            ("POST", "/responses", request),
        )
        for call in calls:
            status, error = await world.call(*call, other)
            text = f"Conversation with id '{made['id']}' not found."
            assert (status, error["error"]["message"]) == (404, text)
        _, same = await world.call("GET", f"{path}/items", None, mine)
        assert same == items

    run(body, keys=make_keys())


@pytest.mark.parametrize("back", ["claude", "openai"])
def test_what_was_deleted_is_gone_with_all_that_continues_from_it(back):
    async def body(world: World) -> None:
        one = await world.ask(back, "My name is Ann.")
        two = await world.ask(back, "I am seven.", previous_response_id=one["id"])
        status, said = await world.call("DELETE", f"/responses/{one['id']}")
        deleted = {"id": one["id"], "object": "response", "deleted": True}
        assert (status, said) == (200, deleted)
        assert (await world.call("GET", f"/responses/{one['id']}"))[0] == 404
        assert (await world.call("DELETE", f"/responses/{one['id']}"))[0] == 404
        for id in (one["id"], two["id"]):
            request = {"model": "claude", "input": "Go on.", "previous_response_id": id}
            status, error = await world.call("POST", "/responses", request)
            assert (status, error["error"]["code"]) == (400, "previous_response_not_found")
        item = {"type": "item_reference", "id": one["output"][-1]["id"]}
        request = {"model": "claude", "input": [item, user("Go on.")]}
        assert (await world.call("POST", "/responses", request))[0] == 404

    run(body)


def test_deleting_is_passed_on_to_the_service_that_stores_the_answer_too():
    async def body(world: World) -> None:
        one = await world.ask("openai", "My name is Ann.")
        await world.call("DELETE", f"/responses/{one['id']}")
        headers = {"authorization": "Bearer any"}

        url = f"https://api.openai.com/v1/responses/{one['id']}"
        answer = await world.service.send(HttpRequest("GET", url, headers), Timeouts())
        assert answer.head.status == 404

    run(body)


@pytest.mark.parametrize("back", ["claude", "openai"])
def test_nothing_is_kept_of_an_answer_that_is_not_to_be_stored(back):
    async def body(world: World) -> None:
        world.gateway.kept = store = LocalKeptStore(seconds=60, size=1 << 20)
        answer = await world.ask(back, "My name is Ann.", store=False)
        assert not store._items
        assert (await world.call("GET", f"/responses/{answer['id']}"))[0] == 404
        request = {"model": "claude", "input": "Go on.", "previous_response_id": answer["id"]}
        assert (await world.call("POST", "/responses", request))[0] == 400

    run(body)


def test_an_answer_that_nobody_uses_expires_and_so_does_what_continues_from_it():
    clock = {"now": 0.0}

    async def body(world: World) -> None:
        world.gateway.kept = LocalKeptStore(seconds=100, size=1 << 20, clock=lambda: clock["now"])
        one = await world.ask("claude", "My name is Ann.")
        clock["now"] = 90
        two = await world.ask("claude", "I am seven.", previous_response_id=one["id"])
        clock["now"] = 180  # the first was used by the second
        await world.ask("claude", "Who am I?", previous_response_id=two["id"])
        clock["now"] = 281
        for id in (one["id"], two["id"]):
            request = {"model": "claude", "input": "Go on.", "previous_response_id": id}
            status, error = await world.call("POST", "/responses", request)
            assert (status, error["error"]["code"]) == (400, "previous_response_not_found")

    run(body)


def test_an_answer_that_is_too_large_is_given_and_not_kept():
    async def body(world: World) -> None:
        answer = await world.ask("claude", "x" * 5_000)
        assert (await world.call("GET", f"/responses/{answer['id']}"))[0] == 404
        small = await world.ask("claude", "Hello?")
        assert (await world.call("GET", f"/responses/{small['id']}"))[0] == 200

    run(body, responses=ResponsesConfig(answer_bytes=5_000))


# -- what is kept, as it is shown --------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("back", ["claude", "openai"])
def test_a_fetched_answer_is_the_one_that_was_given(back, stream):
    async def body(world: World) -> None:
        answer = await world.ask(back, "What is 2+2?", stream=stream, reasoning={"effort": "high"})
        path = f"/responses/{answer['id']}"
        _, fetched = await world.call("GET", f"{path}?include[]=reasoning.encrypted_content")
        assert fetched == answer
        _, plain = await world.call("GET", path)
        assert "encrypted_content" not in json.dumps(plain)
        assert plain["output"][-1] == answer["output"][-1]

    run(body)


@given(
    size=st.integers(1, 7), limit=st.integers(1, 9), order=st.sampled_from(["asc", "desc", None])
)
def test_pages_of_items_have_each_item_once_and_in_order(size, limit, order):
    async def body(world: World) -> None:
        texts = [f"item {number}" for number in range(size)]
        answer = await world.ask("claude", [user(text) for text in texts])
        path, found, after = f"/responses/{answer['id']}/input_items?limit={limit}", [], ""
        path += f"&order={order}" if order else ""
        while True:
            _, page = await world.call("GET", path + after)
            assert len(page["data"]) <= limit
            assert page["first_id"] == page["data"][0]["id"]
            assert page["last_id"] == page["data"][-1]["id"]
            found += [item["content"][0]["text"] for item in page["data"]]
            after = f"&after={page['last_id']}"
            if not page["has_more"]:
                break
        assert found == (texts if order == "asc" else texts[::-1])

    run(body)


def test_the_items_of_an_answer_can_be_named_by_the_ids_of_its_list():
    async def body(world: World) -> None:
        answer = await world.ask("claude", [user("My name is Ann."), user("Hello?")])
        _, page = await world.call("GET", f"/responses/{answer['id']}/input_items?order=asc")
        named = {"type": "item_reference", "id": page["data"][0]["id"]}
        await world.ask("gemini", [named, user("Who am I?")])
        assert "My name is Ann." in json.dumps(world.sent)

    run(body)


def test_a_conversation_is_created_changed_listed_and_deleted():
    async def body(world: World) -> None:
        first = {"items": [user("My name is Ann.")], "metadata": {"topic": "names"}}
        status, made = await world.call("POST", "/conversations", first)
        assert (status, made["object"], made["metadata"]) == (
            200,
            "conversation",
            {"topic": "names"},
        )
        path = f"/conversations/{made['id']}"
        _, added = await world.call("POST", f"{path}/items", {"items": [user("a"), user("b")]})
        assert [item["content"][0]["text"] for item in added["data"]] == ["a", "b"]
        _, changed = await world.call("POST", path, {"metadata": {"topic": "letters"}})
        assert changed == {**made, "metadata": {"topic": "letters"}}
        assert (await world.call("GET", path))[1] == changed
        gone = added["data"][0]["id"]
        assert (await world.call("GET", f"{path}/items/{gone}"))[1] == added["data"][0]
        assert (await world.call("DELETE", f"{path}/items/{gone}"))[1] == changed
        assert (await world.call("GET", f"{path}/items/{gone}"))[0] == 404
        answer = await world.ask("claude", "Who am I?", conversation={"id": made["id"]})
        assert answer["conversation"] == {"id": made["id"]}
        _, items = await world.call("GET", f"{path}/items?order=asc")
        shown = [item.get("content") for item in items["data"] if item["type"] == "message"]
        assert [each[0]["text"] for each in shown][:3] == ["My name is Ann.", "b", "Who am I?"]
        assert items["data"][-1]["id"] == answer["output"][-1]["id"]
        deleted = {"id": made["id"], "object": "conversation.deleted", "deleted": True}
        assert (await world.call("DELETE", path))[1] == deleted
        assert (await world.call("GET", path))[0] == 404
        # An answer is stored beside its conversation.
        assert (await world.call("GET", f"/responses/{answer['id']}"))[0] == 200

    run(body)


def test_two_answers_at_once_both_reach_their_conversation():
    async def body(world: World) -> None:
        _, made = await world.call("POST", "/conversations", {})
        asked = (world.ask("claude", f"say {n}", conversation=made["id"]) for n in range(6))
        answers = await asyncio.gather(*asked)
        _, items = await world.call("GET", f"/conversations/{made['id']}/items?limit=100")
        ids = {item["id"] for item in items["data"]}
        assert all(each["output"][-1]["id"] in ids for each in answers)

    run(body)


REJECTED = {
    "both": ({"previous_response_id": "resp_1", "conversation": "conv_1"}, "Mutually exclusive"),
    "background": ({"background": True, "store": False}, "Background mode requires"),
}


@pytest.mark.parametrize(("fields", "text"), REJECTED.values(), ids=REJECTED)
def test_what_contradicts_itself_gets_the_error_of_the_service(fields, text):
    async def body(world: World) -> None:
        request = {"model": "claude", "input": "Hello?", **fields}
        status, error = await world.call("POST", "/responses", request)
        assert status == 400
        assert text in error["error"]["message"]
        assert not world.service.log.entries

    run(body)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?order=up", "asc"),
        ("?after=msg_unknown", "msg_unknown"),
    ],
)
def test_a_page_that_cannot_be_is_rejected(path, text):
    async def body(world: World) -> None:
        answer = await world.ask("claude", "Hello?")
        status, error = await world.call("GET", f"/responses/{answer['id']}/input_items{path}")
        assert status in (400, 404)
        assert text in error["error"]["message"]

    run(body)


@pytest.mark.parametrize("back", BACKS)
def test_tokens_of_a_stored_conversation_are_counted_with_its_past(back):
    async def body(world: World) -> None:
        long = await world.ask(back, "word " * 2_000)
        named = {"model": back, "input": "Go on.", "previous_response_id": long["id"]}
        status, count = await world.call("POST", "/responses/input_tokens", named)
        assert (status, count["object"]) == (200, "response.input_tokens")
        alone = {"model": back, "input": "Go on."}
        _, short = await world.call("POST", "/responses/input_tokens", alone)
        assert count["input_tokens"] > short["input_tokens"] + 1_000

    run(body)


# -- rules -----------------------------------------------------------------------------------------


def test_a_cap_holds_for_a_level_that_a_stored_turn_has_set():
    """On a model that takes levels inside the conversation, of which the answer was kept."""
    keys = (
        GatewayKey("mine", hash_key(KEYS["mine"])),
        GatewayKey("other", hash_key(KEYS["other"]), thinking=LevelRules(cap="low")),
    )

    async def body(world: World) -> None:
        update = {"type": "configuration_update", "reasoning": {"effort": "high"}}
        items = [user("Hello?"), update, user("Again?")]
        capped = KEYS["other"]
        _, made = await world.call("POST", "/conversations", {"items": items}, capped)
        await world.ask("gpt-6-sol", "Go on.", capped, conversation=made["id"])
        sent = json.dumps(world.sent)
        assert '"high"' not in sent
        assert '"low"' in sent

    routes = (GatewayRoute(match="gpt-6-sol", to=("openai:gpt-6-sol",)),)
    run(body, keys=keys, routes=routes)


def test_the_gateway_without_a_store_names_the_field_as_it_did():
    async def body(world: World) -> None:
        answer = await world.ask("claude", "Hello?")
        for more in (
            {"previous_response_id": answer["id"]},
            {"conversation": "conv_1"},
            {"background": True},
        ):
            request = {"model": "claude", "input": "Go on.", **more}
            status, error = await world.call("POST", "/responses", request)
            assert status == 400
            assert next(iter(more)) in error["error"]["message"]
        assert (await world.call("GET", f"/responses/{answer['id']}"))[0] == 404
        assert (await world.call("POST", "/conversations", {}))[0] == 404

    run(body, responses=ResponsesConfig(store="off"))


def test_without_a_store_an_answer_of_the_service_is_fetched_and_deleted_there():
    async def body(world: World) -> None:
        answer = await world.ask("openai", "Hello?", KEYS["mine"])
        path = f"/responses/{answer['id']}"
        status, fetched = await world.call("GET", path, None, KEYS["mine"])
        assert (status, fetched["model"]) == (200, "openai")
        assert (await world.call("GET", f"{path}/input_items", None, KEYS["mine"]))[0] == 200
        assert (await world.call("GET", path, None, KEYS["other"]))[0] == 404
        assert (await world.call("DELETE", path, None, KEYS["mine"]))[0] == 200
        assert (await world.call("GET", path, None, KEYS["mine"]))[0] == 404

    run(body, keys=make_keys(), responses=ResponsesConfig(store="off"))


# -- every store -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "redis", "sqlite", "postgresql"])
def test_every_store_continues_lists_and_deletes(kind, request, data_dir, monkeypatch):
    more: dict[str, Any] = {}
    if kind == "redis":
        more["state"] = request.getfixturevalue("redis").url
    elif kind == "sqlite":
        more["responses"] = ResponsesConfig(store="sqlite")
    elif kind == "postgresql":
        monkeypatch.setenv("KEPT_ANSWERS", request.getfixturevalue("postgres").make())
        more["responses"] = ResponsesConfig(store="env:KEPT_ANSWERS")

    async def body(world: World) -> None:
        effort: Any = {"reasoning": {"effort": "low"}}
        one = await world.ask("claude", CALL, **effort)
        other = world
        if kind != "memory":  # another replica
            other = World(**more)
            other.service = world.service
            other.gateway.transport = world.service
        try:
            two = await other.ask("claude", results(one), previous_response_id=one["id"], **effort)
            kinds = [part["type"] for part in other.sent["messages"][1]["content"]]
            assert kinds == ["thinking", "tool_use"]
            _, page = await other.call("GET", f"/responses/{two['id']}/input_items")
            assert len(page["data"]) == 4
            _, made = await other.call("POST", "/conversations", {"items": [user("Hello?")]})
            await world.ask("gemini", "Go on.", conversation=made["id"])
            assert (await other.call("DELETE", f"/responses/{one['id']}"))[0] == 200
            assert (await world.call("GET", f"/responses/{one['id']}"))[0] == 404
        finally:
            if other is not world:
                await other.aclose()

    run(body, **more)
