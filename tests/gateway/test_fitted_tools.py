"""Tools of any client on any model: accepted there, and called under the client's own names."""

import json

import pytest
from tests.exchange.sent_tools import sent_tools
from tests.gateway.test_client_tools import events, post

from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

HOSTS = (
    *("groq:openai/gpt-oss-120b", "xai:grok-4", "mistral:mistral-large-latest"),
    *("cerebras:gpt-oss-120b", "deepseek:deepseek-v4-flash", "openrouter:qwen/qwen3-235b-a22b"),
)
BACKS = (
    *("claude-sonnet-4-6", "gpt-5.5", "google:gemini-3-flash-preview", "ollama:qwen3"),
    *("bedrock:us.anthropic.claude-sonnet-4-6", "cohere:command-a-03-2025", HOSTS[0]),
    "google-interactions:gemini-3-flash-preview",
)
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
OPTIONAL = {**SCHEMA, "required": []}
LONG = "maps_search_" + "a" * 61
CUSTOM = {"type": "custom", "custom": {"name": "patch", "description": "Patches."}}


def make_app(back, *turns):
    emulator = Emulator(script=list(turns))
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(back,), retries=0),))
    return App(GatewayContext(config, emulator)), emulator


def function(name, schema=SCHEMA, **more):
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}


def chat(*tools, text="Go.", **fields):
    return {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        "tools": list(tools),
        **fields,
    }


# -- names ---------------------------------------------------------------------------------------

CLIENTS = {
    "/v1/messages": lambda name, schema: {
        "model": "m",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": "Go."}],
        "tools": [{"name": name, "input_schema": schema}],
    },
    "/v1/chat/completions": lambda name, schema: chat(function(name, schema)),
    "/v1/responses": lambda name, schema: {
        "model": "m",
        "input": "Go.",
        "tools": [{"type": "function", "name": name, "parameters": schema}],
    },
    "/v1beta/models/m:generateContent": lambda name, schema: {
        "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        "tools": [{"functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]}],
    },
    "/api/chat": lambda name, schema: {
        "model": "m",
        "stream": False,
        "messages": [{"role": "user", "content": "Go."}],
        "tools": [function(name, schema)],
    },
}


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/messages", LONG),
        ("/v1/chat/completions", "1-f"),
        ("/v1/responses", LONG),
        ("/v1beta/models/m:generateContent", "maps.search:v1"),
        ("/api/chat", "my tool"),
    ],
)
def test_a_client_s_name_goes_there_and_back(path, name, back):
    app, emulator = make_app(back)
    body = CLIENTS[path](name, SCHEMA)
    answer = post(app, path, body)
    assert answer.status == 200, answer.body
    [(sent, _, _)] = sent_tools(emulator.log.entries[-1].body)
    app, _ = make_app(back, ScriptedTurn(tool_calls=(ScriptedCall(sent, {"x": "1"}),)))
    answer = post(app, path, body)
    assert json.dumps(name) in answer.body.decode()
    assert sent == name or json.dumps(sent) not in answer.body.decode()


def test_a_stream_has_the_client_s_name():
    app, emulator = make_app("google:gemini-3-flash-preview")
    body = chat(function("1-f"), stream=True)
    post(app, "/v1/chat/completions", body)
    [(sent, _, _)] = sent_tools(emulator.log.entries[-1].body)
    turn = ScriptedTurn(tool_calls=(ScriptedCall(sent, {"x": "1"}),))
    answer = post(make_app("google:gemini-3-flash-preview", turn)[0], "/v1/chat/completions", body)
    calls = [
        call
        for event in events(answer)
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls", [])
    ]
    assert [call["function"]["name"] for call in calls if call["function"].get("name")] == ["1-f"]


# -- schemas ---------------------------------------------------------------------------------------


def test_a_strict_tool_of_messages_is_fitted_to_openai():
    app, emulator = make_app("gpt-5.5")
    body = CLIENTS["/v1/messages"]("f", {**OPTIONAL, "additionalProperties": False})
    body["tools"][0]["strict"] = True
    answer = post(app, "/v1/messages", body)
    assert answer.status == 200, answer.body
    [(_, schema, strict)] = sent_tools(emulator.log.entries[-1].body)
    assert (schema["required"], strict) == (["x"], True)


def test_strict_tools_of_cohere_are_fitted_to_openai():
    app, emulator = make_app("gpt-5.5")
    body = chat(function("f", OPTIONAL), strict_tools=True, stream=False)
    answer = post(app, "/v2/chat", body)
    assert answer.status == 200, answer.body
    [(_, schema, strict)] = sent_tools(emulator.log.entries[-1].body)
    assert (schema["required"], strict) == (["x"], True)


