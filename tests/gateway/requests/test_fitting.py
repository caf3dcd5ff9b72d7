"""A request is fitted to the model that gets it, also if that model speaks the client's own API."""

import json

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

HELLO = [{"role": "user", "content": "Hello?"}]
THOUGHT = [*HELLO, {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."}, *HELLO]
TWO_TEXTS = [{"role": "user", "parts": [{"text": "Hello?"}]}]
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
SHAPE = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
JSON_SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": SHAPE}}
LOGPROBS = "message.output_text.logprobs"
UPDATE = {"type": "configuration_update", "reasoning": {"effort": "high"}}


class Keyless(Canned):
    needs_key = False


def make_http(api: str, name: str, fields: dict, verb: str = "generateContent") -> HttpRequest:
    """Return a client's request: Hello, and these fields."""
    if api == "gemini":
        path, body = f"/v1beta/models/{name}:{verb}", {"contents": TWO_TEXTS, **fields}
    else:
        said = {"input": "Hello?"} if api == "responses" else {"messages": HELLO}
        path, body = PATHS[api], {"model": name, **said, **fields}
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    return HttpRequest("POST", f"http://gate{path}", headers, json.dumps(body).encode())


def ask(http: HttpRequest, to: str, service: Emulator | Canned) -> Came:
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(to,), retries=0),))
    return anyio.run(came, App(GatewayContext(config, service)), http)


# -- rejected: the answer would be another one ---------------------------------------------------

REJECTED = [
    ("chat", "gpt-4.1", "groq:openai/gpt-oss-120b", {"n": 2}, "n"),
    ("chat", "gpt-4.1", "groq:openai/gpt-oss-120b", {"n": 2, "messages": THOUGHT}, "n"),
    ("chat", "gpt-4.1", "groq:openai/gpt-oss-120b", {"logprobs": True}, "logprobs"),
    ("chat", "gpt-4.1", "deepseek:deepseek-v4-flash", {"n": 2}, "n"),
    ("chat", "gpt-4.1", "mistral:mistral-small-latest", {"logprobs": True}, "logprobs"),
    ("chat", "gpt-4.1", "openai-chat:gpt-5.5", {"logprobs": True}, "logprobs"),
    ("chat", "gpt-4.1", "google:gemini-3.6-flash", {"n": 2}, "n"),
    ("chat", "gpt-4.1", "openai:gpt-5.5", {"logprobs": True}, "logprobs"),
    ("responses", "gpt-4o", "openai-chat:gpt-5.5", {"include": [LOGPROBS]}, "include"),
    ("responses", "gpt-4o", "openai-chat:gpt-5.5", {"top_logprobs": 3}, "top_logprobs"),
    ("chat", "gpt-4.1", "openai-chat:gpt-5.5", {"modalities": ["text", "audio"]}, "modalities"),
    ("responses", "gpt-4o", "openai:gpt-5.5", {"top_logprobs": 3}, "top_logprobs"),
    ("responses", "gpt-4o", "openai:gpt-5.5", {"include": [LOGPROBS]}, "include"),
    ("gemini", "gemini-2.0-flash", "google:gemini-3.6-flash", {"candidateCount": 2}, None),
    ("gemini", "gemini-2.0-flash", "google:gemini-2.5-flash", {"responseLogprobs": True}, None),
    ("gemini", "fast", "google:gemini-2.5-flash", {"response_logprobs": True}, None),
]


@pytest.mark.parametrize(("api", "name", "to", "fields", "named"), REJECTED)
def test_what_changes_the_answer_is_rejected_before_anything_is_sent(api, name, to, fields, named):
    if api == "gemini":
        named, fields = f"generationConfig.{next(iter(fields))}", {"generationConfig": fields}
    emulator = Emulator()
    answer = ask(make_http(api, name, fields), to, emulator)
    assert (answer.status, len(emulator.log.entries)) == (400, 0)
    error = json.loads(answer.body)["error"]
    assert error["message"].startswith(f"{named}: {to} ")
    assert error["status" if api == "gemini" else "type"] in (
        "INVALID_ARGUMENT",
        "invalid_request_error",
    )


