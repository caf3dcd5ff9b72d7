"""Nothing of a client's request vanishes: it is carried, noted, or rejected by the field's name."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ResponsesConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODELS = {
    "claude": "anthropic:claude-opus-5",
    "gpt": "openai:gpt-5.5",
    "chat": "openai-chat:gpt-4.1",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "router": "openrouter:anthropic/claude-sonnet-4.6",
    "groq": "groq:openai/gpt-oss-120b",
    "mistral": "mistral:mistral-medium-3-5",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-6",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
HELLO = [{"role": "user", "content": "Hello?"}]
CHAT = {"messages": HELLO}
RESPONSES = {"input": "Hello?"}
MESSAGES = {"messages": HELLO, "max_tokens": 4_000}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]}


KEPT, OFF = ResponsesConfig(), ResponsesConfig(store="off")


def ask(
    api: str, name: str, body: dict, responses: ResponsesConfig = KEPT
) -> tuple[int, dict, dict, str]:
    """Return status and answer, the body that the service was sent, and the adjustments."""
    paths = {
        "messages": "/v1/messages",
        "chat": "/v1/chat/completions",
        "responses": "/v1/responses",
        "gemini": f"/v1beta/models/{name}:generateContent",
        "ollama": "/api/chat",
        "cohere": "/v2/chat",
        "converse": f"/model/{name}/converse",
        "interactions": "/v1beta/interactions",
    }
    routes = tuple(GatewayRoute(match=each, to=(model,)) for each, model in MODELS.items())
    emulator = Emulator()
    app = App(GatewayContext(GatewayConfig(routes=routes, responses=responses), emulator))
    named = body if api in ("gemini", "converse") else {"model": name, **body}
    headers = {"content-type": "application/json", "x-api-key": "k"}
    http = HttpRequest("POST", f"http://gate{paths[api]}", headers, json.dumps(named).encode())
    answer = anyio.run(came, app, http)
    sent = emulator.log.entries[-1].body if emulator.log.entries else None
    notes = answer.headers.get("x-pondero-adjustments", "")
    return answer.status, json.loads(answer.body), sent or {}, notes


def rejection(api: str, name: str, body: dict, responses: ResponsesConfig = KEPT) -> str:
    """Return the message of a 400 of the client's own API; no service was asked."""
    status, answer, sent, _ = ask(api, name, body, responses)
    assert status == 400, answer
    assert not sent
    if api == "messages":
        assert answer["type"] == "error"
        return answer["error"]["message"]
    if api in ("chat", "responses"):
        assert answer["error"]["type"] == "invalid_request_error"
        return answer["error"]["message"]
    return json.dumps(answer)


# -- parameters of the answer ---------------------------------------------------------------------

ANSWERS = {
    "n": ("chat", {**CHAT, "n": 2}),
    "logprobs": ("chat", {**CHAT, "logprobs": True}),
    "modalities": ("chat", {**CHAT, "modalities": ["text", "audio"]}),
    "top_logprobs": ("responses", {**RESPONSES, "top_logprobs": 3}),
    "generationConfig.candidateCount": (
        "gemini",
        {**GEMINI, "generationConfig": {"candidateCount": 2}},
    ),
    "generation_config.response_logprobs": (
        "gemini",
        {**GEMINI, "generation_config": {"response_logprobs": True}},
    ),
    "documents": ("cohere", {**CHAT, "documents": [{"data": {"text": "Bern"}}]}),
    "background": ("interactions", {"input": "Hello?", "background": True}),
    "response_modalities": ("interactions", {"input": "Hello?", "response_modalities": ["image"]}),
    "response_format": (
        "interactions",
        {"input": "Hello?", "response_format": [{"type": "text"}, {"type": "audio"}]},
    ),
    "guardrailConfig": (
        "converse",
        {
            "messages": [{"role": "user", "content": [{"text": "Hello?"}]}],
            "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
        },
    ),
}


@pytest.mark.parametrize(("field", "asked"), ANSWERS.items(), ids=ANSWERS)
def test_a_parameter_that_changes_the_answer_is_rejected_where_no_model_has_it(field, asked):
    api, body = asked
    assert rejection(api, "claude", body).find(field) >= 0


def test_a_value_that_asks_for_nothing_is_no_reason_to_reject():
    body = {**CHAT, "n": 1, "logprobs": False, "modalities": ["text"], "provider": {"zdr": False}}
    assert ask("chat", "claude", body)[0] == 200
    assert ask("responses", "claude", {**RESPONSES, "background": False, "store": False})[0] == 200
    assert ask("gemini", "claude", {**GEMINI, "generationConfig": {"candidateCount": 1}})[0] == 200


