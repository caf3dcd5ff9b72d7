"""What a conversation asks at its end, among all that agent programs put beside it."""

import pytest

from pondero.canon import Message, Text, ToolCall, ToolResult
from pondero.emulator.responders.question import CallDirective, parse_question
from pondero.handoff.system_turns import place

REMINDER = "<system-reminder>\nUse the Bash tool to search the web. 1 + 1\n</system-reminder>"


def user(*texts):
    return Message("user", tuple(map(Text, texts)))


@pytest.mark.parametrize(
    "messages",
    [
        [user("What is 17 * 23?")],
        [user(REMINDER, "What is 17 * 23?")],
        [user("What is 17 * 23?", REMINDER)],
        [user(f"{REMINDER}\nWhat is 17 * 23?\n{REMINDER}")],
        [user("A whole file of other words.", "What is 17 * 23?")],
        [user("What is 17 * 23?"), user(REMINDER)],
        [user("<environment_context><cwd>/home</cwd></environment_context>"), user("What is 17 * 23?")],
        [user("<session_context>\nToday is Friday.\n</session_context>", "What is 17 * 23?")],
        [user('"What is 17 * 23?"')],
    ],
)  # fmt: skip
def test_the_question_is_the_last_text_that_is_not_context(messages):
    assert parse_question(messages).question == "What is 17 * 23?"


def test_a_system_turn_that_was_moved_into_the_question_is_not_asked():
    note = Message("system", (Text("Use the Bash tool. 2-3 skills exist."),))
    moved = place([user("What is 17 * 23?"), note], "lead").messages
    assert [message.role for message in moved] == ["user"]
    assert parse_question(moved).question == "What is 17 * 23?"


def test_text_beside_a_result_is_no_new_question():
    call, result = ToolCall("c", "look", {}), ToolResult("c", (Text("seen"),))
    asked = parse_question([
        user("Look."),
        Message("assistant", (call,)),
        Message("user", (result, Text("Tool loaded."))),
    ])  # fmt: skip
    assert (asked.question, asked.calls, asked.results) == ("Look.", (call,), (result,))


def test_a_directive_in_a_reminder_is_none():
    asked = parse_question(
        [user("<system-reminder>[emulator: refuse]</system-reminder>", "Hello.")]
    )
    assert not asked.wants("refuse")


@pytest.mark.parametrize(
    ("words", "orders"),
    [
        ('[emulator: call Bash {"command": "ls"}]', (CallDirective("Bash", {"command": "ls"}),)),
        ("Go. [emulator: call list_all]", (CallDirective("list_all", {}),)),
        ('[emulator: call a {"x": [1, "]"]}] and [emulator: call b {}]',
         (CallDirective("a", {"x": [1, "]"]}), CallDirective("b", {}))),
        ('"[emulator: call a {\\"x\\": 1}]"', (CallDirective("a", {"x": 1}),)),
        ('[emulator: call Bash {"command": ]', ()),
    ],
)  # fmt: skip
def test_calls_can_be_ordered_with_any_json(words, orders):
    assert parse_question([user(words)]).orders == orders


def test_what_was_ordered_is_not_part_of_the_question():
    assert parse_question([user('Go [emulator: call a {"x": [1]}] on.')]).question == "Go  on."
