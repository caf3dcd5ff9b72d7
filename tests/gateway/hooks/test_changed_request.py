"""What a hook may change in a request: nothing by which the gateway has decided about it."""

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.hooks.gates import Gate, make_key
from tests.gateway.upstream import BACKS

from pondero.canon import (
    Blob,
    LevelUpdate,
    Message,
    OutputFormat,
    Request,
    Text,
    Tool,
    UnknownPart,
)
from pondero.gateway import Hook, HookCall
from pondero.gateway.config.model import HookConfig, LevelRules, SpendBudget

CLIENTS = {
    "/v1/messages": "anthropic:claude-opus-5",
    "/v1/responses": "openai:gpt-5.5",
    "/v1/chat/completions": BACKS["deepseek"],
}
"""A model that speaks the API of each path, so that further fields of a request are sent."""


def _hook(name: str, **settings) -> HookConfig:
    return HookConfig(use=f"{__name__}:{name}", name=name.lower(), **settings)


def _make_body(path: str, **fields) -> dict:
    if path == "/v1/responses":
        return {"model": "m", "input": "Hi", "max_output_tokens": 9_000, **fields}
    return {
        "model": "m",
        "max_tokens": 9_000,
        "messages": [{"role": "user", "content": "Hi"}],
        **fields,
    }


def _message(answer) -> str:
    return json.loads(answer.body)["error"]["message"]


class Fields(Hook):
    """Adds further fields."""

    def __init__(self, settings) -> None:
        self._fields = settings["fields"]

    def on_request(self, call: HookCall, /) -> Request:
        return replace(call.request, extras={**(call.request.extras or {}), **self._fields})


class Writer(Fields):
    """Writes into the fields that it is shown."""

    def on_request(self, call: HookCall, /) -> Request | None:  # type: ignore[override]  # its mistake
        if call.request.extras is not None:
            call.request.extras.update(self._fields)
        return None


SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 50}
DECISIVE = {
    "model": "claude-fable-5-1",
    "models": ["gpt-5.5-pro"],
    "fallbacks": ["claude-fable-5-1"],
    "stream": True,
    "background": True,
    "n": 5,
    "max_tokens": 64_000,
    "max_output_tokens": 64_000,
    "max_completion_tokens": 64_000,
    "messages": [{"role": "user", "content": "other"}],
    "input": "other",
    "system": "other",
    "instructions": "other",
    "tools": [SEARCH],
    "mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}],
    "web_search_options": {},
    "previous_response_id": "resp_other",
    "conversation": "conv_other",
    "container": "container_other",
    "thread": {"previous_message_id": "msg_other"},
    "prompt": {"id": "pmpt_other"},
    "store": True,
    "service_tier": "priority",
    "multi_agent": {"enabled": True},
    "Model": "claude-fable-5-1",
}
RULES = {"thinking": LevelRules(cap="low"), "budget": SpendBudget(tokens=100_000, per="day")}


@pytest.mark.parametrize("path", CLIENTS)
@pytest.mark.parametrize("name", DECISIVE)
def test_a_hook_adds_no_field_by_which_the_gateway_decides(name, path):
    hook = _hook("Fields", settings={"fields": {name: DECISIVE[name]}})
    gate = Gate(hook, to=CLIENTS[path], keys=(make_key("ann", **RULES),))

    answer = gate.post(path, _make_body(path), key="ann")

    assert answer.status == 503
    assert f"the hook 'fields' changed {name} in further fields" in _message(answer)
    assert not gate.upstream.requests


@pytest.mark.parametrize("path", CLIENTS)
def test_what_a_hook_writes_into_the_fields_that_it_is_shown_is_not_sent(path):
    hook = _hook("Writer", settings={"fields": {"model": "other", "metadata": {"a": "other"}}})
    gate = Gate(hook, to=CLIENTS[path])

    answer = gate.post(path, _make_body(path, metadata={"user_id": "u"}))

    assert answer.status == 200
    assert b"other" not in gate.upstream.requests[0]


@pytest.mark.parametrize("path", CLIENTS)
def test_a_hook_labels_a_request(path):
    told = {"user_id": "u"}
    gate = Gate(_hook("Fields", settings={"fields": {"metadata": told}}), to=CLIENTS[path])

    answer = gate.post(path, _make_body(path))

    assert answer.status == 200
    assert (
        path == "/v1/chat/completions" or json.loads(gate.upstream.requests[0])["metadata"] == told
    )


class Texts(Hook):
    """Replaces one text by another in all further fields and tools."""

    def __init__(self, settings) -> None:
        self._texts = tuple(settings["texts"])

    def on_request(self, call: HookCall, /) -> Request:
        read = json.dumps(call.request.extras).replace(*self._texts)
        tools = tuple(
            replace(each, raw=json.loads(json.dumps(each.raw).replace(*self._texts)))
            for each in call.request.tools
        )
        return replace(call.request, extras=json.loads(read), tools=tools)


def _post_texts(body: dict, *texts: str, path: str = "/v1/messages", to: str = "", **rules):
    gate = Gate(
        _hook("Texts", settings={"texts": texts}),
        to=to or CLIENTS[path],
        keys=(make_key("ann", **rules),),
    )
    return gate.post(path, _make_body(path, **body), key="ann"), gate


def test_a_hook_changes_texts_in_fields_of_the_client():
    body = {"prediction": {"type": "content", "content": "ann@a.org"}}
    model = "openai-chat:gpt-4.1"
    answer, gate = _post_texts(body, "ann@a.org", "[email]", path="/v1/chat/completions", to=model)

    assert answer.status == 200
    assert json.loads(gate.upstream.requests[0])["prediction"]["content"] == "[email]"


