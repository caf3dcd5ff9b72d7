"""Changes of level in a thread: kept in their place for one destination, withheld from others."""

from msgspec import structs

from pondero.canon import (
    LevelUpdate,
    Message,
    Origin,
    ReplayRules,
    Text,
    ToolCall,
    ToolResult,
)
from pondero.handoff import Change, Destination, Manifest, handoff

HOME = Destination(dialect="red", model="m1", provider="north", route="north", updates_from=0)
ASK = Message("user", (Text("hi"),))
ANSWER = Message("assistant", (Text("hello"),), Origin("north", "m1"))
LOW = Message("system", (LevelUpdate("low"),))
HIGH = Message("system", (LevelUpdate("high"),))
NOTE = Message("system", (Text("Be brief."),))


def test_a_change_of_level_keeps_its_place():
    thread = (ASK, ANSWER, LOW, ASK, ANSWER, HIGH, ASK)
    for rule in ("anywhere", "after_user", "lead"):
        to = structs.replace(HOME, takes=ReplayRules(system_turns=rule))
        assert handoff(thread, to).messages == thread


def test_a_change_of_level_before_the_window_is_withheld_and_said_so():
    thread = (ASK, ANSWER, LOW, ASK, ANSWER, HIGH, ASK)
    view = handoff(thread, structs.replace(HOME, updates_from=3))
    assert view.messages == (ASK, ANSWER, ASK, ANSWER, HIGH, ASK)
    assert [(c.action, c.what, c.message) for c in view.manifest.changes] == [
        ("withheld", "level_update", 2)
    ]


def test_without_a_window_none_is_sent():
    view = handoff((ASK, ANSWER, LOW, ASK), structs.replace(HOME, updates_from=None))
    assert view.messages == (ASK, ANSWER, ASK)


def test_results_stay_right_after_their_calls():
    call = Message("assistant", (ToolCall("c1", "look", {}),), Origin("north", "m1"))
    results = Message("user", (ToolResult("c1", (Text("sunny"),)),))
    view = handoff((ASK, call, LOW, results, ANSWER, ASK), HOME)
    assert [message.role for message in view.messages[:4]] == [
        "user",
        "assistant",
        "user",
        "system",
    ]
    assert view.messages[3] == LOW


def test_system_text_moves_past_a_change_of_level_and_leaves_it_where_it_is():
    to = structs.replace(HOME, takes=ReplayRules(system_turns="after_user"))
    view = handoff((ASK, ANSWER, NOTE, LOW, NOTE, ASK), to)
    assert view.messages == (ASK, ANSWER, LOW, ASK, NOTE, NOTE)
    changed = [(c.what, c.message) for c in view.manifest.changes]
    assert changed == [("system", 2), ("system", 4)]


def test_system_text_folds_into_a_user_turn_behind_a_change_of_level():
    to = structs.replace(HOME, takes=ReplayRules(system_turns="lead"))
    view = handoff((ASK, ANSWER, NOTE, LOW, ASK), to)
    assert [message.role for message in view.messages] == ["user", "assistant", "system", "user"]
    assert view.messages[2] == LOW
    assert "Be brief." in view.messages[3].text


def test_a_change_of_level_that_is_withheld_is_said_in_words():
    change = Change("withheld", "level_update", "it is of another model", 0, 0)
    assert str(Manifest(1, 1, changes=(change,))).splitlines()[1:] == [
        "  withheld change of level: it is of another model"
    ]
