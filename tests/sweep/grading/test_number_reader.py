"""Numbers as people and models write them."""

from fractions import Fraction

import pytest

from pondero.sweep.grading.number_reader import is_number, read_number

RIGHT = [
    ("1000", "1 000"),
    ("1000", "1\u202f000"),
    ("1000", "1'000"),
    ("1000", "1_000"),
    ("1000", "1{,}000"),
    ("1000", "1\\,000"),
    ("1234567", "12,34,567"),
    ("1234567", "1.234.567"),
    ("1234.5", "1.234,5"),
    ("3.14", "3,14"),
    ("0.234", "0,234"),
    ("0.5", "1/2"),
    ("0.5", "50%"),
    ("0.5", "50 percent"),
    ("50%", "0.5"),
    ("50", "50%"),
    ("50%", "50"),
    ("3/4", "0.75"),
    ("0.75", r"\boxed{\frac{3}{4}}"),
    ("1.5", "1 1/2"),
    ("1.5", "1½"),
    ("1500000", "1.5 million"),
    ("2000", "2k"),
    ("6.02e23", "6.02 × 10²³"),
    ("6.02e23", r"$6.02 \times 10^{23}$"),
    ("-3", "−3"),
    ("-5", "-$5"),
    ("-6", "17-23 = -6"),
    ("42", "42 (see section 3)"),
    ("42", "42, see section 3"),
    ("42", "42 [1]"),
    ("42", "(42)"),
    ("42", "- 42"),
    ("42", "_42_"),
    ("42", "\uff14\uff12"),
    ("42", "答案是42。"),
    ("42", r"\boxed{42}, in 7 steps"),
    ("42", "so\n#### 42"),
    ("42", "<answer>42</answer>"),
    ("42", "The answer is 42, because of rule 7."),
    ("42", "1. first\n2. then\nso 42"),
    ("7", "Answer: 3 + 4 = 7"),
    ("42", "42 or 42.0"),
]
WRONG = [
    ("3/4", "7/4"),
    ("1/2", "3/2"),
    ("12", "1,2"),
    ("314", "3,14"),
    ("30", "12:30"),
    ("12", "12:30"),
    ("2024", "1/2/2024"),
    ("5", "1.2.5"),
    ("3", "1,2,3"),
    ("42", "42 or 43"),
    ("42", "40-42"),
    ("-42", "40-42"),
    ("4", "as GPT-4 says"),
    ("1.234", "1,234"),
    ("0.5%", "0.5"),
    ("4", "no idea"),
    ("0", "1/0"),
    ("102", "10²"),
    ("4", "1e99999999"),
]


@pytest.mark.parametrize(("target", "answer"), RIGHT)
def test_a_number_is_read_as_it_is_meant(target, answer):
    found = read_number(answer)
    assert found.equals(read_number(target), Fraction(0)), found.describe()


@pytest.mark.parametrize(("target", "answer"), WRONG)
def test_another_number_or_an_ambiguous_one_is_wrong(target, answer):
    found = read_number(answer)
    assert found.problem or not found.equals(read_number(target), Fraction(0))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("12:30", "'12:30' is ambiguous: a time, a date or a ratio"),
        ("42 or 43", "'42 or 43' is ambiguous: it gives two numbers"),
        ("1,2,3", "'1,2,3' is ambiguous: a list, a version"),
        ("none", "the answer has no number"),
        ("50%", "read '50%' as 0.5"),
        ("1/3", "read '1/3' as 1/3"),
    ],
)
def test_how_a_number_was_read_is_said(answer, says):
    assert read_number(answer).describe().startswith(says)


def test_decimal_commas_are_read_on_request():
    assert read_number("1,234", "comma").value == Fraction("1.234")
    assert read_number("1.234", "comma").value == 1234
    assert read_number("3.14", "comma").value == Fraction("3.14")


def test_a_text_around_a_number_is_no_number():
    assert all(map(is_number, ("42", "$1,250.50", "50%", "3/4", "-1e3")))
    assert not any(map(is_number, ("42 apples", "x2", "12:30", "1,2,3", "")))
