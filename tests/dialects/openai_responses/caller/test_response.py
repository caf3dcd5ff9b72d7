"""Whole answers to parts, seals and citations."""

from typing import Any

import pytest
from tests.dialects.openai_responses.making import (
    MODEL,
    NAME,
    OK,
    answer,
    assembled,
    decoded,
    parts_of,
    seal,
)

from pondero.canon import (
    Finished,
    PartEnd,
    PartStart,
    Started,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
    dump_json,
)
from pondero.dialects import AnswerContext
from pondero.dialects.openai_responses.caller import CALLER
from pondero.dialects.openai_responses.caller.parts import Items
from pondero.errors import Malformed, QuotaSpent, ServerFailed

THINKING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [
        {"type": "summary_text", "text": "First."},
        {"type": "summary_text", "text": "Then."},
    ],
    "encrypted_content": "gAAAAABx",
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "42", "annotations": [], "logprobs": []}],
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city":"Paris"}',
}


def test_an_answer_begins_with_its_model_and_ends_once():
    events = decoded(answer(SAID))

    assert events[0] == Started(MODEL, "resp_1")
    assert [type(event) for event in events].count(Finished) == 1
    assert isinstance(events[-1], Finished)


def test_the_summaries_of_one_item_are_one_part_and_its_seal_holds_the_item():
    thinking, said = parts_of(decoded(answer(THINKING, SAID)))

    assert thinking.text == "First.\n\nThen."
    assert thinking.signature == seal(
        {key: value for key, value in THINKING.items() if key != "type"}
    )
    assert said == Text(
        "42",
        seal(
            {
                "item": {"id": "msg_1", "status": "completed", "phase": "final_answer"},
                "after": "rs_1",
            }
        ),
    )


def test_raw_thinking_is_read_where_a_server_gives_it():
    item = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "2+2 is 4"}],
        "encrypted_content": None,
    }

    (thinking, _) = parts_of(decoded(answer(item, SAID)))

    assert thinking.text == "2+2 is 4"
    assert "encrypted_content" not in thinking.signature.value


def test_thinking_that_shows_nothing_is_an_empty_part_with_its_seal():
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAABx"}

    (thinking, _) = parts_of(decoded(answer(item, SAID)))

    assert thinking == Thinking(
        "", seal({"id": "rs_1", "summary": [], "encrypted_content": "gAAAAABx"})
    )


def test_several_items_of_thinking_stay_in_order_between_the_calls():
    second = THINKING | {"id": "rs_2"}

    parts = parts_of(
        decoded(answer(THINKING, CALL, second, CALL | {"id": "fc_2", "call_id": "c2"}))
    )

    assert [type(part) for part in parts] == [Thinking, ToolCall, Thinking, ToolCall]
    assert [part.signature.value.get("after") for part in parts if isinstance(part, ToolCall)] == [
        "rs_1",
        "rs_2",
    ]


def test_a_call_keeps_the_services_id_and_everything_it_does_not_know():
    call = CALL | {"namespace": "crm", "caller": {"type": "direct"}}

    (part,) = parts_of(decoded(answer(call)))

    assert part == ToolCall(
        "call_1",
        "weather",
        {"city": "Paris"},
        seal(
            {
                "item": {
                    "id": "fc_1",
                    "status": "completed",
                    "namespace": "crm",
                    "caller": {"type": "direct"},
                }
            }
        ),
    )


@pytest.mark.parametrize(
    ("text", "arguments", "noted"),
    [
        ('{"a":1}', {"a": 1}, None),
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ("", {}, ""),
        ('{"a":1', '{"a":1', None),
        ("[1]", [1], None),
        ('{"n":1e2}', {"n": 100.0}, '{"n":1e2}'),
        (f'{{"n":{10**30}}}', {"n": 10**30}, None),
        ('"text"', '"text"', None),
    ],
)
def test_arguments_are_read_and_their_text_is_kept_where_it_could_not_be_written_again(
    text, arguments, noted
):
    (part,) = parts_of(decoded(answer(CALL | {"arguments": text})))

    assert part.arguments == arguments
    assert part.signature.value.get("arguments") == noted


def test_a_call_without_any_id_gets_one_of_22_characters_that_is_not_the_services():
    bare = {"type": "function_call", "name": "f", "arguments": "{}"}

    first, second = parts_of(decoded(answer(bare, bare)))

    assert first.minted
    assert second.minted
    assert len(first.id) == len(second.id) == 22
    assert first.id != second.id


