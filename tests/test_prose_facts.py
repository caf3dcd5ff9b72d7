"""Claims of the documentation that no other test shows; the pages name these tests."""

import io
import json
import sys

import pytest

import pondero
from pondero.cassettes.leak_check import find_in_exchanges
from pondero.cli.app import run
from pondero.contract.through.fronts import FRONTS
from pondero.contract.through.matrix import DEFAULT_BACKS, check_fronts
from pondero.emulator import Emulator
from pondero.emulator.batches import store as batch_store
from pondero.emulator.faults import Fault
from pondero.errors import Overloaded
from pondero.exchange import Retry
from pondero.thinking.typical import DEPTHS
from tests.cassettes.test_leak_check import places
from tests.emulator.test_candidates import ask_chat


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        ("What is 17 * 23?", 0),
        ("[emulator: fault 400] Hello", 3),
        ("[emulator: fault 401] Hello", 3),
        ("[emulator: fault 529] Hello", 3),
        ("[emulator: fault refused] Hello", 4),
    ],
)
def test_ask_ends_with_the_exit_code_of_its_failure(
    prompt, code, monkeypatch, config_dir, data_dir, capsys
):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(Retry, "wait", lambda *_: 0.0)
    assert run(["ask", "--offline", "claude-opus-5/low", prompt]) == code
    assert (capsys.readouterr().out == "") == (code != 0)


def test_a_wrong_command_ends_with_2_before_anything_is_sent(config_dir, data_dir, capsys):
    assert run(["ask", "--offline", "claude-opus-5/enormous", "Hello"]) == 2
    assert run(["ask", "--no-such-option"]) == 2


def test_a_request_is_tried_four_times_and_waits_up_to_half_a_second_first():
    retry = Retry()
    error = Overloaded("busy", status=529)
    assert [retry.again(error, tries) for tries in (1, 2, 3, 4)] == [True, True, True, False]
    assert [retry.wait(error, tries, lambda: 1.0) for tries in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert retry.wait(error, 1, lambda: 0.0) == 0.0
    assert (retry.patience, retry.cap) == (120, 30)


def test_an_answer_is_written_every_second_and_what_is_typed_every_two():
    from pondero.store.threads import turn_log
    from pondero.tui._screen import app

    assert (turn_log._EVERY, app._TYPED_EVERY) == (1, 2)


def test_a_plan_needs_no_key(monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert pondero.plan("claude-opus-5", "high").level == "high"  # sockets are blocked in tests


@pytest.mark.parametrize("room", [0, 1_000, 4_096, 30_000])
@pytest.mark.parametrize("cap", [3_000, 8_000, 20_000, 50_000])
def test_the_room_is_at_most_half_of_max_tokens(cap, room):
    for level in ("low", "medium", "high"):
        whole = pondero.plan("claude-sonnet-4-5", level, policy={"answer_room": 0}).nominal
        made = pondero.plan(
            "claude-sonnet-4-5", level, max_tokens=cap, policy={"answer_room": room}
        )
        # One token of max_tokens must be left for the service to accept the request.
        most = min(cap - min(room, cap // 2), cap - 1)
        assert made.budget == max(1_024, min(whole or 64_000, most))


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.5", "gemini-2.5-flash"])
def test_readable_thinking_is_requested_unless_it_is_off_or_the_policy_is_none(model):
    def shows(level, show):
        sent = json.dumps(pondero.plan(model, level, policy={"show": show}).fields)
        return any(word in sent for word in ("display", "summary", "includeThoughts"))

    assert [shows("low", show) for show in ("auto", "summary", "none")] == [True, True, False]
    assert not any(shows("off", show) for show in ("auto", "summary", "none"))


def test_percent_gives_shares_of_max_tokens_less_the_room():
    policy = {"budgets": "percent", "answer_room": 0}
    levels = ("minimal", "low", "medium", "high", "xhigh")
    budgets = [
        pondero.plan("claude-sonnet-4-5", level, max_tokens=20_000, policy=policy).budget
        for level in levels
    ]
    assert budgets == [2_000, 4_000, 10_000, 16_000, 19_000]
    usual = {"budgets": "percent"}
    plan = pondero.plan("claude-sonnet-4-5", "xhigh", max_tokens=20_000, policy=usual)
    assert plan.budget == 20_000 - 4_096


def test_without_a_figure_a_level_thinks_twice_as_much_as_the_one_below():
    assert list(DEPTHS.values()) == [256 * 2**n for n in range(6)]


@pytest.mark.parametrize(
    ("level", "most"),
    {"minimal": 32, "low": 64, "medium": 128, "high": 256, "xhigh": 384, "max": 512}.items(),
)
def test_the_emulator_thinks_no_more_than_its_figure_for_a_level(level, most):
    with pondero.Client(transport=Emulator()) as client:
        thought = client.ask("openai:gpt-6-sol", "What is 17 * 23?", thinking=level)
        found = client.ask("claude-opus-5", "What is 17 * 23?", thinking=level)
    for reply in (thought, found):
        if reply.plan.level == level:
            assert most / 2 < reply.usage.thinking <= most


def test_the_emulator_gives_the_same_answer_to_the_same_request():
    replies = []
    for _ in range(2):
        with pondero.Client(transport=Emulator()) as client:
            replies.append(client.ask("claude-opus-5/high", "What is the capital of France?"))
    first, second = replies
    assert (first.text, first.usage) == (second.text, second.usage)
    assert first.message.parts == second.message.parts


def test_a_slow_answer_waits_a_second_by_default():
    assert Fault.parse("slow").seconds in (None, 1, 1.0)
    waits = []
    emulator = Emulator(faults=["slow"], sleep=waits.append)
    with pondero.Client(transport=emulator) as client:
        client.ask("claude-opus-5/low", "What is 17 * 23?")
    assert set(waits) == {1.0}


def test_the_emulator_keeps_a_thousand_batches_and_a_gigabyte():
    assert (batch_store._MOST, batch_store._MOST_BYTES) == (1_000, 2**30)


@pytest.mark.parametrize(
    "key", ["sk-ant-api03-" + "x1" * 40, "AIza" + "Sy9" * 12, "gsk_" + "a8" * 26]
)
def test_a_report_of_a_leak_shows_at_most_eight_characters_of_the_key(key):
    for recorded in places(key):
        for leak in find_in_exchanges([recorded]):
            shown = {key[at : at + 9] for at in range(len(key) - 8)}
            assert not [part for part in shown if part in str(leak)]


def test_a_matrix_has_four_client_apis_and_five_models_by_default():
    usual = [FRONTS[name] for name in ("messages", "responses", "chat", "gemini")]
    assert list(check_fronts([])) == usual == list(FRONTS.values())[:4]
    assert len(DEFAULT_BACKS) == 5


def test_thinking_that_a_service_does_not_count_is_none_and_not_0():
    with pondero.Client(transport=Emulator()) as client:
        reply = client.ask("ollama:qwen3/medium", "What is 17 * 23?")
    assert reply.usage.thinking is None


def test_max_tokens_includes_the_thinking():
    with pondero.Client(transport=Emulator()) as client:
        reply = client.ask("claude-opus-5/max", "What is 17 * 23?", max_tokens=100)
    assert reply.verdict == "exhausted"
    assert reply.usage.thinking + reply.usage.output <= 100


def test_a_token_is_the_likeliest_of_its_alternatives():
    found = json.loads(ask_chat(logprobs=True, top_logprobs=3))["choices"][0]
    assert "391" in found["message"]["content"]
    for token in found["logprobs"]["content"]:
        assert token["logprob"] == max(each["logprob"] for each in token["top_logprobs"])
