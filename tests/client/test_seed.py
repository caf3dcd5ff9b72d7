"""``seed``: sent where the service has it, dropped with a note where it has not."""

import io
import json
import sys

import pytest

import pondero
from pondero.cli.app import run
from pondero.emulator import Emulator
from pondero.errors import BadParameter

SENT = {
    "gemini-2.5-pro/low": ("generationConfig", "seed"),
    "vertex:gemini-2.5-pro": ("generationConfig", "seed"),
    "google-interactions:gemini-3-flash-preview": ("generation_config", "seed"),
    "openai-chat:gpt-4o": ("seed",),
    "azure-chat:gpt-4o": ("seed",),
    "mistral:mistral-large-latest": ("random_seed",),
    "cohere:command-a-03-2025": ("seed",),
    "ollama:qwen3": ("options", "seed"),
    "groq:llama-3.3-70b-versatile": ("seed",),
    "cerebras:gpt-oss-120b": ("seed",),
    "openrouter:openai/gpt-5": ("seed",),
    "vllm:qwen3": ("seed",),
}
DROPPED = ("gpt-5.1", "claude-opus-5", "bedrock:anthropic.claude-opus-4-8", "xai:grok-4")


@pytest.fixture
def client():
    with pondero.Client(transport=Emulator()) as client:
        yield client


def _get(body, path):
    for name in path:
        body = body[name]
    return body


@pytest.mark.parametrize(("model", "path"), SENT.items())
def test_a_service_that_has_it_gets_it_where_it_wants_it(model, path, client):
    prepared = client.prepare(model, "What is 17 * 23?", seed=7)
    assert _get(json.loads(prepared.request.body), path) == 7
    assert _get(pondero.plan(model, seed=7).fields, path) == 7
    reply = client.ask(model, "What is 17 * 23?", seed=7)  # the emulator is strict
    assert "391" in reply.text
    assert [note for note in reply.adjustments if note.what == "seed"] == []


@pytest.mark.parametrize("model", DROPPED)
def test_a_service_without_it_does_not_get_it_and_the_reply_says_so(model, client):
    assert b"seed" not in client.prepare(model, "What is 17 * 23?", seed=7).request.body
    notes = client.ask(model, "What is 17 * 23?", seed=7).adjustments
    [note] = [note for note in notes if note.what == "seed"]
    assert (note.code, note.asked, note.why) == ("dropped_parameter", 7, "this service has no seed")
    with pytest.raises(pondero.UsageError, match="this service has no seed"):
        client.ask(model, "What is 17 * 23?", seed=7, policy={"unsupported": "strict"})


@pytest.mark.parametrize(
    ("model", "extras"),
    [("gpt-5.1", {"seed": 7}), ("claude-opus-5", {"seed": 7})],
)
def test_the_strict_emulator_rejects_what_the_service_has_not(model, extras, client):
    with pytest.raises(pondero.ServiceError):
        client.ask(model, "What is 17 * 23?", extras=extras)


def test_a_chat_keeps_it_and_saves_it(client):
    chat = pondero.Chat("gemini-2.5-pro/low", client=client, seed=7)
    again = pondero.Chat.from_json(chat.to_json(), client=client)
    for each in (chat, again):
        assert json.loads(each.prepare("Hello").request.body)["generationConfig"]["seed"] == 7
    assert json.loads(chat.prepare("Hi", seed=8).request.body)["generationConfig"]["seed"] == 8


def test_each_request_of_a_batch_has_its_own(client, data_dir):
    asks = [{"id": "a", "prompt": "What is 17 * 23?", "seed": 1}, {"id": "b", "prompt": "Hi"}]
    draft = client.draft_batch(asks, "gemini-2.5-pro/low", seed=2)
    bodies = [json.loads(each.exchange.http.body) for each in draft.asks]
    assert [body["generationConfig"]["seed"] for body in bodies] == [1, 2]


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, True, "7"])
def test_a_seed_that_not_every_service_takes_is_an_error(seed, client):
    with pytest.raises(BadParameter, match=r"invalid seed=.* from 0 to 2,147,483,647"):
        client.ask("gemini-2.5-pro", "Hello", seed=seed)


@pytest.mark.parametrize("typed", [("--seed", "7"), ("-o", "seed", "7")])
def test_the_command_line_takes_it(typed, capsys, monkeypatch, data_dir, config_dir):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    command = ["ask", "gemini-2.5-pro/low", "--offline", "--wire", "--no-save", *typed, "2 + 2"]
    assert run(command) == 0
    assert '"seed":7' in capsys.readouterr().err
    assert run(["plan", "gemini-2.5-pro", "--seed", "7"]) == 0
    assert '"seed": 7' in capsys.readouterr().out
