"""Fences, JSON and marks in answers, as models write them."""

import pytest

from pondero.sweep.grading.text_reader import find_boxed, find_fenced, fold, parse_json_answer

JSON = '{"a": 1}'


@pytest.mark.parametrize(
    "answer",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"```JSON\n{JSON}\n```",
        f"``` json5\n{JSON}\n```",
        f"```\n{JSON}\n```",
        f"~~~json\n{JSON}\n~~~",
        f"````json\n{JSON}\n````",
        f"```json {JSON}```",
        f"```{JSON}```",
        f"```json\r\n{JSON}\r\n```\r\n",
        f"  ```json\n  {JSON}\n  ```",
        f"```json\n{JSON}",
        f"Here it is: {JSON} I hope it helps.",
        f"Not [this], but {JSON}",
    ],
)
def test_json_is_found_in_any_fence_and_in_words(answer):
    assert parse_json_answer(answer) == {"a": 1}


@pytest.mark.parametrize("answer", ["", "no", "{a: 1}", "NaN", "[" * 100_000])
def test_what_is_no_json_is_said(answer):
    with pytest.raises(ValueError, match=r"\w"):
        parse_json_answer(answer)


def test_the_last_box_counts_with_its_braces():
    assert find_boxed(r"\boxed{1} \boxed{\frac{3}{4}} x") == r"\frac{3}{4}"
    assert find_boxed("none") is None
    assert find_boxed(r"\boxed{4") == "4"


def test_a_longer_fence_may_hold_a_shorter_one():
    assert find_fenced("````\n```\nx\n```\n````") == ["```\nx\n```"]


def test_both_unicode_forms_are_one_text():
    assert fold("Cafe\u0301  DU\u00a0Nord\r\n") == fold("caf\u00e9 du nord")
