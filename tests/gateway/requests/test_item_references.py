"""Items that a client names (AI SDK does by default) are resolved from the answers it was given."""

import json

import anyio
import pytest
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BACKS = {
    "claude": ("anthropic:claude-sonnet-4-6", "signature"),
    "converse": ("bedrock:us.anthropic.claude-sonnet-4-6", "signature"),
    "gemini": ("google:gemini-3-flash-preview", "thoughtSignature"),
    "deepseek": ("deepseek:deepseek-v4-flash", "reasoning_content"),
}
LOOK = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
CALL = ScriptedTurn(thinking="Hm, let me look.", tool_calls=(ScriptedCall("look", {"at": "here"}),))


def make_app(back: str, *turns: ScriptedTurn) -> tuple[App, Emulator]:
    emulator = Emulator(script=list(turns))
    keys = tuple(GatewayKey(name=name, hash=hash_key(f"key-of-{name}")) for name in ("ann", "bob"))
    routes = (GatewayRoute(match="*", to=(BACKS[back][0],), retries=0),)
    return App(GatewayContext(GatewayConfig(routes=routes, keys=keys), emulator)), emulator


def post(app: App, body: dict, who: str = "ann") -> Came:
    headers = {"content-type": "application/json", "authorization": f"Bearer key-of-{who}"}
    data = json.dumps({"model": "gpt-5.5", "reasoning": {"effort": "low"}, **body}).encode()
    return anyio.run(came, app, HttpRequest("POST", "http://gate/v1/responses", headers, data))


def output_of(answer: Came) -> list[dict]:
    assert answer.status == 200, answer.body
    if answer.body.startswith(b"{"):
        return json.loads(answer.body)["output"]
    lines = [line for line in answer.body.decode().splitlines() if line.startswith("data: {")]
    return json.loads(lines[-1][6:])["response"]["output"]


def references(output: list[dict]) -> list[dict]:
    return [{"type": "item_reference", "id": item["id"]} for item in output]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("back", BACKS)
def test_named_items_bring_back_the_call_and_its_thinking(back, stream):
    app, emulator = make_app(back, CALL, ScriptedTurn(text="Done."), ScriptedTurn(text="Bye."))
    start = [{"role": "user", "content": "Begin."}]
    body = {"tools": [LOOK], "stream": stream}
    output = output_of(post(app, {**body, "input": start}))
    (call,) = [item for item in output if item["type"] == "function_call"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.txt"}
    turns = [*start, *references(output), result]
    more = output_of(post(app, {**body, "input": turns}))
    sent = json.dumps(emulator.log.entries[-1].body)
    assert "look" in sent
    assert "a.txt" in sent
    assert BACKS[back][1] in sent
    turns += [*references(more), {"role": "user", "content": "Thanks."}]
    output_of(post(app, {**body, "input": turns}))
    assert "Done." in json.dumps(emulator.log.entries[-1].body)


def test_an_item_that_is_not_kept_is_rejected_and_never_left_out():
    app, emulator = make_app("claude", CALL)
    output = output_of(post(app, {"input": "Begin.", "tools": [LOOK], "store": False}))
    asked = len(emulator.log.entries)
    for id in (output[-1]["id"], "msg_unknown"):
        turns = [{"role": "user", "content": "Hi."}, {"type": "item_reference", "id": id}]
        answer = post(app, {"input": turns})
        assert answer.status in (400, 404)
        assert id in json.loads(answer.body)["error"]["message"]
    assert len(emulator.log.entries) == asked


def test_another_client_cannot_name_them():
    app, emulator = make_app("claude", CALL)
    output = output_of(post(app, {"input": "Begin.", "tools": [LOOK]}))
    asked = len(emulator.log.entries)
    turns = [{"role": "user", "content": "Hi."}, *references(output)]
    assert post(app, {"input": turns}, who="bob").status in (400, 404)
    assert len(emulator.log.entries) == asked