@pytest.mark.parametrize("name", ["chat", "router"])
def test_several_answers_and_log_probabilities_pass_inside_the_chat_family(name):
    status, _, sent, _ = ask("chat", name, {**CHAT, "n": 2, "logprobs": True})
    assert (status, sent["n"], sent["logprobs"]) == (200, 2, True)


def test_a_seed_is_carried_to_every_api_that_has_one():
    assert ask("chat", "gemini", {**CHAT, "seed": 7})[2]["generationConfig"]["seed"] == 7
    assert ask("chat", "ollama", {**CHAT, "seed": 7})[2]["options"]["seed"] == 7
    assert ask("chat", "cohere", {**CHAT, "seed": 7})[2]["seed"] == 7
    assert ask("chat", "mistral", {**CHAT, "seed": 7})[2]["random_seed"] == 7
    assert ask("chat", "groq", {**CHAT, "seed": 7})[2]["seed"] == 7
    body = {**GEMINI, "generationConfig": {"seed": 7}}
    assert ask("gemini", "ollama", body)[2]["options"]["seed"] == 7


def test_a_seed_is_noted_where_there_is_none():
    for name in ("claude", "gpt", "converse"):
        status, _, sent, notes = ask("chat", name, {**CHAT, "seed": 7})
        assert status == 200
        assert "seed" not in json.dumps(sent)
        assert "dropped_parameter:seed" in notes or "seed" in notes, notes


# -- the family of Chat -----------------------------------------------------------------------------

OPENROUTER = {
    "provider": {"data_collection": "deny", "zdr": True, "order": ["anthropic"]},
    "plugins": [{"id": "web"}],
    "models": ["anthropic/claude-sonnet-4.6", "openai/gpt-5.5"],
    "session_id": "s1",
    "verbosity": "low",
    "seed": 7,
    "user": "u1",
    "logit_bias": {"50256": -100},
    "frequency_penalty": 0.5,
}


def test_openrouter_gets_every_field_that_a_chat_client_sends():
    status, answer, sent, notes = ask("chat", "router", {**CHAT, **OPENROUTER})
    assert status == 200, answer
    assert {name: sent.get(name) for name in OPENROUTER} == OPENROUTER
    assert "dropped_parameter" not in notes


@pytest.mark.parametrize("name", ["claude", "gpt", "deepseek", "gemini", "groq"])
@pytest.mark.parametrize("wish", [{"data_collection": "deny"}, {"zdr": True}, {"only": ["azure"]}])
def test_a_privacy_setting_that_cannot_be_honoured_is_rejected(name, wish):
    assert "provider." in rejection("chat", name, {**CHAT, "provider": wish})


def test_where_a_conversation_may_be_processed_is_not_ignored():
    assert "inference_geo" in rejection("messages", "gpt", {**MESSAGES, "inference_geo": "us"})


# -- what only the client's service has ---------------------------------------------------------------

STORED = {
    "previous_response_id": {**RESPONSES, "previous_response_id": "resp_1"},
    "conversation": {**RESPONSES, "conversation": "conv_1"},
    "prompt": {**RESPONSES, "prompt": {"id": "pmpt_1"}},
    "background": {**RESPONSES, "background": True},
}


@pytest.mark.parametrize("name", ["claude", "chat", "gemini", "deepseek", "ollama", "converse"])
@pytest.mark.parametrize(("field", "body"), STORED.items(), ids=STORED)
def test_no_answer_without_the_state_that_a_request_names(field, body, name):
    assert field in rejection("responses", name, body, OFF)


UNKNOWN = {
    "previous_response_id": (400, "Previous response with id 'resp_1' not found."),
    "conversation": (404, "Conversation with id 'conv_1' not found."),
}


@pytest.mark.parametrize("name", ["claude", "chat", "gemini", "deepseek", "ollama", "converse"])
@pytest.mark.parametrize(("field", "error"), UNKNOWN.items(), ids=UNKNOWN)
def test_a_state_that_is_not_kept_gets_the_error_of_the_service(field, error, name):
    status, answer, sent, _ = ask("responses", name, STORED[field])
    assert (status, answer["error"]["message"]) == error
    assert not sent


