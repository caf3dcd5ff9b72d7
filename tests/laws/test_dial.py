"""Laws of the dial, over every model of the catalog and every wish."""

from hypothesis import given
from hypothesis import strategies as st
from tests.capabilities import explain_rejection

import pondero
from pondero.client import load_catalog
from pondero.exchange import plan as make_plan
from pondero.thinking import (
    CHOICES,
    CODES,
    LEVELS,
    Policy,
    RequestParameters,
    nearest_level,
    parse_intent,
    place_fields,
    read_thinking,
    resolve,
)

_ENTRIES = pondero.models()
_UNKNOWN = ["claude-opus-9", "gpt-9", "gemini-9-pro", "anthropic:nobody", "google:nobody"]
_entries = st.sampled_from(_ENTRIES) | st.sampled_from([load_catalog().entry(m) for m in _UNKNOWN])
_policies = st.builds(
    Policy,
    **{name: st.sampled_from(words) for name, words in CHOICES.items() if name != "unsupported"},
    answer_room=st.sampled_from([0, 1, 512, 4096, 20_000]),
)
_caps = st.none() | st.integers(1, 200_000) | st.sampled_from([1, 128, 512, 1024, 1025, 2048])
_wishes = (
    st.sampled_from([None, True, False, *LEVELS])
    | st.integers(0, 200_000)
    | st.sampled_from([1, 127, 128, 512, 1023, 1024, 63_999, 64_000])
)
_asked = st.builds(
    RequestParameters,
    max_tokens=_caps,
    temperature=st.none() | st.sampled_from([0.0, 0.2, 1.0, 2.0]),
    top_p=st.none() | st.sampled_from([0.5, 1.0]),
    top_k=st.none() | st.sampled_from([1, 40]),
    tools=st.booleans(),
    tool_choice=st.sampled_from(["auto", "none", "required", "get_weather"]),
)


def _plan(entry, wish, policy=None, asked=None):
    words = entry.capability.extra_words
    return make_plan(
        entry,
        parse_intent(wish, words=words),
        asked=asked or RequestParameters(),
        policy=policy or Policy(),
    )


def _depth(entry, made):
    """How hard a plan makes a model think, as a number to compare within one model."""
    if made.will_think is False or made.level == "off":
        return -1.0
    if made.budget is not None:
        return float(made.budget)
    efforts = entry.capability.efforts
    return float(efforts.index(made.level)) if made.level in efforts else 0.0


def test_the_ladder_is_monotone_on_every_model():
    for entry in _ENTRIES:
        for policy in (Policy(), Policy(budgets="fixed"), Policy(budgets="percent")):
            depths = [_depth(entry, _plan(entry, level, policy)) for level in LEVELS]
            assert depths == sorted(depths), (entry.id, policy, depths)


@given(_entries, st.integers(1, 200_000), _policies)
def test_the_ladder_is_monotone_under_any_cap(entry, cap, policy):
    asked = RequestParameters(max_tokens=cap)
    plans = [_plan(entry, level, policy, asked) for level in LEVELS if level != "off"]
    depths = [_depth(entry, made) for made in plans]
    assert depths == sorted(depths)


@given(_entries, _wishes, _policies, _asked)
def test_only_what_the_family_accepts_is_sent(entry, wish, policy, asked):
    made = _plan(entry, wish, policy, asked)
    said = read_thinking(made.fields, entry.placement, entry.provider.parameters).intent
    assert explain_rejection(said, entry.capability) is None


@given(_entries, _wishes, _policies, _asked)
def test_what_we_placed_read_and_resolved_again_gives_the_same_fields(entry, wish, policy, asked):
    first = _plan(entry, wish, policy, RequestParameters(max_tokens=asked.max_tokens))
    paths = entry.provider.parameters
    said = read_thinking(first.fields, entry.placement, paths)
    show = {True: "summary", False: "none"}.get(said.show, "auto")
    if said.show is None and entry.capability.shown == "ask":
        show = "none"
    again = resolve(
        said.intent,
        entry.capability,
        policy=policy.but(show=show, off="least", budgets="proportional"),
        asked=RequestParameters(max_tokens=said.max_tokens),
        surface=entry.provider.surface,
    )
    assert place_fields(again, entry.placement, paths) == first.fields


