"""Thinking goes back as it came: in order, whole, on the right part (rows 1 to 4, 7, 10, 11, 13)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.talking import MODELS
from tests.hazards.talking import (
    ANTHROPIC,
    Canned,
    bodies,
    calling,
    chat_with,
    last_body,
    refusals,
    sse,
)

import pondero
from pondero.canon import Text, Thinking, ToolCall, UnknownPart
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

GEMINI = ("gemini-3-flash-preview", "gemini-3-pro-preview", "vertex:gemini-3-flash-preview")


def assistants(body):
    return [message["content"] for message in body["messages"] if message["role"] == "assistant"]


@pytest.mark.parametrize("model", ANTHROPIC)
def test_hazard_01_every_step_of_a_tool_loop_begins_with_the_thinking_that_led_to_it(model):
    emulator = Emulator(script=calling(5))
    chat_with(emulator, f"{model}/high").send("Where is it fine?")
    assert refusals(emulator) == []
    for number, body in enumerate(bodies(emulator)):
        turns = assistants(body)
        assert [turn[0]["type"] for turn in turns] == ["thinking"] * number
        assert [turn[0]["thinking"] for turn in turns] == [
            f"let me look ({n})" for n in range(number)
        ]
        assert len({turn[0]["signature"] for turn in turns}) == number


SEALED_THOUGHTS = ("claude-opus-5", "claude-sonnet-4-5", "gpt-6-sol", MODELS[-1])


def _form(seal):
    """The form of a seal, not its text: the emulator signs each answer anew."""
    value = seal.value if seal else None
    return sorted(value) if isinstance(value, dict) else type(value)


@pytest.mark.parametrize("model", [*MODELS, "claude-sonnet-4-5", "deepseek:deepseek-reasoner"])
def test_hazard_02_one_thought_is_one_part_however_many_pieces_it_came_in(model):
    thought = "first this, then that; " * 40
    turns = [ScriptedTurn(thinking=thought, text="Done.")] * 2
    client = pondero.Client(transport=Emulator(script=turns))
    streamed, whole = (client.ask(f"{model}/high", "go", stream=how) for how in (True, False))
    # A stream of Gemini 3 ends on an empty text that bears a seal, a whole answer does not.
    assert [(type(p), p.text) for p in streamed.message.parts if p != Text("", p.signature)] == [
        (type(p), p.text) for p in whole.message.parts
    ]
    thoughts, others = (
        [p for p in reply.message.parts if isinstance(p, Thinking)] for reply in (streamed, whole)
    )
    assert [_form(p.signature) for p in thoughts] == [_form(p.signature) for p in others]
    assert model not in SEALED_THOUGHTS or [p.signature is None for p in thoughts] == [False]
    assert len(thoughts) <= 1
    assert all(part.text in (thought, "") for part in thoughts)


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-6-sol", "gemini-3-flash-preview"])
@pytest.mark.parametrize("fault", ["trickle", "split"])
def test_hazard_03_a_seal_survives_however_its_bytes_are_cut(model, fault):
    calm, rough = Emulator(script=calling(2)), Emulator(script=calling(2), faults=[fault] * 3)
    for emulator in (calm, rough):
        chat_with(emulator, f"{model}/high").send("Wo ist es schön, 東京?")
    assert bodies(calm) == bodies(rough)
    assert refusals(rough) == []


def anthropic_stream(*blocks, model="claude-opus-5", stop="end_turn"):
    """Return an answer of these blocks as Anthropic streams it."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    events = [
        {
            "type": "message_start",
            "message": {**head, "model": model, "stop_reason": None, "usage": usage},
        },
    ]
    for index, (start, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return sse(*events, named=True)


@given(st.text("ABCDwxyz0189+/", min_size=4, max_size=400), st.data())
@settings(max_examples=30)
def test_hazard_03_a_signature_that_came_in_any_pieces_goes_back_whole(signature, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(signature)), max_size=5)))
    ends = zip([0, *cuts], [*cuts, len(signature)], strict=True)
    pieces = [signature[i:j] for i, j in ends]
    thinking = (
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        *({"type": "signature_delta", "signature": piece} for piece in pieces),
    )
    text = ({"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."})
    service = Canned(*[anthropic_stream(thinking, text)] * 2)
    chat = chat_with(service, "claude-opus-5/high")
    chat.send("one")
    chat.send("two")
    block = {"type": "thinking", "thinking": "hm", "signature": signature}
    assert assistants(service.asked[1])[0][0] == block


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-opus-4-0", "claude-opus-4-20250514"),
        ("claude-opus-5", "claude-opus-5"),
    ],
)
def test_hazard_01_an_alias_that_is_answered_by_its_snapshot_gets_its_thinking_back(
    asked, answered
):
    thinking = (
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
    )
    call = (
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"city": "Bern"}'},
    )
    text = ({"type": "text", "text": ""}, {"type": "text_delta", "text": "Fine."})
    service = Canned(
        anthropic_stream(thinking, call, model=answered, stop="tool_use"),
        anthropic_stream(text, model=answered),
    )
    chat_with(service, f"{asked}/high").send("Is it fine?")
    kinds = [block["type"] for block in assistants(service.asked[1])[0]]
    assert kinds == ["thinking", "tool_use"]