PICTURE = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
DOCUMENT = {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
IN_BUCKET = {"source": {"s3Location": {"uri": "s3://bucket/file-1"}}}
PAPER = {"document": {"format": "pdf", "name": "paper", **IN_BUCKET}}
FILES = {
    "converse image": (
        "converse",
        [
            {
                "role": "user",
                "content": [{"text": "Look."}, {"image": {"format": "png", **IN_BUCKET}}],
            }
        ],
        "s3://bucket/file-1",
    ),
    "converse document": (
        "converse",
        [{"role": "user", "content": [{"text": "Read."}, PAPER]}],
        "s3://bucket/file-1",
    ),
    "converse video": (
        "converse",
        [
            {
                "role": "user",
                "content": [{"text": "Look."}, {"video": {"format": "mp4", **IN_BUCKET}}],
            }
        ],
        "s3://bucket/file-1",
    ),
    "converse result": (
        "converse",
        [
            {"role": "user", "content": [{"text": "Look."}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "t1", "content": [PAPER]}}],
            },
        ],
        "s3://bucket/file-1",
    ),
    "messages image": ("messages", [{"role": "user", "content": [PICTURE]}], "file_1"),
    "messages document": ("messages", [{"role": "user", "content": [DOCUMENT]}], "file_1"),
    "messages upload": (
        "messages",
        [{"role": "user", "content": [{"type": "container_upload", "file_id": "file_1"}]}],
        "file_1",
    ),
    "messages result": (
        "messages",
        [
            {"role": "user", "content": "Look."},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [PICTURE]}],
            },
        ],
        "file_1",
    ),
    "responses file": (
        "responses",
        [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}],
        "file_1",
    ),
    "responses image": (
        "responses",
        [
            {
                "role": "user",
                "content": [{"type": "input_image", "file_id": "file_1", "detail": "auto"}],
            }
        ],
        "file_1",
    ),
    "chat file": (
        "chat",
        [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]}],
        "file_1",
    ),
    "chat audio": (
        "chat",
        [
            {"role": "user", "content": "Sing."},
            {"role": "assistant", "audio": {"id": "audio_1"}},
            {"role": "user", "content": "Again."},
        ],
        "audio_1",
    ),
    "gemini file": (
        "gemini",
        [
            {
                "role": "user",
                "parts": [
                    {
                        "fileData": {
                            "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/f1",
                            "mimeType": "application/pdf",
                        }
                    }
                ],
            }
        ],
        "files/f1",
    ),
    "gemini video": (
        "gemini",
        [
            {
                "role": "user",
                "parts": [{"fileData": {"fileUri": "https://www.youtube.com/watch?v=abc"}}],
            }
        ],
        "watch?v=abc",
    ),
}


@pytest.mark.parametrize("name", ["claude", "gpt", "gemini", "deepseek", "converse"])
@pytest.mark.parametrize(("api", "turns", "file"), FILES.values(), ids=FILES)
def test_no_answer_about_a_file_that_the_model_cannot_see(api, turns, file, name):
    own = ("messages", "claude"), ("responses", "gpt"), ("gemini", "gemini"), ("converse",) * 2
    if (api, name) in own:
        pytest.skip("its own service has the file")
    if (api, name) == ("chat", "deepseek"):
        pytest.skip("same API: the service itself rejects it")
    slot = {"gemini": "contents", "responses": "input"}.get(api, "messages")
    fields = {"max_tokens": 4_000} if api == "messages" else {}
    assert file in rejection(api, name, {slot: turns, **fields})


# -- what the client's own service answers ------------------------------------------------------------

