"""A gateway that remembers conversations does what one does that remembers none."""

import asyncio
import json
import re
import sys
from asyncio import ensure_future, sleep
from collections.abc import AsyncIterator
from copy import deepcopy
from itertools import count
from types import FrameType
from typing import Any, cast

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest, ResponseHead
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ProviderOverride,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.requests import split_body
from pondero.gateway.server import app as app_module
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.conversation_memo import ConversationMemo

PROOF = "Z" * 90
ARGUMENTS = {"path": "/a", "lines": [1, 2.5], "text": "é"}
BACKS = {
    "anthropic": "anthropic:claude-opus-5",
    "openai_chat": "openai-chat:gpt-5.4",
    "openai_responses": "openai:gpt-5.4",
    "gemini": "google:gemini-3-flash-preview",
}
# What the Chat API shows of this model's thinking is sent back, and envelopes with it.
MODELS = {**BACKS, "deepseek": "deepseek:deepseek-reasoner"}
_USED = {"input_tokens": 9, "output_tokens": 7}


def _answer(back: str, number: int) -> Any:
    """Return an answer with thinking, words and a call, in ids of its own."""
    if back == "anthropic":
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": ARGUMENTS}
        thought = {"type": "thinking", "thinking": f"hm {number}", "signature": f"{PROOF}{number}"}
        content = [thought, {"type": "text", "text": f"I look {number}."}, call]
        head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "usage": _USED}
        return {**head, "model": "m", "content": content, "stop_reason": "tool_use"}
    text = json.dumps(ARGUMENTS)
    if back in ("openai_chat", "deepseek"):
        call = {"id": f"call_{number}", "type": "function"}
        call["function"] = {"name": "look", "arguments": text}
        message = {"role": "assistant", "content": f"I look {number}.", "tool_calls": [call]}
        if back == "deepseek":
            message["reasoning_content"] = f"hm {number}"
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
        return {
            "id": "c",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    if back == "openai_responses":
        head = {"status": "completed", "id": f"fc_{number}", "type": "function_call"}
        call = {**head, "call_id": f"call_{number}", "name": "look", "arguments": text}
        reason = {
            "type": "reasoning",
            "id": f"rs_{number}",
            "encrypted_content": f"{PROOF}{number}",
        }
        items = [{**reason, "summary": []}, call]
        return {"id": f"resp_{number}", "object": "response", "model": "m", "status": "completed",
                "output": items, "usage": {**_USED, "total_tokens": 16}}  # fmt: skip
    call = {"functionCall": {"name": "look", "args": ARGUMENTS}, "thoughtSignature": "c2lnbmVk"}
    parts = [{"text": f"hm {number}", "thought": True}, {"text": f"I look {number}."}, call]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 7, "totalTokenCount": 16}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}


def untime(body: bytes) -> bytes:
    """Return an answer without the second at which it was complete."""
    return re.sub(rb'"completed_at":\d+', b'"completed_at":0', body)


class Services:
    """All services; ``seen`` are the requests that reached them."""

    needs_key = True

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes]] = []
        self._numbers = count(1)

    async def send(self, request: HttpRequest, _timeouts: object) -> "_Whole":
        self.seen.append((request.url, request.body))
        ends = {
            "/messages": "anthropic",
            "/responses": "openai_responses",
            "/completions": "openai_chat",
        }
        back = next((ends[end] for end in ends if request.url.endswith(end)), "gemini")
        back = "deepseek" if "deepseek" in request.url else back
        return _Whole(json.dumps(_answer(back, next(self._numbers))).encode())

    async def aclose(self) -> None:
        pass


class _Whole:
    head = ResponseHead(200, {"content-type": "application/json"})

    def __init__(self, body: bytes) -> None:
        self._pieces = iter([body])

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        pass


