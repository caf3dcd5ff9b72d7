"""What the service takes and refuses, by the rules of each maker's models."""

import json

import pytest

from pondero.canon import Blob, CacheBreakpoint, HttpRequest, Image, Text, ToolChoice, UnknownPart
from pondero.dialects import Rejected

from ..making import BOUND, CLAUDE, OLDER, WIRE, raw, refusal, said, sent

NOVA, NOVA_2 = "us.amazon.nova-lite-v1:0", "us.amazon.nova-2-lite-v1:0"
OSS, GPT, ASTRA = "openai.gpt-oss-120b-1:0", "openai.gpt-6-sol", "openai.gpt-6-astra"
GROK, QWEN, R1, V3 = "xai.grok-4.7", "qwen.qwen3-32b-v1:0", "us.deepseek.r1-v1:0", "deepseek.v3.2"
TOOL = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}
USE = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}
RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}]}}


def own(**fields):
    return raw(additionalModelRequestFields=fields)


def thinking(**fields):
    return own(thinking=fields)


def capped(tokens, **fields):
    return {**own(**fields), "inferenceConfig": {"maxTokens": tokens}}


# -- the four spellings, and who takes which -----------------------------------------------------

ADAPTIVE = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
NOVAS = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}
FLAT = {"reasoning_effort": "high"}
NESTED = {"reasoning": {"effort": "high"}}
WORD = {"reasoning_config": "high"}
SPELLINGS = (ADAPTIVE, BUDGET, NOVAS, FLAT, NESTED, WORD)


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        (CLAUDE, (ADAPTIVE, BUDGET)),
        (OLDER, (BUDGET,)),
        (BOUND, (ADAPTIVE,)),
        (NOVA, ()),
        (NOVA_2, (NOVAS,)),
        (OSS, (FLAT,)),
        (GPT, (NESTED,)),
        (GROK, (NESTED,)),
        (QWEN, (WORD,)),
        (R1, ()),
        ("qwen.qwen3-coder-30b-a3b-v1:0", ()),
    ],
)
@pytest.mark.parametrize("fields", SPELLINGS)
def test_each_maker_takes_its_own_spelling_and_no_other(model, takes, fields):
    body = raw(additionalModelRequestFields=fields)
    if fields in takes:
        assert sent(body, model).thinks
    else:
        assert refusal(body, model)


def test_claudes_spelling_is_passed_over_by_deepseek_v3():
    assert not sent(own(thinking={"type": "enabled", "budget_tokens": 2000}), V3).thinks
    assert sent(own(reasoning_effort="high"), V3).thinks


def test_another_name_for_claudes_thinking_is_taken():
    accepted = sent(own(reasoning_config={"type": "enabled", "budget_tokens": 1024}), OLDER)
    assert (accepted.intent.kind, accepted.intent.tokens) == ("budget", 1024)


