"""The vendors' own SDKs read the emulator's cache counts, over real HTTP."""

from contextlib import closing

import anthropic
import boto3
import openai
import pytest
from botocore.config import Config
from google import genai
from google.genai import types
from tests.emulator.prompts import words

from pondero.emulator import Emulator, run_emulator_in_thread

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using Claude with:UserWarning"),
]
LONG = words(5_000)
FOREVER = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
SHORT = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture(scope="module")
def url():
    with run_emulator_in_thread(Emulator()) as where:
        yield where


@pytest.fixture
def claude(url):
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        yield client


def said(role, text, **more):
    return {"role": role, "content": [{"type": "text", "text": text, **more}]}


def test_anthropic_reads_what_it_wrote_by_lifetime(claude):
    common = {
        "model": "claude-opus-5",
        "max_tokens": 2_000,
        "system": [{"type": "text", "text": LONG, **FOREVER}],
        "output_config": {"effort": "low"},
        "thinking": {"type": "adaptive"},
    }
    question = words(600, "ask")
    first = claude.messages.create(messages=[said("user", question, **SHORT)], **common).usage
    past = [said("user", question), said("assistant", "391")]
    grown = claude.messages.create(
        messages=[*past, said("user", "Go on.", **SHORT)], **common
    ).usage
    assert first.cache_creation.ephemeral_1h_input_tokens == 5_000
    assert first.cache_creation.ephemeral_5m_input_tokens == 603
    assert first.cache_read_input_tokens == 0
    assert grown.cache_read_input_tokens == first.cache_creation_input_tokens == 5_603
    assert grown.cache_creation.ephemeral_1h_input_tokens == 0


def test_anthropic_streams_the_same_counts(claude):
    request = {
        "model": "claude-opus-5",
        "max_tokens": 2_000,
        "messages": [said("user", words(800, "str"), **FOREVER)],
    }
    for read, written in ((0, 803), (803, 0)):
        with claude.messages.stream(**request) as stream:
            usage = stream.get_final_message().usage
        assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (read, written)
        assert usage.cache_creation.ephemeral_1h_input_tokens == written


def test_anthropic_keeps_the_prefix_of_a_level_inside_the_conversation(claude):
    common = {
        "model": "claude-opus-5",
        "max_tokens": 2_000,
        "thinking": {"type": "adaptive"},
        "betas": ["mid-conversation-output-config-2026-07-01"],
    }
    question = said("user", words(900, "lvl"), **SHORT)
    marker = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    claude.beta.messages.create(messages=[question], **common)
    inside = claude.beta.messages.create(messages=[question, marker], **common).usage
    changed = claude.beta.messages.create(
        messages=[question], output_config={"effort": "low"}, **common
    ).usage
    assert inside.cache_read_input_tokens == 903
    assert changed.cache_read_input_tokens == 0


def test_anthropic_says_what_was_changed(claude):
    common = {
        "model": "claude-opus-5",
        "max_tokens": 2_000,
        "betas": ["cache-diagnosis-2026-04-07"],
    }
    first = claude.beta.messages.create(
        messages=[said("user", words(900, "dia"), **SHORT)],
        diagnostics={"previous_message_id": None},
        **common,
    )
    other = claude.beta.messages.create(
        messages=[said("user", words(900, "new"), **SHORT)],
        diagnostics={"previous_message_id": first.id},
        **common,
    )
    assert first.diagnostics is None
    assert other.diagnostics.cache_miss_reason.type == "messages_changed"
    assert other.diagnostics.cache_miss_reason.cache_missed_input_tokens == 903


@pytest.fixture
def gpt(url):
    with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        yield client


def test_openai_counts_reads_and_writes_on_responses(gpt):
    first = gpt.responses.create(model="gpt-6-astra", input=LONG, reasoning={"effort": "low"})
    again = gpt.responses.create(
        model="gpt-6-astra",
        input="Go on.",
        previous_response_id=first.id,
        reasoning={"effort": "low"},
    ).usage
    assert first.usage.input_tokens_details.cache_write_tokens == 4_992
    assert again.input_tokens_details.cached_tokens == 4_992
    assert again.total_tokens == again.input_tokens + again.output_tokens


@pytest.mark.parametrize("stream", [True, False])
def test_openai_counts_reads_on_chat(gpt, stream):
    question = words(3_000, f"s{stream}")
    request = {"model": "gpt-5.1", "messages": [{"role": "user", "content": question}]}
    for cached in (0, 2_944):
        if stream:
            options = {"stream": True, "stream_options": {"include_usage": True}}
            *_, last = gpt.chat.completions.create(**request, **options)
            usage = last.usage
        else:
            usage = gpt.chat.completions.create(**request).usage
        assert usage.prompt_tokens == 3_003
        assert usage.prompt_tokens_details.cached_tokens == cached


def test_google_counts_cached_content(url):
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url)) as client:
        chat = client.chats.create(model="gemini-3-flash-preview")
        first = chat.send_message(LONG).usage_metadata
        again = chat.send_message("Go on.").usage_metadata
    assert first.cached_content_token_count is None
    assert again.cached_content_token_count == first.prompt_token_count == 5_003
    assert again.prompt_token_count > 5_003


def test_boto3_reads_up_to_the_cache_point(url, monkeypatch):
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    client = boto3.Session().client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        config=Config(retries={"total_max_attempts": 1}),
    )
    point = {"cachePoint": {"type": "default"}}
    history = [{"role": "user", "content": [{"text": LONG}, point]}]
    request = {"modelId": "us.anthropic.claude-sonnet-4-6"}
    with closing(client):
        first = client.converse(messages=history, **request)
        history += [
            first["output"]["message"],
            {"role": "user", "content": [{"text": "Go on."}, point]},
        ]
        again = client.converse(messages=history, **request)["usage"]
    assert first["usage"]["cacheWriteInputTokens"] == 5_003
    assert again["cacheReadInputTokens"] == 5_003
    assert again["totalTokens"] == sum(
        again[name]
        for name in (
            "inputTokens",
            "outputTokens",
            "cacheReadInputTokens",
            "cacheWriteInputTokens",
        )
    )