def test_a_free_text_call_is_a_call():
    item = {
        "id": "ctc_1",
        "type": "custom_tool_call",
        "call_id": "call_1",
        "name": "shell",
        "input": "ls -l",
    }

    (part,) = parts_of(decoded(answer(item)))

    assert part == ToolCall(
        "call_1", "shell", "ls -l", seal({"item": {"id": "ctc_1"}, "type": "custom_tool_call"})
    )


@pytest.mark.parametrize(
    "kind",
    [
        *("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"),
        *(
            "mcp_list_tools",
            "image_generation_call",
            "computer_call",
            "compaction",
            "not_yet_known",
        ),
    ],
)
def test_what_the_service_does_itself_is_kept_as_it_came(kind):
    item = {"id": "x_1", "type": kind, "status": "completed", "anything": [1, {"b": None}]}

    assert parts_of(decoded(answer(item))) == (UnknownPart(NAME, item),)


SEARCH = {
    "id": "ctc_1_xs_call_1",
    "type": "custom_tool_call",
    "status": "completed",
    "call_id": "xs_call_1",
    "name": "x_keyword_search",
    "input": '{"query":"ruby","limit":10}',
}
HOSTED = [{"type": "web_search"}, {"type": "x_search"}]
SHELL = {"type": "custom", "name": "shell"}


@pytest.mark.parametrize("tools", [HOSTED, [*HOSTED, SHELL, {"type": "function", "name": "f"}]])
def test_a_custom_call_that_the_service_ran_itself_is_not_the_callers(tools):
    events = decoded(answer(SEARCH, SAID, tools=tools))

    assert parts_of(events)[0] == UnknownPart(NAME, SEARCH)
    assert assembled(events).finished.finish == "stop"


@pytest.mark.parametrize(
    "tools",
    [
        None,
        [],
        [{"type": "custom", "name": "x_keyword_search"}],
        [*HOSTED, {"type": "custom", "name": "x_keyword_search"}],
        [{"type": "tool_search"}],  # it loads tools that the answer does not list
        [*HOSTED, {"type": "namespace", "name": "x", "tools": [SHELL]}],
    ],
)
def test_a_custom_call_of_a_tool_that_was_declared_is_the_callers(tools):
    events = decoded(answer(SEARCH, tools=tools))

    (part,) = parts_of(events)
    assert isinstance(part, ToolCall)
    assert assembled(events).finished.finish == "tool_calls"


def test_annotations_are_citations():
    cited = {"type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 2}
    said = SAID | {"content": [{"type": "output_text", "text": "42", "annotations": [cited]}]}

    (part,) = parts_of(decoded(answer(said)))

    assert part.citations == (cited,)


def test_a_refusal_is_text_that_says_so_in_its_seal():
    said = SAID | {"content": [{"type": "refusal", "refusal": "I cannot."}]}
    events = decoded(answer(said))

    (part,) = parts_of(events)

    assert part.text == "I cannot."
    assert part.signature.value["part"] == "refusal"
    assert assembled(events).finished.finish == "refusal"


def test_the_contents_of_one_message_are_parts_of_their_own_with_one_seal():
    contents = [{"type": "output_text", "text": text, "annotations": []} for text in ("a", "b")]

    first, second = parts_of(decoded(answer(SAID | {"content": contents})))

    assert (first.text, second.text) == ("a", "b")
    assert first.signature == second.signature


def test_an_unknown_content_is_kept():
    content = {"type": "output_hologram", "data": "x"}

    assert parts_of(decoded(answer(SAID | {"content": [content]}))) == (UnknownPart(NAME, content),)


def test_thinking_written_into_the_message_is_thinking_too():
    """A shape that the ledger asks for, which no real service has."""
    raw = {
        "output": [
            {
                "type": "message",
                "content": [
                    {"type": "reasoning_content", "reasoning_content": "Analyzing the problem..."},
                    {"type": "output_text", "text": "The answer is 42."},
                ],
            }
        ]
    }

    assert parts_of(decoded(raw)) == (
        Thinking("Analyzing the problem..."),
        Text("The answer is 42."),
    )


def test_a_message_that_says_nothing_keeps_its_place():
    assert parts_of(decoded(answer(THINKING, SAID | {"content": []})))[1].text == ""


def test_an_answer_still_in_the_queue_is_neither_stop_nor_error():
    finished = assembled(decoded(answer(status="queued"))).finished

    assert (finished.finish, finished.raw_finish) == ("other", "queued")


def test_an_answer_that_failed_raises_what_the_service_said():
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota."}

    with pytest.raises(QuotaSpent, match="exceeded"):
        decoded(answer(status="failed", error=error))
    with pytest.raises(ServerFailed):
        decoded(answer(status="failed"))


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"id": "resp_1"}, "$"),
        (answer(status=5), "$.status"),
        (answer() | {"output": {}}, "$.output"),
        (answer("text"), "$.output[0]"),
        (answer({"id": "x"}), "$.output[0]"),
        (answer(SAID | {"content": "text"}), "$.output[0].content"),
        (answer(SAID | {"content": [5]}), "$.output[0].content[0]"),
        (
            answer(SAID | {"content": [{"type": "output_text", "text": 5}]}),
            "$.output[0].content[0].text",
        ),
        (answer(CALL | {"name": None}), "$.output[0]"),
        (answer(CALL | {"arguments": 5}), "$.output[0].arguments"),
        (answer(THINKING | {"summary": [{"text": 5}]}), "$.output[0].summary[0].text"),
        (b"<html>", "$"),
        (b"", "$"),
        (b"\xff\xfe", "$"),
        (b"[" * 100_000, "$"),
        (b"[]", "$"),
    ],
)
def test_a_broken_answer_says_where(raw, path):
    with pytest.raises(Malformed) as caught:
        decoded(raw)

    assert caught.value.path == path


