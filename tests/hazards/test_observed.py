"""What was asked and what was seen are two things, and the difference is told (31, 38, 41)."""

import pytest
from tests.emulator.talking import MODELS

import pondero
from pondero.canon import Usage
from pondero.emulator import Emulator, Turn

QUESTION = "What is 17 * 23?"
CAN_STOP = ("claude-opus-5", "gpt-6-sol", "openai-chat:gpt-5.1", "gemini-2.5-flash")


def ask(model, thinking, *turns, **options):
    with pondero.Client(transport=Emulator(script=turns)) as client:
        return client.ask(model, QUESTION, thinking, **options)


@pytest.mark.parametrize("model", CAN_STOP)
def test_off_that_is_off_is_as_planned(model):
    reply = ask(model, "off")
    assert (reply.verdict, reply.usage.thinking or 0) == ("as_planned", 0)


@pytest.mark.parametrize("model", CAN_STOP)
def test_thinking_though_it_is_off_is_noticed(model):
    reply = ask(model, "off", Turn(thinking="All the same, I wonder.", text="391"))
    assert reply.verdict == "thought_though_off"


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-2.5-pro"])
def test_a_budget_that_was_accepted_and_ignored_is_noticed(model):
    usage = Usage(9, 0, None, 2, 9_000, 9_011)
    reply = ask(model, 2_000, Turn(thinking="On and on.", text="391", usage=usage))
    assert reply.verdict == "overran_budget"


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_lost_to_thinking_is_no_success(model):
    reply = ask(model, "high", max_tokens=64)
    assert reply.finish == reply.verdict == "exhausted"
    assert reply.text == ""
