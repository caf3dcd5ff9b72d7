"""The same models elsewhere, asked over real HTTP at the address their own SDKs would use."""

import pytest

import pondero
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.errors import Unreachable
from pondero.exchange import Retry

QUESTION = "What is 17 * 23?"
ELSEWHERE = [
    (
        "vertex-anthropic:claude-opus-5/high",
        {
            "ANTHROPIC_VERTEX_BASE_URL": "{url}/v1",
            "ANTHROPIC_VERTEX_PROJECT_ID": "mine",
            "CLOUD_ML_REGION": "us-east5",
            "GOOGLE_OAUTH_ACCESS_TOKEN": "t",
        },
        "/v1/projects/mine/locations/us-east5/publishers/anthropic/models/claude-opus-5:streamRawPredict",
    ),
    (
        "azure-anthropic:claude-opus-5/high",
        {
            "ANTHROPIC_FOUNDRY_BASE_URL": "{url}/azure-anthropic/anthropic/",
            "ANTHROPIC_FOUNDRY_API_KEY": "k",
        },
        "/azure-anthropic/anthropic/v1/messages",
    ),
    (
        "vertex:gemini-3-flash-preview/high",
        {
            "GOOGLE_VERTEX_BASE_URL": "{url}",
            "GOOGLE_CLOUD_PROJECT": "mine",
            "GOOGLE_OAUTH_ACCESS_TOKEN": "t",
        },
        (
            "/v1beta1/projects/mine/locations/global/publishers/google/models/"
            "gemini-3-flash-preview:streamGenerateContent"
        ),
    ),
    (
        "azure:gpt-5.1/high",
        {"AZURE_OPENAI_ENDPOINT": "{url}/azure/openai/v1", "AZURE_OPENAI_API_KEY": "k"},
        "/azure/openai/v1/responses",
    ),
    (
        "azure-chat:my-deployment/high",
        {
            "AZURE_OPENAI_ENDPOINT": (
                "{url}/azure-chat/openai/deployments/my-deployment?api-version=2024-10-21"
            ),
            "AZURE_OPENAI_API_KEY": "k",
        },
        "/azure-chat/openai/deployments/my-deployment/chat/completions",
    ),
]


@pytest.mark.parametrize(("model", "variables", "path"), ELSEWHERE, ids=[e[0] for e in ELSEWHERE])
def test_a_model_answers_where_the_variables_say_it_lives(monkeypatch, model, variables, path):
    emulator = Emulator()
    with run_emulator_in_thread(emulator) as url:
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(url=url))
        with pondero.Client() as client:
            assert "391" in client.ask(model, QUESTION).text
    (entry,) = emulator.log.entries
    assert (entry.path.partition("?")[0], entry.service) == (path, model.partition(":")[0])


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("vllm", "VLLM_BASE_URL"),
        ("sglang", "SGLANG_BASE_URL"),
        ("llamacpp", "LLAMACPP_BASE_URL"),
        ("lmstudio", "LMSTUDIO_BASE_URL"),
        ("compatible", "OPENAI_COMPATIBLE_BASE_URL"),
    ],
)
def test_a_local_engine_that_is_not_there_says_how_to_start_it(monkeypatch, provider, variable):
    monkeypatch.setenv(variable, "http://127.0.0.1:1/v1")
    with pondero.Client(retry=Retry(attempts=1)) as client, pytest.raises(Unreachable) as caught:
        client.ask(f"{provider}:some-model", QUESTION)
    assert f"or say where it runs in {variable}" in str(caught.value)
