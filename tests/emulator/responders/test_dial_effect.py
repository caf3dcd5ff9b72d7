"""Dials that do not do what they say: how long each thinks, and who may ask for it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pondero
from pondero.emulator import DialResponder, Emulator
from pondero.emulator.responders.dial_effect import WORDS as DIAL_WORDS
from pondero.emulator.responders.dial_effect import DialDirective, bend_depth
from pondero.errors import BadParameter

ASKED = "What is 17 * 23?"
PAGE = (Path(__file__).parents[3] / "docs" / "emulator.md").read_text("utf-8")


def thinking_of(word, level, prompt=ASKED):
    client = pondero.Client(transport=Emulator(responder=DialResponder(word)))
    return client.ask("claude-opus-5", prompt, level).usage.thinking


def usual(level):
    return pondero.Client(transport=Emulator()).ask("claude-opus-5", ASKED, level).usage.thinking


def test_a_deaf_dial_thinks_the_same_at_every_level_and_not_at_all_at_off():
    assert {thinking_of("deaf", level) for level in ("low", "high", "max")} == {usual("medium")}
    assert not thinking_of("deaf", "off")


def test_a_half_deaf_dial_works_up_to_the_middle():
    assert thinking_of("half-deaf", "low") == usual("low")
    assert thinking_of("half-deaf", "max") == thinking_of("half-deaf", "medium") == usual("medium")


def test_a_dial_that_is_never_off_thinks_a_little_then():
    assert thinking_of("not-off", "off") == usual("low")
    assert thinking_of("not-off", "high") == usual("high")


def test_an_uncounted_dial_has_its_thinking_in_the_output():
    client = pondero.Client(transport=Emulator(responder=DialResponder("uncounted")))
    reply = client.ask("claude-opus-5", ASKED, "high")
    assert reply.usage.thinking is None
    assert reply.usage.output > usual("high")


def test_a_noisy_dial_gives_the_same_question_the_same_answer():
    found = [thinking_of("noisy 0.5", "high", f"What is {n} * 23?") for n in range(8)]
    assert found == [thinking_of("noisy 0.5", "high", f"What is {n} * 23?") for n in range(8)]
    assert len(set(found)) > 4


@given(st.integers(0, 700), st.floats(0, 4), st.text(max_size=9))
def test_noise_never_makes_nothing_of_something_or_the_other_way_round(tokens, size, key):
    bent = bend_depth(tokens, DialDirective("noisy", size), key)
    assert bent >= 0
    assert tokens or not bent


@pytest.mark.parametrize("word", DIAL_WORDS)
def test_a_question_can_ask_for_it(word):
    client = pondero.Client(transport=Emulator())
    for level in ("off", "high"):
        told = client.ask("claude-opus-5", f"{ASKED} [emulator: {word}]", level)
        assert told.text == "17 * 23 = 391"
        assert told.usage.thinking == thinking_of(word, level)


def test_a_number_that_is_none_is_the_usual_one():
    client = pondero.Client(transport=Emulator())
    asked = client.ask("claude-opus-5", f"{ASKED} [emulator: noisy loud]", "high")
    assert asked.usage.thinking == thinking_of("noisy", "high")


def test_a_word_that_is_none_of_them_is_rejected():
    with pytest.raises(BadParameter, match="use deaf half-deaf noisy not-off uncounted"):
        DialResponder("loud")


def test_the_page_of_the_emulator_has_every_word():
    table = PAGE.partition("\n### A dial that does not work\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)", table, re.MULTILINE)
    assert tuple(rows) == DIAL_WORDS
