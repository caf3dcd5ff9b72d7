"""A seal goes to its maker and to nobody else, and a bad one poisons nothing (rows 5 to 19)."""

import json

import pytest
from msgspec.structs import replace
from tests.hazards.talking import (
    ANTHROPIC,
    PLAIN,
    SEALING,
    Canned,
    calling,
    chat_with,
    get_weather,
    keys,
    last_body,
    refusals,
    secrets,
    sse,
    strings,
)
from tests.repairs import repair

import pondero
from pondero.canon import HttpRequest, Message, Text, Thinking, Tool, ToolCall, ToolResult
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.errors import BadRequest

THOUGHT = "the moons of Saturn, then the cheese"
FOREIGN_FIELDS = {"reasoning_content", "reasoning", "reasoning_details", "reasoning_text"}
FOREIGN_FIELDS |= {"thinking_blocks", "thinking", "signature", "provider_specific_fields"}
DAMAGED = (*ANTHROPIC, "gpt-5.1", "gpt-6-sol", "gemini-3-flash-preview")


def cut(value):
    """Return a seal's value with the end of its secret lost."""
    if isinstance(value, dict):
        sealed = ("encrypted_content", "signature")
        return {key: cut(each) if key in sealed else each for key, each in value.items()}
    return value[:-8] if isinstance(value, str) else value


def damaged(message):
    parts = []
    for part in message.parts:
        seal = getattr(part, "signature", None)
        parts.append(
            replace(part, signature=replace(seal, value=cut(seal.value))) if seal else part
        )
    return Message(message.role, tuple(parts), message.origin)


def codes(reply):
    return [note.code for note in reply.plan.adjustments]


def talked(model, **options):
    """Return a chat with thinking and a tool loop behind it, and its emulator."""
    emulator = Emulator(script=calling(2, THOUGHT))
    chat = chat_with(emulator, f"{model}/high", **options)
    chat.send("Where is it fine?")
    return chat, emulator


@pytest.mark.parametrize("model", DAMAGED)
def test_hazard_06_a_seal_that_was_damaged_is_left_out_and_the_session_goes_on(model):
    chat, _ = talked(model)
    chat.messages = tuple(damaged(message) for message in chat.messages)
    for _ in range(2):
        reply = chat.send("What is 2 + 2?")
        assert "4" in reply.text
        assert "seal_refused" in codes(reply)


@pytest.mark.parametrize("model", DAMAGED)
def test_hazard_06_even_where_its_tool_loop_is_still_open(model):
    weather = Tool("get_weather", "Get the weather.", {"type": "object", "properties": {}})
    emulator = Emulator(
        script=[ScriptedTurn(thinking="hm", tool_calls=(ScriptedCall("get_weather"),)), "Fine."]
    )
    client = pondero.Client(transport=emulator)
    chat = pondero.Chat(f"{model}/high", tools=[weather], client=client)
    (call,) = chat.send("Is it fine?").tool_calls
    chat.messages = tuple(damaged(message) for message in chat.messages)
    reply = chat.send(ToolResult(call.id, (Text("fine"),), name=call.name))
    assert reply.text == "Fine."
    assert "seal_refused" in codes(reply)


