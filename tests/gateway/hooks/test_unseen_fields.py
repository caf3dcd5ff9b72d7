"""What a hook was not shown is not sent: fields of a body that no request of ours has."""

import json

import pytest
from tests.gateway.hooks.gates import Gate

from pondero.canon import Message, Reply, Text
from pondero.gateway import Hook, HookCall, Reject
from pondero.gateway.config.model import HookConfig

WORD = "Bluebird"


class Guard(Hook):
    """Rejects a word wherever it sees one."""

    def on_request(self, call: HookCall, /) -> Reject | None:
        return Reject("not this word") if WORD in repr(call.request) else None


class Cache(Hook):
    sees_all = False

    def on_request(self, call: HookCall, /) -> None:
        return None


def _hook(name: str) -> HookConfig:
    return HookConfig(use=f"{__name__}:{name}", name=name.lower())


MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
MODELS = {
    MESSAGES: "anthropic:claude-opus-5",
    RESPONSES: "openai:gpt-5.5",
    CHAT: "openai-chat:gpt-4.1",
}
TOOL = {"name": "a", "input_schema": {"type": "object"}}
BODIES = {
    "chat name": (CHAT, {"messages": [{"role": "user", "content": "x", "name": WORD}]}),
    "chat message": (CHAT, {"messages": [{"role": "user", "content": "x", "foo": WORD}]}),
    "chat part": (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "foo": WORD}]}]},
    ),
    "chat field": (CHAT, {"messages": [{"role": "user", "content": "x"}], "foo": WORD}),
    "messages part": (
        MESSAGES,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "foo": WORD}]}]},
    ),
    "messages call": (
        MESSAGES,
        {
            "messages": [
                {"role": "user", "content": "x"},
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "toolu_1",
                            "name": "a",
                            "input": {},
                            "caller": {"type": "direct", "x": WORD},
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "y"}],
                },
            ],
            "tools": [TOOL],
        },
    ),
    "messages tool": (
        MESSAGES,
        {"messages": [{"role": "user", "content": "x"}], "tools": [{**TOOL, "foo": WORD}]},
    ),
    "messages system": (
        MESSAGES,
        {
            "messages": [{"role": "user", "content": "x"}],
            "system": [{"type": "text", "text": "a", "foo": WORD}],
        },
    ),
    "messages field": (MESSAGES, {"messages": [{"role": "user", "content": "x"}], "foo": WORD}),
    "responses part": (
        RESPONSES,
        {
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "x", "foo": WORD}]}
            ]
        },
    ),
    "responses item": (RESPONSES, {"input": [{"role": "user", "content": "x", "foo": WORD}]}),
    "responses field": (RESPONSES, {"input": "x", "foo": WORD}),
}


def _post(gate: Gate, path: str, body: dict):
    more = {"max_tokens": 9_000} if path == MESSAGES else {}
    return gate.post(path, {"model": "m", **more, **body})


@pytest.mark.parametrize("name", BODIES)
def test_a_field_that_a_hook_does_not_see_is_not_sent(name):
    path, body = BODIES[name]
    gate = Gate(_hook("Guard"), to=MODELS[path])

    answer = _post(gate, path, body)

    assert answer.status in {200, 403}
    assert not any(WORD.encode() in each for each in gate.upstream.requests)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", MODELS)
def test_the_answer_to_a_request_that_was_only_read_keeps_its_bytes(path, stream):
    said = [{"role": "user", "content": "x"}]
    body = {"input": "x", "store": False} if path == RESPONSES else {"messages": said}
    gate = Gate(_hook("Guard"), to=MODELS[path])

    answer = _post(gate, path, {**body, "stream": stream})

    assert answer.status == 200
    assert gate.receipts[0].road == "fitted"
    assert b"cache_control" not in gate.upstream.requests[0]  # which costs more
    if not stream:
        assert json.loads(answer.body)["id"] == json.loads(gate.upstream.answers[0])["id"]


class Known(Cache):
    def on_request(self, call: HookCall, /) -> Reply:  # type: ignore[override]  # another answer
        return Reply(Message("assistant", (Text("known"),)), "stop")

    def on_reply(self, call: HookCall, reply: Reply, /) -> None:
        return None


@pytest.mark.parametrize("fields", [{"n": 2}, {"logprobs": True}], ids=str)
def test_a_hook_that_a_request_may_miss_answers_none_that_it_cannot(fields):
    gate = Gate(_hook("Known"), to="openai-chat:gpt-4.1")
    body = {"messages": [{"role": "user", "content": "x"}]}

    assert b"known" in _post(gate, CHAT, body).body
    answer = _post(gate, CHAT, {**body, **fields})

    assert answer.status == 200
    assert b"known" not in answer.body
    assert len(gate.upstream.requests) == 1


def test_a_hook_that_a_request_may_miss_leaves_the_bytes_of_the_request_alone():
    gate = Gate(_hook("Cache"))
    _post(gate, MESSAGES, BODIES["messages part"][1])
    assert gate.receipts[0].road == "passed"


@pytest.mark.parametrize("hook", ["Guard", "Cache"])
@pytest.mark.parametrize("to", ["openai:gpt-5.5", "anthropic:claude-opus-5"])
def test_a_stored_conversation_continues_behind_a_hook(to, hook):
    gate = Gate(_hook(hook), to=to)
    first = json.loads(_post(gate, RESPONSES, {"input": "What is 17 * 23?"}).body)

    second = _post(gate, RESPONSES, {"input": "And?", "previous_response_id": first["id"]})

    assert second.status == 200, second.body
    fetched = json.loads(second.body)
    assert fetched["previous_response_id"] == first["id"]
    assert not gate.upstream.refusals()
    own = to.startswith("openai")
    assert (b"previous_response_id" in gate.upstream.requests[1]) is (own and hook == "Cache")


def test_a_tool_loop_with_signed_thinking_continues_behind_a_hook():
    gate = Gate(_hook("Guard"))
    tool = {"name": "get_weather", "description": "w", "input_schema": {"type": "object"}}
    said = [{"role": "user", "content": "What is the weather in Bern?"}]
    level = {"thinking": {"type": "adaptive"}, "tools": [tool]}
    answer = json.loads(_post(gate, MESSAGES, {"messages": said, **level}).body)
    (call,) = [each for each in answer["content"] if each["type"] == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"}
    said += [
        {"role": "assistant", "content": answer["content"]},
        {"role": "user", "content": [result]},
    ]

    second = _post(gate, MESSAGES, {"messages": said, **level})

    assert second.status == 200, second.body
    assert not gate.upstream.refusals()
    sent = json.loads(gate.upstream.requests[1])["messages"][1]["content"]
    assert sent == json.loads(gate.upstream.answers[0])["content"]
