"""The kit on the emulator: every provider whose wire we speak keeps every contract."""

import pytest

from pondero.client import load_catalog
from pondero.contract import SCENARIOS, Emulated, report, run, run_one, stand_ins
from pondero.dialects import NAMES
from pondero.emulator import home_providers

HOMES = [home.name for home in home_providers()]
OTHERS = [
    provider.name
    for provider in load_catalog().catalog.providers.values()
    if provider.dialect in NAMES and provider.name not in HOMES
]
# What three services do not do at all, on the model that stands for them.
UNSUPPORTED = {
    "anthropic": {"grounding", "safety_ratings"},
    "openai": {"grounding", "safety_ratings"},
    "google": set(),
}


@pytest.mark.parametrize("provider", HOMES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_first_service_of_every_wire_keeps_the_contract(provider, scenario):
    for entry in stand_ins(provider):
        result = run_one(entry, scenario, Emulated())
        assert result.status in ("passed", "unsupported"), report(result)


@pytest.mark.parametrize("provider", OTHERS)
def test_every_other_provider_on_these_wires_keeps_the_contracts(provider):
    results = run(stand_ins(provider), SCENARIOS, Emulated())
    failed = [report(result) for result in results if result.status == "failed"]
    assert not failed, "\n\n".join(failed)


@pytest.mark.parametrize("provider", UNSUPPORTED)
def test_what_a_service_does_not_do_is_what_we_wrote_down(provider):
    results = run(stand_ins(provider)[:1], SCENARIOS, Emulated())
    assert {r.scenario for r in results if r.status == "unsupported"} == UNSUPPORTED[provider]


def test_a_provider_is_stood_for_by_a_model_of_each_way_to_tell_it_to_think():
    styles = [entry.capability.style for entry in stand_ins("google")]
    assert sorted(map(str, styles)) == ["budget", "level"]


def test_nothing_is_skipped_on_the_emulator():
    results = run(stand_ins("google"), SCENARIOS, Emulated())
    assert {result.status for result in results} == {"passed"}
