"""``make agents``: the table of agents is whole, and a run that went wrong is not called right."""

import json
import sys
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

FOLDER = Path(__file__).parents[2] / "tools" / "agents"
sys.path.insert(0, str(FOLDER))

from level_changes import (  # noqa: E402
    CHANGED,
    LEVELS,
    CachedPrompt,
    SentRequest,
    describe_repeated,
    find_shares,
    judge_prefix,
    judge_shares,
    read_prompt,
)
from programs import WORDS, load_table  # noqa: E402
from purposes import MODELS, PURPOSES, RULES, judge_records, write_rules  # noqa: E402
from run_agents import judge_log, load_agents  # noqa: E402
from services import UPSTREAMS, Setup, run_services  # noqa: E402

from pondero.gateway import load_clients  # noqa: E402
from pondero.store import load_catalog  # noqa: E402

AGENTS = load_agents()
TABLE = load_table()


def asked(service: str, *, text: str = WORDS, status: int = 200, refusal: object = None) -> dict:
    return {
        "service": service,
        "path": "/v1",
        "body": {"input": text},
        "status": status,
        "refusal": refusal,
    }


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.label)
def test_every_agent_can_be_started(agent):
    if agent.loop:
        assert (FOLDER / "loops" / agent.loop).is_file()
        assert agent.needs
        assert agent.env["FRONT"]
    else:
        assert agent.client in load_clients()
        said = [word for turn in agent.turns for word in turn.arguments]
        assert "$ask" in said
        assert "$sum" in said


def test_the_upstreams_are_models_of_five_services():
    providers = {load_catalog().entry(model).provider.name for model in UPSTREAMS.values()}
    assert providers == {"anthropic", "openai", "google", "deepseek", "bedrock"}


def test_a_run_is_right_if_the_result_reached_its_upstream():
    assert judge_log([asked("openai"), asked("anthropic", text="a title")], "gpt-5.5") == []
    (problem,) = judge_log([asked("anthropic")], "gpt-5.5")
    assert "did not reach openai" in problem


def test_a_rejection_is_a_failure_even_if_the_agent_went_on():
    refused = asked("openai", status=400, refusal={"error": "no"})
    (problem,) = judge_log([refused, asked("openai")], "gpt-5.5")
    assert "rejected" in problem


# -- levels that change between turns --------------------------------------------------------------


@pytest.mark.parametrize("row", TABLE.conversation, ids=lambda row: row.label)
def test_every_conversation_says_its_level_and_its_prompt(row):
    assert TABLE.find_agent(row.agent).client in load_clients()
    for arguments in (row.first, row.later):
        said = " ".join(arguments)
        assert "$level" in said
        assert "$prompt" in said
    assert row.models
    assert set(row.models) <= set(CHANGED)


def test_the_models_of_the_conversations_take_a_level_inside_on_three_apis():
    entries = [load_catalog().entry(model) for model in CHANGED.values()]
    assert all(entry.takes_level_turns for entry in entries)
    dialects = {entry.provider.dialect for entry in entries}
    assert dialects == {"anthropic", "openai_responses", "openai_chat"}
    assert len(set(LEVELS)) > 3


@pytest.mark.parametrize("in_band", [True, False])
def test_an_upstream_without_the_form_gets_the_change_at_the_top(tmp_path, in_band):
    with run_services(tmp_path, Setup(upstreams=CHANGED, in_band=in_band)) as services:
        turns = [ASK, {"role": "assistant", "content": "391"}, ASK]
        for level, count in (("high", 1), ("low", 3)):
            body = {"model": "gpt-6-sol", "input": turns[:count], "reasoning": {"effort": level}}
            url = f"{services.url}/v1/responses"
            httpx2.post(url, json=body, timeout=120).raise_for_status()
        last = json.loads(services.requests[-1].body)
        assert last["reasoning"]["effort"] == ("high" if in_band else "low")
        assert ("configuration_update" in json.dumps(last)) is in_band
        assert [each.get("why") for each in services.records()] == [
            None,
            "in_band" if in_band else None,
        ]


def test_the_share_is_that_of_the_prompt_before():
    record = {"tokens": {"input": 10, "cache_read": 950, "cache_write": 40, "output": 7}}
    assert read_prompt(record) == CachedPrompt(1000, 950)
    assert find_shares(
        [[CachedPrompt(800, 0), CachedPrompt(1000, 0)], [CachedPrompt(1100, 950)]]
    ) == [0.95]
    assert find_shares([[]]) == []