@given(_entries, _wishes, _policies, _asked)
def test_an_explicit_cap_is_never_exceeded_nor_raised(entry, wish, policy, asked):
    made = _plan(entry, wish, policy, asked)
    if asked.max_tokens is None:
        return
    cap = read_thinking(made.fields, entry.placement, entry.provider.parameters).max_tokens
    most = max(asked.max_tokens, *entry.provider.ranges.get("max_tokens", ()), 1)
    assert cap is None or cap <= most  # never raised, but to the least that the service takes
    if made.budget is not None and entry.capability.off:
        assert made.budget < asked.max_tokens


@given(_entries, st.sampled_from(LEVELS), st.sampled_from(LEVELS), _policies, _caps)
def test_a_changed_level_changes_the_fields_or_the_plan_says_why(entry, one, other, policy, cap):
    if one == other:
        return
    asked = RequestParameters(max_tokens=cap)
    first, second = _plan(entry, one, policy, asked), _plan(entry, other, policy, asked)
    if first.fields == second.fields and entry.capability.thinks:
        assert first.adjustments or second.adjustments


@given(_entries, _policies)
def test_unset_sends_nothing(entry, policy):
    made = _plan(entry, None, policy)
    assert (made.fields, made.headers) == ({}, {})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_entries, st.dictionaries(st.text(max_size=8), _json, max_size=4), _policies)
def test_native_passes_through_untouched(entry, fields, policy):
    assert _plan(entry, fields, policy).fields == fields


@given(_entries, _wishes, _policies, _asked)
def test_nothing_raises_and_every_code_is_documented(entry, wish, policy, asked):
    made = _plan(entry, wish, policy, asked)
    assert {note.code for note in made.adjustments} <= set(CODES)
    assert set(made.dropped) <= {"temperature", "top_p", "top_k", "tools", "tool_choice"}
    assert set(made.dropped) <= {note.what for note in made.adjustments}


@given(_entries, st.integers(1, 200_000))
def test_a_bigger_number_never_means_less(entry, tokens):
    smaller, bigger = (_plan(entry, n) for n in (tokens, tokens * 2))
    assert _depth(entry, smaller) <= _depth(entry, bigger)
    ranks = [LEVELS.index(nearest_level(n)) for n in (tokens, tokens * 2)]
    assert ranks == sorted(ranks)


_BUDGETED = [
    each for each in _ENTRIES if (takes := each.capability.budget) is not None and not takes.legacy
]


@given(st.sampled_from(_BUDGETED), st.data(), _policies)
def test_a_number_that_the_service_accepts_is_sent_unchanged(entry, data, policy):
    takes = entry.capability.budget
    tokens = data.draw(st.integers(takes.min, takes.max))
    cap = data.draw(st.none() | st.integers(tokens + 1, 2 * tokens + 2))
    most = entry.capability.max_output
    if most is not None and (cap if cap is not None else tokens + 1) > most:
        return  # the output's own limit comes first
    made = _plan(entry, tokens, policy.but(context_cap=0), RequestParameters(max_tokens=cap))
    if cap is None and most is not None and tokens + policy.answer_room > most:
        return  # no cap was given, so room for the answer is ours to keep
    assert made.budget == tokens
    noted = {note.code for note in made.adjustments}
    assert not noted & {"budget_clamped", "answer_room"}
    assert ("little_room" in noted) == (cap is not None and cap - tokens < 1024)


@given(_entries, _wishes, _policies, _asked)
def test_a_plan_is_the_same_every_time(entry, wish, policy, asked):
    assert _plan(entry, wish, policy, asked) == _plan(entry, wish, policy, asked)