@pytest.mark.parametrize(
    ("model", "fields", "kind", "level", "thinks"),
    [
        (CLAUDE, {}, "unset", None, False),
        (CLAUDE, {"thinking": {"type": "disabled"}}, "off", None, False),
        (CLAUDE, ADAPTIVE, "level", "high", True),
        ("us.anthropic.claude-opus-5", {}, "unset", None, True),
        ("us.anthropic.claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}, "off", None, False),
        (NOVA_2, {}, "unset", None, False),
        (NOVA_2, {"reasoningConfig": {"type": "disabled"}}, "off", None, False),
        (OSS, {}, "unset", None, True),
        (GPT, {"reasoning": {"effort": "none"}}, "off", None, False),
        (QWEN, {"reasoning_config": "none"}, "off", None, False),
        (QWEN, {"reasoning_config": "low"}, "level", "low", False),
        (R1, {}, "unset", None, True),
        ("moonshot.kimi-k2-thinking", {"reasoning_effort": "low"}, "unset", None, True),
    ],
)  # fmt: skip
def test_what_is_made_of_a_wish(model, fields, kind, level, thinks):
    accepted = sent(raw(additionalModelRequestFields=fields), model)
    assert (accepted.intent.kind, accepted.intent.level, accepted.thinks) == (kind, level, thinks)


def test_an_effort_may_stand_in_the_body_itself():
    accepted = sent(raw(outputConfig={"effort": "max"}), CLAUDE)
    assert (accepted.intent.kind, accepted.intent.level) == ("level", "max")
    assert "outputConfig.effort" in refusal(raw(outputConfig={"effort": "low"}), NOVA)


@pytest.mark.parametrize(
    ("model", "body", "words"),
    [
        (OLDER, capped(4096, thinking={"type": "enabled", "budget_tokens": 1023}), "greater than or equal to 1024"),
        (OLDER, capped(4096, thinking={"type": "enabled"}), "budget_tokens: Field required"),
        (OLDER, capped(1024, thinking=BUDGET["thinking"]), "`max_tokens` must be greater than"),
        (BOUND, own(**BUDGET), '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'),
        (BOUND, thinking(type="disabled"), "is not supported"),
        ("us.anthropic.claude-sonnet-5-5", thinking(type="disabled"), "between_tools"),
        ("us.anthropic.claude-opus-5", own(thinking={"type": "disabled"}, output_config={"effort": "max"}), "while thinking is off"),
        (CLAUDE, own(output_config={"effort": "xhigh"}), "Supported levels: high, low, max, medium"),
        (OLDER, own(output_config={"effort": "low"}), "effort parameter"),
        (OSS, own(reasoning_effort="none"), "low, medium, high"),
        (ASTRA, own(reasoning={"effort": "none"}), "low, medium, high, xhigh"),
        (GPT, own(reasoning_effort="low"), "extraneous key [reasoning_effort]"),
        (GPT, own(reasoning={"effort": "minimal"}), "minimal"),
        (NOVA_2, own(reasoningConfig={"type": "enabled"}), "maxReasoningEffort"),
        (NOVA_2, capped(9, reasoningConfig={"type": "enabled", "maxReasoningEffort": "high"}), "maxTokens must be unset"),
        (R1, own(reasoning_effort="low"), "extraneous key"),
        (OLDER, capped(64001), "model limit of 64000"),
        (CLAUDE, own(marvel=1), "extraneous key [marvel]"),
    ],
)  # fmt: skip
def test_what_a_model_does_not_take_is_refused(model, body, words):
    assert words in refusal(body, model)


@pytest.mark.parametrize("model", ["us.anthropic.claude-opus-4-8", GPT, GROK])
@pytest.mark.parametrize("field", ["temperature", "topP"])
def test_sampling_where_there_is_none_is_refused(model, field):
    words = f"doesn't support the {field} field"
    assert words in refusal(raw(inferenceConfig={field: 0.5}), model)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inferenceConfig": {"temperature": 0.5}}, "`temperature` may only be set to 1"),
        ({"inferenceConfig": {"topP": 0.5}}, "`top_p` must be"),
        ({"additionalModelRequestFields": {**ADAPTIVE, "top_k": 3}}, "`top_k` must be unset"),
    ],
)
def test_sampling_beside_claudes_thinking_is_refused(fields, words):
    assert words in refusal(own(**ADAPTIVE) | fields)


@pytest.mark.parametrize("choice", [{"any": {}}, {"tool": {"name": "look"}}])
def test_a_forced_tool_and_thinking(choice):
    config = {"toolConfig": {"tools": [TOOL], "toolChoice": choice}}
    assert "forces tool use" in refusal(own(**BUDGET) | config, OLDER)
    assert not sent(own(**ADAPTIVE) | config, CLAUDE).thinks
    assert "not supported for this model" in refusal(own(**ADAPTIVE) | config, BOUND)
    assert sent(own(**NESTED) | config, GROK).thinks


# -- who asks, and whom ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "MissingAuthenticationTokenException"),
        ({"authorization": "Bearer "}, "IncompleteSignatureException"),
        ({"authorization": "Basic eA=="}, "IncompleteSignatureException"),
        (
            {
                "authorization": "AWS4-HMAC-SHA256 Credential=A/20261115/us-east-1/s3/aws4_request, "
                "SignedHeaders=host, Signature=" + "0" * 64,
                "x-amz-date": "x",
            },
            "IncompleteSignatureException",
        ),
    ],
)
def test_without_a_key_or_a_signature_it_is_forbidden(headers, code):
    http = HttpRequest("POST", f"https://x/model/{CLAUDE}/converse", headers, b"{}")
    with pytest.raises(Rejected) as refused:
        WIRE.service().accept(http, "bedrock")
    answer = refused.value.response
    assert (answer.status, answer.headers["x-amzn-errortype"]) == (403, code)


