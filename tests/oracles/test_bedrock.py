"""Amazon's own SDK, pointed at the emulator over real HTTP, with its normal code."""

import json
from contextlib import closing

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from pondero.emulator import Emulator, Fault, ScriptedCall, ScriptedTurn, run_emulator_in_thread

pytestmark = pytest.mark.judge

CLAUDE = "us.anthropic.claude-sonnet-4-6"
BUDGETED = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
THINKING = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
PATHS = ["/usage/output_tokens_details"]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = {
    "tools": [
        {
            "toolSpec": {
                "name": "get_weather",
                "description": "Weather of a city.",
                "inputSchema": {"json": SCHEMA},
            }
        }
    ]
}
CITIES = "What is the weather in Paris and London?"


@pytest.fixture(scope="module")
def emulator():
    return Emulator()


@pytest.fixture(scope="module")
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


@pytest.fixture(autouse=True)
def _fresh(emulator):
    emulator.reset()


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def _client(url, **config):
    once = Config(retries={"total_max_attempts": 1}, **config)
    return boto3.Session().client(
        "bedrock-runtime", endpoint_url=url, region_name="us-east-1", config=once
    )


@pytest.fixture
def converse(url):
    with closing(_client(url)) as client:
        yield client


def asked(text="What is 17 * 23?", **more):
    thread = [{"role": "user", "content": [{"text": text}]}]
    return {"modelId": CLAUDE, "messages": thread, **more}


def thinking(**more):
    return {
        "inferenceConfig": {"maxTokens": 4000},
        "additionalModelRequestFields": THINKING,
        "additionalModelResponseFieldPaths": PATHS,
        **more,
    }


def gathered(stream):
    """Return a stream's message, stop reason and metadata, put together from what boto3 read."""
    blocks, ending, metadata = {}, None, None
    for event in stream:
        ((kind, said),) = event.items()
        if kind == "contentBlockStart":
            blocks[said["contentBlockIndex"]] = {
                "toolUse": {**said["start"]["toolUse"], "input": ""}
            }
        elif kind == "contentBlockDelta":
            _grow(blocks.setdefault(said["contentBlockIndex"], {}), said["delta"])
        elif kind == "messageStop":
            ending = said
        elif kind == "metadata":
            metadata = said
    return [blocks[index] for index in sorted(blocks)], ending, metadata


def _grow(block, delta):
    if "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    else:
        more = delta["reasoningContent"]
        if "redactedContent" in more:
            block["reasoningContent"] = more
            return
        thought = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})
        text = thought["reasoningText"]
        text["text"] += more.get("text", "")
        if "signature" in more:
            text["signature"] = more["signature"]


def test_it_answers_thinks_signs_and_counts(converse):
    answer = converse.converse(**asked(**thinking()))
    thought, text = answer["output"]["message"]["content"]
    assert "391" in thought["reasoningContent"]["reasoningText"]["text"]
    assert len(thought["reasoningContent"]["reasoningText"]["signature"]) > 200
    assert text == {"text": "17 * 23 = 391"}
    assert answer["stopReason"] == "end_turn"
    usage = answer["usage"]
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]
    counted = answer["additionalModelResponseFields"]["usage"]["output_tokens_details"]
    assert 0 < counted["thinking_tokens"] < usage["outputTokens"]


def test_it_streams_what_it_would_have_said_at_once(converse):
    whole = converse.converse(**asked(**thinking()))
    answer = converse.converse_stream(**asked(**thinking()))
    blocks, ending, metadata = gathered(answer["stream"])
    assert blocks == whole["output"]["message"]["content"]
    assert ending["stopReason"] == whole["stopReason"]
    assert ending["additionalModelResponseFields"] == whole["additionalModelResponseFields"]
    assert metadata["usage"] == whole["usage"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (CLAUDE, THINKING),
        (BUDGETED, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        ("us.anthropic.claude-opus-5-5", THINKING),
    ],
)
def test_a_tool_loop_with_thinking_is_taken_on_turn_two(converse, model, fields, streamed):
    thread = [{"role": "user", "content": [{"text": CITIES}]}]
    more = thinking(additionalModelRequestFields=fields, toolConfig=TOOLS)
    first = _said(converse, model, thread, more, streamed=streamed)
    calls = [block["toolUse"] for block in first if "toolUse" in block]
    assert "reasoningContent" in first[0]
    assert [call["input"] for call in calls] == [{"city": "Paris"}, {"city": "London"}]
    results = [
        {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "18 degrees"}]}}
        for call in calls
    ]
    thread += [{"role": "assistant", "content": first}, {"role": "user", "content": results}]
    second = _said(converse, model, thread, more, streamed=streamed)
    assert second[-1]["text"].count("18 degrees") == 2
    thread += [
        {"role": "assistant", "content": second},
        {"role": "user", "content": [{"text": "What is 3 + 4?"}]},
    ]
    third = _said(converse, model, thread, more, streamed=streamed)
    assert third[-1] == {"text": "3 + 4 = 7"}


def _said(client, model, thread, more, *, streamed):
    given = {"modelId": model, "messages": thread, **more}
    if not streamed:
        return client.converse(**given)["output"]["message"]["content"]
    blocks, _, _ = gathered(client.converse_stream(**given)["stream"])
    for block in blocks:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return blocks