def test_half_a_surrogate_pair_does_not_lose_the_answer():
    body = rb'{"output": [{"type": "message", "content": [{"type": "output_text", "text": "a\ud83d"}]}]}'

    assert parts_of(decoded(body)) == (Text("a\ufffd"),)


def test_the_model_of_a_seal_is_the_one_that_was_asked_else_the_one_that_answered():
    assert parts_of(decoded(answer(SAID), model="alias"))[0].signature.model == "alias"
    assert parts_of(decoded(answer(SAID), model=None))[0].signature.model == MODEL


def test_every_part_begins_and_ends_in_order():
    events = decoded(answer(THINKING, SAID, CALL))

    starts = [event.index for event in events if isinstance(event, PartStart)]
    ends = [event.index for event in events if isinstance(event, PartEnd)]

    assert starts == ends == [0, 1, 2]


@pytest.mark.parametrize(
    ("raw", "stream", "sure"),
    [
        (answer(), False, 100),
        ({"output": []}, False, 70),
        ({"type": "response.created"}, True, 100),
        ({"type": "message_start"}, True, 0),
        ({"choices": [], "object": "chat.completion"}, False, 0),
        ({"error": {"message": "x", "param": None}}, False, 15),
        ([], False, 0),
        ({"type": 5}, True, 0),
    ],
)
def test_it_knows_its_own(raw, stream, sure):
    assert CALLER.match_score(raw, stream=stream) == sure


def test_the_head_is_not_needed_to_read_an_answer():
    assert CALLER.decode(OK, b'{"output": []}', AnswerContext())


PART: Any = SAID["content"][0]
CONTENTS: list[Any] = [None, [], [PART, PART], [None], {}, "42"]
NOTES: list[Any] = [None, [{}], {}, "", 0]
ODD_MESSAGES: list[Any] = [
    *({**SAID, "id": id} for id in ("", None, 5)),
    *({**SAID, "status": status} for status in ("incomplete", "", None, 5)),
    {"type": "message", "content": [PART]},
    {"type": "message", "status": "completed", "content": [PART]},
    *({**SAID, "content": each} for each in CONTENTS),
    *({**SAID, "content": [{**PART, "type": kind}]} for kind in ("text", "refusal", "other", None)),
    *({**SAID, "content": [{**PART, "text": text}]} for text in ("", None, 42)),
    *({**SAID, "content": [{**PART, "annotations": each}]} for each in NOTES),
    {**SAID, "content": [{"type": "output_text", "text": "42"}]},
    {**SAID, "content": [{**PART, "logprobs": [{"token": "42", "logprob": -0.5}]}]},
]


@pytest.mark.parametrize("message", [SAID, *ODD_MESSAGES])
@pytest.mark.parametrize("before", [(), (THINKING,), ({**THINKING, "id": None},), (SAID,)])
@pytest.mark.parametrize("logprobs", [False, True])
def test_the_short_way_to_a_plain_text_has_the_events_of_the_long_one(
    message, before, logprobs, monkeypatch
):
    def events():
        context = AnswerContext(model=MODEL, logprobs=logprobs)
        try:
            return CALLER.decode(OK, dump_json(answer(*before, message)).encode(), context)
        except Malformed as error:
            return str(error)

    short = events()
    monkeypatch.setattr(Items, "end_text", lambda *_: False)
    assert short == events()
