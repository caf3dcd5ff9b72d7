"""Letters of choices as people and models write them."""

import pytest

from pondero.sweep.grading.letter_reader import read_letter

ABC = ("red", "green", "dark blue")


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("a", "A"), ("(a)", "A"), ("option b", "B"), ("B.", "B"), ("**B**", "B"), ("b)", "B"),
        ("[B]", "B"), ("`b`", "B"), ("\uff22", "B"), (r"\boxed{B}", "B"), (r"$\boxed{\text{(B)}}$", "B"),
        ("```\nB\n```", "B"), ("<answer>B</answer>", "B"), ('{"answer": "B"}', "B"),
        ("Option B is right", "B"), ("I choose b.", "B"), ("Let's go with option C.", "C"),
        ("The correct option is (C)", "C"), ("Final answer: **(B) green**", "B"),
        ("Answer: B\n\nBecause A is red.", "B"), ("Thinking about it.\n\nb", "B"),
        ("The answer is not A but B", "B"), ("A is correct", "A"), ("GREEN!", "B"),
        ("A or B", None), ("The answer is A or B", None), ("A and C", None), ("D", None), ("", None),
        ("A guess would not help", None), ("hundred", None),
    ],
)  # fmt: skip
def test_a_letter_is_read_as_it_is_meant(answer, letter):
    found = read_letter(answer, ABC)
    assert found.letter == letter, found.describe()
    assert found.describe()


def test_a_choice_that_contains_another_means_itself():
    assert read_letter("it is dark blue", ("blue", "dark blue")).letter == "B"
    assert "ambiguous" in read_letter("blue or red", ("blue", "red")).problem


@pytest.mark.parametrize("sign", ["A ", "(", "*", "answer is ", "option ", "\n"])
def test_a_long_answer_is_read(sign):
    read_letter(sign * 20_000, ABC)
