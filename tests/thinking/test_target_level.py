"""The figures of the ledger, row by row."""

import pytest

from pondero import plan
from pondero.thinking import FIGURES, LEVELS, nearest_level, percent_of_output

# (model, level) -> what the ledger means by it, before room is kept for the answer
_NOMINAL = {
    "claude-sonnet-4-5": {"minimal": 1024, "low": 22016, "medium": 43008, "high": 64000},
    "claude-opus-4-5": {"minimal": 1024, "low": 22016, "medium": 43008, "high": 64000},
    "claude-haiku-4-5": {"minimal": 1024, "low": 11349, "medium": 21674, "high": 32000},
    "claude-3-7-sonnet": {"minimal": 1024, "low": 11349, "medium": 21674, "high": 32000},
    "gemini-2.5-pro": {"minimal": 1024, "low": 11008, "medium": 21888, "high": 32768},
    "gemini-2.5-flash": {"minimal": 1024, "low": 8192, "medium": 16384, "high": 24576},
    "gemini-2.5-flash-lite": {"minimal": 512, "low": 8533, "medium": 16554, "high": 24576},
}  # A27-A33 A58 B40-B43 E04-E06 E12-E14 D30 X08 X10 X12


@pytest.mark.parametrize(
    ("model", "level", "tokens"),
    [(model, level, tokens) for model, row in _NOMINAL.items() for level, tokens in row.items()],
)
def test_the_nominal_figure_is_the_required_one(model, level, tokens):
    assert plan(model, level).nominal == tokens


@pytest.mark.parametrize("model", _NOMINAL)
def test_xhigh_and_max_are_the_most_a_budget_model_has(model):
    top = _NOMINAL[model]["high"]
    assert plan(model, "xhigh").nominal == plan(model, "max").nominal == top


@pytest.mark.parametrize(
    ("model", "budget"),
    [("gemini-2.5-pro", 128), ("gemini-2.5-flash", 1), ("gemini-2.5-flash-lite", 512),
     ("claude-sonnet-4-5", 1024)],
)  # fmt: skip
def test_off_by_the_floor_policy_is_the_smallest_thinking(model, budget):
    made = plan(model, "off", policy={"off": "floor"})
    assert made.budget == budget


@pytest.mark.parametrize(
    ("model", "code"),
    [("gemini-2.5-flash", "off_floor"), ("gpt-5.5", "off_floor"), ("claude-opus-5", "off_floor"),
     ("gemini-2.5-pro", "cannot_disable"), ("gpt-5", "cannot_disable")],
)  # fmt: skip
def test_the_floor_policy_blames_the_model_only_where_it_cannot_be_off(model, code):
    made = plan(model, "off", policy={"off": "floor"})
    assert [note.code for note in made.adjustments] == [code]


def test_the_floor_that_a_strict_policy_asked_for_is_no_error():
    strict = {"off": "floor", "unsupported": "strict"}
    assert plan("gemini-2.5-flash", "off", policy=strict).budget == 1


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "claude-opus-5", "gpt-5", "gpt-5.5", "gemini-2.5-pro"]
)
def test_off_by_the_omit_policy_sends_nothing(model):
    assert plan(model, "off", policy={"off": "omit"}).fields == {}


def test_omitting_off_where_the_model_thinks_unasked_says_so():
    assert [note.code for note in plan("gpt-5.5", "off", policy={"off": "omit"}).adjustments] == [
        "off_omitted"
    ]
    assert not plan("claude-sonnet-4-5", "off", policy={"off": "omit"}).adjustments


@pytest.mark.parametrize(
    ("model", "figures"),
    [
        ("claude-sonnet-4-5", {"low": 1024, "medium": 4096, "high": 16384, "on": 4096}),
        ("gemini-2.5-pro", {"low": 1024, "medium": 8192, "high": 32768}),
        ("gemini-2.5-flash", {"low": 1024, "medium": 8192, "high": 24576}),
    ],
)  # C39 C42 C45 X09
def test_the_fixed_policy_has_the_figures_of_document_002_within_the_range(model, figures):
    for level, tokens in figures.items():
        assert plan(model, level, policy={"budgets": "fixed"}).budget == tokens


def test_every_level_has_its_share_of_the_output():
    shares = {"off": 0, "minimal": 10, "low": 20, "medium": 50, "high": 80, "xhigh": 95, "max": 95}
    assert {level: percent_of_output(level) for level in LEVELS} == shares


def test_the_percent_policy_is_a_share_of_max_tokens():
    shares = {
        "minimal": 5_000,
        "low": 10_000,
        "medium": 25_000,
        "high": 40_000,
        "xhigh": 45_904,
        "max": 45_904,
    }
    for level, tokens in shares.items():
        made = plan("claude-sonnet-4-5", level, max_tokens=50_000, policy={"budgets": "percent"})
        assert made.budget == tokens  # 95 % is 47,500 and would leave no room


