"""The dial inside the vendors' SDKs: their own code, our HTTP client beneath it."""

import asyncio

import pytest

import pondero
from pondero.emulator import Emulator
from pondero.errors import BadThinking

pytestmark = [
    pytest.mark.judge,
    pytest.mark.usefixtures("leaves_open"),
    pytest.mark.filterwarnings("ignore:The model:DeprecationWarning"),
]

SUM = "What is 17 * 23?"
ASKED = [{"role": "user", "content": SUM}]


def sent(emulator):
    return emulator.log.entries[-1].body


def test_anthropics_sdk_thinks_at_the_level_streamed_and_not():
    anthropic = pytest.importorskip("anthropic")
    emulator = Emulator()
    client = anthropic.Anthropic(
        api_key="test", http_client=pondero.sdk.client("low", transport=emulator)
    )
    message = client.messages.create(model="claude-opus-5", max_tokens=4000, messages=ASKED)
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert sent(emulator)["output_config"] == {"effort": "low"}
    with client.messages.stream(
        model="claude-sonnet-4-5", max_tokens=4000, messages=ASKED
    ) as stream:
        final = stream.get_final_message()
    assert "391" in final.content[-1].text
    assert sent(emulator)["thinking"]["type"] == "enabled"


def test_what_the_caller_said_of_thinking_gives_way_to_the_level():
    anthropic = pytest.importorskip("anthropic")
    emulator = Emulator()
    client = anthropic.Anthropic(
        api_key="test", http_client=pondero.sdk.client("off", transport=emulator)
    )
    client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=4000,
        messages=ASKED,
        thinking={"type": "enabled", "budget_tokens": 2000},
    )
    assert sent(emulator)["thinking"] == {"type": "disabled"}


def test_openais_sdk_thinks_at_the_level_on_both_its_wires():
    openai = pytest.importorskip("openai")
    emulator = Emulator()
    http = pondero.sdk.client("high", transport=emulator)
    client = openai.OpenAI(api_key="test", http_client=http)
    answer = client.responses.create(model="gpt-5.1", input=SUM)
    assert answer.reasoning.effort == "high"
    chat = client.chat.completions.create(model="gpt-5.1", messages=ASKED, temperature=0.2)
    assert "391" in chat.choices[0].message.content
    assert sent(emulator)["reasoning_effort"] == "high"
    assert "temperature" not in sent(emulator)


def test_googles_sdk_thinks_at_the_level():
    genai = pytest.importorskip("google.genai")
    emulator = Emulator()
    http = pondero.sdk.client("low", transport=emulator)
    client = genai.Client(api_key="test", http_options={"httpx_client": http})
    answer = client.models.generate_content(model="gemini-3-flash-preview", contents=SUM)
    assert "391" in answer.text
    config = sent(emulator)["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingLevel": "LOW", "includeThoughts": True}


def test_the_async_sdks_do_too():
    anthropic, openai = pytest.importorskip("anthropic"), pytest.importorskip("openai")
    emulator = Emulator()

    async def talk():
        claude = anthropic.AsyncAnthropic(
            api_key="test", http_client=pondero.sdk.aclient("low", transport=emulator)
        )
        gpt = openai.AsyncOpenAI(
            api_key="test", http_client=pondero.sdk.aclient("high", transport=emulator)
        )
        async with claude, gpt:
            await claude.messages.create(model="claude-opus-5", max_tokens=4000, messages=ASKED)
            first = sent(emulator)
            stream = await gpt.responses.create(model="gpt-5.1", input=SUM, stream=True)
            kinds = [event.type async for event in stream]
            return first, kinds

    first, kinds = asyncio.run(talk())
    assert first["output_config"] == {"effort": "low"}
    assert sent(emulator)["reasoning"]["effort"] == "high"
    assert kinds[-1] == "response.completed"


def test_errors_of_the_service_stay_the_sdks_own():
    openai = pytest.importorskip("openai")
    http = pondero.sdk.client("high", transport=Emulator(faults=[401]))
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="test", http_client=http).responses.create(model="gpt-5.1", input=SUM)


def test_the_plan_is_beside_the_response_and_unknown_requests_pass_untouched():
    http = pondero.sdk.client("high", transport=Emulator())
    headers = {"authorization": "Bearer test"}
    body = {"model": "gpt-5.1", "input": SUM}
    found = http.post("https://api.openai.com/v1/responses", json=body, headers=headers)
    assert found.extensions["pondero"].level == "high"
    other = http.get("https://api.openai.com/v1/models", headers=headers)
    assert "pondero" not in other.extensions


def test_a_cassette_beneath_an_sdk_records_and_plays(tmp_path, monkeypatch):
    openai = pytest.importorskip("openai")
    tape = tmp_path / "sum.jsonl"
    monkeypatch.setenv("VCR_RECORD", "1")
    with pondero.sdk.client("high", tape, transport=Emulator()) as http:
        openai.OpenAI(api_key="test", http_client=http).responses.create(model="gpt-5.1", input=SUM)
    monkeypatch.delenv("VCR_RECORD")
    with pondero.sdk.client("high", tape) as http:
        client = openai.OpenAI(api_key="test", http_client=http)
        assert "391" in client.responses.create(model="gpt-5.1", input=SUM).output_text


def test_a_level_that_is_none_is_refused_at_once():
    with pytest.raises(BadThinking):
        pondero.sdk.client("hihg")
