"""The lenient road: what a request means, whatever the rules would say about it."""

import json
from urllib.parse import quote

import pytest
from tests.laws.strategies import told

from pondero.canon import (
    Blob,
    HttpRequest,
    Image,
    Message,
    Reply,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import Rejected
from pondero.dialects.dialect import ReplyContext
from pondero.thinking import Intent

from ..making import CLAUDE, WIRE, raw, refusal, said

STRANGE = "acme.model-of-tomorrow-v1:0"
SPEC = {"name": "look", "description": "Looks.", "inputSchema": {"json": {"type": "object"}}}


def parsed(body, model=STRANGE, verb="converse"):
    url = f"https://x/model/{quote(model, safe='')}/{verb}"
    return WIRE.service().parse(HttpRequest("POST", url, {}, json.dumps(body).encode()))


def own(**fields):
    return raw(additionalModelRequestFields=fields)


def test_no_key_and_no_known_model_are_needed():
    found = parsed(raw(), verb="converse-stream")
    assert (found.request.model, found.request.stream) == (STRANGE, True)
    assert found.request.messages == (Message("user", (Text("hi"),)),)
    assert found.unknown == ()


def test_fields_nobody_knows_are_passed_over_and_listed():
    tool = {"toolSpec": {**SPEC, "defer": True}}
    result = {"toolUseId": "t", "content": [{"text": "ok"}], "speed": 3}
    body = raw(
        said("user", {"text": "hi"}),
        said("assistant", {"toolUse": {"toolUseId": "t", "name": "look", "input": {}, "new": 1}}),
        said("user", {"toolResult": result}),
        toolConfig={"tools": [tool], "toolChoice": {"auto": {"hint": 1}}},
        inferenceConfig={"maxTokens": 9, "seed": 3},
        future={"a": 1},
    )
    found = parsed(body)
    assert set(found.unknown) == {
        "future",
        "inferenceConfig.seed",
        "messages.1.content.0.toolUse.new",
        "messages.2.content.0.toolResult.speed",
        "toolConfig.tools.0.toolSpec.defer",
        "toolConfig.toolChoice.auto.hint",
    }
    assert found.request.max_tokens == 9
    assert found.request.tools == (Tool("look", "Looks.", {"type": "object"}),)
    assert found.request.tool_choice == ToolChoice("auto")
    assert found.request.messages[1].parts == (ToolCall("t", "look", {}),)
    assert found.request.messages[2].parts == (ToolResult("t", (Text("ok"),)),)


def test_the_same_fields_are_refused_by_the_rules():
    assert "[future]" in refusal(raw(future=1))


def test_blocks_and_tools_of_a_kind_nobody_knows_are_kept():
    body = raw(
        said("user", {"hologram": {"a": 1}}, {"text": "hi"}),
        system=[{"text": "be"}, {"mood": "calm"}],
        toolConfig={"tools": [{"toolSpec": SPEC}, {"robot": {"name": "arm"}}]},
    )
    found = parsed(body)
    assert found.request.messages[0].parts == (
        UnknownPart("bedrock", {"hologram": {"a": 1}}),
        Text("hi"),
    )
    assert found.request.system == (Text("be"),)
    arm = Tool("arm", raw={"robot": {"name": "arm"}}, dialect="bedrock", kind="other")
    assert found.request.tools[1] == arm
    assert found.unknown == ("system.1.mood",)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"json": {"a": [1, 2.5]}}, '{"a":[1,2.5]}'),
        ({"json": "text"}, '"text"'),
        (
            {"searchResult": {"title": "T", "source": "https://x", "content": [{"text": "found"}]}},
            "T\nhttps://x\nfound",
        ),
    ],
)
def test_what_only_this_service_has_in_results_keeps_its_words(block, words):
    body = raw(said("user", {"toolResult": {"toolUseId": "t", "content": [block]}}))
    assert parsed(body).request.messages[0].parts == (ToolResult("t", (Text(words),)),)


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"guardContent": {"text": {"text": "guarded"}}}, Text("guarded")),
        (
            {"document": {"name": "d", "source": {"text": "inside"}}},
            Blob("text/plain", b"inside", name="d"),
        ),
        (
            {"document": {"name": "d", "source": {"content": [{"text": "a"}]}}},
            Blob("text/plain", b"a", name="d"),
        ),
        (
            {
                "document": {
                    "name": "d",
                    "format": "txt",
                    "source": {"bytes": "aGk="},
                    "context": "about it",
                }
            },
            Blob("text/plain", b"hi", name="d", context="about it"),
        ),
    ],
)
def test_what_only_this_service_has_in_messages_keeps_its_words(block, part):
    assert parsed(raw(said("user", block))).request.messages[0].parts == (part,)


@pytest.mark.parametrize("given", ["not an object", ["a"], {"INVALID_JSON": "{"}])
def test_arguments_that_are_no_object_are_a_calls_all_the_same(given):
    call = {"toolUse": {"toolUseId": "t", "name": "look", "input": given}}
    (part,) = parsed(raw(said("assistant", call))).request.messages[0].parts
    assert isinstance(part, ToolCall)
    assert part.arguments == ("{" if isinstance(given, dict) else given)


