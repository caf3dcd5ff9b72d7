"""The outline of a sweep: which arms there are, why levels are one, and what the questions can."""

import json

import pytest

from pondero.client.dial import load_policy
from pondero.errors import BadParameter
from pondero.sweep.arms import arms_of, reference_of
from pondero.sweep.outline import make_outline
from pondero.sweep.run.prices import max_trial_cost

GEMINI = "gemini-2.5-flash"


def outline(count=200, model=GEMINI, **options):
    rows = [{"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(count)]
    options.setdefault("levels", "off,low,high")
    return make_outline(rows, {"models": (model,), "offline": True, **options})


def test_levels_that_max_tokens_makes_equal_say_so_and_from_where_on_they_differ():
    made = outline(max_tokens=2000)
    (said,) = made.describe_merged_levels()
    assert said == (
        "low and high send the same to google:gemini-2.5-flash, because --max-tokens 2000 leaves "
        "1,000 tokens for thinking: one arm; from --max-tokens 28672 on, each level is sent in full"
    )
    assert len(outline(max_tokens=28672).arms) == 3
    assert list(outline(max_tokens=28672).describe_merged_levels()) == []
    (said,) = outline(max_tokens=28671).describe_merged_levels()
    assert "lowers the thinking of google:gemini-2.5-flash/high from 24,576 to 24,575" in said


def test_a_level_that_max_tokens_lowers_is_named_though_it_stays_an_arm():
    (said,) = outline(max_tokens=16_000).describe_merged_levels()
    assert said.startswith("--max-tokens 16000 lowers the thinking of google:gemini-2.5-flash/high")
    assert said.endswith("from --max-tokens 28672 on, it is sent in full")


def test_levels_that_are_the_same_anyway_are_not_blamed_on_max_tokens():
    (said,) = outline(
        model="claude-opus-5", levels="minimal,low,high", max_tokens=2000
    ).describe_merged_levels()
    assert said == "minimal and low send the same to anthropic:claude-opus-5: one arm"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"levels": "low"}, "the only arm is google:gemini-2.5-flash/low; name more levels"),
        ({"levels": "low,high", "max_tokens": 2000}, "because --max-tokens 2000 leaves 1,000"),
    ],
)
def test_one_arm_is_an_error_since_there_is_nothing_to_compare(options, why):
    with pytest.raises(BadParameter, match=f"^nothing to compare: .*{why}"):
        outline(**options)


@pytest.mark.parametrize(
    ("model", "levels", "order"),
    [
        (GEMINI, "medium,high,20k,1k", ["1k", "medium", "20k", "high"]),
        (GEMINI, "high,off,30k", ["off", "high=30k"]),
        ("claude-opus-5", "max,8k,low", ["low", "8k", "max"]),
    ],
)
def test_numbers_and_levels_are_in_one_order_and_the_highest_is_the_reference(model, levels, order):
    arms = arms_of([model], levels)
    assert ["=".join(arm.levels) for arm in arms] == order
    assert [arm.rank for arm in arms] == sorted(arm.rank for arm in arms)
    assert reference_of(arms, None) == len(arms) - 1


@pytest.mark.parametrize(
    ("targets", "judge", "says"),
    [
        (["1", None, None], "exact", ":2: question 'q2' has no target to judge by"),
        (["1", "2", "four"], "numeric", ":3: question 'q3' has no number in its target 'four'"),
        (
            ["1", "2", "4 or 5"],
            "numeric",
            ":3: question 'q3' .*'4 or 5': '4 or 5' is ambiguous: .*",
        ),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_question_that_cannot_be_judged_is_named_with_its_line(
    tmp_path, targets, judge, says, seed
):
    path = tmp_path / "data.jsonl"
    rows = [{"id": f"q{n}", "input": "?", "target": each} for n, each in enumerate(targets, 1)]
    path.write_text("\n".join(map(json.dumps, rows)))
    options = {"models": ["claude-opus-5"], "judge": judge, "seed": seed}
    with pytest.raises(BadParameter, match=rf"data\.jsonl{says}$"):
        make_outline(path, options)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (GEMINI, "; below --max-tokens 28672 less thinking is sent for high"),
        ("claude-opus-5", ""),
    ],
)
def test_a_budget_below_one_answer_says_which_max_tokens_lowers_the_thinking(model, hint):
    with pytest.raises(BadParameter) as caught:
        outline(model=model, budget=0.0001, levels="off,high")
    assert str(caught.value).endswith(f"set --max-tokens, or raise --budget{hint}")


def test_the_cost_of_many_questions_is_that_of_each_of_them(monkeypatch):
    priced = []

    def count(*given):
        priced.append(given)
        return max_trial_cost(*given)

    monkeypatch.setattr("pondero.sweep.outline.max_trial_cost", count)
    made = outline(1200, repeats=2)
    every = (max_trial_cost(made.spec, arm, each) for each in made.questions for arm in made.arms)
    assert made.max_cost() == 2 * sum(every)
    first = made.questions[:7]
    few = (max_trial_cost(made.spec, arm, each) for each in first for arm in made.arms)
    assert made.max_cost(7) == 2 * sum(few)
    assert len(priced) < 30  # the lengths of these questions differ by three digits


def test_one_question_is_too_few_in_the_singular():
    (problem,) = outline(1).problems()
    assert problem.why.startswith("1 question is too few to show anything within 5 points: ")
    assert outline(1).describe_sample_size().startswith("1 question; ")


def test_few_questions_are_told_what_once_would_do():
    said = outline(30, margin=0.15).describe_sample_size()
    assert "worse is 38 % if it is equal" in said
    assert said.endswith("; --once, which tests them one single time at the end, has 53 %")
    for options in ({"once": True}, {"repeats": 2}, {"margin": 0.5}):
        assert (
            "tests them one single time"
            not in outline(30, **{"margin": 0.15, **options}).describe_sample_size()
        )
    assert "tests them" not in outline(200, margin=0.05).describe_sample_size()


def test_the_smallest_margin_comes_with_its_chance_and_one_that_is_fair():
    (problem,) = outline(30).problems()
    assert problem.why.endswith(
        "the smallest margin for 30 is 10 points, with a chance of 11 % to decide; "
        "20 points have 55 %"
    )


def test_a_sweep_takes_budgets_as_levels_and_the_policy_of_the_config(config_dir, request):
    def budgets(levels):
        arms = outline(model="claude-sonnet-4-5", levels=levels).arms
        return [arm.fields["thinking"]["budget_tokens"] for arm in arms]

    assert budgets("2k,8k") == [2000, 8000]
    proportional = budgets("low,medium")
    (config_dir / "config.toml").write_text('[policy]\nbudgets = "fixed"\n')
    load_policy.cache_clear()  # as a new process reads it
    request.addfinalizer(load_policy.cache_clear)
    assert budgets("low,medium") == [1024, 4096] != proportional
