"""A request below a wrong base URL gets the service's 404, as it would at the service."""

import msgspec
import pytest

import pondero
from pondero.canon import HttpRequest
from pondero.client import load_catalog
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator

SERVED = "http://emulator"
BEARER = {"authorization": "Bearer any"}
OF_ANTHROPIC = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
BODIES = {
    "/messages": {
        "model": "claude-opus-5",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "hi"}],
    },
    "/chat/completions": {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]},
    "/responses": {"model": "gpt-5", "input": "hi"},
}


def ask(url: str, emulator: Emulator | None = None) -> tuple[int, dict[str, object]]:
    body = next(body for end, body in BODIES.items() if url.partition("?")[0].endswith(end))
    headers = OF_ANTHROPIC if url.endswith("/messages") else BEARER
    request = HttpRequest("POST", url, headers, msgspec.json.encode(body))
    answer = (emulator or Emulator()).send(request)
    return answer.head.status, msgspec.json.decode(b"".join(answer))


WRONG = [
    "/v2/chat/completions",
    "/v1/v1/chat/completions",
    "/nonsense/v1/chat/completions",
    "/api/chat/completions",
    "/V1/chat/completions",
    "/chat/completions",
    "/v1/chat/completions/chat/completions",
    "/v1/nonsense/chat/completions",
    "/openai/chat/completions",
    "/v1/v1/responses",
    "/responses",
    "/V1/responses",
    "/v2/responses",
    "/v1/responses/responses",
    "/v1/v1/messages",
    "/messages",
    "/v2/messages",
    "/V1/messages",
    "/nonsense/v1/messages",
    "/v1/messages/v1/messages",
    "/groq/v2/chat/completions",
    "/openai/v1/v1/responses",
    "/openai/nonsense/v1/responses",
]


@pytest.mark.parametrize("path", WRONG)
def test_a_path_that_no_service_has_is_not_found(path):
    emulator = Emulator()
    assert ask(f"{SERVED}{path}", emulator)[0] == 404
    assert emulator.log.entries[0].refusal is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/v1/responses",
        "https://api.openai.com/responses",
        "https://api.openai.com/v2/chat/completions",
        "https://api.openai.com/openai/v1/chat/completions",
        "https://api.anthropic.com/v1/v1/messages",
        "https://api.anthropic.com/messages",
        "https://api.anthropic.com/anthropic/v1/messages",
        "https://api.groq.com/v1/chat/completions",
        "https://openrouter.ai/v1/chat/completions",
        "http://a-proxy.example/v1/v1/chat/completions",
    ],
)
def test_in_process_each_host_has_its_own_paths(url):
    assert ask(url)[0] == 404


RIGHT = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/openai/v1/chat/completions",
    "/openai/v1/responses",
    "/openai-chat/v1/chat/completions",
    "/anthropic/v1/messages",
    "/openai/deployments/gpt-5/chat/completions?api-version=2025-04-01-preview",
    "/openai/responses?api-version=2025-04-01-preview",
]


@pytest.mark.parametrize("path", RIGHT)
def test_a_path_of_a_service_is_answered_alone_and_after_its_name(path):
    assert ask(f"{SERVED}{path}")[0] == 200


@pytest.mark.parametrize("base", ["http://a-proxy.example/llm/v1", "http://10.0.0.9:8080"])
def test_a_host_of_ones_own_may_have_any_path(base):
    assert ask(f"{base}/chat/completions")[0] == 200


def test_the_words_are_the_services_own():
    status, said = ask(f"{SERVED}/v1/v1/responses")
    assert (status, said["error"]["message"]) == (404, "Invalid URL (POST /v1/v1/responses)")
    status, said = ask(f"{SERVED}/v1/v1/chat/completions")
    assert said["error"]["message"] == "Invalid URL (POST /v1/v1/chat/completions)"
    status, said = ask(f"{SERVED}/v1/v1/messages")
    assert (said["error"]["type"], said["error"]["message"]) == ("not_found_error", "Not Found")


@pytest.mark.parametrize("path", ["/v1/v1/models", "/models", "/nonsense/v1/models"])
def test_a_list_of_models_has_its_path_too(path):
    answer = Emulator().send(HttpRequest("GET", f"{SERVED}{path}", BEARER))
    assert answer.head.status == 404


@pytest.mark.parametrize("name", sorted(load_catalog().catalog.providers))
def test_every_provider_is_reached_at_its_own_path_and_after_its_name(name):
    provider = load_catalog().catalog.providers[name]
    talks = {
        "anthropic": "/v1/messages",
        "openai_responses": "/responses",
        "openai_chat": "/chat/completions",
        "gemini": "/models/gemini-3-flash-preview:generateContent",
        "interactions": "/interactions",
        "bedrock": "/model/us.anthropic.claude-sonnet-4-6/converse",
        "ollama": "/api/chat",
        "cohere": "/v2/chat",
    }
    tail = talks[provider.dialect]
    if "publishers/anthropic" in provider.path:
        tail = "/models/claude-opus-5:rawPredict"
    host, own = provider.url.partition("://")[2].partition("/")[::2]
    own = f"/{own}" if own else ""
    fill = {"resource": "mine", "region": "eu-1", "host": "h", "project": "p", "location": "l"}
    here = f"{own}{provider.path}{tail}".format(**fill)
    refused = {
        url: said
        for url in (
            f"{provider.url}{provider.path}{tail}".format(**fill),
            f"{SERVED}/{name}{here}",
        )
        if (said := _words(url)) in _NO_PATH
    }
    assert refused == {}
    assert host


_NO_PATH = {get_dialect(name).service().own_paths.not_found.partition(" (")[0] for name in NAMES}


def _words(url: str) -> str:
    answer = Emulator().send(HttpRequest("POST", url, BEARER, b"{}"))
    if answer.head.status != 404:
        return ""
    said = b"".join(answer).decode()
    return next((text for text in _NO_PATH if text in said), said)


def test_a_path_of_one_provider_alone_is_answered_as_that_one():
    emulator = Emulator()
    ask(f"{SERVED}/api/v1/chat/completions", emulator)
    ask(f"{SERVED}/api/v1/messages", emulator)
    assert [entry.service for entry in emulator.log.entries] == ["openrouter", "openrouter"]


def test_an_emulator_of_one_provider_has_its_paths_and_those_of_its_api():
    emulator = Emulator(service="groq")
    for path in ("/v1", "/openai/v1", "/groq/v1", "/groq/openai/v1"):
        assert ask(f"{SERVED}{path}/chat/completions", emulator)[0] != 200
        entry = emulator.log.entries[-1]
        assert (entry.service, b"Invalid URL" in msgspec.json.encode(entry.refusal)) == (
            "groq",
            False,
        )
    assert ask(f"{SERVED}/v2/chat/completions", emulator)[0] == 404


def test_a_client_with_a_bare_address_gets_the_providers_path():
    urls = dict.fromkeys(("openai", "anthropic", "google", "openai-chat"), SERVED)
    with pondero.Client(transport=Emulator(), urls=urls) as client:
        for model in ("gpt-5.1", "claude-opus-5", "gemini-3-flash-preview", "openai-chat:gpt-5"):
            assert client.ask(model, "What is 17 * 23?").text == "17 * 23 = 391"
