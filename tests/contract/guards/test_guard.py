"""What the guard says of a file beside its traps, of losses, and across exchanges."""

import json

import pytest
from msgspec.structs import replace
from tests.contract.guards.tapes import changed, found, guarded, in_loop, taped
from tests.hazards.talking import calling, chat_with

from pondero.canon import Message, ResponseHead, Text, Thinking, ToolCall, ToolResult
from pondero.contract import check_file
from pondero.emulator import Emulator
from pondero.errors import BadParameter, UnknownModel
from pondero.store import ExportLine, StoredMessage, Thread, to_jsonl

CLAUDE = "claude-opus-5/high"


def _without(kind):
    def change(body):
        for message in body["messages"]:
            if message["role"] == "assistant":
                message["content"] = [b for b in message["content"] if b["type"] != kind]

    return change


def test_thinking_that_is_dropped_where_no_one_refuses_is_a_loss():
    exchanges = changed(in_loop(CLAUDE), _without("thinking"))
    report = guarded(exchanges)
    assert [each.code for each in report.losses] == ["thinking_lost", "thinking_lost"]
    assert report.problems == ()
    assert "exchange 1" in report.losses[0].what


def test_a_signature_that_is_dropped_on_an_older_model_is_a_loss():
    call = {"functionCall": {"name": "get_weather", "args": {"city": "Bern"}}}
    signed = {**call, "thoughtSignature": "c2lnbmF0dXJlIG9mIGEga2luZCwgbG9uZyBlbm91Z2g="}
    asked = [{"role": "user", "parts": [{"text": "Is it fine?"}]}]
    result = {"functionResponse": {"name": "get_weather", "response": {"output": "fine"}}}
    replayed = [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    answer = {"content": {"role": "model", "parts": [signed]}, "finishReason": "STOP"}
    report = check_file(
        _lines(
            (asked, {"candidates": [answer], "usageMetadata": {"totalTokenCount": 9}}),
            ([*asked, *replayed], {"candidates": [{**answer, "content": {"role": "model"}}]}),
        )
    )
    (finding,) = report.findings
    assert (finding.code, finding.refused, finding.exchange) == ("thinking_lost", False, 2)
    assert finding.path == "contents[1].parts[0]"


def _lines(*exchanges):
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"
    return b"\n".join(
        json.dumps(
            {
                "request": {"url": url, "body": {"contents": contents}},
                "response": {"status": 200, "body": answer},
            }
        ).encode()
        for contents, answer in exchanges
    )


def test_a_refusal_that_a_trap_explains_is_counted():
    exchanges = changed(in_loop("claude-sonnet-4-5/high"), _without("thinking"))
    refused = replace(exchanges[-1], head=ResponseHead(400), pieces=(b'{"type":"error"}',))
    report = guarded([*exchanges[:-1], refused])
    assert (report.errors, report.explained) == (1, 1)
    assert report.problems[0].status == 400


def test_a_refusal_for_another_reason_is_not_explained():
    *before, last = in_loop(CLAUDE)
    refused = replace(last, head=ResponseHead(429), pieces=(b'{"type":"error"}',))
    report = guarded([*before, refused])
    assert (report.errors, report.explained, report.findings) == (1, 0, ())


@pytest.mark.parametrize(
    ("maker", "reader"),
    [
        ("gemini-3-flash-preview/high", "vertex:gemini-3-flash-preview/high"),
        ("vertex:gemini-3-flash-preview/high", "gemini-3-flash-preview/high"),
    ],
)
def test_a_signature_of_the_other_surface_is_foreign(maker, reader):
    made = in_loop(maker)
    body = made[-1].request.body
    there = in_loop(reader)[-1]
    sent = replace(there, request=replace(there.request, body=body))
    assert "seal_foreign" in found([*made[:-1], sent])


def test_thinking_sealed_by_another_service_is_foreign():
    made = in_loop("gpt-5.1/high")
    there = in_loop("azure:gpt-5.1/high")[-1]
    sent = replace(there, request=replace(there.request, body=made[-1].request.body))
    assert "seal_foreign" in found([*made[:-1], sent])


def test_thinking_of_another_maker_is_foreign():
    made = in_loop("gemini-3-flash-preview/high")
    part = next(p for p in json.loads(made[-1].request.body)["contents"][1]["parts"]
                if "thoughtSignature" in p)  # fmt: skip

    def change(body):
        body["messages"][1]["content"][0]["signature"] = part["thoughtSignature"]

    assert "seal_foreign" in found([*made, *changed(in_loop("claude-sonnet-4-5/high"), change)])


def test_the_beginning_may_change_where_thinking_is_not_bound_to_it():
    assert guarded(changed(in_loop(CLAUDE), lambda b: b.update(system="Be brief."))).findings == ()


def test_the_beginning_may_change_where_the_service_is_told_to_drop_what_is_bound():
    def change(body):
        body["system"] = "Be brief."
        body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}

    assert guarded(changed(in_loop("claude-opus-5-5/high"), change)).findings == ()


