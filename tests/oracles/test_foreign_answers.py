"""The vendors' SDKs read answers of other wires as a gateway writes them, in process.

Each is what Claude, Gemini or GPT may say: several thoughts, some without words, envelopes in the
slots, calls whose arguments come in pieces, a picture, a part that no other wire has.
"""

import io
import json
from contextlib import closing

import anthropic
import boto3
import cohere
import httpx
import httpx2
import ollama
import openai
import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.config import Config
from google import genai
from google.genai import types
from tests.laws.strategies import told

from pondero.canon import (
    HttpRequest,
    Image,
    Message,
    PartStart,
    Reply,
    Signature,
    Text,
    Thinking,
    ToolCall,
    UnknownPart,
    Usage,
)
from pondero.dialects import get_dialect
from pondero.dialects.dialect import ReplyContext

pytestmark = pytest.mark.judge

ENVELOPE = "cG5kRXYxAAAA"
SEALED = Signature("pondero", ENVELOPE)
CALL = ToolCall("call_2", "look", {"city": "Köln"}, SEALED)
PARTS = (
    Thinking("Hm."),
    Thinking("", SEALED),
    Text("Let me look."),
    Image("image/png", b"1"),
    UnknownPart("elsewhere", {"type": "server_tool_use"}),
    Thinking("", SEALED, redacted=True),
    CALL,
    ToolCall("call_3", "shell", "ls -l"),
)
PLAIN = PARTS[:-1]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def carried(part, _shown, _before):
    seal = getattr(part, "signature", None)
    return seal.value if seal is not None and seal.dialect == "pondero" else None


def events(reply):
    """Return the answer in pieces; what seals a call is known as it begins, as a gateway's is."""
    for event in told(reply):
        part = reply.message.parts[event.index] if isinstance(event, PartStart) else None
        seal = part.signature if isinstance(part, ToolCall) else None
        yield (
            event
            if seal is None
            else PartStart(event.index, event.kind, event.id, event.name, seal)
        )


def written(name, parts, request):
    """Return status, headers and body of our answer to a request of an SDK."""
    service = get_dialect(name).service()
    headers = {key.lower(): value for key, value in request.headers.items()}
    read = service.parse(HttpRequest(request.method, str(request.url), headers, request.content))
    asked = ReplyContext(
        request=read.request, context=read.context, sign=carried, seed=b"1", shown=True
    )
    reply = Reply(Message("assistant", parts), "tool_calls", Usage(3, None, None, 2), model="opus")
    if not read.request.stream:
        sent = service.reply(asked, reply)
        return sent.status, sent.headers, sent.body
    stream = service.stream(asked)
    body = b"".join(stream.feed(event) for event in events(reply)) + stream.eof()
    return 200, stream.headers, body


def behind(name, parts, kind=httpx2):
    """Return an HTTP client of an SDK whose every request we answer."""

    def answer(request):
        status, headers, body = written(name, parts, request)
        return kind.Response(status, headers=dict(headers), content=body)

    return kind.Client(transport=kind.MockTransport(answer), base_url="http://here")


def client(name, parts):
    return openai.OpenAI(
        api_key="k",
        http_client=behind(name, parts),
        max_retries=0,
        _strict_response_validation=True,
    )


RESPONSES = {
    "model": "opus",
    "input": "hi",
    "tools": [
        {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False},
        {"type": "custom", "name": "shell"},
    ],
    "reasoning": {"summary": "auto"},
    "store": False,
}


@pytest.mark.parametrize("stream", [True, False])
def test_openai_reads_items_of_any_wire(stream):
    made = client("openai_responses", PARTS)
    if stream:
        with made.responses.stream(**RESPONSES) as running:
            seen = [event.type for event in running]
            response = running.get_final_response()
        assert "response.custom_tool_call_input.delta" in seen
    else:
        response = made.responses.create(**RESPONSES)
    kinds = [item.type for item in response.output]
    assert kinds == [
        *("reasoning", "reasoning", "message", "image_generation_call", "reasoning"),
        *("function_call", "custom_tool_call"),
    ]
    first, carrier, *_ = response.output
    assert first.summary[0].text == "Hm."
    assert (carrier.summary, carrier.encrypted_content) == ([], ENVELOPE)
    assert all(item.id.startswith("rs_") for item in response.output if item.type == "reasoning")
    assert json.loads(response.output[5].arguments) == CALL.arguments
    assert response.output[6].input == "ls -l"
    assert response.output_text == "Let me look."
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 2)


CHAT = {
    "model": "opus",
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [
        {"type": "function", "function": {"name": "look", "parameters": SCHEMA}},
        {"type": "custom", "custom": {"name": "shell"}},
    ],
}


def test_openai_reads_a_message_of_any_wire():
    made = client("openai_chat", PARTS).chat.completions.create(**CHAT)
    message = made.choices[0].message
    look, shell = message.tool_calls
    assert (message.content, message.reasoning_content) == ("Let me look.", "Hm.")
    assert (look.function.name, shell.custom.input) == ("look", "ls -l")
    assert look.extra_content["google"]["thought_signature"] == ENVELOPE
    assert {detail["data"] for detail in message.reasoning_details} == {ENVELOPE}


def test_openai_reads_chunks_of_any_wire():
    options = {"include_usage": True}
    with client("openai_chat", PLAIN).chat.completions.stream(
        **CHAT, stream_options=options
    ) as run:
        final = run.get_final_completion()
    (look,) = final.choices[0].message.tool_calls
    assert json.loads(look.function.arguments) == CALL.arguments
    assert final.choices[0].message.content == "Let me look."
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage.total_tokens == 5