def test_log_probabilities_that_cannot_be_streamed_are_rejected_in_a_stream_only():
    fields = {"generationConfig": {"responseLogprobs": True}}
    for verb, status in (("generateContent", 200), ("streamGenerateContent", 400)):
        emulator = Emulator()
        http = make_http("gemini", "fast", fields, verb)
        assert ask(http, "google:gemini-2.0-flash", emulator).status == status
        assert len(emulator.log.entries) == (status == 200)


# -- carried, and the rest of the request is fitted ----------------------------------------------

FITTED = [
    (
        ("chat", "gpt-4.1", "xai:grok-4.3", {"logprobs": True, "top_logprobs": 2, "stop": ["a"]}),
        {"logprobs": True, "top_logprobs": 2, "stop": None},
        "dropped_parameter:stop",
    ),
    (
        ("chat", "gpt-4.1", "deepseek:deepseek-v4-flash",
         {"logprobs": True, "response_format": JSON_SCHEMA}),
        {"logprobs": True, "response_format": {"type": "json_object"}},
        "output_prompted:output",
    ),
    (
        ("chat", "gpt-4.1", "mistral:mistral-medium-3-5", {"n": 2, "seed": 4}),
        {"n": 2, "random_seed": 4, "seed": None},
        "",
    ),
    (
        ("chat", "gpt-4.1", "openai-chat:gpt-5.1", {"n": 2, "logprobs": True, "stop": ["a"]}),
        {"n": 2, "logprobs": True, "stop": None},
        "dropped_parameter:stop",
    ),
    (
        ("chat", "fast", "openai-chat:gpt-5.5", {"stop": ["a"], "frequency_penalty": 0.3}),
        {"stop": None, "frequency_penalty": None},
        "dropped_parameter:frequency_penalty",
    ),
    (
        ("responses", "gpt-4o", "openai:gpt-4.1",
         {"top_logprobs": 3, "include": [LOGPROBS, "reasoning.encrypted_content"]}),
        {"top_logprobs": 3, "include": [LOGPROBS]},
        "",
    ),
    (
        ("responses", "gpt-5.5", "openai:gpt-4o", {"input": [*HELLO, UPDATE]}),
        {"input": [{"type": "message", "role": "user", "content": "Hello?"}]},
        "",
    ),
    (
        ("responses", "fast", "openai:gpt-5.6", {"input": [*HELLO, UPDATE]}),
        {"input": [{"type": "message", "role": "user", "content": "Hello?"}]},
        "",
    ),
    (
        ("chat", "fast", "openai-chat:gpt-4.1", {"verbosity": "low", "user": "me"}),
        {"verbosity": None, "user": "me"},
        "dropped_parameter:verbosity",
    ),
    (
        ("gemini", "gemini-2.5-flash", "google:gemini-3.6-flash",
         {"generationConfig": {"frequencyPenalty": 0.3, "mediaResolution": "MEDIA_RESOLUTION_LOW"}}),
        {"generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"}},
        "dropped_parameter:generationConfig.frequencyPenalty",
    ),
    (
        ("gemini", "fast", "google:gemini-3.6-flash",
         {"generation_config": {"presence_penalty": 0.3, "max_output_tokens": 900}}),
        {"generation_config": None, "generationConfig": {"maxOutputTokens": 900}},
        "dropped_parameter:generationConfig.presencePenalty",
    ),
    (
        ("gemini", "gemini-3-flash-preview", "vertex:gemini-3-flash-preview",
         {"generationConfig": {"enableEnhancedCivicAnswers": True, "candidateCount": 2}}),
        {"generationConfig": {"candidateCount": 2}},
        "dropped_parameter:generationConfig.enableEnhancedCivicAnswers",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "sent", "told"), FITTED)