class Client:
    """A client of one API that keeps its conversation."""

    def __init__(self, front: str) -> None:
        self.front = front
        self.turns: list[Any] = [self.ask("Begin.")]

    def ask(self, text: str) -> Any:
        if self.front == "gemini":
            return {"role": "user", "parts": [{"text": text}]}
        return {"role": "user", "content": text}

    def show(self, how: str) -> Any:
        """Return a turn with a picture, or with a file that only the service has."""
        url, id = "https://example.com/a.png", "file-1"
        parts: dict[str, tuple[Any, Any]] = {
            "anthropic": (
                {"type": "image", "source": {"type": "url", "url": url}},
                {"type": "document", "source": {"type": "file", "file_id": id}},
            ),
            "openai_chat": (
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "file", "file": {"file_id": id}},
            ),
            "openai_responses": (
                {"type": "input_image", "image_url": url},
                {"type": "input_file", "file_id": id},
            ),
            "gemini": (
                {"fileData": {"fileUri": url, "mimeType": "image/png"}},
                {
                    "fileData": {
                        "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/1"
                    }
                },
            ),
        }
        part = parts[self.front][how == "file"]
        return {"role": "user", "parts" if self.front == "gemini" else "content": [part]}

    def ask_again(self, text: str) -> None:
        """Ask something in the place of the last question, or after the results of calls."""
        if "Question" in json.dumps(self.turns[-1]):
            del self.turns[-1]
        self.turns.append(self.ask(text))

    def add(self, answer: Any) -> None:
        seen = "seen"
        if self.front == "anthropic":
            ids = [each["id"] for each in answer["content"] if each["type"] == "tool_use"]
            told = [{"type": "tool_result", "tool_use_id": id, "content": seen} for id in ids]
            more = [{"role": "assistant", "content": answer["content"]}]
            more.append({"role": "user", "content": told or "Go on."})
        elif self.front == "openai_chat":
            said = {k: v for k, v in answer["choices"][0]["message"].items() if v is not None}
            ids = [each["id"] for each in said.get("tool_calls", ())]
            more = [said, *({"role": "tool", "tool_call_id": id, "content": seen} for id in ids)]
        elif self.front == "openai_responses":
            ids = [each["call_id"] for each in answer["output"] if each["type"] == "function_call"]
            kind = "function_call_output"
            more = [
                *answer["output"],
                *({"type": kind, "call_id": id, "output": seen} for id in ids),
            ]
        else:
            content = answer["candidates"][0]["content"]
            calls = [each["functionCall"] for each in content["parts"] if "functionCall" in each]
            told = [{"name": c["name"], "response": {"output": seen}, **_id(c)} for c in calls]
            parts: list[Any] = [{"functionResponse": each} for each in told]
            parts = parts or [self.ask("Go on.")["parts"][0]]
            more = [content, {"role": "user", "parts": parts}]
        self.turns += more

    def edit(self, at: int, how: str) -> None:
        """Change an earlier turn."""
        at %= len(self.turns)
        if how == "drop":
            del self.turns[at]
        elif how == "twice":
            self.turns.insert(at, deepcopy(self.turns[at]))
        elif how == "say":
            self.turns[at] = self.ask("Something else.")
        elif how in ("picture", "file"):
            self.turns[at] = self.show(how)
        elif how == "fail" and self.front == "anthropic":
            content = self.turns[at].get("content")
            if isinstance(content, list) and content[-1]["type"] == "tool_result":
                content[-1]["is_error"] = True
        elif how == "mark" and self.front == "anthropic":
            content = self.turns[at].get("content")
            if isinstance(content, list) and content and content[-1]["type"] != "thinking":
                content[-1]["cache_control"] = {"type": "ephemeral"}
        else:  # another client's bytes for the same
            self.turns[at] = dict(reversed(self.turns[at].items()))

    def request(self, level: str) -> HttpRequest:
        tool = {"name": "look", "description": "Looks."}
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        fields: dict[str, Any]
        match self.front:
            case "anthropic":
                path = "/v1/messages"
                fields = {
                    "max_tokens": 9000,
                    "messages": self.turns,
                    "output_config": {"effort": level},
                }
                fields |= {
                    "thinking": {"type": "adaptive"},
                    "tools": [{**tool, "input_schema": schema}],
                }
            case "openai_chat":
                path = "/v1/chat/completions"
                function = {"type": "function", "function": {**tool, "parameters": schema}}
                fields = {"messages": self.turns, "tools": [function], "reasoning_effort": level}
            case "openai_responses":
                path = "/v1/responses"
                function = {"type": "function", **tool, "parameters": schema}
                fields = {"input": self.turns, "tools": [function], "reasoning": {"effort": level}}
                fields |= {"store": False, "include": ["reasoning.encrypted_content"]}
            case _:
                path = "/v1beta/models/thing:generateContent"
                config = {"thinkingConfig": {"thinkingLevel": level}}
                declared = [{"functionDeclarations": [{**tool, "parameters": schema}]}]
                fields = {"contents": self.turns, "tools": declared, "generationConfig": config}
        if self.front != "gemini":
            fields["model"] = "thing"
        return HttpRequest("POST", f"http://gateway{path}", {}, json.dumps(fields).encode())


