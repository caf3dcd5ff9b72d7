"""Adoption: what a sweep found, kept with its evidence for ``auto`` to take."""

import asyncio
import json

import pytest
from msgspec.structs import replace
from tests.sweep.reports import sweep_of
from tests.sweep.results.test_compute import LADDER, ladder
from tests.sweep.results.test_kinds import found as found_by_kind
from tests.sweep.runs import found

import pondero
from pondero.emulator import Emulator
from pondero.errors import BadParameter, UsageError
from pondero.store import load_calibrations, note_served
from pondero.sweep import check_calibration


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return config_dir


def swept(count=400, *, offline=False, **options):
    right = ladder(0.5, 0.9, 0.9, 0.9)
    return found(count, right, levels=LADDER, offline=offline, fresh=True, **options)


def test_what_is_adopted_is_what_auto_sends(config_dir):
    results = swept()
    path = results.adopt("sums")
    assert path == config_dir / "calibrations" / "sums.json"
    made = load_calibrations().known["sums"]
    low = results.arms[1]
    assert (made.model, made.level, made.n) == (low.model, "low", low.n)
    assert (made.difference, made.lower, made.upper) == (low.difference, None, None)
    assert made.sent == low.fields
    assert (made.data, made.judge, made.run) == (results.facts.data, "numeric", results.run)
    assert json.loads(path.read_text())["catalog"]
    for said in ("claude-opus-5/auto", "claude-opus-5/auto:sums", "auto:sums"):
        plan = pondero.plan(said)
        assert (plan.model, plan.level) == ("anthropic:claude-opus-5", "low")
        assert [note.code for note in plan.adjustments] == ["calibrated"]
        assert "'sums'" in plan.adjustments[0].why
    assert pondero.plan("claude-opus-5", "auto").fields == plan.fields
    assert pondero.plan("claude-opus-5", "low").fields == plan.fields


def test_a_calibration_of_another_model_never_matches():
    swept().adopt("sums")
    own = pondero.plan("claude-opus-5", "auto")
    assert "no_calibration" not in [note.code for note in own.adjustments]
    other = pondero.plan("claude-sonnet-4-5", "auto")
    assert [note.code for note in other.adjustments] == ["no_calibration"]
    assert not other.fields
    strict = pondero.Policy(unsupported="strict")
    with pytest.raises(pondero.errors.Unsupported, match="calibration"):
        pondero.plan("claude-sonnet-4-5", "auto", policy=strict)


def test_a_level_that_the_user_chose_says_what_it_lacks():
    results = swept()
    results.adopt("dear", level="high")
    assert "with a caution" in pondero.plan("auto:dear").adjustments[0].why
    lacks = load_calibrations().known["dear"].lacks
    assert "chosen by hand; the run recommends anthropic:claude-opus-5/low" in lacks
    few = swept(20)  # past the gate: a level that no question was asked of cannot be adopted
    with pytest.raises(UsageError, match="recommends nothing: 20 questions are too few"):
        few.adopt("few")
    few.adopt("few", level="claude-opus-5/medium", force=True)
    plan = pondero.plan("auto:few")
    assert plan.level == "medium"
    lacks = load_calibrations().known["few"].lacks
    assert "the run recommends nothing: 20 questions are too few" in lacks


def test_answers_of_the_emulator_are_told_as_such():
    results = swept(offline=True)
    assert "the emulator answered" in results.calibration("sums").lacks
    results.adopt("sums")
    plan = pondero.plan("claude-opus-5", "auto")
    assert [note.code for note in plan.adjustments] == ["no_calibration"]
    named = pondero.plan("auto:sums")
    assert "applies to --offline only" in named.adjustments[0].why
    client = pondero.Client(transport=Emulator(any_model=True))
    assert client.prepare("auto:sums", "What is 2 + 3?").plan.level == "low"


def test_auto_is_stale_once_the_service_answers_as_another_model():
    results = swept()
    served = tuple(replace(arm, served=("claude-opus-5-20261101",)) for arm in results.arms)
    replace(results, arms=served).adopt("sums")
    note_served("anthropic:claude-opus-5", "sums", "claude-opus-5-20261101")
    assert [n.code for n in pondero.plan("auto:sums").adjustments] == ["calibrated"]
    note_served("anthropic:claude-opus-5", None, "claude-opus-5-20270101")
    _, stale = pondero.plan("auto:sums").adjustments
    assert stale.code == "calibration_stale"
    assert "now answers as 'claude-opus-5-20270101'" in stale.why


def test_a_calibration_is_checked_by_a_few_of_its_questions():
    results = sweep_of(300, levels="low,max")
    results.adopt("sums")
    found = asyncio.run(check_calibration("sums", questions=5))
    assert (found.asked, found.holds) == (5, True)
    with pytest.raises(UsageError, match="no calibration is called"):
        asyncio.run(check_calibration("products"))


@pytest.mark.parametrize("level", ["xhigh", "gpt-5.5/low", "auto", ""])
def test_a_level_that_is_no_arm_is_refused(level):
    results = replace(swept(20, past_gate=False), recommendation=None)
    with pytest.raises(UsageError, match=r"is no arm of run|recommends nothing"):
        results.adopt("sums", level=level)


def test_a_name_is_taken_once_unless_forced():
    results = swept()
    results.adopt("sums")
    with pytest.raises(BadParameter, match="is called 'sums' already"):
        results.adopt("sums", level="high")
    results.adopt("SUMS", level="high", force=True)
    assert pondero.plan("auto:sums").level == "high"


def test_a_level_that_is_sent_differently_by_now_is_not_adopted():
    results = swept()
    changed = [replace(arm, fields={"effort": "other"}) for arm in results.arms]
    with pytest.raises(UsageError, match=r"no longer sent as run .* sent it"):
        replace(results, arms=tuple(changed)).adopt("sums")


def test_each_kind_can_have_its_level():
    def right(arm, question):
        n = int(question.id[1:])
        return arm == 1 or question.metadata["kind"] == "easy" or n % 10 == 1

    results = found_by_kind(400, ["easy", "easy", "easy", "hard"], right, margin=0.3, once=True)
    results = replace(
        results, facts=replace(results.facts, spec=replace(results.facts.spec, offline=False))
    )
    results.adopt("both", by_kind=True)
    assert pondero.plan("auto:both").level == "low"
    assert pondero.plan("auto:both#easy").level == "low"
    hard = pondero.plan("claude-opus-5", "auto#hard")
    assert (hard.level, hard.asked) == ("high", "auto#hard")
    assert "kind 'hard'" in hard.adjustments[0].why
    results.adopt("one")
    assert pondero.plan("auto:one#hard").level == "low"


def test_without_kinds_there_is_nothing_to_adopt_by_kind():
    with pytest.raises(UsageError, match="has no kind to decide by itself"):
        swept().adopt("sums", by_kind=True)
