"""Which level counts if there are two, and what a budget leaves for the answer."""

import pytest

import pondero
from pondero.emulator import Emulator


@pytest.fixture
def client():
    with pondero.Client(transport=Emulator()) as client:
        yield client


def test_a_level_as_an_argument_is_used_before_the_one_in_the_name(client):
    assert client.ask("claude-opus-5/low", "hi", thinking="high").plan.level == "high"
    assert pondero.plan("claude-opus-5/low", "high").level == "high"


def test_a_level_in_the_name_goes_with_the_name_and_one_apart_stays(client):
    named = pondero.Chat("claude-opus-5/high", client=client)
    apart = pondero.Chat("claude-opus-5", thinking="high", client=client)
    levels = []
    for chat in (named, apart):
        chat.send("What is 17 * 23?")
        chat.model = "gpt-5.5"
        levels.append(chat.send("What is 23 * 3?").plan.level)
    assert levels == [None, "high"]


def test_a_budget_leaves_room_for_the_answer():
    emulator = Emulator()
    with pondero.Client(transport=emulator) as client:
        client.ask("claude-sonnet-4-5/2000", "hi")
    body = emulator.log.entries[-1].body
    assert (body["thinking"]["budget_tokens"], body["max_tokens"]) == (2000, 6096)
