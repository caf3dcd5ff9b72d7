"""The second turn at the service: seals, ids and calls that belong together."""

import json

import pytest
from tests.dialects.openai_responses.making import MODEL, accepted, asking, refused

from pondero.canon import Message, Reply, Text, Thinking, ToolCall, Usage
from pondero.dialects import Rejected
from pondero.dialects.openai_responses.service import SERVICE

TOOLS = [{"type": "function", "name": "f", "parameters": {}}]


def first(*parts, **changes):
    """Return the output of a first answer, as it is to be sent back."""
    asked = accepted(asking(tools=TOOLS, store=False, **changes))
    answer = Reply(Message("assistant", parts), "stop", Usage(1, 0, 0, 1, 1, 3))
    return json.loads(SERVICE.reply(asked, answer).body)["output"]


def result(call_id):
    return {"type": "function_call_output", "call_id": call_id, "output": "ok"}


def without(item, *keys):
    return {key: value for key, value in item.items() if key not in keys}


def test_an_answer_comes_back_whole():
    thought, call = first(Thinking("hm"), ToolCall("c1", "f", {}))
    thought2, said = first(Thinking("hm2"), Text("42"), metadata={"turn": "2"})

    assert accepted(asking(thought, call, result("c1"), thought2, said, store=False))


def test_nothing_of_it_needs_its_id_when_all_go_without():
    thought, call = first(Thinking("hm"), ToolCall("c1", "f", {}))

    assert accepted(asking(without(thought, "id"), without(call, "id"), result("c1"), store=False))


def test_thinking_may_be_left_out_with_the_ids_of_what_followed():
    _, said = first(Thinking("hm"), Text("42"))

    assert accepted(asking(without(said, "id")))


@pytest.mark.parametrize("what", ["nothing", "words", "without an id", "of another answer"])
def test_thinking_without_its_follower_is_refused(what):
    thought, said = first(Thinking("hm"), Text("42"))
    _, other = first(
        Thinking("hm"), Text("42"), model="gpt-5.5", include=["reasoning.encrypted_content"]
    )
    followers = {
        "nothing": [],
        "words": [{"role": "user", "content": "And?"}],
        "without an id": [without(said, "id")],
        "of another answer": [other],
    }

    error = refused(asking(thought, *followers[what]))

    assert error["status"] == 400
    assert error["message"] == (
        f"Item '{thought['id']}' of type 'reasoning' was provided without its required following item."
    )


def test_a_follower_without_its_thinking_is_refused():
    thought, call = first(Thinking("hm"), ToolCall("c1", "f", {}))

    error = refused(asking(call, result("c1")))

    assert error["message"] == (
        f"Item '{call['id']}' of type 'function_call' was provided without its required "
        f"'reasoning' item: '{thought['id']}'."
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-6] + "AAAA" + text[-2:],
        lambda text: text[:40],
        lambda _: "gAAAAABqVTl5wQoXNFgG0B6TIiPUrvzdREfy4S8XTusCm-eeKN_VtMVdllgc==",
        lambda _: "x",
        lambda text: text + "ü",
    ],
)
def test_a_seal_that_was_changed_or_is_foreign_is_refused(change):
    thought, said = first(Thinking("hm"), Text("42"))
    broken = thought | {"encrypted_content": change(thought["encrypted_content"])}

    error = refused(asking(broken, said))

    assert error["status"] == 400
    assert error["code"] == "invalid_encrypted_content"
    assert "could not be verified" in error["message"]


def test_a_seal_on_another_items_id_is_refused():
    thought, said, *_ = first(Thinking("hm"), Text("42"))
    other, _ = first(Thinking("hm"), Text("42"), model="gpt-5.6-luna")

    error = refused(asking(thought | {"encrypted_content": other["encrypted_content"]}, said))

    assert error["code"] == "invalid_encrypted_content"


