"""Servers that users run themselves: which models they have, and their count of a prompt."""

import asyncio
import json

import anthropic
import httpx
import openai
import pytest

from pondero.canon import HttpRequest, ResponseHead
from pondero.errors import TransportError
from pondero.gateway import hash_key, make_key, run_gateway_in_thread
from pondero.gateway.config.model import GatewayConfig, GatewayKey, ServerConfig

# The lists as the servers write them: vLLM 0.32 and Ollama's api/types.go.
VLLM = {"object": "list", "data": [{"id": "org/model-a", "object": "model"}, {"id": "lora"}]}
OLLAMA = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "size": 1}]}
COUNTED = {"count": 23, "max_model_len": 4096, "tokens": [1] * 23, "token_strs": None}


class Answer:
    def __init__(self, status, body):
        self.head = ResponseHead(status, {"content-type": "application/json"})
        self._body = body

    async def __aiter__(self):
        yield self._body

    async def aclose(self):
        pass


class Servers:
    """A network with these addresses on it, and nothing else."""

    needs_key = True

    def __init__(self, **answers):
        self.answers = answers
        self.asked: list[HttpRequest] = []

    async def send(self, request, timeouts):
        self.asked.append(request)
        for address, body in self.answers.items():
            if request.url.endswith(address.replace("__", "/")):
                return Answer(200, body if isinstance(body, bytes) else json.dumps(body).encode())
        raise TransportError(f"nobody listens at {request.url}")

    async def aclose(self):
        pass


def serving(servers, *, names=("ollama", "vllm", "llamacpp", "sglang"), **more):
    config = GatewayConfig(open=frozenset(names), server=ServerConfig(port=0), **more)
    return run_gateway_in_thread(config, transport=servers)


LISTS = {"8000__v1__models": VLLM, "11434__api__tags": OLLAMA}


def listed(url, key="k"):
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        return [each.id for each in client.models.list()]


def test_each_server_that_runs_is_asked_for_its_models():
    with serving(Servers(**LISTS)) as url:
        assert sorted(listed(url)) == ["ollama:qwen3:8b", "vllm:lora", "vllm:org/model-a"]
        tags = httpx.get(f"{url}/api/tags").json()
        assert "ollama:qwen3:8b" in [each["name"] for each in tags["models"]]


def test_no_server_is_asked_for_the_facts_of_one_model():
    servers = Servers(**LISTS)
    with serving(servers) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="k") as client:
        assert client.models.retrieve("vllm:lora").id == "vllm:lora"
    assert servers.asked == []


def test_a_provider_that_is_not_open_is_not_asked():
    servers = Servers(**LISTS)
    with serving(servers, names=("vllm",)) as url:
        assert sorted(listed(url)) == ["vllm:lora", "vllm:org/model-a"]
    assert [request.url for request in servers.asked] == ["http://localhost:8000/v1/models"]


def test_a_key_sees_the_models_it_may_use():
    key = make_key()
    rules = GatewayKey(name="one", hash=hash_key(key), models=("vllm:lora",))
    with serving(Servers(**LISTS), keys=(rules,)) as url:
        assert listed(url, key) == ["vllm:lora"]


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", {"data": None}, {"data": [{"id": 7}, {}, "x", None]}, {"models": 1}],
)
def test_an_answer_that_is_no_list_lists_nothing(body):
    with serving(Servers(**{"8000__v1__models": body, "11434__api__tags": body})) as url:
        assert listed(url) == []


def test_a_name_that_would_mean_a_level_or_nothing_is_not_listed():
    """A client that asked for it would reach another model, or none."""
    names = ["org/high", "x/8000", "/", "x/", "\n", "y" * 600, "good", "good", "a:b/c.gguf"]
    rows = {"data": [{"id": name} for name in names]}
    with serving(Servers(**{"8000__v1__models": rows}), names=("vllm",)) as url:
        assert listed(url) == ["vllm:good", "vllm:a:b/c.gguf"]


class Dripping(Servers):
    """A network on which one server never ends its list."""

    async def send(self, request, timeouts):
        answer = await super().send(request, timeouts)
        if "11434" in request.url:
            answer.__class__ = Endless
        return answer


class Endless(Answer):
    async def __aiter__(self):
        while True:
            yield b" "
            await asyncio.sleep(0.05)


def test_a_server_that_drips_does_not_hold_up_the_others():
    with serving(Dripping(**LISTS)) as url:
        assert sorted(listed(url)) == ["vllm:lora", "vllm:org/model-a"]


def test_a_server_s_key_goes_along(monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "local-secret")
    servers = Servers(**LISTS)
    with serving(servers, names=("vllm",)) as url:
        listed(url)
    assert servers.asked[0].headers["authorization"] == "Bearer local-secret"


def count(url, model):
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        asked = {"model": model, "messages": [{"role": "user", "content": "Count me."}]}
        raw = client.messages.with_raw_response.count_tokens(**asked)
        return raw.parse().input_tokens, raw.headers.get("x-pondero-count")


def test_vllm_counts_a_prompt_with_its_tools_and_its_template():
    servers = Servers(**{"8000__tokenize": COUNTED})
    with serving(servers) as url:
        assert count(url, "vllm:org/model-a/off") == (23, None)
    (request,) = servers.asked
    assert request.url == "http://localhost:8000/tokenize"
    body = json.loads(request.body)
    assert body["messages"][0]["role"] == "user"
    assert "stream" not in body


@pytest.mark.parametrize("model", ["ollama:qwen3", "sglang:org/model-a", "vllm:org/model-a"])
def test_a_server_that_cannot_count_or_does_not_run_has_an_estimate(model):
    with serving(Servers()) as url:
        tokens, how = count(url, model)
    assert tokens > 0
    assert how == "estimate"