def _id(call: Any) -> dict[str, str]:
    return {"id": call["id"]} if "id" in call else {}


SERVER = ServerConfig(ledger="off", log="off")
KEYS = tuple(
    GatewayKey(name, hash_key(f"sk-{name}"), **more)
    for name, more in (
        ("one", {}),
        ("two", {}),
        ("capped", {"thinking": LevelRules(cap="low")}),
        ("budget", {"budget": SpendBudget(tokens=10**9)}),
    )
)


def _config(back: str) -> GatewayConfig:
    names = {to.partition(":")[0] for to in MODELS.values()}
    return GatewayConfig(
        server=SERVER,
        routes=(GatewayRoute(match="*", to=(MODELS[back],), retries=0),),
        providers={name: ProviderOverride(key="env:MEMO_KEY") for name in names},
        keys=KEYS,
    )


STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["low", "high"])),
    st.tuples(st.just("ask"), st.just("high")),
    st.tuples(st.just("ask"), st.just("high")),
    st.tuples(
        st.just("edit"),
        st.integers(0, 30),
        st.sampled_from(["drop", "twice", "say", "mark", "order", "picture", "file", "fail"]),
    ),
    st.tuples(st.just("again"), st.integers(0, 3)),
    st.tuples(st.just("key"), st.sampled_from([key.name for key in KEYS])),
    st.tuples(st.just("route"), st.sampled_from(list(MODELS))),
    st.tuples(st.just("secret")),
    st.tuples(st.just("forget")),
)


class World:
    """One gateway with its services."""

    def __init__(self, back: str, size: int) -> None:
        self.services = Services()
        self.gateway = GatewayContext(_config(back), self.services)
        self.memo = self.gateway.conversations = ConversationMemo(size)
        self.size = size
        self._app = App(self.gateway)
        self._ids = count(1)

    async def ask(self, http: HttpRequest, key: str) -> Came:
        vars(app_module)["make_id"] = lambda _now: f"{next(self._ids):024x}"
        headers = {"authorization": f"Bearer sk-{key}", "content-type": "application/json"}
        answer = await came(self._app, HttpRequest(http.method, http.url, headers, http.body))
        return answer._replace(body=untime(answer.body))

    async def step(self, step: tuple[Any, ...]) -> None:
        if step[0] == "route":
            self.gateway.reconfigure(_config(step[1]))
        elif step[0] == "secret":
            secrets = cast("Any", self.gateway.shared.secrets)
            secrets._secrets = (f"secret {len(self.services.seen)}",)  # the old ones are gone
            self.gateway.envelopes.forget()
        elif step[0] == "forget":  # the answer cache has lost everything
            memory = cast("Any", self.gateway.memory)
            memory._items.clear()
            memory._used = 0


async def _compare(front: str, back: str, steps: list[tuple[Any, ...]]) -> int:
    """Take steps through three gateways; return how often turns were known."""
    worlds = [World(back, size) for size in (0, 30_000, 8 << 20)]
    client, key = Client(front), "one"
    for step in steps:
        if step[0] == "edit":
            client.edit(*step[1:])
        elif step[0] == "again":  # a question that the next one takes the place of
            client.ask_again(f"Question {step[1]}.")
        elif step[0] == "key":
            key = step[1]
        elif step[0] == "ask":
            http = client.request(step[1])
            answers = [await world.ask(http, key) for world in worlds]
            assert answers[1] == answers[0]
            assert answers[2] == answers[0]
            assert worlds[1].services.seen == worlds[0].services.seen
            assert worlds[2].services.seen == worlds[0].services.seen
            if answers[0].status == 200:
                client.add(json.loads(answers[0].body))
        for world in worlds:
            await world.step(step)
            assert world.memo.used <= world.size
    return len(worlds[2].memo)


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMO_KEY", "sk-provider")
    monkeypatch.setattr(split_body, "SHORT_BODY", 0)
    monkeypatch.setitem(vars(app_module), "make_id", vars(app_module)["make_id"])  # put back
    monkeypatch.setattr(GatewayContext, "now", staticmethod(lambda: 1_790_000_000.0))


