"""The vendor's own SDK writes to our service and reads its answers, in process."""

import json

import anthropic
import httpx2
import pytest
from pydantic import BaseModel
from tests.laws.strategies import told

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    HttpRequest,
    Image,
    Message,
    OutputFormat,
    Reply,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import AnswerContext, Rejected, get_dialect

pytestmark = [pytest.mark.judge, pytest.mark.anyio]

WIRE = get_dialect("anthropic")
MODEL = "claude-opus-5"
USAGE = Usage(10, 20, 30, 40, 50, 150)
SHOWN = {"type": "adaptive", "display": "summarized"}
TOOL = {
    "name": "look",
    "description": "Look.",
    "input_schema": {"type": "object", "properties": {"where": {"type": "string"}}},
}
CITED = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "x"},
}
PARTS = (
    Thinking("First this, then that."),
    Thinking("", redacted=True),
    Text("Let me look.", citations=(CITED,)),
    UnknownPart("anthropic", SEARCH),
    Thinking("And now?"),
    ToolCall("toolu_1", "look", {"where": "Paris"}),
    ToolCall("toolu_2", "look", {}),
)
ASKED = {
    "model": MODEL,
    "max_tokens": 4096,
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [TOOL],
    "thinking": SHOWN,
}


@pytest.fixture
def anyio_backend():
    return "asyncio"


class House:
    """Our service behind the SDK's own HTTP client; keeps what it was asked."""

    def __init__(self, *parts, finish="stop", fails=None, tail=b""):
        self.reply = Reply(Message("assistant", parts), finish, USAGE)
        self.fails = fails
        self.tail = tail
        self.accepted = None

    def answer(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        http = HttpRequest(request.method, str(request.url), headers, request.content)
        try:
            self.accepted = WIRE.service().accept(http, "anthropic")
        except Rejected as refused:
            return _http(refused.response)
        if self.fails is not None:
            return _http(self.fails)
        if not self.accepted.request.stream:
            return _http(WIRE.service().reply(self.accepted, self.reply))
        stream = WIRE.service().stream(self.accepted)
        events = told(self.reply)[: -1 if self.tail else None]
        data = b"".join(stream.feed(event) for event in events) + self.tail + stream.eof()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    async def later(self, request):
        return self.answer(request)

    @property
    def client(self):
        transport = httpx2.MockTransport(self.answer)
        return anthropic.Anthropic(
            api_key="k", max_retries=0, http_client=httpx2.Client(transport=transport)
        )

    @property
    def aclient(self):
        transport = httpx2.MockTransport(self.later)
        return anthropic.AsyncAnthropic(
            api_key="k", max_retries=0, http_client=httpx2.AsyncClient(transport=transport)
        )


def _http(response):
    return httpx2.Response(response.status, headers=dict(response.headers), content=response.body)


def check(message):
    """Compare what the SDK read with what we said."""
    assert message.model == MODEL
    assert message.stop_reason == "tool_use"
    kinds = [block.type for block in message.content]
    assert kinds == [
        *("thinking", "redacted_thinking", "text", "server_tool_use"),
        *("thinking", "tool_use", "tool_use"),
    ]
    thought, hidden, text, search, second, call, other = message.content
    assert (thought.thinking, second.thinking) == ("First this, then that.", "And now?")
    assert len({thought.signature, second.signature, hidden.data}) == 3
    assert text.text == "Let me look."
    assert text.citations[0].cited_text == "x"
    assert (search.name, search.input) == ("web_search", {"query": "x"})
    assert (call.id, call.name, call.input) == ("toolu_1", "look", {"where": "Paris"})
    assert (other.id, other.input) == ("toolu_2", {})
    usage = message.usage
    assert usage.input_tokens == 10
    assert usage.cache_read_input_tokens == 20
    assert usage.cache_creation_input_tokens == 30
    assert usage.output_tokens == 90
    assert usage.output_tokens_details.thinking_tokens == 50


def test_a_whole_answer_is_read_as_it_was_said():
    check(House(*PARTS, finish="tool_calls").client.messages.create(**ASKED))


async def test_a_whole_answer_is_read_as_it_was_said_by_the_async_client():
    check(await House(*PARTS, finish="tool_calls").aclient.messages.create(**ASKED))


def test_a_stream_is_gathered_as_it_was_said():
    with House(*PARTS, finish="tool_calls").client.messages.stream(**ASKED) as stream:
        thoughts = [event.thinking for event in stream if event.type == "thinking"]
        check(stream.get_final_message())
    assert "".join(thoughts) == "First this, then that.And now?"


async def test_a_stream_is_gathered_as_it_was_said_by_the_async_client():
    client = House(*PARTS, finish="tool_calls").aclient
    async with client.messages.stream(**ASKED) as stream:
        check(await stream.get_final_message())


def test_a_raw_stream_has_the_events_of_the_real_one():
    house = House(Thinking("Hm."), Text("Hello"))
    events = list(house.client.messages.create(**ASKED, stream=True))
    deltas = [event.delta.type for event in events if event.type == "content_block_delta"]
    assert set(deltas) == {"thinking_delta", "signature_delta", "text_delta"}
    assert events[0].type == "message_start"
    assert events[-1].type == "message_stop"


def test_thinking_read_by_the_sdk_can_be_sent_back_by_it():
    first = House(*PARTS[:3], *PARTS[4:], finish="tool_calls")
    message = first.client.messages.create(**ASKED)
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Sunny."},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "Dark.", "is_error": True},
    ]
    follow = [
        *ASKED["messages"],
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": results},
    ]
    second = House(Text("It is sunny."))
    answer = second.client.messages.create(**{**ASKED, "messages": follow})
    assert answer.content[0].text == "It is sunny."
    turns = second.accepted.request.messages
    assert turns[1].thinking == "First this, then that.\n\nAnd now?"
    assert turns[2].parts == (
        ToolResult("toolu_1", (Text("Sunny."),)),
        ToolResult("toolu_2", (Text("Dark."),), error=True),
    )


