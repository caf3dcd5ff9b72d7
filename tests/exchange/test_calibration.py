"""``auto`` as a value: which calibration is taken, on what evidence, and when it is doubted."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.calibrations import TODAY, calibration, finding

from pondero.errors import BadConfig, Unsupported
from pondero.exchange import (
    EMULATED,
    OLDEST,
    Calibrations,
    apply_calibration,
    describe_evidence,
    fields_hash,
    fingerprint,
    plan,
)
from pondero.store import load_catalog
from pondero.thinking import LEVELS, UNSET, Intent, Policy, RequestParameters, parse_intent

OPUS = load_catalog().entry("claude-opus-5")
GEMINI = load_catalog().entry("gemini-3-pro-preview")


def known(*all_of_them, broken=(), today=TODAY):
    rows = {each.name: each for each in all_of_them}
    return Calibrations(rows, dict(broken), today.toordinal())


def planned(wish, *calibrations, entry=OPUS, policy=Policy(), **options):  # noqa: B008 - frozen
    intent = apply_calibration(
        entry, parse_intent(wish), known(*calibrations, **options), policy=policy
    )
    return plan(entry, intent, asked=RequestParameters(), policy=policy)


def codes(made):
    return [note.code for note in made.adjustments]


def test_auto_becomes_the_level_that_was_adopted_and_says_on_what_evidence():
    made = planned("auto", calibration())
    assert (made.asked, made.level, codes(made)) == ("auto", "low", ["calibrated"])
    assert made.fields == planned("low").fields
    (note,) = made.adjustments
    assert (note.what, note.asked, note.got) == ("level", "auto", "low")
    assert note.why == "calibration 'sums': 320 questions, -1.2 points against high"
    assert describe_evidence(calibration()) == (
        "calibration 'sums': 320 questions, 86.9% right, -1.2 points against "
        "anthropic:claude-opus-5/high, bounds -3.9 to +1.5; judge numeric, "
        f"run 20261115-4d891a, {TODAY}"
    )


def test_a_caution_is_named_in_the_note_of_every_answer_and_told_in_the_list():
    made = planned("auto", calibration(lacks="a long story about the sanity gate"))
    assert made.adjustments[0].why.endswith(
        "points against high; with a caution, which 'pondero sweep calibrations' shows"
    )


def test_a_calibration_of_the_emulator_is_called_so_and_is_no_caution():
    own = calibration(offline=True, lacks=EMULATED)
    auto = apply_calibration(OPUS, parse_intent("auto"), known(own), policy=Policy(), offline=True)
    made = plan(OPUS, auto, asked=RequestParameters(), policy=Policy())
    assert made.adjustments[0].why.endswith("-1.2 points against high; measured offline")


SONNET = load_catalog().entry("claude-sonnet-4-5")


def sent_with(max_tokens, *, measured):
    """The plan of ``auto`` with a limit of output tokens, measured with another one."""
    intent = parse_intent("low")
    fields = fields_hash(SONNET, intent, max_tokens=measured, policy=Policy())
    own = calibration(model="claude-sonnet-4-5", max_tokens=measured, fields=fields)
    auto = apply_calibration(SONNET, parse_intent("auto"), known(own), policy=Policy())
    return plan(SONNET, auto, asked=RequestParameters(max_tokens=max_tokens), policy=Policy())


@pytest.mark.parametrize(
    ("now", "measured", "why"),
    [
        (None, 2000, "has 22,016 tokens for thinking, and calibration 'sums' measured 1,024 "),
        (2000, None, "has 1,024 tokens for thinking, and calibration 'sums' measured 22,016"),
        (2000, 2000, None),
        (40_000, None, None),
        (None, 40_000, None),
    ],
)
def test_a_token_budget_that_max_tokens_changes_is_a_reason_to_doubt(now, measured, why):
    made = sent_with(now, measured=measured)
    stale = [note.why for note in made.adjustments if note.code == "calibration_stale"]
    assert len(stale) == (why is not None)
    assert why is None or why in stale[0]


def test_without_a_calibration_one_of_the_emulator_is_named():
    made = planned("auto", calibration("mine", offline=True))
    assert codes(made) == ["no_calibration"]
    assert made.adjustments[0].why.startswith(
        "calibration 'mine' was measured offline, and applies to --offline only, so nothing is sent"
    )


def test_of_several_the_one_adopted_last_for_this_model_is_taken():
    early = calibration("early", "off", adopted="2026-11-01T00:00:00.000000Z")
    late = calibration("late", "medium", adopted="2026-11-02T00:00:00.000000Z")
    other = calibration("other", "high", "gpt-5.5", adopted="2026-11-03T00:00:00.000000Z")
    assert planned("auto", early, late, other).level == "medium"
    assert planned("auto", late, early, other).level == "medium"
    assert planned("auto:early", early, late, other).level == "off"
    assert "'late'" in planned("auto", early, late, other).adjustments[0].why


@pytest.mark.parametrize("wish", ["auto", "auto:nope", "auto#sums"])
def test_without_a_calibration_nothing_is_sent_and_that_is_said(wish):
    made = planned(wish)
    assert (made.level, made.fields, codes(made)) == (
        None,
        planned(None).fields,
        ["no_calibration"],
    )
    assert made.asked == wish
    assert "nothing is sent for thinking" in made.adjustments[0].why


def test_a_calibration_of_another_model_is_not_evidence_for_this_one():
    made = planned("auto:sums", calibration(model="gpt-5.5"))
    assert codes(made) == ["no_calibration"]
    assert "is for openai:gpt-5.5, not anthropic:claude-opus-5" in made.adjustments[0].why


def test_a_strict_policy_takes_a_fresh_calibration_and_nothing_less():
    strict = Policy(unsupported="strict")
    assert planned("auto", calibration(), policy=strict).level == "low"
    with pytest.raises(Unsupported, match="no_calibration"):
        planned("auto", policy=strict)
    with pytest.raises(Unsupported, match="calibration_stale"):
        planned("auto", calibration(catalog="older", fields="others"), policy=strict)


@pytest.mark.parametrize(("days", "stale"), [(OLDEST, False), (OLDEST + 1, True)])
def test_an_old_calibration_is_used_with_a_warning(days, stale):
    made = planned("auto", calibration(), today=TODAY + timedelta(days=days))
    assert made.level == "low"
    assert codes(made) == ["calibrated", *(["calibration_stale"] if stale else [])]
    assert not stale or f"is {days} days old" in made.adjustments[1].why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"catalog": "older", "fields": "0" * 16}, "the catalog has changed"),
        ({"fields": "0" * 16}, "the policy, or a catalog file of your own, is another"),
    ],
)
def test_a_level_that_is_sent_differently_by_now_is_used_with_a_warning(changes, why):
    made = planned("auto", calibration(**changes))
    assert (made.level, codes(made)) == ("low", ["calibrated", "calibration_stale"])
    assert why in made.adjustments[1].why


def test_another_revision_of_the_catalog_alone_is_no_reason_to_doubt():
    assert codes(planned("auto", calibration(catalog="older"))) == ["calibrated"]


def test_what_is_shown_of_thinking_is_no_reason_to_doubt():
    for show in ("auto", "summary", "none"):
        assert codes(planned("auto", calibration(), policy=Policy(show=show))) == ["calibrated"]


def test_another_policy_for_budgets_is_a_reason_to_doubt():
    haiku = load_catalog().entry("claude-haiku-4-5")
    made = planned(
        "auto", calibration(model="claude-haiku-4-5"), entry=haiku, policy=Policy(budgets="fixed")
    )
    assert codes(made)[:2] == ["calibrated", "calibration_stale"]


@pytest.mark.parametrize("level", ["hihg", "auto", "auto:sums", ""])
def test_a_level_that_is_none_is_never_sent(level):
    made = planned("auto", calibration(fields="x").__class__(**_but(calibration(), level=level)))
    assert (made.level, codes(made)) == (None, ["no_calibration"])


def _but(made, **changes):
    return {**{name: getattr(made, name) for name in made.__struct_fields__}, **changes}


def test_a_kind_has_its_own_level_and_an_unknown_one_takes_that_of_all():
    kinds = {"proofs": finding("high", difference=0.1, lower=-0.01, upper=0.2)}
    made = planned("auto:sums#proofs", calibration(kinds=kinds))
    assert (made.level, made.asked, codes(made)) == ("high", "auto:sums#proofs", ["calibrated"])
    assert "kind 'proofs': 40 questions, +10.0 points" in made.adjustments[0].why
    other = planned("auto#poems", calibration(kinds=kinds))
    assert other.level == "low"
    assert "no level of its own for kind 'poems'" in other.adjustments[0].why


def test_what_a_calibration_lacks_is_part_of_its_evidence():
    assert describe_evidence(calibration(lacks="chosen by hand")).endswith("; chosen by hand")
    bare = calibration(difference=None, lower=None, upper=None, accuracy=None)
    assert "320 questions; judge numeric" in describe_evidence(bare)


def test_the_calibration_that_was_named_and_is_broken_is_an_error_and_another_one_is_not():
    broken = {"bad": "bad.json is not a calibration: it is empty"}
    with pytest.raises(BadConfig, match="it is empty"):
        planned("auto:bad", broken=broken)
    assert planned("auto", calibration(), broken=broken).level == "low"
    assert "it is empty" in planned("auto", broken=broken).adjustments[0].why


def test_auto_that_nobody_looked_up_sends_nothing():
    made = plan(OPUS, parse_intent("auto"), asked=RequestParameters(), policy=Policy())
    assert (made.level, codes(made)) == (None, ["no_calibration"])


@given(st.sampled_from([None, *LEVELS, True, 8000]))
def test_any_other_wish_stays_as_it_is(wish):
    intent = parse_intent(wish)
    assert apply_calibration(OPUS, intent, known(calibration()), policy=Policy()) is intent


@given(st.sampled_from(LEVELS), st.sampled_from([OPUS, GEMINI]))
def test_auto_sends_exactly_what_its_level_sends(level, entry):
    made = planned("auto", calibration(level=level, model=entry.id), entry=entry)
    said = planned(level, entry=entry)
    assert (made.fields, made.level, made.budget) == (said.fields, said.level, said.budget)
    assert made.adjustments[1:] == said.adjustments


def test_a_fingerprint_does_not_depend_on_the_order_of_keys():
    assert fingerprint({"a": 1, "b": {"c": 2, "d": 3}}) == fingerprint(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_a_wish_is_said_as_it_was_written():
    assert str(parse_intent("AUTO:Sums#Long words").as_text) == "auto:sums#Long words"
    assert Intent("unset").as_text is UNSET.as_text is None
