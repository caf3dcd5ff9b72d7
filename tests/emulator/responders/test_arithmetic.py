"""The built-in mind's sums."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondero.emulator.responders.arithmetic import find_calculation, format_number


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is 17 * 23?", "391"),
        ("what is 17 times 23", "391"),
        ("What's 17×23, please?", "391"),
        ("(2 + 3) * 4 - 10 / 4?", "17.5"),
        ("1,234 + 5,678", "6912"),
        ("2^10", "1024"),
        ("7 squared plus 1", "50"),
        ("100 divided by 8 minus 2", "10.5"),
        ("-5 + 3", "-2"),
        ("10 / 3", "3.3333333333"),
        ("0.1 + 0.2", "0.3"),
        ("17 % 5", "2"),
        ("-7 // 2", "-4"),
        ("3 x 4", "12"),
        ("the sum of 12 and 5", "17"),
        ("multiply 6 by 7", "42"),
        ("What is 2 + 2? No, better 17 * 23 * 2.", "782"),
        ("007 + 1", "8"),
    ],
)
def test_a_sum_is_found_and_worked_out(question, value):
    found = find_calculation(question)
    assert found is not None
    assert found.value == value


@pytest.mark.parametrize("question", ["hello", "", "I am 42", "on 2026-11-15", "f(x)", "1 + + "])
def test_what_is_no_sum_is_left_alone(question):
    assert find_calculation(question) is None


@pytest.mark.parametrize("question", ["10 / 0", "9 ** 9 ** 9", "2 ** 0.5", "5 % 0"])
def test_a_sum_without_an_exact_value_has_none(question):
    found = find_calculation(question)
    assert found is not None
    assert found.value is None


def test_every_step_is_told():
    found = find_calculation("(2 + 3) * 4")
    assert found is not None
    assert found.steps == ("2 + 3 = 5", "5 * 4 = 20")


@given(st.text(max_size=200))
def test_nothing_that_is_asked_breaks_it(question):
    find_calculation(question)


@given(st.text("0123456789.+-*/%() ", max_size=60))
def test_no_sum_breaks_it(question):
    find_calculation(question)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from("+-*"))
def test_whole_numbers_come_out_exactly(one, other, sign):
    expected = {"+": one + other, "-": one - other, "*": one * other}[sign]
    found = find_calculation(f"{one} {sign} ({other})")
    assert found is not None
    assert found.value == str(expected)


@given(st.fractions(-(10**6), 10**6, max_denominator=10**4))
def test_a_number_is_written_to_ten_places(value):
    assert abs(Fraction(format_number(value)) - value) < Fraction(1, 10**10)
