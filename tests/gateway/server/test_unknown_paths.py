"""Addresses that the gateway does not serve: the error is in the format of the API they belong to.

The addresses are the vendors' own: Amazon's from the service models of botocore, the others from
the methods of the vendors' SDKs and the routes of Ollama's server.
"""

from typing import Any

import anyio
import botocore.session
import pytest
from msgspec import json
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

BEARER = {"authorization": "Bearer any"}
AMAZON = {
    "authorization": "AWS4-HMAC-SHA256 Credential=any/20261116/us-east-1/bedrock/aws4_request"
}
CLAUDE = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
GOOGLE = {"x-goog-api-key": "any"}


def _amazons() -> list[tuple[str, str]]:
    """Return method and path of every operation of the service that answers, with values in it."""
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    operations = (model.operation_model(name).http for name in model.operation_names)
    found = []
    for http in operations:
        path = http["requestUri"]
        for name in ("modelId", "guardrailIdentifier", "guardrailVersion", "invocationArn"):
            path = path.replace(f"{{{name}}}", "anthropic.claude-opus-5-v1%3A0")
        found.append((http["method"], path))
    return found


PATHS = {
    "bedrock": [
        *((method, path, headers) for method, path in _amazons() for headers in (AMAZON, BEARER)),
        # anthropic.AnthropicBedrock asks InvokeModel, with headers of Anthropic's own API too.
        ("POST", "/model/anthropic.claude-opus-5-v1:0/invoke", {**CLAUDE, **AMAZON}),
        ("GET", "/foundation-models", AMAZON),
        ("GET", "/inference-profiles", AMAZON),
    ],
    "ollama": [
        *(("POST", f"/api/{name}", {}) for name in ("embed", "embeddings", "pull", "push", "create", "copy", "me")),
        ("DELETE", "/api/delete", {}),
        ("HEAD", "/api/blobs/sha256:00", {}),
        ("GET", "/api/chat", {}),
        ("GET", "/api/nothing", BEARER),
    ],
    "cohere": [
        *(("POST", f"/v2/{name}", BEARER) for name in ("embed", "rerank")),
        *(("POST", f"/v1/{name}", BEARER) for name in ("rerank", "tokenize", "detokenize", "classify", "chat")),
    ],
    "gemini": [
        *(("POST", f"/v1beta/models/gemini-3-flash-preview:{verb}", headers)
          for verb in ("embedContent", "batchEmbedContents", "batchGenerateContent", "predict")
          for headers in (GOOGLE, BEARER)),
        ("POST", "/v1beta/cachedContents", GOOGLE),
        ("POST", "/upload/v1beta/files", BEARER),
        ("GET", "/v1beta/files/abc", {}),
        ("GET", "/v1beta/operations/abc", BEARER),
        ("POST", "/v1/projects/p/locations/global/publishers/google/models/g:predict", BEARER),
    ],
    "interactions": [
        ("GET", "/v1beta/interactions/v1_abc", GOOGLE),
        ("DELETE", "/v1/interactions/v1_abc", BEARER),
        ("POST", "/v1beta/interactions/v1_abc/cancel", GOOGLE),
        ("GET", "/v1beta/interactions", BEARER),
    ],
    "anthropic": [
        ("POST", "/v1/messages/batches", BEARER),
        ("GET", "/v1/messages/batches/msgbatch_1/results", BEARER),
        ("POST", "/v1/complete", BEARER),
        ("GET", "/v1/files", CLAUDE),
        ("GET", "/v1/skills", CLAUDE),
        ("GET", "/v1/organizations/users", BEARER),
        ("POST", "/v1/projects/p/locations/global/publishers/anthropic/models/c:countTokens2", BEARER),
    ],
    "openai_chat": [
        *(("POST", f"/v1/{name}", BEARER) for name in ("embeddings", "completions", "images/generations", "nothing")),
        ("GET", "/api/v1/credits", BEARER),  # OpenRouter
        ("POST", "/v1beta/openai/embeddings", BEARER),  # Google's, in OpenAI's format
        ("GET", "/nothing", {}),
    ],
    "openai_responses": [
        ("GET", "/v1/responses", BEARER),
        ("POST", "/v1/responses/input_tokens", BEARER),
        ("POST", "/v1/conversations/conv_1/items", BEARER),
    ],
}  # fmt: skip
CASES = [(name, *case) for name, cases in PATHS.items() for case in cases]


def test_every_api_has_addresses_here():
    assert set(PATHS) == set(NAMES)


def _shape(body: bytes) -> Any:
    """Return the names in an error, without its values."""

    def names(value):
        return {k: names(v) for k, v in value.items()} if isinstance(value, dict) else None

    return names(json.decode(body))


def _check(answer, name: str, path: str) -> None:
    if "application/json" not in answer.headers.get("content-type", ""):
        raise AssertionError(answer)
    if answer.status < 400:  # a service of the emulator's, or a count
        assert path
        return
    expected = (
        get_dialect(name).service().error(answer.status, "words", code=None, retry_after=None)
    )
    got = {key: value for key, value in _shape(answer.body).items() if key != "request_id"}
    assert got == {k: v for k, v in _shape(expected.body).items() if k != "request_id"}, answer.body
    assert ("x-amzn-errortype" in answer.headers) == (name == "bedrock")


@pytest.mark.parametrize(("name", "method", "path", "headers"), CASES)
def test_an_unknown_path_is_answered_in_its_apis_own_format(name, method, path, headers):
    app = App(GatewayContext(GatewayConfig(), Emulator()))
    http = HttpRequest(method, f"http://127.0.0.1{path}", headers, b"{}")
    _check(anyio.run(came, app, http), name, path)


@pytest.mark.parametrize("operation", ["invoke", "invoke-with-response-stream"])
def test_invoke_model_is_told_to_use_converse(operation):
    app = App(GatewayContext(GatewayConfig(), Emulator()))
    url = f"http://127.0.0.1/model/anthropic.claude-opus-5-v1:0/{operation}"
    answer = anyio.run(came, app, HttpRequest("POST", url, AMAZON, b"{}"))
    assert (answer.status, answer.headers["x-amzn-errortype"]) == (404, "UnknownOperationException")
    assert "Converse" in json.decode(answer.body)["message"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/messages/count_tokens", lambda answer: answer["type"] == "error"),
        (
            "/v1beta/models/gemini-3-pro-preview:countTokens",
            lambda answer: answer["error"]["status"],
        ),
        ("/v1/models", lambda answer: answer["error"]["type"]),
    ],
)
def test_a_failure_of_the_gateway_itself_is_told_in_the_words_of_the_clients_api(
    path, found, monkeypatch
):
    async def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("pondero.gateway.server.app.count_prompt", fail)
    app = App(GatewayContext(GatewayConfig(), Emulator()))
    answer = anyio.run(came, app, HttpRequest("POST", f"http://gate{path}", {}, b"{}"))
    assert answer.status == 500
    assert found(json.decode(answer.body))