def test_an_id_alone_is_not_found_where_nothing_was_stored():
    thought, said = first(Thinking("hm"), Text("42"))
    bare = without(thought, "encrypted_content")

    error = refused(asking(bare, said, store=False))

    assert error["status"] == 404
    assert error["message"].startswith(
        f"Item with id '{thought['id']}' not found. Items are not persisted"
    )


def test_an_id_alone_is_found_where_it_was_stored():
    asked = accepted(asking())
    answer = Reply(Message("assistant", (Thinking("hm"), Text("42"))), "stop")
    thought, said = json.loads(SERVICE.reply(asked, answer).body)["output"]

    assert accepted(asking(without(thought, "encrypted_content"), said))


def test_raw_thinking_in_the_open_is_taken():
    item = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }

    (_, message) = accepted(asking(item, {"role": "assistant", "content": "42"})).request.messages

    assert message.parts[0].text == "hm"


def test_thinking_with_neither_id_nor_seal_is_nothing():
    error = refused(asking({"type": "reasoning", "summary": []}))

    assert error["param"] == "input[1].id"


def test_a_call_without_its_result_is_refused():
    call = {"type": "function_call", "call_id": "c9", "name": "f", "arguments": "{}"}

    assert refused(asking(call))["message"] == "No tool output found for function call c9."


SEARCH = {
    "id": "ctc_1_xs_call_1",
    "type": "custom_tool_call",
    "status": "completed",
    "call_id": "xs_call_1",
    "name": "x_keyword_search",
    "input": '{"query":"owls"}',
}
HOSTED = [{"type": "x_search"}]


@pytest.mark.parametrize("tools", [HOSTED, [], [*HOSTED, {"type": "custom", "name": "shell"}]])
def test_a_call_that_the_service_ran_itself_goes_back_without_an_output(tools):
    asked = asking(SEARCH, tools=tools, model="grok-4.5")
    assert accepted(asked, provider="xai-responses")


@pytest.mark.parametrize(
    ("call", "changes", "provider"),
    [
        (SEARCH, {"model": MODEL}, "openai"),
        (SEARCH, {"tools": [{"type": "custom", "name": "x_keyword_search"}]}, "xai-responses"),
        (SEARCH | {"status": "in_progress"}, {"tools": HOSTED}, "xai-responses"),
    ],
    ids=["another service", "the caller's tool", "not done"],
)
def test_any_other_custom_call_needs_its_output(call, changes, provider):
    with pytest.raises(Rejected) as refusal:
        accepted(asking(call, **{"model": "grok-4.5"} | changes), provider=provider)
    assert b"No tool output found for function call xs_call_1." in refusal.value.response.body


def test_a_result_without_its_call_is_refused():
    error = refused(asking(result("c9")))

    assert error["message"] == "No tool call found for function call output with call_id c9."


def test_unshown_thinking_is_sealed_all_the_same():
    (thought, _) = first(Thinking("a secret thought"), Text("42"))

    assert thought["summary"] == []
    assert "a secret thought" not in json.dumps(thought)
    assert MODEL not in json.dumps(thought)


@pytest.mark.parametrize("part", [Text("42"), ToolCall("c1", "f", {})])
def test_a_follower_needs_no_id_where_nothing_is_stored(part):
    """Recorded: gpt-5.6-luna with a message, gpt-5.6-terra with a call."""
    thought, follower = first(Thinking("hm"), part)
    items = [thought, without(follower, "id", "status")]
    if isinstance(part, ToolCall):
        items.append(result("c1"))
    assert accepted(asking(*items, store=False))
    bare = [without(thought, "encrypted_content"), *items[1:]]
    assert refused(asking(*bare, store=False))["status"] in (400, 404)


def test_where_answers_are_stored_only_a_call_needs_no_id():
    """A call has a ``call_id``: the AI SDK leaves its id out (vercel/ai#15795)."""
    thought, text = first(Thinking("hm"), Text("42"))
    edited = asking(thought, without(text, "id", "status"))
    assert "required following item" in refused(edited)["message"]
    thought, call = first(Thinking("hm"), ToolCall("c1", "f", {}))
    assert accepted(asking(thought, without(call, "id", "status"), result("c1")))