def test_a_cache_that_is_lost_is_a_failure():
    kept, lost = [0.99] * len(LEVELS), [0.99, 0.2] * len(LEVELS)
    assert judge_shares(kept, lost) == []
    (problem,) = judge_shares([*kept, 0.9], lost)
    assert "below 95%" in problem


def test_a_conversation_that_keeps_the_cache_either_way_shows_nothing():
    kept = [0.99] * len(LEVELS)
    (problem,) = judge_shares(kept, kept)
    assert "shows nothing" in problem
    (problem, *_) = judge_shares([], [])
    assert "0 and 0 prompts" in problem


def sent(*turns: object, top: str = "high", **fields: object) -> SentRequest:
    others = {"output_config": {"effort": top}, "tools": [{"name": "look"}], **fields}
    return SentRequest(
        tuple(json.dumps(turn).encode() for turn in turns),
        {name: json.dumps(value).encode() for name, value in others.items()},
    )


ASK = {"role": "user", "content": "What is 17 * 23?"}
MARKED = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is 17 * 23?", "cache_control": {"type": "ephemeral"}}
    ],
}
UPDATE = {"role": "system", "content": [], "output_config": {"effort": "low"}}


def test_a_prefix_may_differ_by_a_breakpoint_alone():
    requests = [sent(MARKED), sent(ASK, UPDATE), sent(ASK, UPDATE, MARKED)]
    assert judge_prefix(requests) == []
    assert describe_repeated(requests) == "repeated turns: 2 byte for byte, 1 but for a breakpoint"
    assert [request.level for request in requests] == ["high", "low", "low"]


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (sent({**ASK, "content": "Another."}, UPDATE), "another turn 1"),
        (sent(ASK, UPDATE, top="low"), "low at the top after high"),
        (sent(ASK, UPDATE, tools=[]), "other tools"),
        (sent(ASK, UPDATE, system="Be brief."), "other system"),
        (replace(sent(ASK), turns=()), "shorter"),
    ],
)
def test_a_prefix_that_changed_is_a_failure(later, said):
    (problem,) = judge_prefix([sent(ASK), later])
    assert said in problem


@pytest.mark.parametrize(
    "update",
    [
        UPDATE,
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"role": "system", "content": "", "configuration_update": {"reasoning": {"effort": "low"}}},
    ],
)
def test_the_level_in_effect_is_the_last_one_inside(update):
    assert sent(ASK, update, ASK).level == "low"
    assert sent(ASK).level == "high"


# -- requests for several purposes -----------------------------------------------------------------


@pytest.mark.parametrize("row", TABLE.session, ids=lambda row: row.label)
def test_every_session_names_known_purposes(row):
    assert TABLE.find_agent(row.agent).client in load_clients()
    assert set(row.purposes) <= set(PURPOSES)
    assert not set(row.purposes) & set(row.without)
    assert row.turns


def test_titles_subagents_and_compactions_are_seen_of_every_program_that_has_them():
    seen = {purpose: set() for purpose in PURPOSES}
    for row in TABLE.session:
        for purpose in row.purposes:
            seen[purpose].add(row.agent)
    programs = {row.agent for row in TABLE.session}
    assert programs == {"Claude Code", "Codex", "Gemini CLI", "opencode"}
    assert seen["subagent"] == seen["compact"] == programs
    missing = {row.agent for row in TABLE.session if row.without.get("title")}
    assert seen["title"] == programs - missing


def test_the_rules_of_the_sessions_can_be_read(tmp_path):
    setup = Setup(upstreams=MODELS, lines=tuple(write_rules()))
    with run_services(tmp_path, setup) as services:
        assert [rule.name for rule, _ in services.routing.rules] == list(RULES)


def recorded(purpose: str, why: str | None = None, sent: str = "high") -> dict:
    return {"purpose": purpose, "sent": sent} | ({} if why is None else {"why": why})


TITLE = recorded("title", "rule:title", "off")


def test_a_session_is_right_if_each_purpose_has_its_rule():
    assert (
        judge_records([recorded("main"), recorded("main", "in_band"), TITLE], ["main", "title"])
        == []
    )


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([recorded("main")], "no request was for title"),
        ([recorded("main"), TITLE, recorded("compact", "rule:compact", "medium")], "for compact"),
        ([recorded("main"), recorded("title", None, "off")], "why=None"),
        ([recorded("main"), recorded("title", "rule:compact", "off")], "why=rule:compact"),
        ([recorded("main"), recorded("title", "rule:title", "high")], "sent with high"),
        ([recorded("main", "rule:title"), TITLE], "main has why=rule:title"),
    ],
)
def test_a_wrong_purpose_or_a_wrong_level_is_a_failure(records, said):
    (problem,) = judge_records(records, ["main", "title"])
    assert said in problem
