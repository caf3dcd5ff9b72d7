"""Google's own SDK against our service's side: what it writes is accepted, what we say it reads."""

import asyncio
import json

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from pondero.canon import (
    Finished,
    HttpRequest,
    Image,
    Message,
    OutputFormat,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.dialects import Rejected
from pondero.dialects.gemini.service import SERVICE

pytestmark = [
    pytest.mark.judge,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

MODEL = "gemini-3-flash-preview"
USED = Usage(34, 6, None, 469, 787, 1296)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SHOWN = types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.HIGH)
WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="weather", description="Now", parameters_json_schema=SCHEMA)
    ]
)
BY_HAND = types.AutomaticFunctionCallingConfig(disable=True)
ANSWER = (
    Thinking("Weighing it"),
    Text("Let me look."),
    ToolCall("g98os1Jf", "weather", {"city": "Köln"}),
    ToolCall("h12ab3Cd", "weather", {"city": "Ulm"}),
)


class Service:
    """Our accept and reply behind the SDK's own HTTP client, in process."""

    def __init__(self, name="google"):
        self.name = name
        self.parts, self.finish, self.beside = ANSWER, "tool_calls", {}
        self.accepted = []
        self.fault = None
        transport = httpx2.MockTransport(self.answer)
        self.options = types.HttpOptions(
            httpx_client=httpx2.Client(transport=transport),
            httpx_async_client=httpx2.AsyncClient(transport=transport),
        )

    @property
    def client(self):
        return genai.Client(api_key="k", http_options=self.options)

    def answer(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        http = HttpRequest(request.method, str(request.url), headers, request.content)
        try:
            found = SERVICE.accept(http, self.name)
        except Rejected as refused:
            return self._response(refused.response)
        self.accepted.append(found)
        if self.fault is not None:
            return self._response(self.fault)
        if not found.request.stream:
            told = Reply(Message("assistant", self.parts), self.finish, USED, **self.beside)
            return self._response(SERVICE.reply(found, told))
        stream = SERVICE.stream(found)
        data = b"".join(map(stream.feed, self._events())) + stream.eof()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    def _response(self, sent):
        return httpx2.Response(sent.status, headers=dict(sent.headers), content=sent.body)

    def _events(self):
        yield Started()
        for index, part in enumerate(self.parts):
            yield PartStart(index, "other")
            for piece in part.text.split(" ") if isinstance(part, Text | Thinking) else ():
                delta = TextDelta if isinstance(part, Text) else ThinkingDelta
                yield delta(index, f"{piece} ")
            yield PartEnd(index, part)
        yield Finished(self.finish, USED, **self.beside)


@pytest.fixture
def service():
    return Service()


def whole(service, contents="hi", **config):
    given = types.GenerateContentConfig(automatic_function_calling=BY_HAND, **config)
    return service.client.models.generate_content(model=MODEL, contents=contents, config=given)


def whole_async(service, contents="hi", **config):
    given = types.GenerateContentConfig(automatic_function_calling=BY_HAND, **config)
    asked = service.client.aio.models.generate_content(model=MODEL, contents=contents, config=given)
    return asyncio.run(asked)


def streamed(service, contents="hi", **config):
    given = types.GenerateContentConfig(automatic_function_calling=BY_HAND, **config)
    stream = service.client.models.generate_content_stream(
        model=MODEL, contents=contents, config=given
    )
    return list(stream)


def streamed_async(service, contents="hi", **config):
    given = types.GenerateContentConfig(automatic_function_calling=BY_HAND, **config)

    async def read():
        stream = await service.client.aio.models.generate_content_stream(
            model=MODEL, contents=contents, config=given
        )
        return [chunk async for chunk in stream]

    return asyncio.run(read())


def parts_in(chunks):
    return [p for chunk in chunks for c in chunk.candidates or [] for p in c.content.parts or []]


# -- what it reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [whole, whole_async])
def test_the_sdk_reads_a_whole_answer_as_we_said_it(service, ask):
    answer = ask(service, thinking_config=SHOWN, tools=[WEATHER])
    thought, text, one, two = answer.candidates[0].content.parts
    assert (thought.text, thought.thought) == ("Weighing it", True)
    assert (text.text, text.thought) == ("Let me look.", None)
    assert (one.function_call.id, one.function_call.args) == ("g98os1Jf", {"city": "Köln"})
    assert one.thought_signature
    assert two.thought_signature is None
    assert answer.candidates[0].finish_reason is types.FinishReason.STOP
    used = answer.usage_metadata
    assert (used.prompt_token_count, used.cached_content_token_count) == (40, 6)
    assert (used.candidates_token_count, used.thoughts_token_count) == (469, 787)
    assert used.total_token_count == 1296
    assert answer.model_version == MODEL
    assert answer.response_id


@pytest.mark.parametrize("ask", [streamed, streamed_async])
def test_the_sdk_reads_a_stream_as_we_said_it(service, ask):
    chunks = ask(service, thinking_config=SHOWN, tools=[WEATHER])
    parts = parts_in(chunks)
    assert "".join(p.text for p in parts if p.thought) == "Weighing it "
    assert "".join(p.text for p in parts if p.text and not p.thought) == "Let me look. "
    calls = [p for p in parts if p.function_call]
    assert [p.function_call.args["city"] for p in calls] == ["Köln", "Ulm"]
    assert [bool(p.thought_signature) for p in calls] == [True, False]
    assert [c.candidates[0].finish_reason for c in chunks][-1] is types.FinishReason.STOP
    assert chunks[-1].usage_metadata.thoughts_token_count == 787


def test_the_sdk_reads_grounding_safety_media_and_code(service):
    service.finish = "stop"
    service.parts = (
        UnknownPart("gemini", {"executableCode": {"code": "1+1", "language": "PYTHON"}}),
        UnknownPart("gemini", {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}),
        Image("image/png", b"hi"),
        Text("Two"),
    )
    service.beside = {
        "grounding": {"webSearchQueries": ["q"]},
        "safety": [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"}],
        "extras": {"citationMetadata": {"citationSources": [{"uri": "https://x"}]}},
    }
    candidate = whole(service).candidates[0]
    code, result, picture, text = candidate.content.parts
    assert code.executable_code.code == "1+1"
    assert result.code_execution_result.output == "2"
    assert picture.inline_data.data == b"hi"
    assert text.text == "Two"
    assert candidate.grounding_metadata.web_search_queries == ["q"]
    assert candidate.safety_ratings[0].probability is types.HarmProbability.LOW
    assert candidate.citation_metadata.citations[0].uri == "https://x"


def test_the_sdk_reads_a_refused_question(service):
    service.parts, service.finish = (), "content_filter"
    service.beside = {"extras": {"promptFeedback": {"blockReason": "JAILBREAK"}}}
    answer = whole(service)
    assert answer.candidates is None
    assert answer.prompt_feedback.block_reason is types.BlockedReason.JAILBREAK


@pytest.mark.parametrize(
    ("finish", "raw", "read"),
    [
        ("length", None, types.FinishReason.MAX_TOKENS),
        ("content_filter", None, types.FinishReason.SAFETY),
        ("error", "MALFORMED_FUNCTION_CALL", types.FinishReason.MALFORMED_FUNCTION_CALL),
    ],
)
def test_the_sdk_knows_our_finish_words(service, finish, raw, read):
    service.parts, service.finish, service.beside = (Text("a"),), finish, {"raw_finish": raw}
    assert whole(service).candidates[0].finish_reason is read


# -- what it writes --------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [whole, whole_async, streamed, streamed_async])
def test_what_the_sdk_writes_is_accepted_as_it_was_meant(service, ask):
    ask(
        service,
        contents=["Look", types.Part.from_bytes(data=b"hi", mime_type="image/png")],
        system_instruction="Be brief",
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        max_output_tokens=100,
        stop_sequences=["END"],
        thinking_config=SHOWN,
        tools=[WEATHER, types.Tool(google_search=types.GoogleSearch())],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(
                mode="ANY", allowed_function_names=["weather"]
            ),
            include_server_side_tool_invocations=True,
        ),
        response_mime_type="application/json",
        response_json_schema=SCHEMA,
        safety_settings=[
            types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")
        ],
        seed=7,
    )
    (found,) = service.accepted
    asked = found.request
    assert asked.messages == (Message("user", (Text("Look"), Image("image/png", b"hi"))),)
    assert asked.system == (Text("Be brief"),)
    assert sorted(asked.tools, key=lambda tool: tool.name) == [
        Tool("googleSearch", raw={"googleSearch": {}}),
        Tool("weather", "Now", SCHEMA),
    ]
    assert asked.tool_choice == ToolChoice("tool", "weather")
    assert asked.output == OutputFormat(SCHEMA)
    assert (asked.temperature, asked.top_p, asked.top_k, asked.max_tokens) == (0.5, 0.9, 3, 100)
    assert asked.stop == ("END",)
    assert asked.extras["generationConfig"] == {"seed": 7}
    assert asked.extras["safetySettings"][0]["threshold"] == "BLOCK_NONE"
    assert (found.intent.kind, found.intent.level, found.shown) == ("level", "high", True)


@pytest.mark.parametrize("first", [whole, streamed])
def test_turn_two_of_the_sdk_carries_our_signature_where_it_came(service, first):
    answer = first(service, thinking_config=SHOWN, tools=[WEATHER])
    chunks = answer if isinstance(answer, list) else [answer]
    said = types.Content(role="model", parts=parts_in(chunks))
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=part.function_call.id, name="weather", response={"output": "rain"}
            )
        )
        for part in said.parts
        if part.function_call
    ]
    history = [
        types.Content(role="user", parts=[types.Part(text="hi")]),
        said,
        types.Content(role="user", parts=results),
    ]
    whole(service, contents=history, tools=[WEATHER])
    _, model, user = service.accepted[-1].request.messages
    assert [call.signature is not None for call in model.tool_calls] == [True, False]
    assert [(r.call_id, r.content) for r in user.parts if isinstance(r, ToolResult)] == [
        ("g98os1Jf", (Text("rain"),)),
        ("h12ab3Cd", (Text("rain"),)),
    ]