@pytest.mark.parametrize("maker", [*SEALING, *PLAIN])
@pytest.mark.parametrize("reader", [*SEALING, *PLAIN])
def test_hazards_08_and_15_no_seal_leaves_for_another_model_route_or_service(maker, reader):
    chat, emulator = talked(maker)
    chat.model = f"{reader}/high"
    reply = chat.send("What is 2 + 2?")
    assert "4" in reply.text
    assert refusals(emulator) == []
    sent = strings(last_body(emulator))
    if maker != reader:
        assert secrets(chat.messages[:6]).isdisjoint(sent)
        assert not any(THOUGHT in text for text in sent)
    elif maker in SEALING:
        assert secrets(chat.messages[:6]) & sent


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-5-5"])
@pytest.mark.parametrize("change", ["system", "tools", "history"])
def test_hazard_09_thinking_bound_to_another_beginning_is_dropped_and_told(model, change):
    def get_time(city: str) -> str:
        """Get the time."""
        return f"it is noon in {city}"

    chat, emulator = talked(model)
    options = {"system": "Be brief."} if change == "system" else {}
    tools = [get_time, get_weather] if change == "tools" else [get_weather]
    messages = chat.messages
    if change == "history":
        messages = (Message("user", (Text("Where was it fine?"),)), *messages[1:])
    other = pondero.Chat(
        f"{model}/high", tools=tools, messages=messages, client=chat._client, **options
    )
    reply = other.send("What is 2 + 2?")
    assert "4" in reply.text
    assert "seal_refused" in codes(reply)
    assert len(refusals(emulator)) == 1  # asked again once, not for ever


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-5-5"])
def test_hazard_09_what_does_not_change_the_beginning_keeps_the_thinking(model):
    chat, emulator = talked(model)
    for level in ("low", "xhigh", "max"):
        chat.thinking = level
        assert "seal_refused" not in codes(chat.send("What is 2 + 2?"))
    assert refusals(emulator) == []


def test_hazard_09_off_after_a_change_inside_the_conversation_is_told():
    chat, emulator = talked("claude-sonnet-5-5")
    chat.thinking = "low"
    chat.send("What is 2 + 2?")
    chat.thinking = "off"  # with it the service takes no level inside, and the beginning changes
    reply = chat.send("What is 2 + 2?")
    assert {"cache_lost", "signature_withheld"} <= {*codes(reply)}
    assert refusals(emulator) == []


def chunk(provider, finish=None, **delta):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "provider": provider, "model": "m", "choices": [choice]}


def routed(provider, *deltas):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunks = [chunk(provider, **delta) for delta in deltas]
    ends = [chunk(provider, "stop"), {"choices": [], "usage": usage}]
    return sse(*chunks, *ends, done=True)


def test_hazard_12_the_upstream_that_made_a_seal_is_on_record():
    detail = {"type": "reasoning.encrypted", "data": "c2VjcmV0", "index": 0}
    service = Canned(routed("Google", {"reasoning_details": [detail]}, {"content": "Fine."}))
    chat = chat_with(service, "openrouter:google/gemini-3-pro-preview/high")
    chat.send("Is it fine?")
    seals = [p.signature for p in chat.messages[1].parts if isinstance(p, Thinking)]
    assert [seal.route for seal in seals] == ["openrouter/Google"]


@pytest.mark.parametrize(
    "said",
    [
        "Corrupted thought signature.",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "The encrypted content gAAA...cHQt could not be verified.",
    ],
)
def test_hazard_12_a_seal_another_upstream_refuses_is_withheld_and_told(said):
    detail = {"type": "reasoning.encrypted", "data": "c2VjcmV0", "index": 0}
    turn = {"role": "assistant", "content": "Fine.", "reasoning_details": [detail]}
    body = json.dumps({"messages": [turn]}).encode()
    request = HttpRequest("POST", "https://host", {}, body)
    cured = repair("openai_chat", request, BadRequest(said, status=400))
    assert cured.request.body == b'{"messages":[{"role":"assistant","content":"Fine."}]}'
    assert cured.adjustment.code == "seal_refused"


def test_hazard_12_the_session_goes_on_where_the_upstream_has_changed():
    chat, emulator = talked("openrouter:anthropic/claude-opus-5")
    chat.messages = tuple(rerouted(message) for message in chat.messages)
    reply = chat.send("What is 2 + 2?")
    assert ("4" in reply.text, codes(reply)) == (True, ["seal_refused"])
    assert len(refusals(emulator)) == 1


