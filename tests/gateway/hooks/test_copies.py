"""A hook writes into what it is shown: into texts of tools, an answer, and its own notes."""

import asyncio
import json

import pytest
from tests.gateway.hooks.gates import Gate

from pondero.canon import (
    Event,
    Finished,
    Message,
    PartEnd,
    Reply,
    Request,
    Text,
    ToolCall,
    ToolResult,
    UnknownPart,
    iter_events,
)
from pondero.gateway import Hook, HookCall
from pondero.gateway.config.model import HookConfig
from pondero.gateway.hooks.bounded_call import BoundedHook
from pondero.gateway.hooks.chain import HookedAnswer, ask_hooks

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "a", "input": {"word": "w"}}
BODY = {
    "model": "m",
    "max_tokens": 9_000,
    "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{**SEARCH, "input": {"query": "w"}}, FOUND, CALL]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "y"}],
        },
    ],
    "tools": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"name": "a", "input_schema": {"type": "object"}},
    ],
}


def _write(part) -> None:
    if isinstance(part, ToolResult):
        for each in part.content:
            _write(each)
    for value in (getattr(part, "arguments", None), getattr(part, "raw", None)):
        if isinstance(value, dict):
            value["written"] = "written"


class Writer(Hook):
    def on_request(self, call: HookCall, /) -> None:
        for message in call.request.messages:
            for part in message.parts:
                _write(part)
        for tool in call.request.tools:
            for value in (tool.parameters, tool.raw):
                if value is not None:
                    value["written"] = "written"

    def on_event(self, call: HookCall, event: Event, /) -> None:
        if isinstance(event, PartEnd):
            _write(event.part)
        if isinstance(event, Finished):
            event.extras["written"] = event.grounding["written"] = event.safety["written"] = (
                "written"
            )

    def on_reply(self, call: HookCall, reply: Reply, /) -> None:
        for part in reply.message.parts:
            _write(part)
        reply.extras["written"] = reply.grounding["written"] = reply.safety["written"] = "written"


class Collector(Hook):
    changes_answers = True

    def on_request(self, call: HookCall, /) -> None:
        call.notes["texts"] = []

    def on_event(self, call: HookCall, event: Event, /) -> list[Event] | None:
        if isinstance(event, PartEnd) and isinstance(event.part, Text):
            call.notes["texts"].append(event.part.text)
            return [PartEnd(event.index, Text(" ".join(call.notes["texts"])))]
        return None


def _bound(hook: type[Hook]) -> BoundedHook:
    return BoundedHook(HookConfig(use="a:B", name="a"), hook({}))


CALLED = HookCall(
    id="1",
    key="local",
    client="local",
    client_api="anthropic",
    model="m",
    level=None,
    route=None,
    purpose="main",
    request=Request("m", (Message("user", (Text("x"),)),)),
    body=b"",
    notes={},
)


def test_what_a_hook_writes_into_the_parts_that_it_is_shown_is_not_sent():
    gate = Gate(HookConfig(use=f"{__name__}:Writer", name="writer"))

    gate.post("/v1/messages", BODY)

    (sent,) = gate.upstream.requests
    assert b"written" not in sent
    assert json.loads(sent)["messages"][1]["content"][2]["input"] == {"word": "w"}


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_a_hook_writes_into_an_answer_that_it_only_sees_is_not_shown(is_whole):
    parts = (
        ToolCall("1", "a", {"word": "w"}),
        UnknownPart("anthropic", {"type": "thing"}),
        Text("t"),
    )
    fields = {name: {"own": "own"} for name in ("extras", "grounding", "safety")}
    reply = Reply(Message("assistant", parts), "stop", **fields)

    async def show():
        answer = HookedAnswer(await ask_hooks([_bound(Writer)], CALLED))
        return await (answer.whole(reply) if is_whole else answer.feed(list(iter_events(reply))))

    shown = asyncio.run(show())

    assert "written" not in repr(shown)
    assert "written" not in repr(reply)


def test_what_an_attempt_collects_in_the_notes_is_not_in_those_of_the_next_one():
    async def show() -> list[str]:
        hooked = await ask_hooks([_bound(Collector)], CALLED)
        return [(await HookedAnswer(hooked).whole(_say(word))).text for word in ("one", "two")]

    assert asyncio.run(show()) == ["one", "two"]


def _say(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "stop")
