"""Every scenario can fail: a defect planted in a dialect is seen by each that looks at it."""

from functools import cache

import pytest
from tests.contract.decoders import Mutant
from tests.contract.mutants import MUTANTS

from pondero.catalog import ModelEntry
from pondero.client import load_catalog
from pondero.contract import SCENARIOS, EmulatorBackend, Scenario, representative_models, run_one
from pondero.contract.runner import BROKEN
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import home_providers

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
# The first service of every wire; that of the chat wire never shows its thinking, two others do.
PROVIDERS = [*(home.name for home in home_providers()), "deepseek", "groq"]
# What no model passes on a wire, so that nothing is shown of it there.
UNSHOWN = {
    "anthropic": {"grounding", "safety_ratings"},
    "bedrock": {"grounding", "safety_ratings"},
    "cohere": {"grounding", "safety_ratings", "content_filter", "thinking_summary_flag"},
    "gemini": set(),
    "interactions": {"grounding", "safety_ratings"},
    "ollama": {
        *("grounding", "safety_ratings", "content_filter", "thinking_summary_flag", "error_auth")
    },
    "openai_chat": {"grounding", "safety_ratings"},
    "openai_responses": {"grounding", "safety_ratings"},
}


@cache
def subjects(provider: str, name: str) -> list[ModelEntry]:
    """The models of a provider on which the scenario passes as things are."""
    return [
        entry
        for entry in representative_models(provider)
        if run_one(entry, BY_NAME[name], EmulatorBackend()).status == "passed"
    ]


def fails(entry: ModelEntry, scenario: Scenario, mutant: Mutant) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch, get_dialect(entry.provider.dialect))
        result = run_one(entry, scenario, EmulatorBackend())
    assert result.check is None or result.check.field != BROKEN, result.detail
    return result.status == "failed"


def test_every_scenario_has_a_mutant():
    assert list(MUTANTS) == [scenario.name for scenario in SCENARIOS]


@pytest.mark.parametrize("wire", UNSHOWN)
def test_every_scenario_is_put_to_the_test_on_every_wire_but_for_what_is_written_down(wire):
    here = [name for name in PROVIDERS if load_catalog().catalog.providers[name].dialect == wire]
    shown = {name for name in MUTANTS for provider in here if subjects(provider, name)}
    assert set(MUTANTS) - shown == UNSHOWN[wire]


def test_every_wire_is_written_down():
    assert set(UNSHOWN) == set(NAMES)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_scenario_that_passes_on_a_wire_fails_when_that_wire_is_broken(provider, name):
    scenario = BY_NAME[name]
    for entry in subjects(provider, name):
        assert any(fails(entry, scenario, mutant) for mutant in MUTANTS[name].values()), entry.id


@pytest.mark.parametrize(
    ("name", "defect"), [(name, defect) for name in MUTANTS for defect in MUTANTS[name]]
)
def test_every_mutant_makes_its_scenario_fail_somewhere(name, defect):
    scenario = BY_NAME[name]
    assert any(
        fails(entry, scenario, MUTANTS[name][defect])
        for provider in PROVIDERS
        for entry in subjects(provider, name)
    )
