"""Our requests as Converse says them."""

import json

import pytest

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    OutputFormat,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
)
from pondero.errors import BadParameter

from ..making import CLAUDE, OLDER, ask, body_of, encoded

NOVA = "amazon.nova-lite-v1:0"
PDF = b"%PDF-1.7"
WEATHER = Tool("weather", "Tells it.", {"type": "object", "properties": {}}, strict=True)
CALL = ToolCall("t1", "weather", {"city": "Oslo"})
LOOP = (
    Message("user", (Text("hi"),)),
    Message("assistant", (CALL,)),
    Message("user", (ToolResult("t1", (Text("rain"),)),)),
)


def contents(*messages):
    return [message["content"] for message in body_of(ask(messages=messages))["messages"]]


@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        (OLDER, False, "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"),
        (CLAUDE, True, "us.anthropic.claude-sonnet-4-6/converse-stream"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.a-b",
            False,
            "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.a-b/converse",
        ),
    ],
)
def test_the_model_stands_in_the_path_encoded(model, stream, path):
    http = encoded(ask(model=model, stream=stream))
    assert http.url == f"https://bedrock.invalid/model/{path}"
    assert http.headers == {"content-type": "application/json", "authorization": "Bearer k"}
    assert "model" not in json.loads(http.body)


def test_the_plain_parameters_have_their_places():
    request = ask(
        system=(Text("Be brief."), Text("Be kind.", cache=CacheBreakpoint("1h"))),
        temperature=0.2,
        top_p=0.9,
        top_k=5,
        stop=("END",),
        extras={"requestMetadata": {"a": "b"}},
    )
    assert body_of(request, {"inferenceConfig": {"maxTokens": 9}}, dropped=("top_p",)) == {
        "system": [
            {"text": "Be brief."},
            {"text": "Be kind."},
            {"cachePoint": {"type": "default", "ttl": "1h"}},
        ],
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.2, "stopSequences": ["END"]},
        "additionalModelRequestFields": {"top_k": 5},
        "additionalModelResponseFieldPaths": ["/usage/output_tokens_details"],
        "requestMetadata": {"a": "b"},
    }


def test_thinking_is_counted_by_asking_for_it_and_only_of_claude():
    assert "additionalModelResponseFieldPaths" in body_of(ask(model=CLAUDE))
    assert "additionalModelResponseFieldPaths" not in body_of(ask(model=NOVA))


def test_thinking_goes_back_nested_and_in_place():
    parts = (
        Thinking("hm", Signature("bedrock", "EpMC")),
        Thinking("", Signature("bedrock", "cmVk"), redacted=True),
        Text("So."),
        Thinking("unsigned", Signature("bedrock", "")),
        Thinking("cut off"),
        Thinking("foreign", Signature("anthropic", "EpMC")),
    )
    assert contents(Message("assistant", parts)) == [
        [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "EpMC"}}},
            {"reasoningContent": {"redactedContent": "cmVk"}},
            {"text": "So."},
            {"reasoningContent": {"reasoningText": {"text": "unsigned"}}},
        ]
    ]


def test_calls_and_results():
    failed = ToolResult(
        "a/b", (Text("no"), Image("image/png", b"x")), error=True, cache=CacheBreakpoint()
    )
    assert contents(Message("assistant", (CALL,)), Message("user", (failed,))) == [
        [{"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}}],
        [
            {
                "toolResult": {
                    "toolUseId": contents(Message("user", (ToolResult("a/b", ()),)))[0][0][
                        "toolResult"
                    ]["toolUseId"],
                    "content": [
                        {"text": "no"},
                        {"image": {"format": "png", "source": {"bytes": "eA=="}}},
                    ],
                    "status": "error",
                }
            },
            {"cachePoint": {"type": "default"}},
        ],
    ]


def test_an_id_of_another_alphabet_is_made_fit_the_same_on_both_sides():
    call, result = contents(
        Message("assistant", (ToolCall("a/b c", "look", {}),)),
        Message("user", (ToolResult("a/b c", ()),)),
    )
    made = call[0]["toolUse"]["toolUseId"]
    assert made == result[0]["toolResult"]["toolUseId"]
    assert made.startswith("tooluse_")


def test_arguments_that_are_no_object_are_still_one_on_the_wire():
    ((call,),) = contents(Message("assistant", (ToolCall("t", "look", '{"a"'),)))
    assert call["toolUse"]["input"] == {"INVALID_JSON": '{"a"'}


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (Image("image/jpeg", b"x"), {"image": {"format": "jpeg", "source": {"bytes": "eA=="}}}),
        (Image(None, b"GIF89a"), {"image": {"format": "gif", "source": {"bytes": "R0lGODlh"}}}),
        (
            Image(url="data:image/webp;base64,eA=="),
            {"image": {"format": "webp", "source": {"bytes": "eA=="}}},
        ),
        (
            Image("image/png", url="s3://bucket/a.png"),
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}},
        ),
        (
            Blob("application/pdf", PDF, name="my  file: v2.pdf"),
            {
                "document": {
                    "format": "pdf",
                    "name": "my file- v2-pdf",
                    "source": {"bytes": "JVBERi0xLjc="},
                }
            },
        ),
        (Blob("video/mp4", b"x"), {"video": {"format": "mp4", "source": {"bytes": "eA=="}}}),
        (Blob("audio/wav", b"x"), {"audio": {"format": "wav", "source": {"bytes": "eA=="}}}),
    ],
)
def test_media(part, block):
    assert contents(Message("user", (Text("see"), part))) == [[{"text": "see"}, block]]


