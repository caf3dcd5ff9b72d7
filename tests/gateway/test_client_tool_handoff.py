"""Calls of OpenAI's own tools that another model made, sent on to OpenAI and back again."""

import json

import pytest
from tests.gateway.test_client_tools import BACKS, OPENAI, post

from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

CUSTOM = ({"input": "abc"}, "input", "custom_tool_call", {"output": "a.txt"}, "a.txt")
TOOLS = {
    **{kind: OPENAI[kind] for kind in OPENAI if kind != "computer_use_preview"},
    "custom": CUSTOM,
}


def make_app(*turns: ScriptedTurn) -> tuple[App, Emulator]:
    emulator = Emulator(script=list(turns))
    routes = tuple(GatewayRoute(match=name, to=(to,), retries=0) for name, to in BACKS.items())
    return App(GatewayContext(GatewayConfig(routes=routes), emulator)), emulator


def strip_ids(items: list[dict]) -> list[dict]:
    """Return items as Codex sends them, which keeps no ids."""
    return [{key: each[key] for key in each if key != "id"} for each in items]


def drop_reasoning(items: list[dict]) -> list[dict]:
    return [each for each in items if each["type"] != "reasoning"]


CLIENTS = {"whole": list, "without reasoning": drop_reasoning, "without ids": strip_ids}


def check_items(items: list[dict]) -> None:
    """Assert what OpenAI asks of calls, outputs and ids, read from the bytes alone."""
    calls = {each["call_id"] for each in items if each.get("type", "").endswith("_call")}
    outputs = {
        each.get("call_id") or each["id"]
        for each in items
        if each.get("type", "").endswith("_output")
    }
    assert calls
    assert calls == outputs
    assert not [each["type"] for each in items if each.get("id") and "output" not in each["type"]]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("thinking", ["Hm.", ""], ids=["thinking", "no thinking"])
@pytest.mark.parametrize("kind", TOOLS)
@pytest.mark.parametrize("back", ["claude", "gemini", "deepseek"])
def test_openai_gets_another_models_calls_with_their_outputs(back, kind, thinking, client):
    if client == "without ids" and kind in ("local_shell", "computer"):
        pytest.skip("these items have an id in OpenAI's types")
    arguments, _, item_type, output, said = TOOLS[kind]
    name = "look" if kind == "custom" else kind
    turn = ScriptedTurn(thinking=thinking, tool_calls=(ScriptedCall(name, arguments),))
    app, emulator = make_app(turn, ScriptedTurn(text="Done."), ScriptedTurn(text="Done."))
    tool = {"type": kind, "name": name} if kind == "custom" else {"type": kind}
    body = {
        "model": back,
        "reasoning": {"effort": "low"},
        "tools": [tool],
        "input": [{"role": "user", "content": "Begin."}],
    }
    if client == "without ids":  # such a client lets nothing be stored
        body |= {"store": False, "include": ["reasoning.encrypted_content"]}
    first = post(app, "/v1/responses", body)
    assert first.status == 200, first.body
    items = json.loads(first.body)["output"]
    (call,) = [each for each in items if each["type"] == item_type]
    id = {"id" if kind == "local_shell" else "call_id": call["call_id"]}
    items = CLIENTS[client](items)
    body["input"] += [*items, {"type": f"{item_type}_output", **id, **output}]
    second = post(app, "/v1/responses", {**body, "model": "gpt"})
    assert second.status == 200, second.body
    sent = emulator.log.entries[-1].body["input"]
    check_items(sent)
    assert said in json.dumps(sent)
    if kind == "custom":
        assert {"custom_tool_call", "custom_tool_call_output"} < {each.get("type") for each in sent}
        (own,) = [each for each in sent if each.get("type") == "custom_tool_call"]
        assert own["input"] == "abc"
    body["input"] += json.loads(second.body)["output"]
    body["input"] += [{"role": "user", "content": "And now?"}]
    third = post(app, "/v1/responses", body)  # back to the model that called
    assert third.status == 200, third.body
    assert said in json.dumps(emulator.log.entries[-1].body) or (
        back == "deepseek" and said.startswith("iVBOR")
    )


def test_openais_own_calls_pass_as_they_are():
    app, emulator = make_app()
    output = OPENAI["shell"][3]
    call = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "completed"}
    items = [
        {"role": "user", "content": "Begin."},
        {**call, "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "call_1", **output},
    ]
    body = {"model": "gpt", "tools": [{"type": "shell"}], "input": items}
    assert post(app, "/v1/responses", body).status == 200
    assert emulator.log.entries[-1].body["input"] == items