def test_everything_the_sdk_can_ask_is_understood():
    house = House(Text("ok"))
    mark = {"type": "ephemeral", "ttl": "1h"}
    house.client.messages.create(
        model="claude-sonnet-4-6",
        max_tokens=1000,
        system=[{"type": "text", "text": "Be kind.", "cache_control": mark}],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "image", "source": {"type": "url", "url": "https://x/a.png"}},
                    {
                        "type": "document",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": "JVBERg==",
                        },
                    },
                ],
            }
        ],
        tools=[TOOL],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        stop_sequences=["###"],
        metadata={"user_id": "u"},
        extra_body={"temperature": 0.5, "top_p": 0.9, "top_k": 5},
    )
    request = house.accepted.request
    assert request.messages[0].parts == (
        Text("hi"),
        Image(url="https://x/a.png"),
        Blob("application/pdf", b"%PDF"),
    )
    assert request.system == (Text("Be kind.", cache=CacheBreakpoint("1h")),)
    assert request.tools == (Tool("look", "Look.", TOOL["input_schema"]),)
    assert request.tool_choice == ToolChoice("required", None, False)
    assert (request.temperature, request.top_p, request.top_k) == (0.5, 0.9, 5)
    assert (request.stop, request.extras) == (("###",), {"metadata": {"user_id": "u"}})


class Answer(BaseModel):
    words: str


def test_a_shaped_answer_is_parsed_by_the_sdk():
    house = House(Text('{"words": "ok"}'))
    asked = {**ASKED, "tools": []}
    message = house.client.messages.parse(**asked, output_format=Answer)
    assert message.parsed_output == Answer(words="ok")
    output = house.accepted.request.output
    assert isinstance(output, OutputFormat)
    assert output.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("asked", "raised", "words"),
    [
        ({**ASKED, "model": "claude-9"}, anthropic.NotFoundError, "model: claude-9"),
        (
            {**ASKED, "thinking": {"type": "enabled", "budget_tokens": 2048}},
            anthropic.BadRequestError,
            "thinking.type.adaptive",
        ),
        ({**ASKED, "extra_body": {"effort": 1}}, anthropic.BadRequestError, "Extra inputs"),
        (
            {**ASKED, "extra_headers": {"x-api-key": "k"}},
            anthropic.AuthenticationError,
            "only one of",
        ),
    ],
)
async def test_refusals_are_the_errors_the_sdk_knows(asked, raised, words):
    for stream in (False, True):
        with pytest.raises(raised, match=words) as refused:
            House().client.messages.create(**asked, stream=stream)
        assert refused.value.request_id
        with pytest.raises(raised, match=words):
            await House().aclient.messages.create(**asked, stream=stream)


@pytest.mark.parametrize(
    ("status", "code", "raised"),
    [
        (403, None, anthropic.PermissionDeniedError),
        (413, None, anthropic.ContentTooLargeError),
        (429, None, anthropic.RateLimitError),
        (500, None, anthropic.InternalServerError),
        (529, None, anthropic.OverloadedError),
    ],
)
def test_failures_are_the_errors_the_sdk_knows(status, code, raised):
    fails = WIRE.service().error(status, "words", code=code, retry_after=1)
    with pytest.raises(anthropic.APIStatusError, match="words") as refused:
        House(fails=fails).client.messages.create(**ASKED)
    assert isinstance(refused.value, raised)


def test_an_error_inside_a_stream_is_raised_by_the_sdk_and_by_us():
    from pondero.canon import ResponseHead
    from pondero.errors import Overloaded

    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    tail = f"event: error\ndata: {json.dumps(error)}\n\n".encode()
    house = House(Text("So"), tail=tail)
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        list(house.client.messages.create(**ASKED, stream=True))
    stream = WIRE.caller().stream(ResponseHead(200), AnswerContext(MODEL))
    with pytest.raises(Overloaded, match="Overloaded"):
        stream.feed(tail)
