"""Ollama's own client, pointed at the emulator over real HTTP, with its normal code."""

import base64
import json

import ollama
import pytest

from pondero.client import load_catalog
from pondero.emulator import Emulator, Fault, ScriptedTurn, run_emulator_in_thread
from pondero.store import resolve_url

pytestmark = [pytest.mark.judge, pytest.mark.anyio]

SUM = [{"role": "user", "content": "What is 17 * 23?"}]
CITIES = {"role": "user", "content": "What is the weather in Paris and London?"}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}


def get_weather(city: str) -> str:
    """Tells the weather of a city.

    Args:
        city: which city

    """
    return f"{city}: 18 degrees"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


@pytest.fixture(autouse=True)
def _fresh(emulator):
    emulator.reset()


@pytest.fixture
def client(url):
    with ollama.Client(host=url) as made:
        yield made


def test_it_answers_and_thinks(client):
    answer = client.chat("qwen3:8b", SUM, think=True)
    assert answer.message.content == "17 * 23 = 391"
    assert "391" in answer.message.thinking
    assert (answer.done, answer.done_reason, answer.model) == (True, "stop", "qwen3:8b")
    assert answer.prompt_eval_count > 0
    assert answer.eval_count > 0


def test_it_streams_what_it_would_have_said_at_once(client):
    whole = client.chat("qwen3:8b", SUM, think=True)
    lines = list(client.chat("qwen3:8b", SUM, think=True, stream=True))
    assert "".join(line.message.thinking or "" for line in lines) == whole.message.thinking
    assert "".join(line.message.content or "" for line in lines) == whole.message.content
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1].eval_count == whole.eval_count


async def test_it_answers_and_streams_async(url):
    async with ollama.AsyncClient(host=url) as client:
        whole = await client.chat("qwen3:8b", SUM, think=True)
        lines = [line async for line in await client.chat("qwen3:8b", SUM, think=True, stream=True)]
    assert whole.message.content == "17 * 23 = 391"
    assert "".join(line.message.content or "" for line in lines) == whole.message.content
    assert "".join(line.message.thinking or "" for line in lines) == whole.message.thinking


@pytest.mark.parametrize("stream", [True, False])
def test_tools_work_on_turn_two_though_the_client_knows_no_ids(client, stream):
    thread = [CITIES]
    for _ in range(2):
        answer = client.chat("qwen3:8b", thread, tools=[get_weather], think=True, stream=stream)
        messages = [line.message for line in answer] if stream else [answer.message]
        calls = [call for message in messages for call in message.tool_calls or ()]
        text = "".join(message.content or "" for message in messages)
        thinking = "".join(message.thinking or "" for message in messages)
        thread.append(
            {"role": "assistant", "content": text, "thinking": thinking, "tool_calls": calls}
        )
        for call in calls:
            said = get_weather(**call.function.arguments)
            thread.append({"role": "tool", "tool_name": call.function.name, "content": said})
    assert [each["role"] for each in thread] == ["user", "assistant", "tool", "tool", "assistant"]
    assert "Paris: 18 degrees" in thread[-1]["content"]
    assert "London: 18 degrees" in thread[-1]["content"]


def test_more_is_thought_at_a_higher_level(client):
    answers = [client.chat("gpt-oss:20b", SUM, think=word) for word in ("low", "medium", "high")]
    depths = [len(answer.message.thinking) for answer in answers]
    assert depths == sorted(set(depths))


def test_what_thinks_unasked_is_told_not_to(client):
    assert client.chat("qwen3:8b", SUM).message.thinking
    assert client.chat("qwen3:8b", SUM, think=False).message.thinking is None


def test_some_think_whatever_they_are_told(client):
    assert client.chat("gpt-oss:20b", SUM, think=False).message.thinking


def test_an_answer_of_a_shape_and_a_picture(client):
    answer = client.chat("gemma3:4b", SUM, format=SCHEMA)
    assert json.loads(answer.message.content) == {"answer": "17 * 23 = 391"}
    shown = [{"role": "user", "content": "What is this?", "images": [PNG]}]
    assert client.chat("gemma3:4b", shown).message.content


@pytest.mark.parametrize(
    ("model", "options", "status", "words"),
    [
        ("llama3.2", {"think": True}, 400, '"llama3.2" does not support thinking'),
        (
            "qwen3:8b",
            {"think": "hard"},
            400,
            'invalid think value: "hard" (must be "high", "medium", "low", "max", true, or false)',
        ),
        ("bad_model", {}, 404, "model 'bad_model' not found"),
        ("qwen3:8b", {"options": {"temperature": "hot"}}, 400, "must be of type float32"),
    ],
)
def test_a_refusal_is_read_as_what_it_is(client, model, options, status, words):
    for stream in (False, True):
        with pytest.raises(ollama.ResponseError) as refused:
            list(client.chat(model, SUM, stream=stream, **options))
        assert refused.value.status_code == status
        assert words in refused.value.error


def test_an_error_inside_a_stream_is_raised_there(client, emulator):
    emulator.expect(ScriptedTurn(text="one two three", fault=Fault.parse("error_event 500")))
    with pytest.raises(ollama.ResponseError) as failed:
        list(client.chat("qwen3:8b", SUM, stream=True))
    assert failed.value.error


def test_the_cloud_wants_a_key(url):
    with (
        ollama.Client(host=f"{url}/ollama-cloud") as client,
        pytest.raises(ollama.ResponseError, match="unauthorized"),
    ):
        client.chat("gpt-oss:120b", SUM)
    bearer = {"authorization": "Bearer test"}
    with ollama.Client(host=f"{url}/ollama-cloud", headers=bearer) as client:
        assert client.chat("gpt-oss:120b", SUM).message.content == "17 * 23 = 391"


@pytest.mark.parametrize(
    "said",
    [
        *("box", "box:8080", "http://box:8080", "https://box:8443/under", "box/under", ":9999"),
        *("1.2.3.4", "[::1]", "[::1]:9999", "box/"),
    ],
)
def test_an_address_means_what_it_means_to_the_client_itself(said):
    ours = resolve_url(load_catalog().catalog.providers["ollama"], {"ollama": said}, needed=True)
    with ollama.Client(host=said) as client:
        theirs = str(client._client.base_url).rstrip("/")
    assert ours.replace("localhost", "127.0.0.1") == theirs


def test_a_prompt_is_answered_at_the_address_of_prompts(client):
    whole = client.generate("qwen3:8b", "What is 17 * 23?", system="Be brief.", think=True)
    pieces = list(client.generate("qwen3:8b", "What is 17 * 23?", stream=True, think=True))
    assert "391" in whole.response
    assert whole.thinking
    assert "391" in "".join(piece.response for piece in pieces)
    assert "".join(piece.thinking or "" for piece in pieces)
    assert pieces[-1].done_reason == "stop"
    assert pieces[-1].eval_count


def test_a_picture_goes_with_a_prompt(client):
    assert client.generate("qwen3-vl:8b", "What is this?", images=[PNG]).response