def rerouted(message):
    """Return a message with signatures that whoever answers now cannot read."""
    parts = []
    for part in message.parts:
        if isinstance(part, Thinking):
            details = [
                {**d, "signature": "b3RoZXI="} for d in part.signature.value["reasoning_details"]
            ]
            seal = replace(
                part.signature, value={**part.signature.value, "reasoning_details": details}
            )
            parts.append(replace(part, signature=seal))
        else:
            parts.append(part)
    return Message(message.role, tuple(parts), message.origin)


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("deepseek:deepseek-reasoner", "reasoning_content"),
        ("groq:openai/gpt-oss-120b/high", "reasoning"),
        ("cerebras:gpt-oss-120b/high", "reasoning"),
        ("openrouter:anthropic/claude-opus-5/high", "reasoning_details"),
    ],
)
def test_hazards_16_and_17_each_service_gets_its_thinking_back_in_its_own_field_only(model, field):
    emulator = Emulator(script=calling(2, THOUGHT))
    chat_with(emulator, model).send("Where is it fine?")
    turns = [m for m in last_body(emulator)["messages"] if m["role"] == "assistant"]
    assert [set(turn) & FOREIGN_FIELDS for turn in turns] == [{field}] * 2
    assert all(any(THOUGHT in text for text in strings([turn[field]])) for turn in turns)
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-6-sol", "azure:gpt-5.1"])
@pytest.mark.parametrize("gone", ["answer", "call", "thinking", "first turn", "words"])
def test_hazard_14_no_thinking_goes_without_what_it_led_to_however_history_is_cut(model, gone):
    chat, emulator = talked(model)
    chat.messages = tuple(pruned(chat.messages, gone))
    assert chat.send("What is 2 + 2?").text
    assert refusals(emulator) == []


def pruned(messages, gone):
    """Yield a history as a caller who knows nothing of pairs would shorten or edit it."""
    kinds = {"answer": Text, "call": ToolCall | ToolResult, "thinking": Thinking}
    for number, message in enumerate(messages):
        if gone == "first turn" and number < 3:
            continue
        parts = message.parts
        if gone in kinds and number:
            parts = tuple(part for part in parts if not isinstance(part, kinds[gone]))
        if gone == "words" and message.role == "assistant":
            parts = tuple(Text("Edited.") if isinstance(p, Text) else p for p in parts)
        if parts:
            yield Message(message.role, parts, message.origin)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("The encrypted content gAAA...cHQt could not be verified.", None),
        ("Encrypted content organization_id did not match the target organization.", None),
        ("Could not decrypt the provided encrypted_content.", None),
        ("Words of a later version.", "invalid_encrypted_content"),
    ],
)
def test_hazard_15_a_rejection_of_encrypted_thinking_is_known_by_its_code_or_its_words(said, code):
    thinking = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    answer = {"type": "message", "role": "assistant", "content": "Fine."}
    body = json.dumps({"input": [thinking, answer]}).encode()
    request = HttpRequest("POST", "https://host", {}, body)
    cured = repair("openai_responses", request, BadRequest(said, status=400, code=code))
    assert json.loads(cured.request.body) == {"input": [answer]}
    assert cured.adjustment.code == "seal_refused"


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-6-sol", "azure:gpt-5.1"])
def test_hazard_15_what_another_account_sealed_is_left_out_and_the_session_goes_on(model):
    chat, emulator = talked(model)
    chat.messages = tuple(damaged(message) for message in chat.messages)  # unreadable, as theirs is
    reply = chat.send("What is 2 + 2?")
    assert ("4" in reply.text, codes(reply)) == (True, ["seal_refused"])
    items = last_body(emulator)["input"]
    assert "reasoning" not in {item["type"] for item in items}
    assert len(refusals(emulator)) == 1


