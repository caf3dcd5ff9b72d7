"""What comes of a scenario: the first check that does not hold decides, and nothing ends a run."""

from collections.abc import Iterator

import pytest

from pondero.cassettes import RecordedExchange
from pondero.client import load_catalog
from pondero.contract import (
    SCENARIOS,
    EmulatorBackend,
    ScenarioCheck,
    ScenarioResult,
    as_junit,
    describe_failure,
    find_model,
    representative_models,
    run_one,
    run_scenarios,
)
from pondero.contract.bench import Expectations, Testbed
from pondero.contract.scenario import (
    not_supported,
    note_unchecked,
    optional,
    same,
    scenario_of,
    true,
)
from pondero.errors import BadRequest

GOOGLE = find_model("google", "gemini-3-flash-preview")


class Sparing(EmulatorBackend):
    """An emulator that is held to no more than a server at somebody's address."""

    def terms(self, entry, scenario):
        return Expectations(sparing=True)


def holds(bench: Testbed) -> Iterator[ScenarioCheck]:
    """All is well."""
    bench.ask("Hello.")
    yield same("one", 1, 1)


def fails(bench: Testbed) -> Iterator[ScenarioCheck]:
    """Something is not."""
    bench.ask("Hello.")
    yield same("one", 1, 2)
    raise AssertionError("nothing is looked at after a check that does not hold")


def cannot(bench: Testbed) -> Iterator[ScenarioCheck]:
    """Nobody does this here."""
    yield same("one", 1, 1)
    raise not_supported("there is none")


def is_refused(bench: Testbed) -> Iterator[ScenarioCheck]:
    """The service says no."""
    yield same("one", 1, 1)
    raise BadRequest("never heard of it", status=400)


def breaks(bench: Testbed) -> Iterator[ScenarioCheck]:
    """Nobody thought of this."""
    yield same("one", 1, 1)
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize(
    ("function", "status", "detail"),
    [
        (holds, "passed", ""),
        (fails, "failed", "one: expected 1, got 2"),
        (cannot, "unsupported", "there is none"),
        (is_refused, "failed", "BadRequest: never heard of it"),
        (breaks, "failed", "our own code: expected 'no such error', got 'ZeroDivisionError: by"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_scenario_ends_as_its_checks_do(function, status, detail):
    result = run_one(GOOGLE, scenario_of(function, row="000 A00"), EmulatorBackend())
    assert result.status == status
    assert result.detail.startswith(detail)
    assert (result.check is not None) == (status == "failed")


def test_a_refusal_before_somebodys_server_is_unsupported_unless_it_is_of_something_basic():
    plain = scenario_of(is_refused, row="000 A00")
    assert run_one(GOOGLE, plain, Sparing()).status == "unsupported"
    assert (
        run_one(GOOGLE, scenario_of(is_refused, row="000 A00", basic=True), Sparing()).status
        == "failed"
    )


def test_a_pass_names_what_this_target_could_not_show():
    def partly(bench: Testbed) -> Iterator[ScenarioCheck]:
        """It answers. It thinks."""
        yield same("one", 1, 1)
        yield note_unchecked("whether it thinks")
        yield note_unchecked("how much")

    result = run_one(GOOGLE, scenario_of(partly, row="000 A00"), Sparing())
    said = "Not checked: whether it thinks; how much."
    assert (result.status, result.detail) == ("passed", said)
    report = as_junit([result]).decode()
    assert f"<system-out>{said}</system-out>" in report


def test_on_the_emulator_every_check_of_a_scenario_is_made():
    entries = [representative_models(name)[0] for name in ("anthropic", "openai", "google")]
    results = run_scenarios(entries, SCENARIOS, EmulatorBackend())
    assert [(each.model, each.scenario) for each in results if each.detail.startswith("Not")] == []


def test_what_no_service_does_on_demand_is_skipped_where_it_cannot_be_staged():
    staged = scenario_of(holds, row="000 A00", staged=True)
    assert run_one(GOOGLE, staged, EmulatorBackend()).status == "passed"
    assert run_one(GOOGLE, staged, Sparing()).status == "skipped"


def test_what_a_model_cannot_do_by_the_catalog_is_not_tried():
    thinking = scenario_of(breaks, row="000 A00", needs=("thinking",))
    result = run_one(find_model("openai", "gpt-4o"), thinking, EmulatorBackend())
    assert result.status == "unsupported"
    assert result.detail == "this model has no control for thinking"


def test_an_offer_is_due_on_the_emulator_only():
    def offers(bench: Testbed) -> Iterator[ScenarioCheck]:
        """Perhaps."""
        yield optional("reply.tool_calls", "a call", (), holds=False)

    class Elsewhere(EmulatorBackend):
        def bench(self, entry, scenario):
            from contextlib import nullcontext

            from pondero.emulator import Emulator

            return nullcontext(Testbed(entry, Emulator()))

    scenario = scenario_of(offers, row="000 A00")
    assert run_one(GOOGLE, scenario, EmulatorBackend()).status == "failed"
    assert run_one(GOOGLE, scenario, Elsewhere()).status == "unsupported"


def test_one_scenario_that_breaks_does_not_end_the_others():
    heard = []
    scenarios = [scenario_of(each, row="000 A00") for each in (breaks, holds)]
    results = run_scenarios([GOOGLE], scenarios, EmulatorBackend(), done=heard.append)
    assert [result.status for result in results] == ["failed", "passed"]
    assert heard == results


def test_a_failure_shows_the_exchange_it_was_seen_in_without_the_key(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "AIza" + "x1" * 17)
    result = run_one(GOOGLE, scenario_of(fails, row="000 A00"), EmulatorBackend())
    shown = describe_failure(result)
    assert shown.startswith("google:gemini-3-flash-preview fails\n  field     one\n  expected  1\n")
    assert "streamGenerateContent" in shown
    assert "x-goog-api-key: REDACTED" in shown
    assert "AIza" not in shown


def test_an_answer_that_is_no_text_is_shown_by_the_json_in_it():
    check = true("reply.text", "words", "", holds=False)
    passed = run_one(GOOGLE, scenario_of(fails, row="000 A00"), EmulatorBackend())
    assert passed.exchange is not None
    binary = RecordedExchange(
        passed.exchange.request, passed.exchange.head, (b'\xff\x00{"text":"four"}',)
    )
    shown = describe_failure(ScenarioResult("google", "x", "fails", "failed", "", check, binary))
    assert '(17 bytes)\n            {"text":"four"}' in shown


def test_what_a_terminal_would_obey_and_xml_cannot_say_is_not_shown():
    check = true("reply.text", "words", "\x00\x1b[31m red", holds=False)
    failed = ScenarioResult("google", "x", "fails", "failed", "a \x00 in it", check)
    assert "  actual    ??[31m red" in describe_failure(failed)
    assert b'message="a ? in it"' in as_junit([failed])


def test_a_short_name_means_the_model_that_its_provider_serves():
    assert find_model("anthropic", "opus").id == load_catalog().entry("opus").id
    assert not find_model("bedrock", "opus").inferred
    assert find_model("ollama", "opus").model == "opus"