def test_the_sdks_own_chat_keeps_going(service):
    service.parts, service.finish = (Thinking("hm"), Text("Hello"), Text("")), "stop"
    chat = service.client.chats.create(
        model=MODEL, config=types.GenerateContentConfig(thinking_config=SHOWN)
    )
    assert chat.send_message("hi").text == "Hello"
    assert [chunk.text for chunk in chat.send_message_stream("again")]
    assert chat.send_message("and again").text == "Hello"
    history = service.accepted[-1].request.messages  # a streamed answer is a content a piece in it
    assert [message.role for message in history if message.role == "user"] == ["user"] * 3
    seals = [
        part.signature for message in history for part in message.parts if isinstance(part, Text)
    ]
    assert sum(seal is not None for seal in seals) == 2


def test_the_sdks_own_tool_loop_runs_to_its_end(service):
    service.parts = (ToolCall("c1", "weather", {"city": "Ulm"}),)

    def weather(city: str) -> str:
        """Return the weather."""
        service.parts, service.finish = (Text(f"Rain in {city}"),), "stop"
        return "rain"

    answer = service.client.models.generate_content(
        model=MODEL, contents="hi", config=types.GenerateContentConfig(tools=[weather])
    )
    assert answer.text == "Rain in Ulm"
    result = service.accepted[-1].request.messages[-1].parts[0]
    assert isinstance(result, ToolResult)
    assert result.call_id == "c1"


