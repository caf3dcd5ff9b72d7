"""Turn two: what the service gave goes back in place, in pairs, to its maker only."""

import json
from itertools import combinations

import pytest
from msgspec import structs
from tests.dialects.openai_responses.making import (
    HELLO,
    MODEL,
    NAME,
    answer,
    assembled,
    decoded,
    items_of,
    seal,
)

from pondero.canon import (
    Message,
    Origin,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.dialects.openai_responses.caller import CALLER
from pondero.handoff import Destination, handoff

THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAABx"}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "42", "annotations": []}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city": "Paris"}',
}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {}}


def answered(*output, **changes):
    return assembled(decoded(answer(*output, **changes))).message()


def back(message, **quirks):
    return items_of(message, quirks=quirks)


@pytest.mark.parametrize(
    "output",
    [
        [THOUGHT, SAID],
        [THOUGHT, CALL],
        [THOUGHT, CALL, CALL | {"id": "fc_2", "call_id": "call_2"}],
        [THOUGHT, CALL, THOUGHT | {"id": "rs_2"}, SAID],
        [THOUGHT, THOUGHT | {"id": "rs_2"}, SAID],
        [THOUGHT, SEARCH, THOUGHT | {"id": "rs_2"}, SEARCH | {"id": "ws_2"}, SAID],
        [SAID | {"phase": "commentary"}, THOUGHT, CALL],
        [THOUGHT | {"summary": [{"type": "summary_text", "text": "Hm."}]}, SAID],
        [THOUGHT | {"content": [{"type": "reasoning_text", "text": "2+2"}]}, SAID],
        [{"type": "reasoning", "summary": [], "encrypted_content": "x"}, SAID],
        [SAID | {"content": [{"type": "refusal", "refusal": "No."}]}],
        [CALL | {"namespace": "crm"}],
        [{"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}, SAID],
        [{"type": "not_yet_known", "id": "x", "deep": {"a": [1]}}],
        [
            {
                "id": "ctc_1",
                "type": "custom_tool_call",
                "call_id": "c",
                "name": "sh",
                "input": "ls",
            }
        ],
    ],
)
def test_an_answer_goes_back_as_it_came(output):
    assert back(answered(*output)) == output


def test_contents_of_one_message_go_back_as_one_message():
    contents = [
        {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation"}]},
        {"type": "output_hologram", "x": 1},
        {"type": "output_text", "text": "b", "annotations": []},
    ]
    said = SAID | {"content": contents}

    assert back(answered(THOUGHT, said)) == [THOUGHT, said]


def test_the_summary_is_there_also_when_there_is_none():
    """T1: Missing required parameter: 'input[1].summary'."""
    sealed = Thinking("", seal({"encrypted_content": "x"}))

    assert back(Message("assistant", (sealed, Text("42"))))[0]["summary"] == []


def test_arguments_are_text_as_they_came():
    """T2: expected a string, but got an object instead."""
    assert back(answered(CALL))[0]["arguments"] == '{"city": "Paris"}'


def test_arguments_that_were_changed_since_are_written_anew():
    part = answered(CALL).parts[0]
    changed = ToolCall(part.id, part.name, {"city": "Rome"}, part.signature)

    assert back(Message("assistant", (changed,)))[0]["arguments"] == '{"city":"Rome"}'


def test_thinking_that_was_neither_sealed_nor_stored_cannot_go_back():
    """T9: an id alone is not found when nothing is stored."""
    bare = {"id": "rs_1", "type": "reasoning", "summary": []}

    (said,) = back(answered(bare, SAID, store=False))
    stored = back(answered(bare, SAID, store=True))

    assert "id" not in said
    assert stored == [bare, SAID]


def test_thinking_without_what_follows_it_stays_here():
    assert back(answered(THOUGHT)) == []
    assert back(answered(SAID, THOUGHT)) == [SAID]


def test_a_deployment_without_pairs_gets_it_back_all_the_same():
    assert back(answered(SAID, THOUGHT), pairing=False) == [SAID, THOUGHT]


def test_thinking_whose_follower_was_rewritten_stays_here():
    thinking, _ = answered(THOUGHT, SAID).parts

    items = back(Message("assistant", (thinking, Text("The meaning of life is 42"))))

    assert items == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "The meaning of life is 42"}],
        }
    ]


@pytest.mark.parametrize("follower", [SAID, CALL])
def test_a_follower_whose_thinking_was_dropped_goes_without_its_id(follower):
    _, part = answered(THOUGHT, follower).parts

    for parts in ((part,), (Thinking("foreign"), part)):
        (item,) = back(Message("assistant", parts))
        assert item == {key: value for key, value in follower.items() if key != "id"}


def test_what_cannot_go_without_its_id_stays_here_with_its_thinking():
    parts = answered(THOUGHT, SEARCH, SAID).parts[1:]

    (item,) = back(Message("assistant", parts))

    assert item["type"] == "message"
    assert "id" not in item