@pytest.mark.parametrize("back", BACKS)
def test_a_union_of_gemini_s_client_is_accepted(back):
    path = "/v1beta/models/m:generateContent"
    app, emulator = make_app(back)
    body = CLIENTS[path]("f", {"anyOf": [SCHEMA, {**SCHEMA, "title": "Other"}]})
    answer = post(app, path, body)
    assert answer.status == 200, answer.body
    assert "anyOf" in str(emulator.log.entries[-1].body)


# -- tools of type custom --------------------------------------------------------------------------


@pytest.mark.parametrize("back", [*HOSTS, "claude-sonnet-4-6"])
@pytest.mark.parametrize("forced", [False, True])
def test_a_custom_tool_is_a_function_where_there_is_none(back, forced):
    choice = {"tool_choice": {"type": "custom", "custom": {"name": "patch"}}} if forced else {}
    app, emulator = make_app(back)
    answer = post(app, "/v1/chat/completions", chat(CUSTOM, **choice))
    assert answer.status == 200, answer.body
    sent = emulator.log.entries[-1].body
    assert [name for name, _, _ in sent_tools(sent)] == ["patch"]
    assert "custom" not in json.dumps(sent)
    turn = ScriptedTurn(tool_calls=(ScriptedCall("patch", {"input": "*** Begin"}),))
    app, _ = make_app(back, turn)
    answer = post(app, "/v1/chat/completions", chat(CUSTOM))
    [call] = json.loads(answer.body)["choices"][0]["message"]["tool_calls"]
    assert call["custom"] == {"name": "patch", "input": "*** Begin"}


@pytest.mark.parametrize("back", HOSTS)
def test_an_earlier_custom_call_is_a_function_s(back):
    made = {"id": "abcdefghi", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    app, emulator = make_app(back)
    body = chat(CUSTOM)
    body["messages"] += [
        {"role": "assistant", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "abcdefghi", "content": "ok"},
    ]
    answer = post(app, "/v1/chat/completions", body)
    assert answer.status == 200, answer.body
    [call] = next(
        each["tool_calls"]
        for each in emulator.log.entries[-1].body["messages"]
        if each.get("tool_calls")
    )
    assert call["type"] == "function"
    assert json.loads(call["function"]["arguments"]) == {"input": "*** Begin"}


def test_openai_gets_a_custom_tool_and_its_choice_as_they_are():
    choice = {"type": "custom", "custom": {"name": "patch"}}
    app, emulator = make_app("openai-chat:gpt-5.1")
    assert post(app, "/v1/chat/completions", chat(CUSTOM, tool_choice=choice)).status == 200
    sent = emulator.log.entries[-1].body
    assert (sent["tools"], sent["tool_choice"]) == ([CUSTOM], choice)


# -- allowed tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("mode", ["auto", "required"])
def test_only_allowed_tools_are_offered(back, mode):
    named = {"type": "function", "function": {"name": "f"}}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [named]}}
    app, emulator = make_app(back)
    answer = post(
        app, "/v1/chat/completions", chat(function("e"), function("f"), tool_choice=choice)
    )
    assert answer.status == 200, answer.body
    sent = emulator.log.entries[-1].body
    assert [name for name, _, _ in sent_tools(sent)] == ["f"]
    if mode == "required" and "ollama" not in back:
        config = sent.get("generation_config") or {}
        forced = sent.get("tool_choice") or sent.get("toolConfig") or config.get("tool_choice")
        assert any(word in str(forced).lower() for word in ("required", "any"))
    assert "tool_choice_adjusted" in str(answer.headers)


def test_no_tool_is_offered_if_none_of_the_allowed_ones_is_there():
    named = {"type": "function", "function": {"name": "gone"}}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
    app, emulator = make_app("claude-sonnet-4-6")
    answer = post(app, "/v1/chat/completions", chat(function("e"), tool_choice=choice))
    assert answer.status == 200, answer.body
    assert not emulator.log.entries[-1].body.get("tools")
    assert "tool_choice_adjusted" in str(answer.headers)


def test_allowed_tools_of_responses_and_gemini_are_kept_too():
    app, emulator = make_app("claude-sonnet-4-6")
    tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in "ef"]
    choice = {"type": "allowed_tools", "mode": "required",
              "tools": [{"type": "function", "name": "f"}]}  # fmt: skip
    body = {"model": "m", "input": "Go.", "tools": tools, "tool_choice": choice}
    assert post(app, "/v1/responses", body).status == 200
    assert [name for name, _, _ in sent_tools(emulator.log.entries[-1].body)] == ["f"]
    declared = [{"name": name, "parametersJsonSchema": SCHEMA} for name in "efg"]
    calling = {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Go."}]}],
        "tools": [{"functionDeclarations": declared}],
        "toolConfig": {"functionCallingConfig": calling},
    }
    assert post(app, "/v1beta/models/m:generateContent", body).status == 200
    assert [name for name, _, _ in sent_tools(emulator.log.entries[-1].body)] == ["f", "g"]
