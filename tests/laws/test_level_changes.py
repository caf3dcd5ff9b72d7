"""A level that changes inside a conversation: accepted, in effect, and without losing the prefix."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.conversations import (
    Conversation,
    get_weather,
    list_families,
    list_inside_models,
    list_models,
)

from pondero.client import load_catalog

MODELS = list_models()
INSIDE = list_inside_models()
LEVELS = ("off", "low", "medium", "high", "max", 8000)
WORDS = ("low", "medium", "high", "xhigh", "max")

steps = st.one_of(
    st.tuples(st.just("level"), st.sampled_from(LEVELS)),
    st.tuples(st.just("model"), st.sampled_from(INSIDE[:12] + MODELS)),
    st.tuples(st.sampled_from(["say", "say", "tools", "save", "branch"]), st.none()),
)


def take(talk: Conversation, step: tuple[str, Any]) -> None:
    what, value = step
    if what == "level":
        talk.chat.thinking = value
    elif what == "model":
        talk.chat.model = value
    elif what == "save":
        talk.reload()
    elif what == "branch":
        talk.branch()
    elif what == "tools":
        talk.use_tools()
    else:
        talk.say()


def check_levels(talk: Conversation) -> None:
    """The service reads the level that the plan says; a level inside is what the request lacks."""
    for sent in talk.requests:
        if "cache_kept" in sent.codes:
            assert sent.level == sent.plan.level
        efforts = load_catalog().entry(sent.plan.model).capability.efforts
        if sent.plan.budget is None and sent.plan.level in efforts:
            assert sent.level == sent.plan.level
        if sent.plan.level == "off" and sent.plan.will_think is False:
            assert sent.level == "off"


def check_prefixes(talk: Conversation) -> None:
    """A request of the same model begins with the one before, unless its plan says otherwise."""
    for before, sent in pairwise(talk.requests):
        if "cache_kept" in sent.codes and before.plan.model == sent.plan.model:
            assert sent.extends(before)
        if "cache_lost" in sent.codes:
            assert not sent.extends(before)


@given(st.sampled_from(MODELS), st.lists(steps, max_size=8))
def test_any_order_of_changes_is_accepted_and_the_last_level_is_in_effect(model, drawn):
    talk = Conversation(model, "high", tools=[get_weather])
    for step in [("say", None), *drawn, ("say", None)]:
        take(talk, step)
    check_levels(talk)
    assert str(talk.requests[-1].plan.asked) == str(talk.chat.thinking)


TOUR = (
    *("say", "low", "tools", "max", "save", "say", "off", "say", 8000, "branch", "medium", "say"),
    *(
        "away",
        "low",
        "tools",
        "high",
        "back",
        "say",
        "low",
        "tools",
        "save",
        "branch",
        "max",
        "say",
    ),
)
"""Levels, and what happens between them; away and back: another model and the first one."""


def follow(talk: Conversation, model: str) -> None:
    away = "gpt-6-sol" if "claude" in model else "claude-opus-5"
    moves = {"away": ("model", away), "back": ("model", model)}
    for word in TOUR:
        step = (word, None) if word in ("say", "tools", "save", "branch") else ("level", word)
        take(talk, moves.get(str(word), step))


@pytest.mark.parametrize("model", list_families())
def test_every_family_follows_the_level_through_tools_saves_branches_and_other_models(model):
    talk = Conversation(model, "high", tools=[get_weather])
    follow(talk, model)
    check_levels(talk)
    check_prefixes(talk)
    last = talk.requests[-1].plan
    assert (last.model, last.asked) == (load_catalog().entry(model).id, "max")


@given(st.sampled_from(INSIDE), st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_while_the_window_lasts_each_request_begins_with_the_one_before(model, levels):
    talk = Conversation(model, "high", tools=[get_weather])
    talk.say()
    for level in levels:
        talk.chat.thinking = level
        talk.use_tools()
        talk.say()
    assert all(after.extends(before) for before, after in pairwise(talk.requests))
    check_levels(talk)
    assert not any("cache_lost" in sent.codes for sent in talk.requests)


@given(st.sampled_from(MODELS), st.lists(st.sampled_from(LEVELS), min_size=1, max_size=6))
def test_a_plan_says_when_the_prefix_is_lost(model, levels):
    talk = Conversation(model, "high")
    talk.say()
    for level in levels:
        talk.chat.thinking = level
        talk.say()
    check_prefixes(talk)
    for before, sent in pairwise(talk.requests):
        same = before.plan.level == sent.plan.level and before.plan.budget == sent.plan.budget
        if not same and None not in (before.plan.level, sent.plan.level):
            changed = before.stated != sent.stated
            assert changed == ("cache_lost" in sent.codes)


@pytest.mark.parametrize("model", INSIDE)
def test_every_model_with_the_form_keeps_its_prefix_over_thirty_turns(model):
    talk = Conversation(model, "high")
    for turn in range(30):
        if turn % 3 == 2:
            talk.chat.thinking = WORDS[turn // 3 % len(WORDS)]
        talk.say()
    assert all(after.extends(before) for before, after in pairwise(talk.requests))
    assert len({sent.level for sent in talk.requests}) == len(WORDS)


def test_with_changes_at_the_top_the_prefix_is_lost_each_time():
    talk = Conversation("claude-opus-4-8", "high")
    for turn in range(9):
        if turn % 3 == 2:
            talk.chat.thinking = ("low", "medium", "max")[turn // 3]
        talk.say()
    kept = [after.extends(before) for before, after in pairwise(talk.requests)]
    assert kept.count(False) == 3