SILENT = {
    "system alone": ("chat", {"messages": [{"role": "system", "content": "Say hello."}]}),
    "developer alone": ("responses", {"input": [{"role": "developer", "content": "Say hello."}]}),
    "empty message": ("chat", {"messages": [{"role": "user", "content": ""}]}),
    "empty with system": (
        "chat",
        {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": ""}]},
    ),
    "Ollama": ("ollama", {"messages": [{"role": "system", "content": "Hi."}], "stream": False}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("api", "body"), SILENT.values(), ids=SILENT)
def test_a_conversation_without_a_user_turn_is_answered_by_any_model(api, body, name):
    status, answer, _, _ = ask(api, name, body)
    assert status == 200, answer


def test_an_empty_conversation_is_rejected_as_by_its_own_service():
    assert ask("chat", "claude", {"messages": []})[0] == 400
    assert ask("messages", "gpt", {"messages": [], "system": "x", "max_tokens": 9})[0] == 400


@pytest.mark.parametrize("api", ["messages", "chat", "responses"])
@pytest.mark.parametrize("limit", [{}, {"max_tokens": 500}])
def test_a_model_outside_the_catalog_is_asked(api, limit, monkeypatch):
    monkeypatch.setitem(MODELS, "new", "anthropic:zzz-new-9")
    said = {"messages": MESSAGES, "chat": CHAT, "responses": RESPONSES}[api]
    body = {**said, **limit}
    if api == "responses":
        body = {**said, **({"max_output_tokens": 500} if limit else {})}
    _, answer, sent, _ = ask(api, "new", body)  # the emulator does not know it: a 404
    assert sent, answer
    own = 4_000 if api == "messages" else 32_000
    assert sent["max_tokens"] == (500 if limit else own)


SOUND = {"inlineData": {"mimeType": "audio/mp3", "data": "AAAA"}}
VIDEO = {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}
FAR = {"fileData": {"fileUri": "https://example.com/a.mp3", "mimeType": "audio/mp3"}}


@pytest.mark.parametrize("part", [SOUND, VIDEO, FAR], ids=["sound", "video", "address"])
@pytest.mark.parametrize("name", ["gpt", "claude", "deepseek"])
def test_a_medium_that_a_model_does_not_take_is_described_and_said(part, name):
    body = {"contents": [{"role": "user", "parts": [part, {"text": "What is it?"}]}]}
    status, answer, sent, notes = ask("gemini", name, body)
    assert status == 200, answer
    assert "which this model cannot be shown" in json.dumps(sent)
    assert "example.com" not in json.dumps(sent)
    assert "medium_unseen" in notes


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("claude", "ollama")])
def test_an_answer_of_no_tokens_becomes_the_shortest_that_a_model_takes(name):
    """Only Anthropic takes ``max_tokens: 0``, which warms its cache."""
    status, _, _, notes = ask("messages", name, {**MESSAGES, "max_tokens": 0})
    assert status == 200
    assert "max_tokens_clamped:max_tokens" in notes


def test_an_endless_answer_of_ollama_is_not_cut_elsewhere():
    body = {"messages": HELLO, "options": {"num_predict": -1}, "stream": False}
    status, _, sent, _ = ask("ollama", "groq", body)
    assert (status, sent.get("max_completion_tokens")) == (200, None)


def test_what_chat_and_responses_both_have_is_carried():
    body = {**CHAT, "verbosity": "low", "service_tier": "flex", "prompt_cache_key": "k",
            "metadata": {"a": "b"}, "safety_identifier": "s", "user": "ann"}  # fmt: skip
    status, answer, sent, notes = ask("chat", "gpt", body)
    assert status == 200, answer
    assert sent["text"]["verbosity"] == "low"
    carried = ("service_tier", "prompt_cache_key", "metadata", "safety_identifier", "user")
    assert {name: sent[name] for name in carried} == {name: body[name] for name in carried}
    assert "dropped_parameter" not in notes


def test_one_call_at_a_time_is_reported_by_its_own_name():
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    choice = {"type": "function", "function": {"name": "f"}}
    body = {**CHAT, "tools": [tool], "tool_choice": choice, "parallel_tool_calls": False}
    _, _, sent, notes = ask("chat", "gemini", body)
    assert sent["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["f"]
    assert "dropped_parameter:parallel_tool_calls" in notes
    assert "dropped_parameter:tool_choice" not in notes


def test_what_a_function_returns_is_reported_where_no_field_says_it():
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}},
            "output_schema": {"type": "object"}}  # fmt: skip
    notes = ask("responses", "claude", {**RESPONSES, "tools": [tool]})[3]
    assert "output_schema" in notes


PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
DECLARED = {"name": "f", "behavior": "NON_BLOCKING", "response": {"type": "STRING"}}
TURNS = [
    {"role": "user", "parts": [{"text": "Hi"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {
        "name": "f", "response": {"output": "x"}, "willContinue": True, "scheduling": "SILENT"}}]},
]  # fmt: skip


@pytest.mark.parametrize("name", ["claude", "gpt", "mistral"])
def test_what_only_gemini_has_is_reported(name):
    system = {"parts": [{"text": "Be brief."}, PICTURE]}
    tools = [{"functionDeclarations": [DECLARED]}]
    body = {"contents": TURNS, "systemInstruction": system, "tools": tools}
    status, answer, _, notes = ask("gemini", name, body)
    assert status == 200, answer
    lost = ("systemInstruction.parts.1", "behavior", "response", "willContinue", "scheduling")
    assert [each for each in lost if each not in notes] == []
    plain = {"contents": TURNS[:1], "tools": [{"functionDeclarations": [{"name": "f"}]}]}
    assert "functionDeclarations" not in ask("gemini", name, plain)[3]
