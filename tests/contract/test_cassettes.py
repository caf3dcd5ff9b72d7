"""Our own cassettes: recorded from the emulator over HTTP, played here, and free of any key."""

import json
from pathlib import Path

import pytest
from tests.contract.mutants import MUTANTS

from pondero import models
from pondero.cassettes import find_leaks, load_cassette
from pondero.cli.app import run as pondero
from pondero.contract import (
    SCENARIOS,
    CassetteBackend,
    describe_failure,
    find_model,
    most_recorded_model,
    representative_models,
    run_one,
)
from pondero.dialects import get_dialect
from pondero.emulator import SERVER, Emulator

FOLDER = Path(__file__).parents[1] / "cassettes"
PROVIDERS = sorted(
    path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"
)
FILES = sorted(FOLDER.rglob("*.jsonl"))
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
KEY = "sk-proj-" + "a1" * 12  # shaped like one, and none

ABOUT_THINKING = ("off", "low", "medium", "high", "streaming")
CONTRACTS = (
    *("simple_text", "tool_call", "tool_call_id_generation", "thinking_config"),
    *("thinking_response", "streaming_text", "streaming_thinking", "streaming_tool_call"),
    *("error_auth", "error_rate_limit", "error_invalid_request", "multi_turn", "token_usage"),
    "grounding",
)


def entry_of(provider: str):
    first = representative_models(provider)[0]
    return find_model(provider, most_recorded_model(FOLDER, first) or "")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_what_was_recorded_still_keeps_the_contract(provider, scenario):
    result = run_one(entry_of(provider), scenario, CassetteBackend(FOLDER))
    assert result.status in ("passed", "unsupported"), describe_failure(result)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", [s.name for s in SCENARIOS if s.talks])
def test_a_recording_that_plays_fails_when_its_wire_is_broken(provider, name):
    entry, scenario = entry_of(provider), BY_NAME[name]
    if run_one(entry, scenario, CassetteBackend(FOLDER)).status == "unsupported":
        return
    found = set()
    for mutant in MUTANTS[name].values():
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch, get_dialect(entry.provider.dialect))
            found.add(run_one(entry, scenario, CassetteBackend(FOLDER)).status)
    assert "failed" in found


def test_the_cassettes_that_were_asked_for_are_all_there():
    for provider in ("anthropic", "openai", "google"):
        for level in ABOUT_THINKING:
            assert (FOLDER / provider / f"thinking_{level}.jsonl").is_file()
        for name in CONTRACTS:
            assert (FOLDER / provider / f"test_contract_{name}.jsonl").is_file()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_scenario_that_talks_has_its_cassette_and_there_is_no_other(provider):
    entry = entry_of(provider)
    wanted = {s.cassette for s in SCENARIOS if s.talks and s.lacks(entry) is None}
    if all(each.capability.thinks for each in models(provider)):
        wanted.remove("thinking_unsupported_model.jsonl")
    assert {path.name for path in (FOLDER / provider).iterdir()} == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_cassette_holds_a_key(path):
    assert find_leaks(path) == ()
    text = path.read_text("utf-8")
    assert [word for word in ('api_key\\":', "sk-ant-", "sk-proj-", "AIza") if word in text] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_cassette_came_from_the_emulator_over_http(path):
    assert {
        exchange.head and exchange.head.headers["server"] for exchange in load_cassette(path)
    } == {SERVER}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_the_emulator_still_says_what_was_recorded(provider, level):
    (exchange,) = load_cassette(FOLDER / provider / f"thinking_{level}.jsonl")
    emulator = Emulator(service=provider)
    assert b"".join(emulator.send(exchange.request)) == exchange.body


def test_the_cassettes_are_small():
    assert sum(path.stat().st_size for path in FILES) < 1_000_000


# -- recording ----------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path, monkeypatch, capsys) -> Path:
    """A folder recorded with a key in the environment."""
    monkeypatch.setenv("VCR_RECORD", "1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    names = ["--scenario", "thinking_low", "--scenario", "error_auth", "--scenario", "grounding"]
    arguments = ["contract", "openai", "--model", "gpt-5-mini", "--cassettes", str(tmp_path)]
    assert pondero([*arguments, *names]) == 0
    monkeypatch.delenv("VCR_RECORD")
    capsys.readouterr()
    return tmp_path


def test_what_is_recorded_came_over_http_without_the_key_and_plays(recorded, capsys):
    files = sorted((recorded / "openai").iterdir())
    assert [path.name for path in files] == [
        "test_contract_error_auth.jsonl",
        "test_contract_grounding.jsonl",  # it shows that there is none
        "thinking_low.jsonl",
    ]
    for path in files:
        assert KEY not in path.read_text("utf-8")
        assert all(e.request.url.startswith("http://127.0.0.1:") for e in load_cassette(path))
    arguments = ["contract", "--cassettes", str(recorded), "--scenario", "thinking_low", "--json"]
    assert pondero(arguments) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["provider"], result["model"]) == ("openai", "gpt-5-mini")
    assert result["status"] == "passed"


def test_another_request_than_the_recorded_one_is_a_failure_with_a_diff(recorded, capsys):
    path = recorded / "openai" / "thinking_low.jsonl"
    path.write_text(path.read_text("utf-8").replace(r"\"effort\":\"low\"", r"\"effort\":\"high\""))
    arguments = ["contract", "openai", "--cassettes", str(recorded), "--scenario", "thinking_low"]
    assert pondero(arguments) == 1
    shown = capsys.readouterr().out
    assert "body.reasoning.effort" in shown
    assert "VCR_RECORD=1" in shown