def test_levels_that_mean_the_same_number_say_so():
    made = plan("claude-sonnet-4-5", "minimal", policy={"budgets": "fixed"})
    assert (made.level, made.adjustments[0].code) == ("low", "level_as_budget")


# -- a number of tokens on a model that has only levels --------------------------------------------

_MEANT = {
    1: "minimal", 1_024: "minimal", 2_047: "minimal", 4_096: "low", 8_000: "medium",
    8_192: "medium", 10_000: "medium", 16_000: "high", 20_000: "high", 24_000: "high",
    31_999: "xhigh", 32_000: "xhigh", 64_000: "max", 1_000_000: "max",
}  # fmt: skip


@pytest.mark.parametrize(("tokens", "level"), _MEANT.items())
def test_a_number_means_the_level_of_the_nearest_figure(tokens, level):
    assert nearest_level(tokens) == level


@pytest.mark.parametrize(
    ("model", "wish", "level"),
    [("gpt-5", "8k", "medium"), ("gpt-5", 500, "minimal"), ("gpt-5", 64_000, "high"),
     ("gpt-5.5", 1_024, "low"), ("gpt-5.5", 10_000, "medium"), ("gpt-5.5", 16_000, "high"),
     ("claude-opus-5", 16_000, "high"), ("claude-opus-5", 31_999, "xhigh"),
     ("claude-opus-5", 64_000, "max"), ("gemini-3-pro-preview", 8_192, "high")],
)  # fmt: skip
def test_a_model_of_words_gets_the_level_a_number_commonly_means(model, wish, level):
    made = plan(model, wish)
    assert (made.level, [note.code for note in made.adjustments]) == (level, ["budget_as_level"])
    assert any(f"{figure:,}" in made.adjustments[0].why for figure in FIGURES.values())


@pytest.mark.parametrize(
    ("model", "wish", "why"),
    [("gpt-5", "max", "high is the highest"), ("gemini-3.1-flash-image", "low", "high is the next above low"),
     ("xai:grok-3-mini", "medium", "low is what it has for medium"),
     ("gemini-3-pro-preview", 8_192, "8,192 is nearest to medium (8,192 tokens), which this model does not have; high is the next above medium"),
     ("gpt-5.5", 2_000, "2,000 is nearest to minimal (1,024 tokens), which this model does not have; low is the next above minimal"),
     ("gpt-5.5", 50_000, "this model takes levels, not token budgets. 50,000 is nearest to max (64,000 tokens), which this model does not have; xhigh is the highest. Only max_tokens limits"),
     ("gpt-5.5", 10_000, "10,000 is nearest to medium (8,192 tokens)")],
)  # fmt: skip
def test_the_words_say_which_way_the_ladder_went(model, wish, why):
    assert why in plan(model, wish).adjustments[0].why


# -- the five contracts of the ledger's part D ---------------------------------------------------------

_ALL = ("off", "minimal", "low", "medium", "high", "xhigh", "max", 1, 8000, 100_000)


def _config(model, wish):
    return plan(model, wish).fields["generationConfig"]["thinkingConfig"]


@pytest.mark.parametrize("wish", _ALL)
def test_gemini_3_pro_never_gets_minimal_or_medium(wish):
    assert _config("gemini-3-pro-preview", wish)["thinkingLevel"] in ("LOW", "HIGH")


@pytest.mark.parametrize("wish", _ALL)
@pytest.mark.parametrize(
    "model",
    ["gemini-3-pro-preview", "gemini-3.6-flash", "gemini-4-argon", "gemini-pro-latest"],
)
def test_gemini_3_never_gets_a_budget(model, wish):
    config = _config(model, wish)
    assert "thinkingLevel" in config
    assert "thinkingBudget" not in config


@pytest.mark.parametrize("wish", _ALL)
@pytest.mark.parametrize(
    "model",
    ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-robotics-er-1.5"],
)
def test_gemini_2_5_never_gets_a_level(model, wish):
    config = _config(model, wish)
    assert "thinkingBudget" in config
    assert "thinkingLevel" not in config


@pytest.mark.parametrize("wish", _ALL)
def test_flash_lite_never_gets_a_thinking_budget_below_512(wish):
    budget = _config("gemini-2.5-flash-lite", wish)["thinkingBudget"]
    assert budget >= 512 or (wish == "off" and budget == 0)


@pytest.mark.parametrize("wish", _ALL)
def test_2_5_pro_never_gets_a_budget_below_128(wish):
    assert _config("gemini-2.5-pro", wish)["thinkingBudget"] >= 128