def test_a_cache_mark_does_not_change_the_beginning():
    def change(body):
        block = body["messages"][0]["content"]
        text = block if isinstance(block, str) else block[0]["text"]
        mark = {"type": "ephemeral"}
        body["messages"][0]["content"] = [{"type": "text", "text": text, "cache_control": mark}]

    assert guarded(changed(in_loop("claude-opus-5-5/high"), change)).findings == ()


def test_what_is_scrubbed_is_not_judged():
    def change(body):
        body["messages"][1]["content"][0]["signature"] = "signature_REDACTED_1!"

    assert "seal_broken" not in found(changed(in_loop("claude-sonnet-4-5/high"), change))


def test_seals_that_several_answers_share_tell_nothing():
    one, other = taped(CLAUDE), taped(CLAUDE, script=calling(2, thought="another thought"))
    texts = [part.signature.value for part in _answers(other) if part.signature]
    mine = [part.signature.value for part in _answers(one) if part.signature]
    scrubbed = [
        replace(
            each,
            request=replace(each.request, body=_put(each.request.body, texts, mine)),
            pieces=(_put(each.body, texts, mine),),
        )
        for each in other
    ]
    assert guarded([*one, *scrubbed]).findings == ()


def _answers(exchanges):
    from pondero.exchange import decode

    parts = [p for each in exchanges for p in decode(each.body).message.parts]
    return [part for part in parts if isinstance(part, Thinking)]


def _put(data, old, new):
    for before, after in zip(old, new, strict=True):
        data = data.replace(before.encode(), after.encode())
    return data


# -- saved chats -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["claude-opus-5/high", "gpt-6-sol/high", "zai:glm-4.7"])
def test_a_saved_chat_is_judged_by_its_next_request(model):
    chat = chat_with(Emulator(script=calling(2)), model)
    chat.send("Where is it fine?")
    report = check_file(chat.to_json().encode(), "chat.json")
    assert (report.kind, report.exchanges, report.with_past) == ("chat", 1, 1)
    assert report.findings == ()


def test_what_another_model_thought_is_lost_to_a_saved_chat_that_changed_its_model():
    chat = chat_with(Emulator(script=calling(1)), CLAUDE)
    chat.send("Where is it fine?")
    chat.model = "gemini-3-flash-preview/high"
    report = check_file(chat.to_json().encode())
    assert {each.code for each in report.findings} == {"thinking_lost"}
    assert report.problems == ()
    assert report.findings[0].path == "messages[1].parts[0]"
    assert report.findings[0].exchange is None


def test_a_damaged_seal_of_a_saved_chat_is_found():
    chat = chat_with(Emulator(script=calling(1)), CLAUDE)
    chat.send("Where is it fine?")
    saved = json.loads(chat.to_json())
    for message in saved["messages"]:
        for part in message["parts"]:
            if part["type"] == "thinking":
                part["seal"]["value"] = part["seal"]["value"][:-3]
    report = check_file(json.dumps(saved).encode())
    assert {(each.code, each.exchange) for each in report.problems} == {("seal_broken", None)}


def test_a_call_left_open_in_a_saved_chat_is_told():
    call = ToolCall("toolu_1", "get_weather", {"city": "Bern"})
    messages = [
        Message("user", (Text("Is it fine?"),)),
        Message("assistant", (call,)),
        Message("user", (Text("Well?"),)),
        Message("assistant", (Text("Yes."),)),
    ]
    chat = chat_with(Emulator(), CLAUDE, messages=messages)
    report = check_file(chat.to_json().encode())
    assert [(each.code, each.refused) for each in report.findings] == [("call_unanswered", False)]


def test_a_result_that_nobody_asked_for_in_a_saved_chat_is_told():
    result = ToolResult("toolu_1", (Text("fine"),))
    messages = [Message("user", (result, Text("Well?"))), Message("assistant", (Text("Yes."),))]
    chat = chat_with(Emulator(), CLAUDE, messages=messages)
    report = check_file(chat.to_json().encode())
    assert report.problems == ()


def test_a_chat_with_a_model_nobody_knows_is_a_clear_error():
    with pytest.raises(UnknownModel, match="zebra"):
        check_file(b'{"pondero": 1, "model": "zebra-9", "messages": []}')


@pytest.mark.parametrize("text", [b'{"pondero": 99, "model": "gpt-5"}', b'{"pondero": 1}'])
def test_a_chat_of_another_form_is_a_clear_error(text):
    with pytest.raises(BadParameter):
        check_file(text)


def test_an_exported_thread_is_judged_as_a_chat_is():
    chat = chat_with(Emulator(script=calling(2)), CLAUDE)
    chat.send("Where is it fine?")
    thread = Thread("t1", "weather", "claude-opus-5", "high", "Be brief.", messages=6, turns=1)
    lines = [ExportLine(0, StoredMessage(message)) for message in chat.messages]
    report = check_file(to_jsonl(thread, lines).encode(), "thread.jsonl")
    assert (report.kind, report.lines, report.seals, report.findings) == ("thread", 6, 3, ())
    elsewhere = Thread("t1", "weather", "gemini-3-flash-preview", "high")
    report = check_file(to_jsonl(elsewhere, lines).encode(), "thread.jsonl")
    assert {each.code for each in report.findings} == {"thinking_lost"}