def test_a_document_without_words_gets_its_name_for_them():
    ((document, words),) = contents(Message("user", (Blob("application/pdf", PDF),)))
    assert (document["document"]["name"], words) == ("document", {"text": "document"})


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Image(url="https://example.com/a.png"), "nothing but s3://"),
        (Image("image/tiff", b"x"), "not 'image/tiff'"),
        (Blob("application/zip", b"x"), "not 'application/zip'"),
    ],
)
def test_media_that_cannot_be_sent_are_told(part, words):
    with pytest.raises(BadParameter, match=words):
        contents(Message("user", (Text("see"), part)))


def test_what_cannot_be_said_is_left_out_and_our_own_is_kept():
    guarded = {"guardContent": {"text": {"text": "x"}}}
    parts = (Text(""), UnknownPart("bedrock", guarded), UnknownPart("gemini", {"a": 1}), Text("\n"))
    assert contents(Message("user", parts), Message("assistant", (Text(""),))) == [[guarded]]


def test_citations_go_back_with_their_words():
    cited = {"location": {"web": {"url": "https://example.com"}}}
    parts = (Text("So.", citations=(cited,)), Text("", citations=(cited,)))
    assert contents(Message("assistant", parts)) == [
        [
            {"citationsContent": {"content": [{"text": "So."}], "citations": [cited]}},
            {"citationsContent": {"citations": [cited]}},
        ]
    ]


def test_tools_and_who_must_be_called():
    ground = Tool("ground", raw={"systemTool": {"name": "ground"}})
    tools = (WEATHER, Tool("bare", cache=CacheBreakpoint()), ground)
    assert body_of(ask(tools=tools, tool_choice=ToolChoice("tool", "bare")))["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "weather",
                    "description": "Tells it.",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                    "strict": True,
                }
            },
            {
                "toolSpec": {
                    "name": "bare",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                }
            },
            {"cachePoint": {"type": "default"}},
            {"systemTool": {"name": "ground"}},
        ],
        "toolChoice": {"tool": {"name": "bare"}},
    }


@pytest.mark.parametrize(
    ("mode", "said"), [("auto", {"auto": {}}), ("required", {"any": {}}), ("none", None)]
)
def test_the_choice_of_tools(mode, said):
    body = body_of(ask(tools=(WEATHER,), tool_choice=ToolChoice(mode)))
    assert body["toolConfig"].get("toolChoice") == said


def test_no_tool_may_be_called_in_claudes_own_words_and_elsewhere_by_offering_none():
    forbidden = {"tools": (WEATHER,), "tool_choice": ToolChoice("none")}
    body = body_of(ask(**forbidden))
    assert body["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}
    assert "toolConfig" not in body_of(ask(model=NOVA, **forbidden))
    assert "toolConfig" in body_of(ask(model=NOVA, messages=LOOP, **forbidden))


def test_calls_of_the_past_need_tools_beside_them():
    body = body_of(ask(messages=LOOP))
    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["weather"]
    assert body["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}


def test_a_shape_for_the_answer_is_json_text():
    body = body_of(ask(output=OutputFormat({"type": "object"}, "city")))
    assert body["outputConfig"] == {
        "textFormat": {
            "type": "json_schema",
            "structure": {"jsonSchema": {"schema": '{"type":"object"}', "name": "city"}},
        }
    }
    assert "outputConfig" not in body_of(ask(output=OutputFormat()))