@pytest.mark.parametrize(
    "model",
    [
        "anthropic.claude-3-haiku-20240307-v1:0",
        "anthropic.claude-3-haiku-20240307-v1:0:48k",
        "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0",
        "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc",
        "amazon.nova-2-pro-preview-20251202-v1:0",
        "openai.gpt-oss-20b-1:0",
    ],
)
def test_a_model_is_known_by_its_id_and_by_its_address(model):
    assert sent(raw(), model).request.model == model


@pytest.mark.parametrize(
    "model",
    [
        "claude-none",
        "claude-opus-5",
        "us.claude-opus-5",
        "us.anthropic.claude-opus-9",
        "gpt-6-sol",
        "x",
    ],
)
def test_a_model_that_is_not_served_is_told_so(model):
    assert refusal(raw(), model) == "The provided model identifier is invalid."


SHOWN = {"thinking": {"type": "adaptive", "display": "summarized"}}


@pytest.mark.parametrize(
    "model",
    [
        "us-gov.anthropic.claude-opus-5",
        "arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.anthropic.claude-opus-5",
    ],
)
def test_govcloud_does_not_know_the_wish_to_be_shown_thinking(model):
    assert "thinking.adaptive.display: Extra inputs are not permitted" in refusal(
        own(**SHOWN), model
    )
    assert sent(own(**ADAPTIVE), model).intent.kind == "level"


def test_govcloud_is_known_by_its_region_too():
    http = HttpRequest(
        "POST",
        "https://bedrock-runtime.us-gov-east-1.amazonaws.com/model/anthropic.claude-opus-5/converse",
        {"authorization": "Bearer k"},
        json.dumps(own(**SHOWN)).encode(),
    )
    with pytest.raises(Rejected, match="display"):
        WIRE.service().accept(http, "bedrock")


def test_the_address_says_whether_it_is_a_stream():
    assert sent(raw(), verb="converse-stream").request.stream
    assert not sent(raw(), verb="converse").request.stream
    assert WIRE.service().matches_path("/model/x/converse")
    assert not WIRE.service().matches_path("/model/x/invoke")
    assert not WIRE.service().matches_path("/model/x/y/converse")


# -- the conversation ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([said("user")], "content field in the Message object at messages.0 is empty"),
        ([said("user", {"text": ""})], "messages.0.content.0 is blank"),
        ([said("user", {"text": "a", "image": {}})], "exactly one member"),
        ([said("user", {"marvel": 1})], "#/messages/0/content/0: extraneous key [marvel]"),
        ([said("assistant", {"image": {"format": "png", "source": {"bytes": "eA=="}}})], "only a user message"),
        ([said("user", {"document": {"name": "a", "source": {"bytes": "eA=="}}})], "A text block must be included when using documents."),
        ([said("user", {"text": "x"}, {"image": {"format": "png", "source": {}}})], "exactly one member"),
        ([said("user", {"text": "x"}, {"image": {"format": "png", "source": {"bytes": "?"}}})], "base64"),
        ([said("user", {"text": "x"}, {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/b"}}}})], "s3Uri"),
        ([said("user", {"text": "x"}), said("assistant", USE), said("user", RESULT)], "toolConfig field must be defined"),
    ],
)  # fmt: skip
def test_a_conversation_that_is_not_in_order_is_refused(messages, words):
    assert words in refusal(raw(*messages))


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([said("user", {"text": "x"}), said("assistant", USE)], "Expected toolResult blocks at messages.2.content for the following Ids: t1"),
        ([said("user", {"text": "x"}), said("assistant", USE), said("user", {"text": "y"})], "Expected toolResult"),
        ([said("user", RESULT)], "exceeds the number of toolUse blocks"),
        ([said("user", {"text": "x"}), said("assistant", {"toolUse": {**USE["toolUse"], "toolUseId": "a b"}})], "toolUseId"),
    ],
)  # fmt: skip
def test_calls_and_results_must_pair(messages, words):
    assert words in refusal(raw(*messages, toolConfig={"tools": [TOOL]}))


def test_who_speaks_first_is_a_matter_of_the_model():
    turns = (said("assistant", {"text": "x"}), said("user", {"text": "y"}))
    assert sent(raw(*turns), CLAUDE).request.messages[0].role == "assistant"
    assert "must start with a user message" in refusal(raw(*turns), NOVA)


