"""The mind that errs: more often the less it thinks and the harder the question is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.client import Client
from pondero.emulator import Emulator, ErrorProneResponder
from pondero.emulator.responders.error_prone import difficulty

LEVELS = ("off", "low", "medium", "high", "max")


def right(level, *, seed=0, count=200, model="claude-opus-5"):
    with Client(transport=Emulator(responder=ErrorProneResponder(seed))) as client:
        return [
            client.ask(model, f"What is {n} * 23?", level, stream=False).text.endswith(
                f"= {n * 23}"
            )
            for n in range(count)
        ]


def test_a_higher_level_is_right_more_often_and_as_often_as_the_logistic_says():
    shares = []
    for level in LEVELS:
        found = right(level)
        tokens = {"off": 0, "low": 64, "medium": 128, "high": 256, "max": 512}[level]
        expected = [
            ErrorProneResponder().chance(tokens, difficulty(f"What is {n} * 23?"))
            for n in range(200)
        ]
        spread = math.sqrt(sum(p * (1 - p) for p in expected))
        assert abs(sum(found) - sum(expected)) < 4 * spread + 1
        shares.append(sum(found))
    assert shares == sorted(shares)
    assert shares[0] < 200
    assert shares[-1] > 185


def test_the_same_seed_gives_the_same_answers_and_another_seed_others():
    assert right("low", count=60) == right("low", count=60)
    assert right("low", count=60) != right("low", count=60, seed=1)


def test_a_question_may_say_how_hard_it_is():
    with Client(transport=Emulator(responder=ErrorProneResponder())) as client:
        for n in range(20):
            easy = client.ask("gpt-5.5", f"[emulator: difficulty -20] What is {n} * 23?", "off")
            hard = client.ask("gpt-5.5", f"[emulator: difficulty 40] What is {n} * 23?", "high")
            assert easy.text.endswith(f"= {n * 23}")
            assert not hard.text.endswith(f"= {n * 23}")
            assert hard.text.startswith(f"{n} * 23 = ")


def test_what_has_no_number_is_not_known():
    with Client(transport=Emulator(responder=ErrorProneResponder())) as client:
        said = client.ask("gpt-5.5", "[emulator: difficulty 40] Say: hello").text
    assert said == "I do not know."


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.floats(-5, 10))
def test_more_thinking_never_makes_a_right_answer_less_likely(one, other, hard):
    few, many = sorted((one, other))
    assert (
        0
        <= ErrorProneResponder().chance(few, hard)
        <= ErrorProneResponder().chance(many, hard)
        <= 1
    )


@pytest.mark.parametrize("said", ["", None, "very"])
def test_a_difficulty_that_is_no_number_is_drawn(said):
    assert difficulty("a?", said) == difficulty("a?")


def test_nobody_gets_it_by_default():
    with Client(transport=Emulator()) as client:
        for n in range(50):
            assert client.ask("gpt-5.5", f"What is {n} * 23?", "off").text.endswith(f"= {n * 23}")
