"""The vendors' SDKs read several answers and log probabilities through a gateway, both ways.

Behind it are the emulated services, whose own answers the SDKs read first.
"""

from collections.abc import Iterator
from itertools import pairwise

import ollama
import openai
import pytest
from google import genai
from google.genai import types
from google.genai.errors import ClientError

from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.usefixtures("leaves_open"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

MODELS = {
    "chat": "openai-chat:gpt-4.1",
    "responses": "openai:gpt-4.1",
    "gemini": "vertex:gemini-2.5-flash",
    "mistral": "mistral:mistral-large-2512",
    "local": "ollama:qwen3",
}
QUESTION = "What is 17 * 23?"
ANSWER = "17 * 23 = 391"
SEVERAL = [ANSWER, f"{ANSWER} (2)", f"{ANSWER} (3)"]
TOP = 2


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    routes = tuple(GatewayRoute(match=name, to=(to,), retries=0) for name, to in MODELS.items())
    config = GatewayConfig(ServerConfig(port=0), routes)
    with (
        pytest.MonkeyPatch.context() as patch,
        run_gateway_in_thread(config, transport=Emulator()) as where,
    ):
        patch.setenv("GOOGLE_CLOUD_PROJECT", "p")
        yield where


@pytest.fixture
def chat(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
def gemini(url: str) -> genai.Client:
    return genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))


def asking(model: str) -> dict:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}]}


def check_openai(tokens, text: str, *, top: int = TOP) -> None:
    """Check tokens as OpenAI's SDK reads them."""
    assert "".join(each.token for each in tokens) == text
    for each in tokens:
        assert each.logprob < 0
        assert len(each.top_logprobs) == top
        assert each.top_logprobs[0].token == each.token
        assert all(a.logprob >= b.logprob for a, b in pairwise(each.top_logprobs))


def check_gemini(result: types.LogprobsResult, text: str) -> None:
    """Check tokens as Google's SDK reads them."""
    assert "".join(each.token for each in result.chosen_candidates) == text
    for chosen, tops in zip(result.chosen_candidates, result.top_candidates, strict=True):
        assert chosen.log_probability < 0
        assert len(tops.candidates) == TOP
        assert tops.candidates[0] == chosen


@pytest.mark.parametrize("model", ["chat", "mistral", "gemini"])
def test_the_openai_sdk_reads_several_answers(chat, model):
    made = chat.chat.completions.create(**asking(model), n=3)
    assert [each.index for each in made.choices] == [0, 1, 2]
    assert [each.message.content for each in made.choices] == SEVERAL
    assert {each.finish_reason for each in made.choices} == {"stop"}
    one = chat.chat.completions.create(**asking(model))
    assert made.usage.prompt_tokens == one.usage.prompt_tokens
    assert made.usage.completion_tokens == 3 * one.usage.completion_tokens


@pytest.mark.parametrize("model", ["chat", "mistral", "gemini"])
def test_the_openai_sdk_reads_several_streamed_answers(chat, model):
    texts = ["", "", ""]
    finishes, usages = [], []
    options = {"include_usage": True}
    for chunk in chat.chat.completions.create(
        **asking(model), n=3, stream=True, stream_options=options
    ):
        usages += [chunk.usage] if chunk.usage else []
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            finishes += [choice.index] if choice.finish_reason else []
    assert texts == SEVERAL
    assert sorted(finishes) == [0, 1, 2]
    assert len(usages) == 1


@pytest.mark.parametrize("model", ["chat", "responses", "gemini", "local"])
def test_the_openai_sdk_reads_log_probabilities(chat, model):
    made = chat.chat.completions.create(**asking(model), logprobs=True, top_logprobs=TOP)
    (choice,) = made.choices
    check_openai(choice.logprobs.content, choice.message.content)
    tokens, text = [], ""
    for chunk in chat.chat.completions.create(
        **asking(model), logprobs=True, top_logprobs=TOP, stream=True
    ):
        for each in chunk.choices:
            text += each.delta.content or ""
            tokens += each.logprobs.content if each.logprobs else []
    check_openai(tokens, text)
    assert text == choice.message.content


@pytest.mark.parametrize("model", ["responses", "chat", "gemini", "local"])
def test_the_responses_sdk_reads_log_probabilities(chat, model):
    fields = {"include": ["message.output_text.logprobs"], "top_logprobs": TOP}
    made = chat.responses.create(model=model, input=QUESTION, **fields)
    (content,) = (c for item in made.output if item.type == "message" for c in item.content)
    check_openai(content.logprobs, made.output_text)
    with chat.responses.stream(model=model, input=QUESTION, **fields) as stream:
        told = [
            token for e in stream if e.type == "response.output_text.delta" for token in e.logprobs
        ]
        last = stream.get_final_response()
    assert "".join(each.token for each in told) == last.output_text == made.output_text


@pytest.mark.parametrize("model", ["gemini", "chat", "mistral"])
def test_the_genai_sdk_reads_several_answers(gemini, model):
    config = types.GenerateContentConfig(candidate_count=3)
    made = gemini.models.generate_content(model=model, contents=QUESTION, config=config)
    assert [each.index or 0 for each in made.candidates] == [0, 1, 2]
    spoken = ["".join(p.text for p in c.content.parts if not p.thought) for c in made.candidates]
    assert spoken == SEVERAL
    texts = ["", "", ""]
    for chunk in gemini.models.generate_content_stream(
        model=model, contents=QUESTION, config=config
    ):
        for each in chunk.candidates or ():
            for part in each.content.parts or ():
                texts[each.index or 0] += "" if part.thought else part.text or ""
    assert texts == SEVERAL


@pytest.mark.parametrize("model", ["gemini", "chat", "responses", "local"])
def test_the_genai_sdk_reads_log_probabilities(gemini, model):
    config = types.GenerateContentConfig(response_logprobs=True, logprobs=TOP)
    made = gemini.models.generate_content(model=model, contents=QUESTION, config=config)
    check_gemini(made.candidates[0].logprobs_result, made.text)
    found = types.LogprobsResult(chosen_candidates=[], top_candidates=[])
    for chunk in gemini.models.generate_content_stream(
        model=model, contents=QUESTION, config=config
    ):
        for each in chunk.candidates or ():
            if each.logprobs_result:
                found.chosen_candidates += each.logprobs_result.chosen_candidates
                found.top_candidates += each.logprobs_result.top_candidates
    check_gemini(found, made.text)


@pytest.mark.parametrize("model", ["local", "chat", "gemini"])
def test_the_ollama_sdk_reads_log_probabilities(url, model):
    client = ollama.Client(url, headers={"authorization": "Bearer k"})
    messages = asking(model)["messages"]
    made = client.chat(model, messages, logprobs=True, top_logprobs=TOP)
    check_openai(made.logprobs, made.message.content)
    tokens = []
    for part in client.chat(model, messages, logprobs=True, top_logprobs=TOP, stream=True):
        tokens += part.logprobs or []
    check_openai(tokens, made.message.content)


def test_the_sdks_are_told_what_a_model_lacks(chat, gemini):
    with pytest.raises(openai.BadRequestError, match="n: ollama:qwen3 cannot honour it"):
        chat.chat.completions.create(**asking("local"), n=2)
    config = types.GenerateContentConfig(candidate_count=2)
    with pytest.raises(ClientError, match="candidateCount"):
        gemini.models.generate_content(model="responses", contents=QUESTION, config=config)