def test_thinking_that_is_not_the_services_own_is_refused():
    forged = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "EpMC"}}}
    bare = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    hidden = {"reasoningContent": {"redactedContent": "cmVk"}}
    ask, go = said("user", {"text": "x"}), said("user", {"text": "y"})

    def told(block, model):
        return refusal(raw(ask, said("assistant", block, {"text": "z"}), go), model)

    assert "messages.1.content.0: Invalid `signature`" in told(forged, CLAUDE)
    assert "thinking.signature: Field required" in told(bare, CLAUDE)
    assert "Invalid `data`" in told(hidden, CLAUDE)
    assert "doesn't support the reasoningContent.reasoningText.signature field" in told(forged, OSS)
    sent(raw(ask, said("assistant", bare, {"text": "z"}), go), OSS)


def test_an_open_tool_loop_must_begin_with_thinking_where_a_budget_is_set():
    turns = (said("user", {"text": "x"}), said("assistant", USE), said("user", RESULT))
    body = raw(*turns, toolConfig={"tools": [TOOL]}, additionalModelRequestFields=BUDGET)
    assert "Expected `thinking`" in refusal(body, OLDER)
    adaptive = {**body, "additionalModelRequestFields": ADAPTIVE}
    assert sent(adaptive, CLAUDE).thinks


# -- what is read ----------------------------------------------------------------------------------


def test_what_was_said_is_read_as_it_was_meant():
    accepted = sent(
        raw(
            said(
                "user",
                {"text": "a"},
                {"cachePoint": {"type": "default", "ttl": "5m"}},
                {"image": {"format": "png", "source": {"bytes": "eA=="}}},
                {"document": {"name": "n", "format": "txt", "source": {"bytes": "eA=="}}},
                {"document": {"name": "m", "source": {"text": "b"}, "context": "c"}},
                {"guardContent": {"text": {"text": "g"}}},
                {"video": {"format": "three_gp", "source": {"bytes": "eA=="}}},
            ),
            system=[{"text": "s"}, {"cachePoint": {"type": "default"}}],
            additionalModelRequestFields={"tool_choice": {"type": "none"}},
            toolConfig={"tools": [TOOL, {"systemTool": {"name": "ground"}}]},
        )
    ).request
    document = {"document": {"name": "m", "source": {"text": "b"}, "context": "c"}}
    assert accepted.messages[0].parts == (
        Text("a", cache=CacheBreakpoint("5m")),
        Image("image/png", b"x"),
        Blob("text/plain", b"x", name="n"),
        UnknownPart("bedrock", document),
        UnknownPart("bedrock", {"guardContent": {"text": {"text": "g"}}}),
        Blob("video/3gpp", b"x"),
    )
    assert accepted.system == (Text("s", cache=CacheBreakpoint()),)
    assert accepted.tool_choice == ToolChoice("none")
    assert [tool.name for tool in accepted.tools] == ["look", "ground"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inferenceConfig": {"maxTokens": 0}}, "Value at 'inferenceConfig.maxTokens'"),
        ({"inferenceConfig": {"temperature": 2}}, "Value at 'inferenceConfig.temperature'"),
        ({"inferenceConfig": {"max_tokens": 9}}, "#/inferenceConfig: extraneous key [max_tokens]"),
        ({"messages": None}, "Value at 'messages'"),
        ({"toolConfig": {"tools": []}}, "Value at 'toolConfig.tools'"),
        ({"toolConfig": {"tools": [{"toolSpec": {"name": "look"}}]}}, "toolConfig.tools.0.toolSpec.inputSchema' failed to satisfy constraint: Member must not be null"),
        ({"toolConfig": {"tools": [TOOL, TOOL]}}, "same name"),
        ({"toolConfig": {"tools": [TOOL], "toolChoice": {"tool": {"name": "see"}}}}, "see"),
        ({"toolConfig": {"tools": [TOOL], "toolChoice": {"none": {}}}}, "extraneous key [none]"),
        ({"toolConfig": {"tools": [TOOL], "toolChoice": {"auto": {}}}, "additionalModelRequestFields": {"tool_choice": {"type": "none"}}}, "conflicts"),
        ({"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{"}}}}}, "not valid JSON"),
        ({"marvel": 1}, "#: extraneous key [marvel]"),
    ],
)  # fmt: skip
def test_a_body_of_another_shape_is_refused_with_its_place(fields, words):
    assert words in refusal(raw() | fields)


def test_what_is_no_json_is_told_so():
    http = HttpRequest(
        "POST", f"https://x/model/{CLAUDE}/converse", {"authorization": "Bearer k"}, b"{"
    )
    with pytest.raises(Rejected) as refused:
        WIRE.service().accept(http, "bedrock")
    assert "not valid JSON" in json.loads(refused.value.response.body)["message"]