def test_what_the_model_has_is_carried_and_the_rest_is_fitted_and_told(asked, sent, told):
    api, name, to, fields = asked
    emulator = Emulator()
    answer = ask(make_http(api, name, fields), to, emulator)
    assert answer.status == 200, answer.body
    body = emulator.log.entries[-1].body
    assert {name: body.get(name) for name in sent} == sent
    assert told in answer.headers.get("x-pondero-adjustments", "")


def test_thinking_in_the_history_is_fitted_beside_several_answers():
    emulator = Emulator()
    http = make_http("chat", "gpt-4.1", {"n": 2, "messages": THOUGHT})
    assert ask(http, "cerebras:gpt-oss-120b", emulator).status == 200
    body = emulator.log.entries[-1].body
    assert body["n"] == 2
    assert "reasoning_content" not in json.dumps(body)


def test_several_answers_and_log_probabilities_reach_the_client_as_they_came():
    said = [{"role": "assistant", "content": text} for text in ("Hi", "Ho")]
    choices = [
        {"index": number, "message": each, "finish_reason": "stop",
         "logprobs": {"content": [{"token": each["content"], "logprob": -0.1}]}}
        for number, each in enumerate(said)
    ]  # fmt: skip
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "grok-4.3"}
    data = json.dumps({**whole, "choices": choices, "usage": usage}).encode()
    service = Keyless([data], content_type="application/json")
    http = make_http("chat", "gpt-4.1", {"n": 2, "logprobs": True, "stop": ["a"]})
    answer = ask(http, "xai:grok-4.3", service)
    assert json.loads(answer.body)["choices"] == choices
    assert json.loads(answer.body)["model"] == "gpt-4.1"


def test_several_answers_that_must_be_changed_are_translated():
    """Tools get other names for the service; each answer calls them by their own."""
    name = "a" * 73
    tool = {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    forced = {"type": "function", "function": {"name": name}}
    emulator = Emulator()
    http = make_http("chat", "gpt-4.1", {"n": 2, "tools": [tool], "tool_choice": forced})
    answer = ask(http, "xai:grok-4.3", emulator)
    assert answer.status == 200, answer.body
    choices = json.loads(answer.body)["choices"]
    calls = [each["message"]["tool_calls"][0]["function"] for each in choices]
    assert [each["name"] for each in calls] == [name, name]


def test_an_answer_that_would_have_to_be_changed_cannot_be_passed_on_as_it_came():
    tool = {"type": "function", "function": {"name": "a" * 73, "parameters": {"type": "object"}}}
    emulator = Emulator()
    fields = {"modalities": ["text", "audio"], "tools": [tool]}
    answer = ask(make_http("chat", "gpt-4.1", fields), "openai-chat:gpt-audio", emulator)
    assert (answer.status, len(emulator.log.entries)) == (400, 0)
    assert json.loads(answer.body)["error"]["message"].startswith("modalities: ")


# -- the client's own bytes ----------------------------------------------------------------------

KEPT = [
    ("gemini", "gemini-3.6-flash", "google:gemini-3.6-flash",
     {"generationConfig": {"frequencyPenalty": 0.3, "responseLogprobs": True}}),
    ("chat", "gpt-5.5", "openai-chat:gpt-5.5", {"stop": ["a"], "logprobs": True}),
    ("responses", "gpt-5.5", "openai:gpt-5.5", {"top_logprobs": 3}),
    ("responses", "openai:gpt-5.5", "openai:gpt-5.5", {"top_logprobs": 3}),
    ("chat", "fast", "openai-chat:gpt-4.1", {"n": 2, "logprobs": True, "unknown": [1.0]}),
    ("gemini", "fast", "google:gemini-2.0-flash", {"generationConfig": {"candidateCount": 2}}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "name", "to", "fields"), KEPT)
def test_a_request_for_this_model_or_one_that_fits_keeps_its_fields(api, name, to, fields):
    emulator = Emulator()
    ask(make_http(api, name, fields), to, emulator)
    body = emulator.log.entries[-1].body
    assert {name: body.get(name) for name in fields} == fields
