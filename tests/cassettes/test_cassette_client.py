"""A client on a cassette: recorded with a key, played with none; the documentation's code runs."""

import re
from pathlib import Path

import pytest
from tests.transport.scripted import SUM, AsyncScripted, Scripted, ok

import pondero
from pondero.emulator import Emulator
from pondero.errors import (
    AuthFailed,
    CassetteError,
    MissingKey,
    PonderoError,
    Truncated,
    Unreachable,
)
from pondero.vcr import AsyncCassette, Cassette, find_leaks

_DOCS = (Path(__file__).parents[2] / "docs" / "cassettes.md").read_text("utf-8")
_BLOCKS = re.findall(r"```python\n(.*?)```", _DOCS, re.DOTALL)
_KEY = "k3y-of-the-house-and-garden"
ASKED = ("claude-opus-5/high", "What is 17 * 23?")


class Service(Scripted):
    needs_key = True


@pytest.fixture
def sums(tmp_path, monkeypatch):
    """The cassette of the documentation, recorded with a key that is gone afterwards."""
    monkeypatch.delenv("VCR_RECORD", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "cassettes" / "sums.jsonl"
    cassette = Cassette(path, Service(ok(*SUM, content_type="text/event-stream")), record=True)
    with pondero.Client(transport=cassette, keys={"anthropic": _KEY}) as client:
        assert client.ask(*ASKED).text == "391"
    return path


def test_what_a_client_recorded_with_a_key_it_plays_with_none(sums):
    assert _KEY not in sums.read_text()
    with pondero.Client(transport=Cassette(sums)) as client:
        reply = client.ask(*ASKED)
    assert reply.text == "391"
    assert reply.usage.output == 5


@pytest.mark.anyio
async def test_the_same_file_is_played_by_an_async_client(sums):
    async with pondero.AsyncClient(transport=AsyncCassette(sums)) as client:
        assert (await client.ask(*ASKED)).text == "391"


def test_another_level_is_another_request(sums):
    with pondero.Client(transport=Cassette(sums)) as client, pytest.raises(CassetteError) as caught:
        client.ask("claude-opus-5/low", "What is 17 * 23?")
    assert '    expected  "high"\n    actual    "low"' in str(caught.value)


def test_recording_without_a_key_says_which_variable_to_set(tmp_path):
    service = Service()
    cassette = Cassette(tmp_path / "case.jsonl", service, record=True)
    with pondero.Client(transport=cassette) as client, pytest.raises(MissingKey) as caught:
        client.ask(*ASKED)
    assert "ANTHROPIC_API_KEY" in str(caught.value)
    assert service.sent == []


@pytest.mark.parametrize(
    "block",
    [
        each
        for each in _BLOCKS
        if not {"pytest", "anthropic"} & {*re.findall(r"import (\w+)", each)}
    ],
)
def test_the_documentations_code_runs_as_printed(block, sums):
    names = {}
    exec(compile(block, "docs/cassettes.md", "exec"), names)
    if "reply" in names:
        assert names["reply"].text == "391"
    else:
        assert names["find_leaks"](sums) == ()


def test_the_documentations_sdk_plays_without_a_key(tmp_path, monkeypatch):
    pytest.importorskip("anthropic")
    [block] = [each for each in _BLOCKS if "import anthropic" in each]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    recording = block.replace("sdk.client(", "sdk.client(transport=Cassette_, ").replace(
        'cassette="cassettes/sums-sdk.jsonl"', ""
    )
    path = tmp_path / "cassettes" / "sums-sdk.jsonl"
    names = {"Cassette_": Cassette(path, Emulator(), record=True)}
    exec(compile(recording, "docs/cassettes.md", "exec"), names)
    played = {}
    exec(compile(block, "docs/cassettes.md", "exec"), played)
    assert played["message"].content[-1].text == "17 * 23 = 391"
    assert played["message"] == names["message"]


def test_what_does_not_match_is_the_cause_of_the_sdks_error(tmp_path):
    anthropic = pytest.importorskip("anthropic")
    path = tmp_path / "case.jsonl"

    def ask(http, words):
        with http:
            client = anthropic.Anthropic(api_key="any", max_retries=0, http_client=http)
            asked = [{"role": "user", "content": words}]
            return client.messages.create(model="claude-opus-5", max_tokens=2000, messages=asked)

    ask(pondero.sdk.client(transport=Cassette(path, Emulator(), record=True)), "one")
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(pondero.sdk.client(cassette=path), "two")
    assert 'expected  "one"' in str(caught.value.__cause__)


NO_HOST = Unreachable("cannot reach api.test: name not known", connected=False)
NO_WAIT = pondero.Retry(waits=False)


def _record_failure(path, service, model="claude-opus-5/high"):
    cassette = Cassette(path, service, record=True)
    with (
        pondero.Client(transport=cassette, retry=NO_WAIT) as client,
        pytest.raises(PonderoError) as caught,
    ):
        client.ask(model, "What is 17 * 23?")
    return caught.value


@pytest.mark.parametrize(
    ("service", "model", "kind", "line"),
    [
        (Emulator(faults=[401]), "claude-opus-5/high", AuthFailed, 1),
        (Emulator(faults=[529, 529, 401]), "claude-opus-5/high", AuthFailed, 7),
        (Scripted(*[NO_HOST] * 4), "claude-opus-5/high", Unreachable, 7),
        (Scripted(*[NO_HOST] * 4), "ollama:qwen3", Unreachable, 7),
        (Scripted(*[ok(SUM[0])] * 4), "claude-opus-5/high", Truncated, 10),
        (Scripted(*[ok(SUM[0], NO_HOST)] * 4), "claude-opus-5/high", Truncated, 13),
    ],
)
def test_a_played_failure_names_its_cassette_and_line(tmp_path, service, model, kind, line):
    path = tmp_path / "case.jsonl"
    first = _record_failure(path, service, model)
    with pondero.Client(transport=Cassette(path)) as client, pytest.raises(kind) as caught:
        client.ask(model, "What is 17 * 23?")
    assert str(caught.value) == str(first)
    note = f"this is recorded in {path}, line {line}; record again with VCR_RECORD=1"
    assert [each for each in caught.value.__notes__ if "recorded in" in each] == [note]
    assert not [each for each in getattr(first, "__notes__", ()) if "recorded in" in each]


@pytest.mark.anyio
async def test_a_failure_played_with_asyncio_names_its_cassette(tmp_path):
    path = tmp_path / "case.jsonl"
    _record_failure(path, Emulator(faults=[401]))
    async with pondero.AsyncClient(transport=AsyncCassette(path)) as client:
        with pytest.raises(AuthFailed) as caught:
            await client.ask(*ASKED)
    assert f"this is recorded in {path}, line 1; " in caught.value.__notes__[-1]


def test_nothing_is_waited_for_between_played_tries(tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr("pondero.transport.shell.sleep", waited.append)
    path = tmp_path / "case.jsonl"
    cassette = Cassette(path, Emulator(faults=["529 7", "429 8"]), record=True)
    with pondero.Client(transport=cassette) as client:
        client.ask(*ASKED)
        assert waited == [7.0, 8.0]
        cassette.rewind()
        client.ask(*ASKED)
    assert waited == [7.0, 8.0]


def test_a_service_that_was_not_reached_is_not_reached_by_the_sdk_when_played(tmp_path):
    anthropic = pytest.importorskip("anthropic")
    path = tmp_path / "case.jsonl"

    def ask(http):
        client = anthropic.Anthropic(api_key="any", max_retries=0, http_client=http)
        asked = [{"role": "user", "content": "Hi"}]
        with http, pytest.raises(anthropic.APIConnectionError) as caught:
            client.messages.create(model="claude-opus-5", max_tokens=2000, messages=asked)
        return caught.value.__cause__

    live = ask(pondero.sdk.client(transport=Cassette(path, Scripted(NO_HOST), record=True)))
    played = ask(pondero.sdk.client(cassette=path))
    assert type(played).__name__ == type(live).__name__ == "ConnectError"
    assert str(path) in played.__cause__.__notes__[0]


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"sunny in {city}"


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-5/high",
        "gpt-5.5/high",
        "openai-chat:gpt-5.5/low",
        "gemini-3-flash-preview/high",
    ],
)
def test_a_chat_with_thinking_and_tools_is_played_as_it_was_on_every_wire(tmp_path, model):
    path = tmp_path / "case.jsonl"
    live, played = (
        _chat(Cassette(path, Emulator(), record=record), model) for record in (True, False)
    )
    assert live == played
    assert find_leaks(path) == ()


def _chat(cassette, model):
    with pondero.Client(transport=cassette) as client:
        chat = pondero.Chat(model, tools=[get_weather], client=client)
        replies = [chat.send(asked) for asked in ("What is 17 * 23?", "The weather in Paris?")]
    cassette.assert_played()
    return [(reply.text, reply.thinking, reply.usage) for reply in replies]


@pytest.mark.anyio
async def test_an_async_client_records(tmp_path):
    path = tmp_path / "case.jsonl"
    service = AsyncScripted(ok(*SUM))
    cassette = AsyncCassette(path, service, record=True)
    async with pondero.AsyncClient(transport=cassette, keys={"anthropic": _KEY}) as client:
        assert (await client.ask(*ASKED)).text == "391"
    assert path.exists()


@pytest.fixture
def anyio_backend():
    return "asyncio"