def test_a_hook_changes_no_id_of_what_is_stored():
    answer, gate = _post_texts(
        {"container": "container_own"}, "container_own", "container_other", account_state=True
    )

    assert answer.status == 503
    assert "changed ids in further fields" in _message(answer)
    assert not gate.upstream.requests


def test_a_hook_changes_no_number_in_fields_of_the_client():
    context = {"edits": [{"type": "clear_tool_uses_20250919", "keep": {"value": 3}}]}
    answer, _ = _post_texts({"context_management": context}, '"value": 3', '"value": 9')
    assert "changed context_management in further fields" in _message(answer)


def test_a_hook_changes_texts_in_a_tool_that_the_service_runs_and_not_which_it_is():
    tool = {**SEARCH, "max_uses": 2, "blocked_domains": ["a.org"]}
    answer, gate = _post_texts({"tools": [tool]}, "a.org", "b.org")
    assert answer.status == 200
    assert b'"b.org"' in gate.upstream.requests[0]

    for texts in ((": 2", ": 9"), ("20250305", "20260209")):
        answer, gate = _post_texts({"tools": [tool]}, *texts)
        assert answer.status == 503
        assert "added or changed tools" in _message(answer)
        assert not gate.upstream.requests


class Without(Hook):
    def on_request(self, call: HookCall, /) -> Request:
        return replace(call.request, extras=None)


def test_a_hook_leaves_fields_out():
    gate = Gate(_hook("Without"))

    answer = gate.post("/v1/messages", _make_body("/v1/messages", metadata={"user_id": "u"}))

    assert answer.status == 200
    assert b"metadata" not in gate.upstream.requests[0]


ADDED: dict[str, Any] = {
    "a search": {"tools": (Tool("web_search", kind="web_search"),)},
    "a raw tool": {"tools": (Tool("web_search", raw=SEARCH, kind="other", dialect="anthropic"),)},
    "an unknown part": {
        "messages": (
            Message(
                "user",
                (UnknownPart("anthropic", {"type": "container_upload", "file_id": "f"}), Text("a")),
            ),
        )
    },
    "a level": {
        "messages": (
            Message("system", (LevelUpdate("max"),)),
            Message("user", (Text("a"),)),
        )
    },
}
WRONG: dict[str, Any] = {
    "a text as messages": {"messages": "abc"},
    "texts as messages": {"messages": ("abc",)},
    "a number as text": {"messages": (Message("user", (Text(5),)),)},  # type: ignore[arg-type]  # a mistake
    "a number as system": {"system": 5},
    "a text as system": {"system": "abc"},
    "a text as stop": {"stop": "abc"},
    "a text as output": {"output": "abc"},
    "an object in fields": {"extras": {"metadata": object()}},
    "a list of fields": {"extras": [1]},
}


class Returns(Hook):
    def __init__(self, settings) -> None:
        self._fields = {**ADDED, **WRONG, **FINE}[settings["name"]]

    def on_request(self, call: HookCall, /) -> Request:
        return replace(call.request, **self._fields)


@pytest.mark.parametrize("name", ADDED)
def test_a_hook_adds_no_tool_part_or_level_that_only_a_client_may_send(name):
    gate = Gate(_hook("Returns", settings={"name": name}), keys=(make_key("ann", **RULES),))

    answer = gate.post("/v1/messages", _make_body("/v1/messages"), key="ann")

    assert answer.status == 503
    assert "the hook 'returns' added" in _message(answer)
    assert not gate.upstream.requests


def test_a_hook_adds_no_address_that_only_the_service_can_read():
    FINE["a file"] = {"messages": (Message("user", (Blob("video/mp4", url="gs://other/a"),)),)}
    model = "google:gemini-3-flash-preview"
    gate = Gate(_hook("Returns", settings={"name": "a file"}), to=model)
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}

    answer = gate.post("/v1beta/models/m:generateContent", body)

    assert answer.status == 503
    assert not gate.upstream.requests


@pytest.mark.parametrize("name", WRONG)
def test_a_request_of_wrong_types_is_the_failure_of_its_hook(name):
    gate = Gate(_hook("Returns", settings={"name": name}))

    answer = gate.post("/v1/messages", _make_body("/v1/messages"))

    assert answer.status == 503
    assert "the hook 'returns' " in _message(answer)
    assert not gate.upstream.requests


FINE: dict[str, Any] = {
    "a function": {"tools": (Tool("look_up", "Look it up.", {"type": "object"}),)},
    "a list of messages": {"messages": [Message("user", (Text("other"),))]},
    "all of it": {
        "messages": (Message("user", (Text("other"),)),),
        "system": (Text("Be brief."),),
        "output": OutputFormat({"type": "object", "properties": {}, "additionalProperties": False}),
        "stop": ("END",),
    },
}


@pytest.mark.parametrize("name", ["a function", "a list of messages", "all of it"])
def test_a_hook_changes_the_conversation(name):
    gate = Gate(_hook("Returns", settings={"name": name}))

    answer = gate.post("/v1/messages", _make_body("/v1/messages"))

    assert answer.status == 200, answer.body
    assert len(gate.upstream.requests) == 1


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/responses/input_tokens"])
def test_a_count_of_tokens_fails_in_the_format_of_its_api(path):
    gate = Gate(_hook("Returns", settings={"name": "a text as messages"}))

    body = _make_body("/v1/responses" if "responses" in path else "/v1/messages")
    body = {name: value for name, value in body.items() if not name.startswith("max")}

    answer = gate.post(path, body)

    assert answer.status == 503
    assert "the hook 'returns' " in _message(answer)
    assert (json.loads(answer.body).get("type") == "error") is ("messages" in path)
