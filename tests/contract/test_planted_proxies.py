"""``contract --base-url`` fails a service that answers wrongly, and passes an honest one."""

import re
from functools import cache

import pytest
from tests.contract import proxies

import pondero
from pondero.contract import (
    SCENARIOS,
    HttpBackend,
    ScenarioResult,
    describe_failure,
    representative_models,
    run_scenarios,
)
from pondero.emulator import Emulator, run_emulator_in_thread

PROVIDERS = [
    *("anthropic", "openai", "deepseek", "google", "cohere", "ollama", "bedrock"),
    "google-interactions",
]
# The scenarios that look at what is planted; the honest service runs all.
LOOKING = {
    *("multi_turn", "role_mapping", "tool_call", "system_prompt", "token_usage"),
    *("streaming_words", "thinking_tokens", "thinking_off", "thinking_high", "thinking_depth"),
}
PLANTED = {
    "history": (lambda: {"on_request": proxies.drops_history}, "multi_turn"),
    "tools": (lambda: {"on_request": proxies.drops_tools}, "tool_call"),
    "system": (lambda: {"on_request": proxies.drops_system}, "system_prompt"),
    "usage": (lambda: {"on_frames": proxies.drops_usage}, "token_usage"),
    "delta": (lambda: {"on_frames": proxies.doubles_a_delta}, "streaming_words"),
}


def held(provider: str, emulator: Emulator, names: set[str] | None = None) -> list[ScenarioResult]:
    entry = representative_models(provider)[0]
    todo = [each for each in SCENARIOS if names is None or each.name in names]
    with run_emulator_in_thread(emulator) as url:
        return run_scenarios([entry], todo, HttpBackend(url))


def failed(results: list[ScenarioResult]) -> dict[str, str]:
    return {r.scenario: describe_failure(r) for r in results if r.status == "failed"}


@cache
def unsupported_when_honest(provider: str) -> frozenset[str]:
    results = held(provider, proxies.SpoilingEmulator(provider, on_frames=lambda frames: frames))
    assert not failed(results), failed(results)
    return frozenset(r.scenario for r in results if r.status == "unsupported")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_honest_service_behind_the_same_proxy_passes(provider):
    assert "simple_text" not in unsupported_when_honest(provider)


@pytest.mark.parametrize("defect", PLANTED)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_service_that_answers_wrongly_fails(provider, defect):
    spoils, scenario = PLANTED[defect]
    results = held(provider, proxies.SpoilingEmulator(provider, **spoils()), LOOKING)
    assert scenario in failed(results)
    _nothing_more_is_excused(provider, results)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_service_that_drops_the_level_fails(provider):
    entry = representative_models(provider)[0]
    drop = proxies.drops_level(pondero.plan(f"{entry.id}/high"))
    results = held(provider, proxies.SpoilingEmulator(provider, on_request=drop), LOOKING)
    assert re.search(
        r"expected  more at \w+\n  actual    \d+ tokens? at \w+, \d+ at \w+",
        failed(results)["thinking_depth"],
    )
    _nothing_more_is_excused(provider, results)


def _nothing_more_is_excused(provider: str, results: list[ScenarioResult]) -> None:
    """A wrong answer is a failure: unsupported is what the honest service does not support."""
    excused = {
        r.scenario
        for r in results
        if r.status == "unsupported" and not r.detail.startswith("rejected: ")
    }
    assert excused <= unsupported_when_honest(provider)
