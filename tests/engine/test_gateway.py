"""The gateway asks the engine itself which models it runs, and how long a prompt is."""

import openai
import pytest
from anthropic import Anthropic
from msgspec.structs import replace

from pondero.gateway import load_config, run_gateway_in_thread
from pondero.gateway.config.model import GatewayConfig, ServerConfig
from pondero.store import load_catalog

HISTORY = [
    {"role": "user", "content": "What is 17 * 23? Show each step, and then the sum of the digits."},
    {"role": "assistant", "content": "17 * 23 = 391"},
    {"role": "user", "content": "And what is 391 - 1?"},
]


@pytest.fixture
def gateway(_wires):
    config = load_config(None, load_catalog())
    local = replace(config, open=frozenset({"llamacpp"}), server=ServerConfig(port=0))
    assert isinstance(local, GatewayConfig)
    with run_gateway_in_thread(local) as url:
        yield url


def test_the_models_that_the_engine_runs_are_listed_and_answer(gateway, engine):
    with (
        openai.OpenAI(base_url=f"{gateway}/v1", api_key="k") as client,
        openai.OpenAI(base_url=f"{engine}/v1", api_key="k") as direct,
    ):
        (loaded,) = [each.id for each in direct.models.list()]
        (name,) = [each.id for each in client.models.list()]
        assert name == f"llamacpp:{loaded}"
        answer = client.chat.completions.create(model=f"{name}/low", messages=HISTORY)
    assert answer.choices[0].message.content


@pytest.mark.parametrize("level", ["off", "max"])
def test_a_prompt_has_as_many_tokens_as_the_engine_then_reads(gateway, engine, level):
    with Anthropic(base_url=gateway, api_key="k", max_retries=0) as client:
        asked = {"model": f"llamacpp:any/{level}", "messages": HISTORY, "system": "Be brief."}
        raw = client.messages.with_raw_response.count_tokens(**asked)
        answer = client.messages.create(**asked, max_tokens=100)
    assert "x-pondero-count" not in raw.headers, "that is a guess"
    usage = answer.usage
    read = usage.input_tokens + (usage.cache_read_input_tokens or 0)
    assert raw.parse().input_tokens == read