@pytest.mark.parametrize("model", ANTHROPIC)
def test_hazard_04_thinking_that_shows_nothing_keeps_its_seal_through_a_saved_session(model):
    emulator = Emulator()
    chat = chat_with(emulator, f"{model}/high")
    chat.send("What is the weather in Paris? [emulator: signature-only]")
    (first,) = [p for p in chat.messages[1].parts if isinstance(p, Thinking)]
    assert (first.text, bool(first.signature)) == ("", True)
    saved = chat.to_json()
    again = pondero.Chat.from_json(saved, tools=chat._tools.tools, client=chat._client)
    assert again.messages == chat.messages
    chat.send("And now?")
    block = assistants(last_body(emulator))[0][0]
    assert (block["thinking"], block["signature"]) == ("", first.signature.value)
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", ANTHROPIC)
def test_hazard_07_thinking_between_the_words_keeps_its_place_and_its_own_signature(model):
    parts = (
        Thinking("one"),
        Text("Let me look."),
        Thinking("two"),
        ToolCall("", "get_weather", {"city": "Bern"}),
    )
    emulator = Emulator(script=[ScriptedTurn(parts=parts), "It is fine.", "Yes."])
    chat = chat_with(emulator, f"{model}/high")
    chat.send("Is it fine?")
    chat.send("Sure?")
    first, second = (assistants(body)[0] for body in bodies(emulator)[1:])
    assert [block["type"] for block in first] == ["thinking", "text", "thinking", "tool_use"]
    assert first == second  # the same bytes every time, or the cached beginning is lost
    assert first[0]["signature"] != first[2]["signature"]
    assert refusals(emulator) == []


def calls_of(body):
    return [p for c in body["contents"] for p in c["parts"] if "functionCall" in p]


@pytest.mark.parametrize("model", GEMINI)
@pytest.mark.parametrize("stream", [True, False])
def test_hazard_10_the_signature_is_on_the_call_it_came_on_after_a_pause_and_a_saved_file(
    model, stream
):
    both = (
        ScriptedCall("get_weather", {"city": "Paris"}),
        ScriptedCall("get_weather", {"city": "London"}),
    )
    turns = [ScriptedTurn(thinking="hm", tool_calls=both), *calling(2)]
    emulator = Emulator(script=turns)
    chat = chat_with(emulator, f"{model}/high", stream=stream)
    chat.send("Where is it fine?")
    # What waits for an approval is saved and read again, in the middle of nothing.
    saved = json.loads(json.dumps(json.loads(chat.to_json())))
    again = pondero.Chat.from_json(json.dumps(saved), tools=chat._tools.tools, client=chat._client)
    again.send("And tomorrow?")
    signed = [bool(part.get("thoughtSignature")) for part in calls_of(last_body(emulator))]
    assert signed == [True, False, True, True]  # two at once have one, each step its own
    assert all("thoughtSignature" not in p["functionCall"] for p in calls_of(last_body(emulator)))
    assert refusals(emulator) == []


def chunk(**delta):
    finish = delta.pop("finish", None)
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
ANSWER = sse(chunk(content="Fine."), chunk(finish="stop"), USAGE, done=True)


