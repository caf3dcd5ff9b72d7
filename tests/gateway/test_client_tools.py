"""Tools that a vendor defines and clients run: functions for other models, their own kind again."""

import json

import anyio
import pytest
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BACKS = {
    "claude": "anthropic:claude-sonnet-4-6",
    "gpt": "openai:gpt-5.5",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-6",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
OTHERS = [name for name in BACKS if name != "claude"]
NOT_OPENAI = [name for name in BACKS if name != "gpt"]
PNG = "data:image/png;base64,iVBORw0KGgo="


def make_app(back: str, *turns: ScriptedTurn) -> tuple[App, Emulator]:
    emulator = Emulator(script=list(turns))
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(BACKS[back],), retries=0),))
    return App(GatewayContext(config, emulator)), emulator


def post(app: App, path: str, body: dict) -> Came:
    headers = {"content-type": "application/json", "x-api-key": "k"}
    http = HttpRequest("POST", f"http://gate{path}", headers, json.dumps(body).encode())
    return anyio.run(came, app, http)


def events(answer: Came) -> list[dict]:
    lines = answer.body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


# -- Messages ----------------------------------------------------------------------------------------

ANTHROPIC = {
    "bash_20250124": ("bash", {"command": "ls"}, {}),
    "text_editor_20250728": (
        "str_replace_based_edit_tool",
        {"command": "view", "path": "/a.txt"},
        {},
    ),
    "memory_20250818": ("memory", {"command": "view", "path": "/memories"}, {}),
    "computer_20250124": (
        "computer",
        {"action": "left_click", "coordinate": [3, 4]},
        {"display_width_px": 800, "display_height_px": 600},
    ),
}


@pytest.mark.parametrize("kind", ANTHROPIC)
@pytest.mark.parametrize("back", OTHERS)
def test_tools_of_anthropic_are_called_by_any_model(back, kind):
    name, arguments, fields = ANTHROPIC[kind]
    call = ScriptedTurn(tool_calls=(ScriptedCall(name, arguments),))
    app, emulator = make_app(back, call, ScriptedTurn(text="Done."))
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4_000,
        "tools": [{"type": kind, "name": name, **fields}],
        "messages": [{"role": "user", "content": "Begin."}],
    }
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    blocks = json.loads(answer.body)["content"]
    (used,) = [block for block in blocks if block["type"] == "tool_use"]
    assert (used["name"], used["input"]) == (name, arguments)
    sent = json.dumps(emulator.log.entries[-1].body)
    assert f'"{name}"' in sent
    assert all(f'"{word}"' in sent for word in arguments)
    if kind.startswith("computer"):
        assert "display_width_px: 800" in sent
    result = {"type": "tool_result", "tool_use_id": used["id"], "content": "a.txt"}
    body["messages"] += [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [result]},
    ]
    assert post(app, "/v1/messages", body).status == 200
    assert "a.txt" in json.dumps(emulator.log.entries[-1].body)


def test_its_own_service_gets_such_a_tool_as_it_is():
    app, emulator = make_app("claude")
    tool = {"type": "bash_20250124", "name": "bash"}
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4_000,
        "tools": [tool],
        "messages": [{"role": "user", "content": "Hello?"}],
    }
    assert post(app, "/v1/messages", body).status == 200
    assert emulator.log.entries[-1].body["tools"] == [tool]


@pytest.mark.parametrize("back", OTHERS)
def test_a_tool_without_a_schema_is_rejected_by_name(back):
    app, emulator = make_app(back)
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4_000,
        "tools": [{"type": "hologram_20270101", "name": "projector"}],
        "messages": [{"role": "user", "content": "Hello?"}],
    }
    answer = post(app, "/v1/messages", body)
    told = json.loads(answer.body)
    assert (answer.status, told["type"]) == (400, "error")
    assert "hologram_20270101" in told["error"]["message"]
    assert "projector" in told["error"]["message"]
    assert not emulator.log.entries


# -- Responses ---------------------------------------------------------------------------------------