@pytest.mark.parametrize("streamed", [False, True])
def test_hidden_thinking_is_bytes_to_the_sdk_and_goes_back_unread(converse, emulator, streamed):
    emulator.expect(ScriptedTurn(thinking="not to be read", redacted=True, text="Done."))
    more = thinking()
    thread = [{"role": "user", "content": [{"text": "hi"}]}]
    first = _said(converse, CLAUDE, thread, more, streamed=streamed)
    assert isinstance(first[0]["reasoningContent"]["redactedContent"], bytes)
    thread += [
        {"role": "assistant", "content": first},
        {"role": "user", "content": [{"text": "What is 3 + 4?"}]},
    ]
    assert _said(converse, CLAUDE, thread, more, streamed=streamed)[-1] == {"text": "3 + 4 = 7"}


def _code(refused):
    return refused.value.response["Error"]["Code"]


def _changed(content):
    text = content[0]["reasoningContent"]["reasoningText"]
    changed = {**text, "text": text["text"] + " and more"}
    return [{"reasoningContent": {"reasoningText": changed}}, *content[1:]]


def test_thinking_that_was_changed_is_refused_with_boto3s_own_exception(converse):
    first = converse.converse(**asked(**thinking()))["output"]["message"]["content"]
    thread = [
        {"role": "user", "content": [{"text": "What is 17 * 23?"}]},
        {"role": "assistant", "content": _changed(first)},
        {"role": "user", "content": [{"text": "go on"}]},
    ]
    with pytest.raises(converse.exceptions.ValidationException, match="Invalid `signature`"):
        converse.converse(modelId=CLAUDE, messages=thread, **thinking())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"modelId": "us.anthropic.claude-none"}, "model identifier is invalid"),
        ({"modelId": BUDGETED, **thinking()}, "thinking.type.adaptive"),
        (
            {
                "modelId": BUDGETED,
                "inferenceConfig": {"maxTokens": 1024},
                "additionalModelRequestFields": {
                    "thinking": {"type": "enabled", "budget_tokens": 1024}
                },
            },
            "must be greater than `thinking.budget_tokens`",
        ),
        ({"additionalModelRequestFields": {"reasoning_effort": "low"}}, "extraneous key"),
        (
            {"modelId": "us.deepseek.r1-v1:0", "additionalModelRequestFields": THINKING},
            "extraneous",
        ),
        ({"modelId": "xai.grok-4.7", "inferenceConfig": {"temperature": 0.5}}, "temperature"),
        ({"messages": [{"role": "user", "content": [{"text": ""}]}]}, "is blank"),
    ],
)
def test_wrong_requests_raise_a_validation_exception(converse, more, words):
    with pytest.raises(converse.exceptions.ValidationException, match=words) as refused:
        converse.converse(**{**asked(), **more})
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (403, "AccessDeniedException"),
        (404, "ResourceNotFoundException"),
        (408, "ModelTimeoutException"),
        (429, "ThrottlingException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ],
)
def test_every_error_is_boto3s_exception_of_that_name(converse, emulator, status, name):
    emulator.faults.append(Fault.parse(status))
    with pytest.raises(getattr(converse.exceptions, name)) as refused:
        converse.converse(**asked())
    assert _code(refused) == name
    assert refused.value.response["ResponseMetadata"]["RequestId"]


def test_an_error_within_a_stream_is_raised_by_the_sdk(converse, emulator):
    emulator.faults.append(Fault(kind="error_event", status=429))
    answer = converse.converse_stream(**asked())
    with closing(answer["stream"]) as stream, pytest.raises(EventStreamError, match="throttling"):
        list(stream)


def test_a_stream_one_byte_at_a_time_is_read(converse, emulator):
    emulator.faults.append(Fault.parse("trickle"))
    blocks, ending, _ = gathered(converse.converse_stream(**asked())["stream"])
    assert blocks == [{"text": "17 * 23 = 391"}]
    assert ending == {"stopReason": "end_turn"}


def test_a_request_that_nobody_signed_is_refused(url):
    with closing(_client(url, signature_version=UNSIGNED)) as nobody:
        with pytest.raises(ClientError) as refused:
            nobody.converse(**asked())
        assert _code(refused) == "MissingAuthenticationTokenException"


def test_a_profile_of_ones_own_is_addressed_by_its_arn(converse):
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
    answer = converse.converse(**asked(modelId=arn))
    assert answer["output"]["message"]["content"] == [{"text": "17 * 23 = 391"}]


def test_scripted_calls_arrive_whole(converse, emulator):
    emulator.expect(
        ScriptedTurn(
            text="Let me look.", tool_calls=(ScriptedCall("get_weather", {"city": "Oslo"}),)
        )
    )
    answer = converse.converse(**asked(toolConfig=TOOLS))
    words, call = answer["output"]["message"]["content"]
    assert (words["text"], call["toolUse"]["input"]) == ("Let me look.", {"city": "Oslo"})
    assert answer["stopReason"] == "tool_use"


def test_tokens_are_counted_without_an_answer(converse):
    few, many = (
        converse.count_tokens(
            modelId=CLAUDE,
            input={"converse": {"messages": [{"role": "user", "content": [{"text": text}]}]}},
        )["inputTokens"]
        for text in ("hi", "hi " * 50)
    )
    assert 0 < few < many
    blank = {"messages": [{"role": "user", "content": [{"text": ""}]}]}
    with pytest.raises(converse.exceptions.ValidationException, match="is blank"):
        converse.count_tokens(modelId=CLAUDE, input={"converse": blank})
