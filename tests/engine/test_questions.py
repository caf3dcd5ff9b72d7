"""What can be said beside the prompt, and who says it: a real engine takes it all."""

import io
import sys

import pytest
from tests.engine.scripted import ANSWER, CHAT, MESSAGES, RESPONSES, STEPS, WIRES

import pondero
from pondero.cassettes import Cassette
from pondero.cli.app import run

pytestmark = pytest.mark.engine

EVERY_WIRE = pytest.mark.parametrize("model", WIRES)


@EVERY_WIRE
def test_parameters_are_taken(client, wire, model):
    asked = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 300}
    assert client.ask(model, "Hi.", "low", **asked).text == ANSWER
    assert {"temperature", "top_p"} <= wire.bodies[-1].keys()


@EVERY_WIRE
def test_a_system_prompt_reaches_the_model(client, model):
    def read(**options):
        usage = client.ask(model, "Hi.", "low", **options).usage
        return usage.input + (usage.cache_read or 0)

    assert read(system="Be brief, and be kind.") > read()


@pytest.mark.parametrize("model", [CHAT, MESSAGES])
def test_an_answer_stops_where_it_is_told_to(client, model):
    reply = client.ask(model, "Hi.", "low", stop="sunny")
    assert reply.text.rstrip() == "It is"
    assert reply.finish in ("stop", "stop_sequence")


@pytest.mark.usefixtures("_wires")
@pytest.mark.parametrize("model", [CHAT, RESPONSES])
def test_the_command_line_asks_it_like_any_service(capsys, monkeypatch, model):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert run(["ask", f"{model}/high", "--thinking", "Hi."]) == 0
    out, err = capsys.readouterr()
    assert out == f"{ANSWER}\n"
    assert err.count("step") == STEPS["high"]


@pytest.mark.usefixtures("_wires")
@EVERY_WIRE
def test_a_cassette_of_it_plays_the_same_answer(tmp_path, model):
    replies = []
    for recording in (True, False):
        transport = Cassette(tmp_path / "engine.jsonl", record=recording)
        with pondero.Client(transport=transport) as ours:
            replies.append(ours.ask(model, "Hi.", "medium"))
    assert replies[0].message.parts == replies[1].message.parts