def test_thinking_without_a_signature_is_thinking():
    thought = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    assert parsed(raw(said("assistant", thought))).request.messages[0].parts == (Thinking("hm"),)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nova_grounding", "web_search"),
        ("nova_code_interpreter", "code_execution"),
        ("nova_of_tomorrow", "other"),
    ],
)
def test_a_tool_that_the_service_brings_says_what_it_is(name, kind):
    (tool,) = parsed(raw(toolConfig={"tools": [{"systemTool": {"name": name}}]})).request.tools
    assert (tool.name, tool.kind, tool.dialect) == (name, kind, "bedrock")


def test_a_block_with_two_keys_is_the_one_that_is_known():
    found = parsed(raw(said("user", {"note": 1, "text": "hi"})))
    assert found.request.messages[0].parts == (Text("hi"),)
    assert found.unknown == ("messages.0.content.0.note",)


def test_ranges_pairings_and_seals_are_not_checked():
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "forged"}}}
    body = raw(
        said("assistant", thought, {"toolUse": {"toolUseId": "a b", "name": "f g", "input": {}}}),
        said("user", {"image": {"format": "heic", "source": {"bytes": "aGk="}}}),
        inferenceConfig={"temperature": 1.5},
    )
    found = parsed(body, CLAUDE)
    thinking, call = found.request.messages[0].parts
    assert thinking == Thinking("hm", Signature("bedrock", "forged"))
    assert call == ToolCall("a b", "f g", {})
    assert found.request.messages[1].parts == (Image("image/heic", b"hi"),)
    assert found.request.temperature == 1.5


@pytest.mark.parametrize(
    ("fields", "intent", "show"),
    [
        ({}, Intent("unset"), None),
        ({"thinking": {"type": "disabled"}}, Intent("off"), None),
        ({"thinking": {"type": "adaptive", "display": "summarized"}}, Intent("on"), True),
        ({"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low"}}, Intent("level", "low"), False),
        ({"thinking": {"type": "enabled", "budget_tokens": 10}}, Intent("budget", None, 10), None),
        ({"thinking": {"type": "enabled", "budget_tokens": 2048, "mood": 1}, "top_k": -1}, Intent("budget", None, 2048), None),
        ({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}, Intent("level", "low"), None),
        ({"reasoningConfig": {"type": "disabled"}}, Intent("off"), None),
        ({"reasoning_effort": "high", "new": 1}, Intent("level", "high"), None),
        ({"reasoning": {"effort": "none"}}, Intent("off"), None),
        ({"reasoning_config": "high"}, Intent("level", "high"), None),
        ({"reasoning_config": {"type": "adaptive"}}, Intent("on"), None),
        ({"thinking": {"type": "of tomorrow"}}, Intent("unset"), None),
    ],
)  # fmt: skip
def test_the_wish_is_read_in_every_makers_spelling(fields, intent, show):
    found = parsed(own(**fields))
    assert (found.intent, found.show) == (intent, show)


def test_own_fields_that_no_maker_has_are_listed():
    found = parsed(own(top_k=3, thinking={"type": "adaptive", "mood": 1}, new=1))
    assert found.request.top_k == 3
    assert set(found.unknown) == {
        "additionalModelRequestFields.new",
        "additionalModelRequestFields.thinking.mood",
    }


def test_an_effort_in_the_common_field_is_a_wish_too():
    assert parsed(raw(outputConfig={"effort": "low"})).intent == Intent("level", "low")


@pytest.mark.parametrize("body", [[], {"messages": [{"role": "wizard", "content": []}]}, {}])
def test_what_is_no_conversation_is_refused(body):
    with pytest.raises(Rejected):
        parsed(body)


# -- an answer by a gateway ------------------------------------------------------------------

ANSWER = Reply(
    Message("assistant", (Thinking("hm"), Text("yes"), Thinking("", redacted=True))),
    "stop",
    Usage(input=1, output=2, thinking=3, total=6),
)


def answering(seal=None, **more):
    found = parsed(raw(additionalModelResponseFieldPaths=["/usage/output_tokens_details"]))
    given = {"sign": seal} if seal else {}
    return ReplyContext(request=found.request, context=found.context, seed=b"7", **given, **more)


def test_a_gateway_seals_answers_itself():
    def seal(part, shown, before):
        return f"{part.text}|{shown}|{len(before)}"

    response = WIRE.service().reply(answering(seal, shown=True), ANSWER)
    body = json.loads(response.body)
    assert body["output"]["message"]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "hm|hm|0"}}},
        {"text": "yes"},
        {"reasoningContent": {"redactedContent": "||2"}},
    ]
    assert body["additionalModelResponseFields"]["usage"]["output_tokens_details"]


def test_a_slot_without_a_seal_is_left_out():
    body = json.loads(WIRE.service().reply(answering(shown=True), ANSWER).body)
    assert body["output"]["message"]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
        {"text": "yes"},
    ]


def test_the_id_of_an_answer_is_made_from_the_seed():
    first = WIRE.service().reply(answering(), ANSWER).headers["x-amzn-requestid"]
    stream = WIRE.service().stream(answering(shown=True))
    assert stream.headers["x-amzn-requestid"] == first
    data = b"".join(stream.feed(event) for event in told(ANSWER)) + stream.eof()
    assert b'"reasoningContent":{"text":"h' in data