SHELL = [{"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
SHOT = {"type": "computer_screenshot", "image_url": PNG}
OPENAI = {
    "shell": ({"commands": ["ls"]}, "action", "shell_call", {"output": SHELL}, "a.txt"),
    "local_shell": (
        {"command": ["ls", "-l"]},
        "action",
        "local_shell_call",
        {"output": '{"stdout": "a.txt"}'},
        "a.txt",
    ),
    "apply_patch": (
        {"type": "create_file", "path": "a.txt", "diff": "+hello"},
        "operation",
        "apply_patch_call",
        {"status": "failed", "output": "no such place"},
        "no such place",
    ),
    "computer": (
        {"type": "click", "button": "left", "x": 3, "y": 4},
        "actions",
        "computer_call",
        {"output": SHOT},
        "iVBORw0KGgo",
    ),
    "computer_use_preview": (
        {"type": "click", "button": "left", "x": 3, "y": 4},
        "action",
        "computer_call",
        {"output": SHOT},
        "iVBORw0KGgo",
    ),
}
PREVIEW = {"display_width": 800, "display_height": 600, "environment": "linux"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", OPENAI)
@pytest.mark.parametrize("back", NOT_OPENAI)
def test_tools_of_openai_are_called_by_any_model(back, kind, stream):
    arguments, field, item_type, output, said = OPENAI[kind]
    call = ScriptedTurn(thinking="Hm.", tool_calls=(ScriptedCall(kind, arguments),))
    app, emulator = make_app(back, call, ScriptedTurn(text="Done."))
    settings = PREVIEW if kind == "computer_use_preview" else {}
    body = {
        "model": "gpt-5.5",
        "reasoning": {"effort": "low"},
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": kind, **settings}],
        "input": [{"role": "user", "content": "Begin."}],
        "stream": stream,
    }
    answer = post(app, "/v1/responses", body)
    assert answer.status == 200, answer.body
    if stream:
        came_in = events(answer)
        done = [e["item"] for e in came_in if e["type"] == "response.output_item.done"]
        output_items = came_in[-1]["response"]["output"]
        assert done == output_items
        assert not any("function_call" in e["type"] for e in came_in)
    else:
        output_items = json.loads(answer.body)["output"]
    (item,) = [each for each in output_items if each["type"] == item_type]
    TypeAdapter(ResponseOutputItem).validate_python(item, strict=True)
    action = item[field][0] if kind == "computer" else item[field]
    assert {key: action[key] for key in arguments} == arguments
    id = {"id" if kind == "local_shell" else "call_id": item["call_id"]}
    body["input"] += [*output_items, {"type": f"{item_type}_output", **id, **output}]
    again = post(app, "/v1/responses", body)
    assert again.status == 200, again.body
    sent = json.dumps(emulator.log.entries[-1].body)
    assert f'"{kind}"' in sent
    if back != "deepseek" or not said.startswith("iVBOR"):  # it takes no pictures
        assert said in sent
    if back in ("claude", "converse"):
        assert "signature" in sent  # its thinking came back with the call


def test_a_shell_in_a_container_is_the_services_own():
    app, _ = make_app("claude")
    body = {
        "model": "gpt-5.5",
        "tools": [{"type": "shell", "environment": {"type": "container_auto"}}],
        "input": "Hello?",
    }
    answer = post(app, "/v1/responses", body)
    assert answer.status == 200
    assert "tool_left_out" in answer.headers["x-pondero-adjustments"]


def test_an_unknown_tool_of_a_responses_client_is_rejected_by_name():
    app, emulator = make_app("claude")
    body = {"model": "gpt-5.5", "tools": [{"type": "hologram"}], "input": "Hello?"}
    answer = post(app, "/v1/responses", body)
    assert answer.status == 400
    assert "hologram" in json.loads(answer.body)["error"]["message"]
    assert not emulator.log.entries


# -- the older functions of Chat -----------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("back", BACKS)
def test_older_functions_are_called_and_return_in_the_older_form(back, stream):
    call = ScriptedTurn(tool_calls=(ScriptedCall("look", {"at": "here"}),))
    app, emulator = make_app(back, call, ScriptedTurn(text="Done."))
    schema = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
    body = {
        "model": "gpt-4.1",
        "functions": [{"name": "look", "description": "Looks.", "parameters": schema}],
        "function_call": "auto",
        "messages": [{"role": "user", "content": "Begin."}],
        "stream": stream,
    }
    answer = post(app, "/v1/chat/completions", body)
    assert answer.status == 200, answer.body
    if stream:
        choices = [choice for each in events(answer) for choice in each["choices"]]
        deltas = [choice["delta"].get("function_call", {}) for choice in choices]
        assert not any("tool_calls" in choice["delta"] for choice in choices)
        name = "".join(each.get("name") or "" for each in deltas)
        arguments = "".join(each.get("arguments") or "" for each in deltas)
        finish = choices[-1]["finish_reason"]
    else:
        (choice,) = json.loads(answer.body)["choices"]
        assert "tool_calls" not in choice["message"]
        name, arguments = (choice["message"]["function_call"][key] for key in ("name", "arguments"))
        finish = choice["finish_reason"]
    assert (name, json.loads(arguments), finish) == ("look", {"at": "here"}, "function_call")
    said = {"name": name, "arguments": arguments}
    body["messages"] += [
        {"role": "assistant", "content": None, "function_call": said},
        {"role": "function", "name": "look", "content": "a.txt"},
    ]
    again = post(app, "/v1/chat/completions", body)
    assert again.status == 200, again.body
    assert "a.txt" in json.dumps(emulator.log.entries[-1].body)


def test_a_function_that_must_be_called_is_called():
    app, emulator = make_app("claude")
    body = {
        "model": "gpt-4.1",
        "functions": [{"name": "look", "parameters": {"type": "object", "properties": {}}}],
        "function_call": {"name": "look"},
        "messages": [{"role": "user", "content": "Begin."}],
    }
    answer = post(app, "/v1/chat/completions", body)
    assert json.loads(answer.body)["choices"][0]["message"]["function_call"]["name"] == "look"
    assert emulator.log.entries[-1].body["tool_choice"]["name"] == "look"
