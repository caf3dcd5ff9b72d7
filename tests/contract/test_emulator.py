"""The kit on the emulator: every provider whose wire we speak keeps every contract."""

import pytest

from pondero.client import load_catalog
from pondero.contract import (
    SCENARIOS,
    EmulatorBackend,
    describe_failure,
    representative_models,
    run_one,
    run_scenarios,
)
from pondero.dialects import NAMES
from pondero.emulator import home_providers

# The chat wire's first service never shows its thinking; two others do, each in its own shape.
FIRST = [*(home.name for home in home_providers()), "deepseek", "mistral"]
OTHERS = [
    provider.name
    for provider in load_catalog().catalog.providers.values()
    if provider.dialect in NAMES and provider.name not in FIRST
]
# What three services do not do at all, on the model that stands for them.
UNSUPPORTED = {
    "anthropic": {"grounding", "safety_ratings"},
    "openai": {"grounding", "safety_ratings"},
    "google": set(),
}


@pytest.mark.parametrize("provider", FIRST)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_first_service_of_every_wire_keeps_the_contract(provider, scenario):
    for entry in representative_models(provider):
        result = run_one(entry, scenario, EmulatorBackend())
        assert result.status in ("passed", "unsupported"), describe_failure(result)


@pytest.mark.parametrize("provider", OTHERS)
def test_every_other_provider_on_these_wires_keeps_the_contracts(provider):
    results = run_scenarios(representative_models(provider), SCENARIOS, EmulatorBackend())
    failed = [describe_failure(result) for result in results if result.status == "failed"]
    assert not failed, "\n\n".join(failed)


@pytest.mark.parametrize("provider", UNSUPPORTED)
def test_what_a_service_does_not_do_is_what_we_wrote_down(provider):
    results = run_scenarios(representative_models(provider)[:1], SCENARIOS, EmulatorBackend())
    assert {r.scenario for r in results if r.status == "unsupported"} == UNSUPPORTED[provider]


def test_a_provider_is_stood_for_by_a_model_of_each_way_to_tell_it_to_think():
    styles = [entry.capability.style for entry in representative_models("google")]
    assert sorted(map(str, styles)) == ["budget", "level"]


def test_nothing_is_skipped_on_the_emulator():
    results = run_scenarios(representative_models("google"), SCENARIOS, EmulatorBackend())
    assert {result.status for result in results} == {"passed"}
