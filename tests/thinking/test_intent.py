"""One wish, however it was spelled."""

import math

import pytest

import pondero
from pondero.errors import BadThinking
from pondero.thinking import LEVELS, OFF, ON, UNSET, Auto, Intent, is_level_text, parse_intent


@pytest.mark.parametrize("word", LEVELS[1:])
def test_every_level_is_itself_in_any_case(word):
    assert parse_intent(word) == parse_intent(f" {word.upper()} ") == Intent("level", word)


@pytest.mark.parametrize("wish", ["off", "none", "min", "disabled", "FALSE", False, 0, "0"])
def test_the_many_words_for_off(wish):
    assert parse_intent(wish) == OFF


@pytest.mark.parametrize("wish", ["on", "true", True])
def test_on_is_not_a_level(wish):
    assert parse_intent(wish) == ON


def test_med_is_medium():
    assert parse_intent("med") == parse_intent("Medium")


def test_nothing_is_unset():
    assert parse_intent(None) == UNSET


@pytest.mark.parametrize(
    ("wish", "tokens"),
    [(8000, 8000), ("8000", 8000), ("8k", 8000), ("8,000 tokens", 8000), ("1.5k", 1500),
     ("8_000", 8000), ("1m", 1_000_000), (8000.0, 8000)],
)  # fmt: skip
def test_a_number_is_a_budget(wish, tokens):
    assert parse_intent(wish) == Intent("budget", tokens=tokens)


def test_a_mapping_is_native_and_untouched():
    fields = {"thinking": {"type": "adaptive"}}
    assert parse_intent(fields) == Intent("native", fields=fields)


@pytest.mark.parametrize(
    "wish",
    ["", " ", "hihg", "8kk", "-5", -1, -0.5, 10**30, "99999999999", math.nan, math.inf, 1.5,
     object(), ["high"], {1: 2}, b"high"],
)  # fmt: skip
def test_anything_else_is_refused_with_the_value_and_what_would_work(wish):
    with pytest.raises(BadThinking, match=r"use|try|pass"):
        parse_intent(wish)


def test_a_misspelt_level_gets_a_suggestion():
    with pytest.raises(BadThinking, match="unknown level 'hihg'; did you mean 'high'"):
        parse_intent("hihg")


def test_a_family_may_have_words_of_its_own():
    assert parse_intent("hyper", words=("hyper",)) == Intent("level", "hyper")
    with pytest.raises(BadThinking, match="hyper"):
        parse_intent("hyper")


# -- two fields, four rules ---------------------------------------------------------------------


def test_native_settings_win_over_an_effort():
    assert parse_intent({"thinking": {}}, "high").kind == "native"


def test_false_wins_over_an_effort():
    assert parse_intent(False, "high") == OFF


def test_an_effort_alone_means_on_at_that_effort():
    assert parse_intent(None, "high") == parse_intent(True, "high") == Intent("level", "high")


def test_true_alone_means_on_at_the_models_own_depth():
    assert parse_intent(True, None) == ON


def test_two_different_wishes_are_refused():
    with pytest.raises(BadThinking, match="disagree"):
        parse_intent("low", "high")


def test_what_a_suffix_may_be():
    assert all(
        map(is_level_text, ("high", "none", "8k", "8000", "on", "auto", "auto:sums#long words"))
    )
    assert not any(map(is_level_text, ("", "latest", "20250929", "8b", "70b", "free", "automatic")))


def test_auto_is_left_to_a_calibration_by_its_name_and_for_a_kind():
    assert parse_intent(" Auto:Sums#Long words ") == Intent("auto", auto=Auto("sums", "Long words"))
    assert parse_intent("auto") == parse_intent(True, "auto") == Intent("auto", auto=Auto())
    assert [parse_intent(text).as_text for text in ("auto", "AUTO:a", "auto#K")] == [
        "auto",
        "auto:a",
        "auto#K",
    ]
    with pytest.raises(BadThinking, match="disagree"):
        parse_intent("auto", "high")
    with pytest.raises(BadThinking, match="did you mean 'auto'"):
        parse_intent("autp")


@pytest.mark.parametrize("model", ["gpt-6-astra", "claude-opus-5", "gemini-2.5-flash"])
def test_a_word_above_max_is_the_highest_level_and_said(model):
    made = pondero.plan(f"{model}/ultra")
    assert made.asked == "ultra"
    assert [note.code for note in made.adjustments][:1] == ["unsupported_level"]
    assert made.fields == pondero.plan(f"{model}/max").fields