@pytest.mark.parametrize("maker", ["claude-opus-5", "deepseek:deepseek-reasoner"])
@pytest.mark.parametrize("reader", [*SEALING, *PLAIN])
def test_hazard_19_another_models_thinking_is_never_in_the_assistants_mouth(maker, reader):
    for policy in ({}, {"foreign": "note"}):
        chat, emulator = talked(maker, policy=policy)
        chat.model = f"{reader}/high"
        assert "4" in chat.send("What is 2 + 2?").text
        assert refusals(emulator) == []
        if maker == reader:
            continue
        body = last_body(emulator)
        turns = body.get("messages") or body.get("contents") or body.get("input")
        theirs = [turn for turn in turns if turn.get("role") in ("assistant", "model")]
        assert not any("<think" in text or THOUGHT in text for text in strings(theirs))
        noted = any(THOUGHT in text for text in strings(turns))
        assert noted == bool(policy)


@pytest.mark.parametrize("maker", ["claude-opus-5", "gpt-5.1", "deepseek:deepseek-reasoner"])
@pytest.mark.parametrize("reader", [model for model in PLAIN if "openrouter" not in model])
def test_captured_no_field_of_anothers_thinking_leaks_into_a_message(maker, reader):
    chat, emulator = talked(maker)
    chat.model = f"{reader}/high"
    chat.send("What is 2 + 2?")
    if maker == reader:
        return
    leaked = keys(last_body(emulator)["messages"]) & FOREIGN_FIELDS
    # DeepSeek and Moonshot want their own field on every turn that called, and get it empty.
    texts = {m.get("reasoning_content") for m in last_body(emulator)["messages"]} - {None, "", " "}
    assert (leaked - {"reasoning_content"}, texts) == (set(), set())
    assert not leaked or reader.startswith(("deepseek", "moonshot"))


@pytest.mark.parametrize("maker", [m for m in SEALING if "claude" not in m])
@pytest.mark.parametrize("reader", ANTHROPIC)
def test_captured_a_foreign_signed_block_is_not_replayed_to_anthropic(maker, reader):
    chat, emulator = talked(maker)
    chat.model = f"{reader}/high"
    chat.send("What is 2 + 2?")
    assert refusals(emulator) == []
    assert {"thinking", "redacted_thinking"}.isdisjoint(
        {b["type"] for m in last_body(emulator)["messages"] for b in m["content"]}
    )


def gemini_stream(*parts):
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    end = {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}
    return sse(*chunks, {**end, "usageMetadata": usage})


@pytest.mark.parametrize("thought", [{}, {"thought": True}])
@pytest.mark.parametrize("text", [{}, {"text": ""}])
def test_captured_a_gemini_thought_with_nothing_but_a_signature_is_kept_and_sent_back(
    thought, text
):
    part = {**text, **thought, "thoughtSignature": "c2lnbmF0dXJl"}
    for parts in ([part, {"text": "Fine."}], [{"text": "Fine."}, part]):
        service = Canned(*[gemini_stream(*parts)] * 2)
        chat = chat_with(service, "gemini-3-flash-preview/high")
        reply = chat.send("Is it fine?")
        assert reply.text == "Fine."
        assert reply.thinking == ""  # there is nothing to show
        assert [p.signature.value for p in reply.message.parts if p.signature] == ["c2lnbmF0dXJl"]
        chat.send("Sure?")
        back = service.asked[1]["contents"][1]["parts"]
        assert [p.get("thoughtSignature") for p in back if p.get("thoughtSignature")] == [
            "c2lnbmF0dXJl"
        ]
        assert [bool(p.get("thought")) for p in back if p.get("thoughtSignature")] == [
            bool(thought)
        ]


def test_captured_a_gemini_part_with_nothing_but_a_signature_is_kept():
    part = {"text": "", "thoughtSignature": "c2lnbmF0dXJl"}
    service = Canned(*[gemini_stream({"text": "Fine."}, part)] * 2)
    chat = chat_with(service, "gemini-3-flash-preview/high")
    assert chat.send("Is it fine?").text == "Fine."
    chat.send("Sure?")
    assert service.asked[1]["contents"][1]["parts"][-1] == part
