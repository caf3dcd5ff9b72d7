"""``auto`` in the library: what is sent, what the reply says, and that a plan is never an old one."""

import pytest
from tests.calibrations import adopt, finding

import pondero
from pondero.canon import HttpRequest
from pondero.client import Client, complete, level_choices, set_level
from pondero.emulator import Emulator
from pondero.errors import BadConfig, BadThinking, PonderoWarning, UsageError
from pondero.sweep.arms import arms_of
from pondero.thinking import Policy


@pytest.fixture(autouse=True)
def _own_config(config_dir):
    return config_dir


def test_a_reply_says_which_level_it_was_and_why():
    adopt("sums", "low")
    emulator = Emulator()
    with Client(transport=emulator) as client:
        for reply in (
            client.ask("claude-opus-5/auto", "hi"),
            client.ask("auto:sums", "hi"),
            client.ask("claude-opus-5", "hi", "auto"),
            client.ask("claude-opus-5", "hi", thinking_effort="auto"),
            client.ask("claude-opus-5", "hi", {"anthropic": "auto:sums", "*": "high"}),
        ):
            assert emulator.log.entries[-1].body["output_config"] == {"effort": "low"}
            assert reply.plan.level == "low"
            assert [note.code for note in reply.adjustments] == ["calibrated"]


def test_a_plan_that_was_made_before_is_not_taken_for_one_after_another_adoption():
    def level(model="claude-opus-5", thinking="auto"):
        return pondero.plan(model, thinking).level

    assert level() is None
    adopt("sums", "low")
    assert [level(), level(), level("auto:sums", None)] == ["low", "low", "low"]
    adopt("sums", "high")
    assert [level(), level(), level("auto:sums", None)] == ["high", "high", "high"]
    adopt("sums", "low", "claude-opus-4-8")
    assert (level(), pondero.plan("auto:sums").model) == (None, "anthropic:claude-opus-4-8")


def test_a_calibration_that_is_gone_is_gone(config_dir):
    adopt("sums", "low")
    assert pondero.plan("auto:sums").level == "low"
    (config_dir / "calibrations" / "sums.json").unlink()
    with pytest.raises(BadThinking, match="create one with"):
        pondero.plan("auto:sums")
    assert pondero.plan("claude-opus-5/auto:sums").adjustments[0].code == "no_calibration"


def test_a_broken_calibration_is_an_error_in_one_sentence(config_dir):
    adopt("sums")
    (config_dir / "calibrations" / "sums.json").write_text("{")
    for said in ("auto:sums", "claude-opus-5/auto:sums"):
        with pytest.raises(BadConfig, match="is not a calibration"):
            pondero.plan(said)


def test_a_chat_goes_on_with_auto():
    adopt("sums", "medium")
    emulator = Emulator()
    chat = pondero.Chat("claude-opus-5/low", client=Client(transport=emulator))
    chat.send("hi")
    chat.model = "auto:sums"
    assert chat.send("and now?").plan.level == "medium"
    chat.thinking = "auto"
    assert chat.send("and now?").plan.level == "medium"


def test_the_ladder_of_a_model_with_auto_ends_in_what_that_becomes():
    adopt("sums", "medium")
    assert [plan.asked for plan in pondero.levels("claude-opus-5/auto")][-2:] == ["max", "auto"]
    assert pondero.levels("auto:sums")[-1].level == "medium"
    assert [plan.asked for plan in pondero.levels("claude-opus-5")][-1] == "max"


def test_a_kind_is_said_behind_the_level():
    adopt("sums", "low", kinds={"proofs": finding("high")})
    for said in ("claude-opus-5/auto#proofs", "auto:sums#proofs"):
        assert pondero.plan(said).level == "high"
    assert pondero.plan("claude-opus-5", "auto#proofs").level == "high"


def test_a_stale_calibration_warns_where_the_policy_says_so():
    adopt("sums", "low", date="2020-01-01")
    with pytest.warns(PonderoWarning) as told:
        pondero.plan("auto:sums", policy={"unsupported": "warn"})
    assert any("days old" in str(each.message) for each in told)


def test_another_sdks_request_gets_the_level_that_was_adopted():
    adopt("sums", "low")
    body = (
        b'{"model":"claude-opus-5","max_tokens":9000,"messages":[{"role":"user","content":"hi"}]}'
    )
    http = HttpRequest("POST", "https://api.anthropic.com/v1/messages", {}, body)
    request, plan = set_level(http, "auto", Policy())
    assert plan.level == "low"
    assert b'"effort":"low"' in request.body


def test_completion_offers_auto_where_something_was_adopted():
    assert "auto" not in level_choices("claude-opus-5")
    adopt("sums", "low")
    assert level_choices("claude-opus-5")[-2:] == ("auto", "auto:sums")
    assert "auto" not in level_choices("gpt-5.5")
    assert complete("claude-opus-5/au") == ("claude-opus-5/auto", "claude-opus-5/auto:sums")
    assert complete("auto") == ("auto:sums",)
    assert complete("openrouter:openrouter/au") == ("openrouter:openrouter/auto",)


@pytest.mark.parametrize("models", [["claude-opus-5/auto"], ["auto:sums"], ["claude-opus-5"]])
def test_a_sweep_over_auto_is_refused(models):
    adopt("sums", "low")
    with pytest.raises(UsageError, match="a sweep cannot measure"):
        arms_of(models, "auto,low")
