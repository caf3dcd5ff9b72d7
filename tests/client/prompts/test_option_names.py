"""An unknown option is named with the one that was meant, wherever options are taken."""

import re

import pytest

import pondero
from pondero.cli.app import run
from pondero.client.prompts import option_names
from pondero.client.prompts.options import Options
from pondero.emulator import Emulator
from pondero.errors import BadParameter

MODEL = "claude-opus-5"
THINKING = 'use thinking, such as thinking="high"'


@pytest.fixture
def client():
    with pondero.Client(transport=Emulator()) as client:
        yield client


TAKERS = {
    "ask": lambda client, options: client.ask(MODEL, "Hello", **options),
    "ask a list": lambda client, options: client.ask([MODEL, "gpt-5.1"], "Hello", **options),
    "stream": lambda client, options: client.stream(MODEL, "Hello", **options),
    "prepare": lambda client, options: client.prepare(MODEL, "Hello", **options),
    "batch": lambda client, options: client.batch(["Hello"], MODEL, **options),
    "batch request": lambda client, options: client.batch([{"prompt": "Hi", **options}], MODEL),
    "Chat": lambda client, options: pondero.Chat(MODEL, client=client, **options),
    "Chat.send": lambda client, options: pondero.Chat(MODEL, client=client).send("Hi", **options),
    "plan": lambda client, options: pondero.plan(MODEL, **options),
}
OTHERS = {
    "reasoning_effort": THINKING,
    "reasoning": THINKING,
    "budget_tokens": THINKING,
    "thinking_budget": THINKING,
    "thinking_config": THINKING,
    "effort": THINKING,
    "max_completion_tokens": "use max_tokens",
    "max_output_tokens": "use max_tokens",
    "max_token": "did you mean 'max_tokens'?",
    "temprature": "did you mean 'temperature'?",
    "n": "ask once for each answer",
}
FURTHER = {
    "response_format": "use output",
    "functions": "use tools",
    "stop_sequences": "use stop",
    "system_prompt": "use system",
    "messages": "give the messages as the prompt",
    "random_seed": "use seed",
    "retry": "use retries for values that do not fit, and Client(retry=...) for failures",
    "image": "use attachments",
    "history": "give the messages as the prompt",
    "frequency_penalty": "use extras={'frequency_penalty': ...}",
    "api_key": "use Client(keys={provider: key})",
    "sytem": "did you mean 'system'?",
    "zzz": "use thinking_effort system",
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("name", "advice"), OTHERS.items())
def test_every_call_names_the_option_that_was_meant(taker, name, advice, client, data_dir):
    kind = "field" if taker == "batch request" else "option"
    with pytest.raises(BadParameter, match=re.escape(f"unknown {kind} {name!r}; {advice}")):
        TAKERS[taker](client, {name: "x"})


@pytest.mark.parametrize(("name", "advice"), FURTHER.items())
def test_a_question_has_further_options(name, advice, client):
    with pytest.raises(BadParameter, match=re.escape(f"unknown option {name!r}; {advice}")):
        client.ask(MODEL, "Hello", **{name: "x"})


def test_a_sweep_compares_levels(data_dir):
    with pytest.raises(BadParameter, match="unknown option 'reasoning_effort'; use levels"):
        pondero.sweep([{"input": "x", "target": "x"}], MODEL, reasoning_effort="high")


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        (["ask", "--reasoning-effort", "high"], "write the level after the model: MODEL/high"),
        (["plan", MODEL, "--budget-tokens", "1"], "write the level after the model: MODEL/high"),
        (["chat", "--thinking-budget", "1"], "write the level after the model: MODEL/high"),
        (["ask", "--max-completion-tokens", "1"], "use --max-tokens"),
        (["ask", "--system-prompt", "x"], "use --system"),
    ],
)
def test_the_command_line_names_what_to_write(typed, advice, capsys):
    assert run(typed) == 2
    assert capsys.readouterr().err.endswith(f"; {advice}; see 'pondero {typed[0]} --help'\n")


def test_the_table_names_options_that_exist():
    ours = set(option_names._OURS)
    assert ours - {"thinking", "prompt"} <= Options.__annotations__.keys()
    theirs = [word for words in option_names._OURS.values() for word in words.split()]
    assert len(theirs) == len(set(theirs))
    assert set(theirs).isdisjoint(Options.__annotations__)


def test_plan_takes_the_tokens_before_it_as_prepare_does(client):
    policy = {"context_cap": 1_000}
    capped = pondero.plan(MODEL, "high", context=900_000, policy=policy)
    prepared = client.prepare(MODEL, "Hello", "high", context=900_000, policy=policy)
    assert capped == prepared.plan