# -- what it makes of a no -------------------------------------------------------------------


@pytest.mark.parametrize("ask", [whole, whole_async, streamed, streamed_async])
def test_a_refusal_becomes_the_sdks_own_error(service, ask):
    both = types.ThinkingConfig(thinking_level="HIGH", thinking_budget=100)
    with pytest.raises(errors.ClientError) as raised:
        ask(service, thinking_config=both)
    assert (raised.value.code, raised.value.status) == (400, "INVALID_ARGUMENT")
    assert (
        raised.value.message == "You can only set only one of thinking budget and thinking level."
    )


def test_a_bad_key_and_an_unknown_model_become_the_sdks_own_errors(service):
    client = genai.Client(api_key="bad", http_options=service.options)
    with pytest.raises(errors.ClientError, match="API key not valid"):
        client.models.generate_content(model=MODEL, contents="hi")
    with pytest.raises(errors.ClientError) as raised:
        service.client.models.generate_content(model="nope", contents="hi")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (500, errors.ServerError, "INTERNAL"),
        (503, errors.ServerError, "UNAVAILABLE"),
    ],
)
def test_a_fault_becomes_the_sdks_own_error(service, status, kind, word):
    service.fault = SERVICE.error(status, "some words", code=None, retry_after=3.0)
    with pytest.raises(kind) as raised:
        whole(service)
    assert (raised.value.code, raised.value.status, raised.value.message) == (
        status,
        word,
        "some words",
    )
    assert "3s" in json.dumps(raised.value.details)
