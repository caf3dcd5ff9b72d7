"""A provider nobody heard of: one TOML of the documentation, no Python, and everything holds."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from tests.laws import test_dial as laws
from tests.laws.test_emulator import encoded, refusal

import pondero
from pondero.catalog import Lookup, add_user_files, load_shipped
from pondero.client import load_catalog
from pondero.contract import (
    SCENARIOS,
    EmulatorBackend,
    describe_failure,
    representative_models,
    run_one,
    run_scenarios,
)
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.errors import BadCatalog, MissingKey
from pondero.thinking import LEVELS, BudgetRange, Capability, Policy, RequestParameters

_TEXT = (Path(__file__).parents[2] / "docs" / "add-a-provider.md").read_text("utf-8")
ACME = re.findall(r"```toml\n(.*?)```", _TEXT, re.DOTALL)[0]
MODEL = "acme:rocket-1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A config folder with the provider in it, as the caches of this process know it."""
    where = tmp_path_factory.mktemp("config")
    (where / "providers").mkdir()
    (where / "providers" / "acme.toml").write_text(ACME, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PONDERO_CONFIG_DIR", str(where))
        load_catalog.cache_clear()
        yield where
    load_catalog.cache_clear()


@pytest.fixture
def entry(folder):
    return load_catalog().entry(MODEL)


def test_the_wish_becomes_what_its_file_says(folder):
    on = {"thinking": {"type": "enabled"}}
    said = {wish: pondero.plan(MODEL, wish).fields for wish in (True, *LEVELS)}
    assert said == {
        True: on,
        "off": {"thinking": {"type": "disabled"}},
        "minimal": {**on, "reasoning_effort": "low"},
        "low": {**on, "reasoning_effort": "low"},
        "medium": {**on, "reasoning_effort": "high"},
        "high": {**on, "reasoning_effort": "high"},
        "xhigh": {**on, "reasoning_effort": "max"},
        "max": {**on, "reasoning_effort": "max"},
    }


@pytest.mark.parametrize(
    "law",
    [
        laws.test_only_what_the_family_accepts_is_sent,
        laws.test_what_we_placed_read_and_resolved_again_gives_the_same_fields,
        laws.test_an_explicit_cap_is_never_exceeded_nor_raised,
        laws.test_nothing_raises_and_every_code_is_documented,
        laws.test_a_plan_is_the_same_every_time,
    ],
    ids=lambda law: law.__name__,
)
def test_the_laws_of_the_dial_hold_for_it(entry, law):
    @given(laws._wishes, laws._policies, laws._asked)
    def holds(wish, policy, asked):
        law.hypothesis.inner_test(entry, wish, policy, asked)

    holds()


def test_its_ladder_is_monotone(entry):
    depths = [laws._depth(entry, laws._plan(entry, level)) for level in LEVELS]
    assert depths == sorted(depths)


def test_whatever_is_asked_of_it_is_accepted(entry):
    for wish in (None, True, *LEVELS, 1, 8000):
        http = encoded(entry, wish, RequestParameters(tools=True), Policy())
        assert refusal(http) is None, (wish, http.body)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("level", LEVELS)
def test_a_conversation_with_tools_goes_on_with_its_thinking(level):
    def get_weather(city: str) -> str:
        """Tell the weather of a city."""
        return f"fine in {city}"

    emulator = Emulator()
    chat = pondero.Chat(MODEL, tools=[get_weather], client=pondero.Client(transport=emulator))
    chat.thinking = level
    assert "fine in Paris" in chat.send("What is the weather in Paris?").text
    assert "391" in chat.send("What is 17 * 23?").text
    assert {(e.service, e.status) for e in emulator.log.entries} == {("acme", 200)}
    turns = [m for m in emulator.log.entries[-1].body["messages"] if m["role"] == "assistant"]
    assert all(("reasoning_content" in turn) for turn in turns)
    assert bool(turns[0]["reasoning_content"]) == (level != "off")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_it_keeps_the_contracts(scenario):
    for entry in representative_models("acme"):
        result = run_one(entry, scenario, EmulatorBackend())
        assert result.status in ("passed", "unsupported"), describe_failure(result)


@pytest.mark.usefixtures("folder")
def test_only_what_its_models_cannot_do_is_excused_of_the_contracts():
    results = run_scenarios(representative_models("acme"), SCENARIOS, EmulatorBackend())
    assert {each.scenario for each in results if each.status == "unsupported"} == {
        *("grounding", "safety_ratings", "thinking_summary_flag", "thinking_unsupported_model"),
    }


@pytest.mark.usefixtures("folder")
def test_the_server_serves_it_by_its_name():
    emulator = Emulator()
    with run_emulator_in_thread(emulator) as url:
        client = pondero.Client(keys={"acme": "k"}, urls={"acme": f"{url}/acme/v1"})
        with client:
            assert "391" in client.ask(f"{MODEL}/high", "What is 17 * 23?").text
    assert emulator.log.entries[0].service == "acme"


@pytest.mark.usefixtures("folder")
def test_its_key_is_asked_for_by_its_own_variable():
    with pytest.raises(MissingKey, match="Acme needs a key: set ACME_API_KEY"):
        pondero.Client().ask(MODEL, "hello")


def test_a_mistake_in_its_file_is_one_error_that_says_where(folder):
    path = folder / "providers" / "acme.toml"
    path.write_text(ACME.replace('dialect = "openai_chat"\n', ""), "utf-8")
    load_catalog.cache_clear()
    try:
        with pytest.raises(BadCatalog, match=r"acme\.toml.*dialect"):
            load_catalog()
    finally:
        path.write_text(ACME, "utf-8")
        load_catalog.cache_clear()


def test_gemini_answers_through_cloud_code_assist_by_the_documented_file(tmp_path, monkeypatch):
    assist = re.findall(r"```toml\n(.*?)```", _TEXT, re.DOTALL)[-1]
    (tmp_path / "providers").mkdir()
    (tmp_path / "providers" / "code-assist.toml").write_text(assist, "utf-8")
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    load_catalog.cache_clear()
    try:
        client = pondero.Client(transport=Emulator())
        sent = client.prepare("code-assist:gemini-2.5-pro", "What is 17 * 23?", "low").request
        assert sent.url.startswith("https://cloudcode-pa.googleapis.com/v1internal:stream")
        body = msgspec.json.decode(sent.body)
        assert (body["model"], body["project"]) == ("gemini-2.5-pro", "my-project")
        assert body["request"]["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 11008
        assert "391" in client.ask("code-assist:gemini-2.5-pro", "What is 17 * 23?", "low").text
    finally:
        load_catalog.cache_clear()


ON = {"thinking": {"type": "enabled"}}
OFF = 'off = { thinking = { type = "disabled" } }\n'
SWITCH = 'on = { thinking = { type = "enabled" } }\n'
LEVEL = 'level = { reasoning_effort = "$effort" }\n'
BUDGET = 'budget = { thinking = { tokens = "$budget" } }\n'


@pytest.mark.parametrize(
    ("templates", "facts", "wish", "sent"),
    [
        (OFF + LEVEL + BUDGET, "", 5000, {"thinking": {"tokens": 5000}}),
        (OFF + LEVEL + BUDGET, "", "high", {"reasoning_effort": "high"}),
        (OFF + SWITCH + LEVEL, "", True, ON),
        (OFF + SWITCH + LEVEL, "", 5000, {"reasoning_effort": "low"}),
        (BUDGET, "[override]\nany = { budget = { min = 1, max = 2000 } }", 5000, {"thinking": {"tokens": 2000}}),
        (OFF + LEVEL + BUDGET, "[override]\nany = { efforts = ['low'] }", 5000, {"thinking": {"tokens": 5000}}),
    ],
)  # fmt: skip
def test_a_template_in_its_file_is_used_without_another_word(
    tmp_path, monkeypatch, templates, facts, wish, sent
):
    """Of a model that nobody knows, the file's own templates say what can be asked for."""
    head = ACME[: ACME.index("[placement.any]")]
    (tmp_path / "providers").mkdir()
    text = f"{head}[placement.any]\n{templates}{facts}\n"
    (tmp_path / "providers" / "acme.toml").write_text(text, "utf-8")
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    load_catalog.cache_clear()
    try:
        assert pondero.plan(MODEL, wish).fields == sent
    finally:
        monkeypatch.undo()
        load_catalog.cache_clear()


def test_levels_are_budgets_where_only_a_budget_can_be_said(tmp_path, monkeypatch):
    head = ACME[: ACME.index("[placement.any]")]
    (tmp_path / "providers").mkdir()
    (tmp_path / "providers" / "acme.toml").write_text(f"{head}[placement.any]\n{BUDGET}", "utf-8")
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path))
    load_catalog.cache_clear()
    try:
        low, high = (pondero.plan(MODEL, level).fields for level in ("low", "high"))
    finally:
        monkeypatch.undo()
        load_catalog.cache_clear()
    assert 0 < low["thinking"]["tokens"] < high["thinking"]["tokens"]


