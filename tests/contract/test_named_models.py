"""The models that the ledger names: each of them, at every level, keeps every contract."""

import pytest

import pondero
from pondero.contract import SCENARIOS, EmulatorBackend, describe_failure, find_model, run_scenarios

MODELS = {
    "anthropic": ("claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5"),
    "openai": ("gpt-5-nano", "gpt-5-mini", "gpt-5"),
    "google": ("gemini-2.5-flash-lite", "gemini-2.5-pro", "gemini-3.0-flash", "gemini-3.0-pro"),
}
NAMED = [(provider, model) for provider in MODELS for model in MODELS[provider]]


@pytest.mark.parametrize(("provider", "model"), NAMED, ids=lambda value: value)
def test_a_model_the_ledger_names_keeps_every_contract(provider, model):
    results = run_scenarios([find_model(provider, model)], SCENARIOS, EmulatorBackend())
    failed = [describe_failure(result) for result in results if result.status == "failed"]
    assert not failed, "\n\n".join(failed)
    thinking = {r.scenario: r.status for r in results if r.scenario.startswith("thinking_")}
    beside = {"thinking_summary_flag"}  # the budget models of one of them have no word for it
    assert {name for name, status in thinking.items() if status != "passed"} <= beside


# What the ledger asks for, level by level: the figure of a level, or its word on the wire.
WRITTEN = {
    "anthropic:claude-sonnet-4-5": {"low": 22_016, "medium": 43_008, "high": 64_000},
    "google:gemini-2.5-pro": {"low": 11_008, "medium": 21_888, "high": 32_768},
    "openai:gpt-5-mini": {"low": "low", "medium": "medium", "high": "high"},
    "google:gemini-3.0-flash": {"low": "LOW", "medium": "MEDIUM", "high": "HIGH"},
    "google:gemini-3.0-pro": {"low": "LOW", "medium": "HIGH", "high": "HIGH"},
}


@pytest.mark.parametrize("model", WRITTEN)
def test_the_figures_the_ledger_names_are_the_figures_of_the_dial(model):
    for level, figure in WRITTEN[model].items():
        plan = pondero.plan(model, level)
        if isinstance(figure, int):
            assert plan.nominal == figure
        else:
            assert f"'{figure}'" in str(plan.fields)