def test_only_the_pair_that_is_broken_suffers():
    parts = answered(THOUGHT, CALL, THOUGHT | {"id": "rs_2"}, SAID).parts

    items = back(Message("assistant", parts[1:]))

    assert [item.get("id") for item in items] == [None, "rs_2", "msg_1"]


def test_a_seal_of_another_dialect_is_never_opened():
    foreign = Signature(
        "another", {"id": "rs_1", "item": {"id": "msg_1"}, "encrypted_content": "secret"}
    )
    parts = (
        Thinking("hm", foreign),
        Text("42", foreign, citations=({"a": 1},)),
        ToolCall("c", "f", {}, foreign),
        UnknownPart("another", {"type": "x"}),
    )

    assert back(Message("assistant", parts)) == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "42"}],
        },
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]


def test_thinking_that_was_cut_off_stays_here():
    assert back(Message("assistant", (Thinking("half a th"), Text("42")))) == [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "42"}]}
    ]


def test_an_id_of_our_making_pairs_a_call_and_its_output_where_the_service_gave_none():
    message = answered({"type": "function_call", "name": "f", "arguments": "{}"})
    (call,) = message.tool_calls

    items = items_of(*HELLO, message, Message("user", (ToolResult(call.id, (Text("ok"),)),)))

    assert items[1]["call_id"] == call.id
    assert items[2] == {"type": "function_call_output", "call_id": call.id, "output": "ok"}


def test_an_id_minted_for_another_service_is_as_good_as_any_here():
    call = ToolCall("a" * 22, "f", {}, Signature("gemini", "x"), minted=True)

    (item,) = back(Message("assistant", (call,)))

    assert item["call_id"] == "a" * 22


def test_the_result_of_a_free_text_call_is_of_its_kind():
    output = {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "call_id": "c",
        "name": "sh",
        "input": "ls",
    }
    result = Message("user", (ToolResult("c", (Text("a.txt"),)),))

    items = items_of(answered(output), result)

    assert items[1] == {"type": "custom_tool_call_output", "call_id": "c", "output": "a.txt"}


def test_endless_integers_in_arguments_survive():
    call = CALL | {"arguments": f'{{"n":{10**30}}}'}

    assert back(answered(call)) == [call]
    assert back(Message("assistant", (ToolCall("c", "f", {"n": 10**30}),)))[0]["arguments"] == (
        f'{{"n":{10**30}}}'
    )


def test_half_a_surrogate_pair_in_arguments_is_written_as_good_json():
    (item,) = back(Message("assistant", (ToolCall("c", "f", {"a": "\ud83d"}),)))

    assert json.loads(item["arguments"]) == {"a": "\ud83d"}


def test_a_seal_that_is_no_seal_of_ours_in_shape_is_left_alone():
    odd = Thinking("x", Signature(NAME, "just text"))

    assert len(back(Message("assistant", (odd, Text("42"))))) == 1


def test_a_long_thread_is_encoded_in_one_pass():
    messages = []
    for number in range(300):
        thought = THOUGHT | {"id": f"rs_{number}"}
        call = CALL | {"id": f"fc_{number}", "call_id": f"call_{number}"}
        messages += [
            *HELLO,
            answered(thought, call),
            Message("user", (ToolResult(f"call_{number}", (Text("ok"),)),)),
        ]

    assert len(items_of(*messages)) == 1200


PAST = answered(THOUGHT, SAID, THOUGHT | {"id": "rs_2"}, SEARCH, THOUGHT | {"id": "rs_3"}, CALL)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_would_be_left_out_of_a_past_is_named(count):
    """Every choice of an answer's parts, in order, with and without the followers' ids."""
    takes = CALLER.replay_rules({}).unpaired
    for chosen in combinations(PAST.parts, count):
        for parts in (chosen, [p if isinstance(p, Thinking) else stripped(p) for p in chosen]):
            left = takes(parts)
            sent = items_of(Message("assistant", tuple(parts)))
            assert len(sent) == len(parts) - len(left)
            kept = tuple(part for number, part in enumerate(parts) if number not in left)
            assert items_of(Message("assistant", kept)) == sent
            assert takes(kept) == {}


def stripped(part):
    return structs.replace(part, signature=None)


def test_a_past_without_the_followers_ids_says_that_thinking_stays_here():
    parts = [p if isinstance(p, Thinking) else stripped(p) for p in PAST.parts]
    to = Destination(
        dialect=NAME, model=MODEL, provider="openai", route="openai", takes=CALLER.replay_rules({})
    )
    view = handoff([*HELLO, Message("assistant", tuple(parts), Origin("openai", MODEL))], to)
    changes = [(each.action, each.what, each.part) for each in view.manifest.changes]
    whys = {each.why for each in view.manifest.changes if each.what == "thinking"}
    assert whys == {
        "the item after it is gone or does not name it, and the service takes only both"
    }
    withheld = [each for each in changes if each[0] == "withheld"]
    assert withheld == [("withheld", "thinking", number) for number in (0, 2, 4)]
    assert not any(isinstance(part, Thinking) for m in view.messages for part in m.parts)
