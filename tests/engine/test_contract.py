"""The contract kit before a real engine: what it does, and what it does not, said truly."""

import json

import pytest
from tests.engine.scripted import ANSWER

from pondero.cli.app import run

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("_wires")]

# The engine speaks three wires, each as the provider it copies.
AS = {"llamacpp": "scripted", "openai": "gpt-5.1", "anthropic": "claude-sonnet-4-5"}
KEPT = {
    *("simple_text", "tool_call", "tool_call_id_generation", "thinking_config"),
    *("thinking_response", "streaming_text", "streaming_thinking", "streaming_tool_call"),
    *("error_invalid_request", "role_mapping", "token_usage", "model_echo", "framing"),
    *("thinking_low", "thinking_medium", "thinking_high", "thinking_transition"),
}


@pytest.fixture(params=AS)
def told(request, engine, capsys) -> dict[str, dict[str, str]]:
    """What the kit says of one of the engine's wires, by scenario."""
    name = request.param
    arguments = ["contract", name, "--model", AS[name], "--base-url", engine, "--json"]
    assert run(arguments) == 1  # its model repeats one answer, and a wrong answer is a failure
    results = json.loads(capsys.readouterr().out)["results"]
    return {"as": {"provider": name}} | {result["scenario"]: result for result in results}


def test_a_real_engine_keeps_what_it_does_and_is_blamed_for_what_it_answers_wrongly(told):
    assert {name for name in KEPT if told[name]["status"] != "passed"} == set()
    # A scripted model answers the same to everything, and counts no thinking.
    for name in ("multi_turn", "system_prompt", "streaming_words"):
        assert told[name]["status"] == "failed"
        assert ANSWER.split()[2] in told[name]["detail"]
    assert told["thinking_tokens"]["status"] == "unsupported"
    assert told["error_auth"]["status"] == "unsupported"
    assert told["error_rate_limit"]["status"] == "skipped"
    assert told["error_server"]["status"] == "skipped"


def test_an_engine_that_thinks_though_told_not_to_is_told_on(told):
    # Its Messages wire takes a switch and leaves it at that, and signs no thinking.
    ignores = told["as"]["provider"] == "anthropic"
    assert told["thinking_off"]["status"] == ("failed" if ignores else "passed")
    assert told["thinking_replay"]["status"] == ("unsupported" if ignores else "passed")
