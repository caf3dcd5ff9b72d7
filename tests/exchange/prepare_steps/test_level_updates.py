"""Windows of a conversation: which level its requests state, and which changes are inside."""

import pytest

from pondero.canon import (
    LevelUpdate,
    Message,
    Origin,
    Text,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.client import load_catalog, plan
from pondero.exchange import add_update, find_stated_window, preview_level
from pondero.thinking import Policy

OPUS = load_catalog().entry("anthropic:claude-opus-5")
SOL = load_catalog().entry("openai:gpt-6-sol")
POLICY = Policy()
ASK = Message("user", (Text("hi"),))
RESULTS = Message("user", (ToolResult("c", (Text("sunny"),)),))


def answer(level, entry=OPUS, *parts):
    origin = Origin(entry.provider.name, entry.model, level)
    return Message("assistant", parts or (Text("hello"),), origin)


def update(level):
    return Message("system", (LevelUpdate(level),))


def window(*messages, entry=OPUS):
    found = find_stated_window(entry, messages, POLICY)
    return None if found is None else (found.base, found.level, found.start)


def prompt(history, level, entry=OPUS, said=(ASK,), **how):
    return add_update(entry, plan(entry.id, level), history, said, policy=POLICY, **how)


def test_before_the_first_answer_there_is_no_window():
    assert window(ASK) is None
    assert window(update("low"), ASK) is None


def test_the_first_answer_sets_the_base_level_and_updates_move_the_level_in_effect():
    assert window(ASK, answer("high"), ASK) == ("high", "high", 1)
    changed = (ASK, answer("high"), update("low"), ASK, answer("low"), ASK)
    assert window(*changed) == ("high", "low", 1)
    assert window(*changed, update("max"), ASK) == ("high", "max", 1)


def test_a_level_that_no_update_explains_begins_a_new_window():
    assert window(ASK, answer("high"), ASK, answer("low"), ASK) == ("low", "low", 3)
    assert window(ASK, answer("high"), update("low"), ASK, answer("max")) == ("max", "max", 4)


def test_another_model_ends_the_window_and_a_return_begins_a_new_one():
    moved = (ASK, answer("high"), update("low"), ASK, answer("low"), ASK, answer("low", SOL), ASK)
    assert window(*moved) is None
    assert window(*moved, entry=SOL) == ("low", "low", 6)
    assert window(*moved, answer("high"), ASK) == ("high", "high", 8)


def test_off_is_never_inside_a_window():
    assert window(ASK, answer("high"), update("off"), ASK, answer("off")) == ("off", "off", 4)


def test_an_update_without_new_input_of_the_user_explains_nothing():
    called = answer("high", OPUS, ToolCall("c", "look", {}))
    assert window(ASK, called, RESULTS, update("low"), answer("low")) == ("low", "low", 4)


def test_a_compaction_begins_a_new_window():
    compacted = answer("low", SOL, UnknownPart("openai_responses", {"type": "compaction"}))
    history = (ASK, answer("high", SOL), update("low"), ASK, compacted, ASK)
    assert window(*history, entry=SOL) == ("low", "low", 4)


@pytest.mark.parametrize(
    ("level", "added"),
    [("low", "low"), ("minimal", "minimal"), ("8000", "8000"), ("max", "max"), ("high", None)],
)
def test_a_changed_level_is_recorded_as_it_was_requested(level, added):
    said = prompt((ASK, answer("high")), level)
    assert [each.level_update.level for each in said[:-1]] == ([added] if added else [])
    assert said[-1] == ASK


@pytest.mark.parametrize("level", ["off", "on", None])
def test_what_cannot_be_said_inside_is_not_recorded(level):
    assert prompt((ASK, answer("high")), level) == (ASK,)
    assert prompt((ASK, answer(level)), "low") == (ASK,)


def test_results_of_tools_alone_change_no_level():
    called = answer("high", OPUS, ToolCall("c", "look", {}))
    assert prompt((ASK, called), "low", said=(RESULTS,)) == (RESULTS,)
    mixed = Message("user", (*RESULTS.parts, Text("And?")))
    assert prompt((ASK, called), "low", said=(mixed,)) == (update("low"), mixed)


@pytest.mark.parametrize(
    ("extras", "inside"),
    [
        ({"truncation": "auto"}, False),
        ({"truncation": "disabled"}, True),
        ({"context_management": [{"type": "compaction"}]}, False),
        ({"reasoning": {"mode": "pro"}}, False),
        ({"metadata": {"a": "b"}}, True),
    ],
)
def test_some_fields_exclude_a_level_inside(extras, inside):
    said = prompt((ASK, answer("high", SOL)), "low", SOL, extras=extras)
    assert (len(said) == 2) is inside


def test_a_preview_says_what_a_level_does_to_the_cache():
    def preview(entry, level, **how):
        history = (ASK, answer("high", entry))
        found = preview_level(entry, plan(entry.id, level), history, policy=POLICY, **how)
        return found and (found.code, found.got)

    old = load_catalog().entry("anthropic:claude-opus-4-8")
    assert preview(OPUS, "low") == ("cache_kept", "kept")
    assert preview(OPUS, "high") is None
    assert preview(OPUS, "off", last_prompt=41_200) == ("cache_lost", 41_200)
    assert preview(old, "low", last_prompt=41_200) == ("cache_lost", 41_200)
    assert preview(old, "low")[1] > 0