@pytest.mark.parametrize("front", BACKS)
@given(back=st.sampled_from(list(MODELS)), steps=st.lists(STEPS, min_size=4, max_size=14))
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_remembering_changes_no_request_no_answer_and_no_rejection(front, back, steps):
    anyio.run(_compare, front, back, [("ask", "high"), ("ask", "high"), *steps, ("ask", "high")])


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", MODELS)
def test_a_conversation_is_remembered(front, back):
    assert anyio.run(_compare, front, back, [("ask", "high")] * 5) > 2


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", MODELS)
@pytest.mark.parametrize("how", ["picture", "file", "fail", "mark"])
def test_what_is_not_simple_is_found_in_any_turn(front, back, how):
    ask = ("ask", "high")
    for at in (0, -1):  # it is in a turn that is known, and in a new one that later is
        anyio.run(_compare, front, back, [*[ask] * 4, ("edit", at, how), ask, ask, ask])


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", MODELS)
def test_a_turn_from_an_envelope_is_not_remembered_beyond_the_secret_of_it(front, back):
    ask = ("ask", "high")
    # The answer cache is empty, so the envelopes alone say what the turns were.
    steps = [ask, ask, ask, ("forget",), ask, ("forget",), ask, ("secret",), ("forget",), ask, ask]
    anyio.run(_compare, front, back, steps)


async def _count_pauses(front: str, back: str, words: int) -> int:
    """Return how often others may go on while a request is answered."""
    world, client = World(back, 8 << 20), Client(front)
    for _ in range(3):
        answer = await world.ask(client.request("high"), "one")
        client.add(json.loads(answer.body))
    client.turns[-1] = client.ask("word " * words)
    asked = ensure_future(world.ask(client.request("high"), "one"))
    pauses = 0
    while not asked.done():
        await sleep(0)
        pauses += 1
    assert (await asked).status == 200
    return pauses


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", MODELS)
def test_a_long_request_gives_way_between_its_steps(front, back):
    few = asyncio.run(_count_pauses(front, back, 10))
    many = asyncio.run(_count_pauses(front, back, 10_000))
    # Found, read, routed, restored, chosen, written, its window: each is a step of its own.
    assert many - few >= 8


async def _talk(world: World, client: Client, turns: int) -> None:
    for _ in range(turns):
        answer = await world.ask(client.request("high"), "budget")
        client.add(json.loads(answer.body))


async def _count_again(front: str, back: str, turns: int) -> int:
    """Return how many functions a gateway calls for the second question after so many turns.

    It has seen the first question after them, and none of the requests before.
    """
    world, client = World(back, 64 << 20), Client(front)
    await _talk(world, client, turns)
    world.gateway.conversations = ConversationMemo(world.size)
    client.ask_again("Question 1.")
    await world.ask(client.request("high"), "budget")
    client.ask_again("Question 2.")
    return await _count_calls(world, client, "pondero.gateway")


async def _count_next(front: str, back: str, turns: int) -> int:
    """Return how many functions are called for the next request after so many turns."""
    world, client = World(back, 64 << 20), Client(front)
    await _talk(world, client, turns)
    return await _count_calls(world, client, "pondero")


async def _count_calls(world: World, client: Client, room: str) -> int:
    http, calls = client.request("high"), 0

    def note(frame: FrameType, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_globals["__name__"].startswith(room)

    sys.setprofile(note)
    try:
        answer = await world.ask(http, "budget")
    finally:
        sys.setprofile(None)
    assert answer.status == 200
    return calls


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize("back", MODELS)
def test_another_question_in_the_place_of_the_last_costs_no_more_after_many_turns(front, back):
    few, many = (asyncio.run(_count_again(front, back, turns)) for turns in (12, 40))
    assert (many - few) / 28 < 20  # a turn that is looked at takes fifty


@pytest.mark.parametrize("front", BACKS)
@pytest.mark.parametrize(
    "back", [each for each in MODELS if each != "gemini"]
)  # its turns are written again
def test_the_next_request_costs_no_more_after_many_turns(front, back):
    few, many = (asyncio.run(_count_next(front, back, turns)) for turns in (12, 40))
    turns = 2.0 if front == "openai_responses" else 1.0  # an answer is several items there
    assert (many - few) / 28 < 20 * turns  # one that is written or measured again takes more