OLLAMA = {
    "model": "opus",
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}],
}


def test_ollama_reads_lines_of_any_wire():
    made = ollama.Client(host="http://here")
    made._client = behind("ollama", PARTS, httpx)
    whole = made.chat(**OLLAMA)
    pieces = [piece.message for piece in made.chat(**OLLAMA, stream=True)]
    streamed = [call for piece in pieces for call in piece.tool_calls or ()]
    assert whole.message.content == "".join(piece.content or "" for piece in pieces)
    assert whole.message.thinking == "Hm."
    for calls in (whole.message.tool_calls, streamed):
        assert [call.function.arguments for call in calls] == [CALL.arguments, {"input": "ls -l"}]


def test_cohere_reads_events_of_any_wire():
    made = cohere.ClientV2("k", httpx_client=behind("cohere", PARTS, httpx))
    asked = {"model": "opus", "messages": OLLAMA["messages"], "tools": OLLAMA["tools"]}
    message = made.chat(**asked).message
    assert [part.type for part in message.content] == ["thinking", "text"]
    assert [json.loads(message.tool_calls[0].function.arguments)] == [CALL.arguments]
    seen = [event for event in made.chat_stream(**asked) if event is not None]
    texts = [event.delta.message.content.text for event in seen if event.type == "content-delta"]
    arguments = [
        event.delta.message.tool_calls.function.arguments
        for event in seen
        if event.type == "tool-call-delta" and event.index == 0
    ]
    assert "".join(text or "" for text in texts) == "Let me look."
    assert json.loads("".join(arguments)) == CALL.arguments
    assert seen[-1].delta.finish_reason == "TOOL_CALL"


MESSAGES = {
    "model": "opus",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"name": "look", "input_schema": SCHEMA}],
}


@pytest.mark.parametrize("stream", [True, False])
def test_anthropic_reads_blocks_of_any_wire(stream):
    made = anthropic.Anthropic(
        api_key="k",
        http_client=behind("anthropic", PLAIN),
        max_retries=0,
        _strict_response_validation=True,
    )
    if stream:
        with made.messages.stream(**MESSAGES) as running:
            seen = [event.type for event in running]
            message = running.get_final_message()
        assert "input_json" in seen
    else:
        message = made.messages.create(**MESSAGES)
    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "thinking", "text", "redacted_thinking", "tool_use"]
    shown, carrier, text, hidden, call = message.content
    assert (shown.thinking, shown.signature) == ("Hm.", "")
    assert (carrier.thinking, carrier.signature) == ("", ENVELOPE)
    assert (text.text, hidden.data) == ("Let me look.", ENVELOPE)
    assert (call.id, call.input) == ("call_2", CALL.arguments)
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_google_reads_parts_of_any_wire_and_keeps_the_turn():
    options = types.HttpOptions(httpx_client=behind("gemini", PLAIN))
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[{"name": "look"}])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    with closing(genai.Client(api_key="k", http_options=options)) as client:
        whole = client.models.generate_content(model="opus", contents="hi", config=config)
        chat = client.chats.create(model="opus", config=config)
        for _ in chat.send_message_stream("hi"):
            pass
        kept = [part for content in chat.get_history()[1:] for part in content.parts]
    for parts in (whole.candidates[0].content.parts, kept):
        said = [part for part in parts if part.text and not part.thought]
        assert "".join(part.text for part in said) == "Let me look."
        assert "".join(part.text for part in parts if part.thought and part.text) == "Hm."
        (call,) = [part for part in parts if part.function_call]
        assert (call.function_call.id, call.function_call.args) == ("call_2", CALL.arguments)
        assert call.thought_signature
    assert whole.usage_metadata.total_token_count == 5


class Raw(io.BytesIO):
    """A body as botocore reads it."""

    def stream(self, *_args, **_kwargs):
        yield self.read()


def answered(request, **_kwargs):
    """Answer a request of botocore's."""
    request.content = request.body
    request.headers = {
        key: value.decode() if isinstance(value, bytes) else value
        for key, value in request.headers.items()
    }
    status, headers, body = written("bedrock", PLAIN, request)
    return AWSResponse(request.url, status, HeadersDict(headers), Raw(body))


CONVERSE = {
    "modelId": "opus",
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}]},
}


def test_boto3_reads_blocks_of_any_wire():
    config = Config(signature_version=UNSIGNED)
    with closing(boto3.client("bedrock-runtime", "us-east-1", config=config)) as client:
        client.meta.events.register("before-send.bedrock-runtime.*", answered)
        whole = client.converse(**CONVERSE)
        frames = list(client.converse_stream(**CONVERSE)["stream"])
    content = whole["output"]["message"]["content"]
    assert [next(iter(block)) for block in content] == [
        *("reasoningContent", "reasoningContent", "text", "image", "reasoningContent", "toolUse"),
    ]
    assert content[1]["reasoningContent"]["reasoningText"]["signature"] == ENVELOPE
    assert content[-1]["toolUse"] == {
        "toolUseId": "call_2",
        "name": "look",
        "input": CALL.arguments,
    }
    deltas = [each["contentBlockDelta"]["delta"] for each in frames if "contentBlockDelta" in each]
    assert "".join(delta.get("text", "") for delta in deltas) == "Let me look."
    pieces = [delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == CALL.arguments
    starts = sum("contentBlockStart" in each for each in frames)
    stops = [each for each in frames if "contentBlockStop" in each]
    assert (starts, len(stops)) == (2, 6)
    assert whole["stopReason"] == "tool_use"
    assert whole["usage"]["totalTokens"] == 5