@pytest.mark.parametrize("model", ["compatible:gemini-3-pro", "openrouter:google/gemini-3-pro"])
def test_hazard_11_what_a_call_carries_beside_its_name_goes_back_with_it(model):
    extra = {"google": {"thought_signature": "c2lnbmF0dXJl"}}
    function = {"name": "get_weather", "arguments": '{"city":"Bern"}'}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    calling_it = sse(
        chunk(tool_calls=[{**call, "extra_content": extra}]),
        chunk(finish="tool_calls"),
        USAGE,
        done=True,
    )
    service = Canned(calling_it, ANSWER)
    chat_with(service, model).send("Is it fine?")
    (sent,) = [m for m in service.asked[1]["messages"] if m["role"] == "assistant"]
    assert sent["tool_calls"][0]["extra_content"] == extra


def test_hazard_13_details_of_all_kinds_are_put_together_and_sent_back_as_they_were():
    def detail(kind, **fields):
        return {"type": f"reasoning.{kind}", "format": "anthropic-claude-v1", **fields}

    thinking = sse(
        chunk(reasoning="Let ", reasoning_details=[detail("text", index=0, text="Let ")]),
        chunk(reasoning="me.", reasoning_details=[detail("text", index=0, text="me.")]),
        chunk(content="", reasoning_details=[detail("text", index=0, signature="c2ln")]),
        chunk(reasoning_details=[detail("summary", index=1, summary="It let ")]),
        chunk(reasoning_details=[detail("summary", index=1, summary="itself.")]),
        chunk(reasoning_details=[detail("encrypted", index=2, data="c2VjcmV0")]),
        chunk(content="Fine."),
        chunk(finish="stop"),
        USAGE,
        done=True,
    )
    service = Canned(thinking, ANSWER)
    chat = chat_with(service, "openrouter:anthropic/claude-opus-5/high")
    chat.send("Is it fine?")
    chat.send("Sure?")
    (sent, *_) = [m for m in service.asked[1]["messages"] if m["role"] == "assistant"]
    assert sent["reasoning_details"] == [
        detail("text", index=0, text="Let me.", signature="c2ln"),
        detail("summary", index=1, summary="It let itself."),
        detail("encrypted", index=2, data="c2VjcmV0"),
    ]
    assert (sent["content"], "reasoning_content" in sent) == ("Fine.", False)


def test_medium_on_gemini_3_flash_goes_through_several_steps_of_tools():
    emulator = Emulator(script=calling(3))
    chat = chat_with(emulator, "gemini-3-flash-preview/medium")
    assert chat.send("Where is it fine?").text == "It is fine everywhere."
    configs = [body["generationConfig"]["thinkingConfig"] for body in bodies(emulator)]
    assert configs == [{"thinkingLevel": "MEDIUM", "includeThoughts": True}] * 4
    given = [call.signature.value for message in chat.messages for call in message.tool_calls]
    assert len(set(given)) == 3
    for step, body in enumerate(bodies(emulator)):  # each step sends back all before it
        parts = [part for each in body["contents"] for part in each["parts"]]
        assert [p["thoughtSignature"] for p in parts if "functionCall" in p] == given[:step]
        thoughts = [part["text"] for part in parts if part.get("thought")]
        assert thoughts == [f"let me look ({n})" for n in range(step)]
    assert refusals(emulator) == []


@pytest.mark.parametrize("stream", [True, False])
def test_a_search_that_the_service_ran_itself_goes_back_as_it_came(stream):
    search = {
        "id": "ctc_1_xs_call_1",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "xs_call_1",
        "name": "x_keyword_search",
        "input": '{"query":"owls"}',
    }
    found = ScriptedTurn(parts=(UnknownPart("openai_responses", search), Text("Two owls.")))
    emulator = Emulator(script=[found, "Yes."])
    client = pondero.Client(transport=emulator)
    chat = pondero.Chat("xai-responses:grok-4.5", client=client, tools=[{"type": "x_search"}])
    reply = chat.send("Search X for owls.", stream=stream)
    assert (reply.finish, reply.tool_calls, reply.text) == ("stop", (), "Two owls.")
    assert chat.send("Really?", stream=stream).text == "Yes."
    assert refusals(emulator) == []
    assert search in last_body(emulator)["input"]


def test_thoughts_of_gemini_go_back_to_the_model_that_thought_them_and_to_no_other():
    for model, expected in (("gemini-3-flash-preview", True), ("gemini-2.5-pro", False)):
        emulator = Emulator(script=[ScriptedTurn(thinking="I wonder.", text="Fine."), "Sure."])
        chat = chat_with(emulator, "gemini-3-flash-preview/high")
        chat.send("Is it fine?")
        chat.model = model
        chat.send("Sure?")
        assert ("I wonder." in json.dumps(last_body(emulator))) == expected