@pytest.mark.parametrize("facts", [Capability, BudgetRange])
def test_every_fact_that_can_be_overridden_is_explained(facts):
    section = re.search(r"^## Facts\n(.*?)^## ", _TEXT, re.DOTALL | re.MULTILINE)
    assert section is not None
    explained = {*re.findall(r"`(\w+)`", section[1])}
    assert {field.name for field in msgspec.structs.fields(facts)} <= explained


def test_the_facts_of_a_users_file_are_credited_to_its_source():
    own = 'label = "A"\ndialect = "openai_chat"\nurl = "https://a.test"\nfamilies = ["any"]\n'
    own += 'source = "A\'s own page"\nchecked = "2026-11-01"\n'
    own += '[placement.any]\nlevel = { reasoning_effort = "$effort" }\n'
    own += '[override]\nany = { efforts = ["low", "high"], default = "on" }\n'
    made = Lookup(add_user_files(load_shipped(), {"providers/a.toml": own}))
    facts = made.entry("a:some-model").capability
    assert (facts.source, facts.checked) == ("A's own page", "2026-11-01")
    assert facts.evidence == "vendor page"
    said = own.replace('default = "on" }', 'default = "on", source = "a letter" }')
    made = Lookup(add_user_files(load_shipped(), {"providers/a.toml": said}))
    assert made.entry("a:some-model").capability.source == "a letter"
