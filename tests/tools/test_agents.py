"""``make agents``: the table of agents is whole, and a run that went wrong is not called right."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "tools" / "agents"
sys.path.insert(0, str(FOLDER))

from run_agents import WORDS, judge_log, load_agents  # noqa: E402
from services import UPSTREAMS  # noqa: E402

from pondero.gateway import load_clients  # noqa: E402
from pondero.store import load_catalog  # noqa: E402

AGENTS = load_agents()


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
