"""The service's answers have their exact shape, and the ways the clones show thinking."""

import json

import pytest
from msgspec import to_builtins
from tests.plans import plan

from pondero.canon import (
    Finished,
    HttpRequest,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Request,
    ResponseHead,
    Signature,
    Started,
    Target,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
)
from pondero.dialects import AnswerContext, Rejected
from pondero.dialects.openai_chat.service import models
from pondero.dialects.openai_chat.service import reply as service_reply
from pondero.errors import Overloaded

from ..making import CHAT, assembled, unsealed

USAGE = Usage(10, 5, None, 7, 3, 25)
FORMS = ["reasoning_content", "reasoning", "reasoning_details", "content_chunks", "think_tags"]


@pytest.fixture(params=FORMS)
def form(request, monkeypatch):
    """A service for every way to show thinking."""
    described = {
        name: models.Provider(
            name=name,
            thinking=name,
            usage="always",
            counting="outside" if name == "reasoning" else "inside",
            other=models.Model(thinks="on", efforts=("none", "high")),
            knob=(models.Knob(("reasoning_effort",), "effort"),),
        )
        for name in FORMS
    }
    models.provider_of.cache_clear()
    monkeypatch.setattr(models, "_table", lambda name: to_builtins(described[name]))
    yield request.param
    models.provider_of.cache_clear()


def accepted(model="gpt-4o", service="openai-chat", **fields):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **fields}
    headers = {"authorization": "Bearer k"}
    http = HttpRequest(
        "POST", "https://x.test/v1/chat/completions", headers, json.dumps(body).encode()
    )
    return CHAT.service().accept(http, service)


def told(*parts, finish="stop", usage=USAGE):
    events = [Started("m")]
    for index, part in enumerate(parts):
        match part:
            case Text():
                events += [PartStart(index, "text"), TextDelta(index, part.text)]
            case Thinking():
                events += [PartStart(index, "thinking"), ThinkingDelta(index, part.text)]
            case ToolCall():
                start = PartStart(index, "tool_call", part.id, part.name)
                events += [start, ToolDelta(index, json.dumps(part.arguments))]
        events.append(PartEnd(index, part))
    return [*events, Finished(finish, usage)]


def frames(accepted_, events):
    stream = CHAT.service().stream(accepted_)
    data = b"".join(stream.feed(event) for event in events) + stream.eof()
    assert data.endswith(b"data: [DONE]\n\n")
    return [json.loads(frame.removeprefix(b"data: ")) for frame in data.split(b"\n\n")[:-2]]


def test_a_whole_answer():
    reply = Reply(
        Message("assistant", (Text("Hey"), ToolCall("a", "f", {"x": 1}))), "tool_calls", USAGE
    )
    answer = json.loads(CHAT.service().reply(accepted(), reply).body)
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "gpt-4o")
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hey",
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"x":1}'},
                    }
                ],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ]
    assert answer["usage"] == {
        "prompt_tokens": 15,
        "completion_tokens": 10,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 3,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


@pytest.mark.parametrize("finish", ["stop", "length", "refusal", "content_filter", "other"])
@pytest.mark.parametrize(
    "part",
    [
        Text("Hey"),
        Text(""),
        Text("caf\u00e9 \ud800"),
        Text("Hey", citations=({"url": "https://x.test"},)),
        Text("Hey", Signature("openai_chat", {"refusal": True})),
        Text("Hey", Signature("openai_chat", {"message": {"extra_content": {}}})),
        Thinking("Well."),
        ToolCall("a", "f", {"x": 1}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("service", ["openai-chat", "openrouter"])
def test_a_text_alone_is_written_as_among_other_parts(service, part, finish, monkeypatch):
    model = {"openai-chat": "gpt-4o", "openrouter": "openai/gpt-4o"}[service]
    context = accepted(model, service)
    reply = Reply(Message("assistant", (part,)), finish, USAGE)
    quick = CHAT.service().reply(context, reply)
    monkeypatch.setattr(service_reply, "_write_text", lambda *_: None)
    assert CHAT.service().reply(context, reply) == quick


def test_this_vendor_keeps_its_thinking_to_itself():
    asked = accepted("gpt-5.2", reasoning_effort="high")
    reply = Reply(Message("assistant", (Thinking("secret"), Text("Hey"))), "stop", USAGE)
    assert b"secret" not in CHAT.service().reply(asked, reply).body
    assert "secret" not in str(frames(asked, told(Thinking("secret"), Text("Hey"))))


def test_a_stream_brings_its_counts_only_when_asked():
    quiet = frames(accepted(stream=True), told(Text("Hey")))
    assert not any("usage" in frame for frame in quiet)
    asked = accepted(stream=True, stream_options={"include_usage": True})
    counted = frames(asked, told(Text("Hey")))
    assert [frame["usage"] for frame in counted[:-1]] == [None] * (len(counted) - 1)
    assert counted[-1]["choices"] == []
    assert counted[-1]["usage"]["total_tokens"] == 25


def test_a_stream_is_padded_unless_told_not_to():
    assert any("obfuscation" in frame for frame in frames(accepted(stream=True), told(Text("Hey"))))
    plain = accepted(stream=True, stream_options={"include_obfuscation": False})
    assert not any("obfuscation" in frame for frame in frames(plain, told(Text("Hey"))))


def test_the_deltas_of_a_stream():
    events = told(Text("Hey"), ToolCall("a", "f", {}), ToolCall("b", "g", [1]), finish="tool_calls")
    deltas = [frame["choices"][0] for frame in frames(accepted(stream=True), events)]
    assert [choice["delta"] for choice in deltas] == [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "Hey"},
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "a",
                    "type": "function",
                    "function": {"name": "f", "arguments": ""},
                }
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
        {
            "tool_calls": [
                {
                    "index": 1,
                    "id": "b",
                    "type": "function",
                    "function": {"name": "g", "arguments": ""},
                }
            ]
        },
        {"tool_calls": [{"index": 1, "function": {"arguments": "[1]"}}]},
        {},
    ]
    assert [choice["finish_reason"] for choice in deltas] == [None] * 6 + ["tool_calls"]


def test_parts_given_only_at_their_end_are_streamed_whole():
    parts = (Text("Hey"), ToolCall("a", "f", {"x": 1}))
    starts = [
        PartStart(0, "text"),
        PartEnd(0, parts[0]),
        PartStart(1, "tool_call", "a", "f"),
        PartEnd(1, parts[1]),
    ]
    events = [Started("m"), *starts, Finished("tool_calls", USAGE)]
    assert read(accepted(stream=True), events)[0].parts == parts


@pytest.mark.parametrize(
    ("finish", "word"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("exhausted", "length"),
        ("content_filter", "content_filter"),
        ("refusal", "stop"),
    ],
)
def test_the_words_for_the_end(finish, word):
    reply = Reply(Message("assistant", (Text("x"),)), finish)
    choice = json.loads(CHAT.service().reply(accepted(), reply).body)["choices"][0]
    assert choice["finish_reason"] == word
    assert (choice["message"]["refusal"] == "x") == (finish == "refusal")


def test_an_answer_without_counts_has_none():
    reply = Reply(Message("assistant", (Text("x"),)), "stop")
    assert json.loads(CHAT.service().reply(accepted(), reply).body)["usage"] is None


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", None),
        (401, "invalid_request_error", "invalid_api_key"),
        (429, "rate_limit_error", "rate_limit_exceeded"),
        (500, "server_error", "server_error"),
        (503, "service_unavailable_error", "server_is_overloaded"),
    ],
)
def test_errors_have_the_services_shape(status, kind, code):
    sent = CHAT.service().error(status, "words", code=None, retry_after=1.5)
    assert sent.status == status
    assert json.loads(sent.body) == {
        "error": {"message": "words", "type": kind, "param": None, "code": code}
    }
    assert (sent.headers["retry-after"], sent.headers["retry-after-ms"]) == ("2", "1500")
    assert CHAT.caller().error(ResponseHead(status, sent.headers), sent.body).retry_after == 1.5


def test_a_services_own_code_is_its_own():
    sent = CHAT.service().error(429, "words", code="insufficient_quota", retry_after=None)
    assert json.loads(sent.body)["error"]["code"] == "insufficient_quota"
    assert "retry-after" not in sent.headers


# -- every way to show thinking --------------------------------------------------------------------


def read(accepted_, events):
    stream = CHAT.service().stream(accepted_)
    data = b"".join(stream.feed(event) for event in events) + stream.eof()
    decoder = CHAT.caller().stream(ResponseHead(200), AnswerContext(accepted_.request.model, "r"))
    return assembled(decoder.feed(data) + decoder.eof())


def test_thinking_is_shown_whole_and_streamed_alike_and_counted_once(form):
    asked = accepted("m", form, reasoning_effort="high")
    parts = (Thinking("Hm, 1 < 2"), Text("Yes"), ToolCall("a", "f", {}))
    reply = Reply(Message("assistant", parts), "tool_calls", USAGE)
    sent = CHAT.service().reply(asked, reply)
    whole = assembled(CHAT.caller().decode(ResponseHead(200), sent.body, AnswerContext("m", "r")))
    streamed = read(asked, told(*parts, finish="tool_calls"))
    assert whole == streamed
    assert tuple(map(unsealed, whole[0].parts)) == parts
    assert whole[1].usage == USAGE


def test_thinking_not_asked_for_is_not_shown(form):
    asked = accepted("m", form, reasoning_effort="none")
    reply = Reply(Message("assistant", (Thinking("secret"), Text("Yes"))), "stop")
    assert b"secret" not in CHAT.service().reply(asked, reply).body


def second_turn(form, change=lambda body: body):
    asked = accepted("m", form, reasoning_effort="high")
    message, _ = read(asked, told(Thinking("Hm"), Text("Yes")))
    follow = Message("user", (Text("go on"),))
    request = Request("m", (*asked.request.messages, message, follow), stream=False)
    target = Target("r", "https://x.test/v1", {"authorization": "Bearer k"})
    http = CHAT.caller().encode(request, plan("openai_chat"), target)
    changed = HttpRequest(http.method, http.url, http.headers, change(http.body))
    return CHAT.service().accept(changed, form).request, message


def test_thinking_goes_back_to_the_service_that_gave_it(form):
    request, message = second_turn(form)
    strip = lambda part: (type(part), part.text, part.signature and part.signature.value)  # noqa: E731
    assert [strip(part) for part in request.messages[1].parts] == [
        strip(part) for part in message.parts
    ]


@pytest.mark.parametrize("form", ["reasoning_details"], indirect=True)
def test_a_sealed_thought_that_was_changed_is_refused(form):
    with pytest.raises(Rejected) as raised:
        second_turn(form, lambda body: body.replace(b'"Hm"', b'"Hmm"'))
    assert raised.value.response.status == 400


def test_an_error_after_all_was_well_is_raised_by_whoever_reads_it():
    stream = CHAT.service().stream(accepted(stream=True))
    data = stream.feed(Started("m")) + stream.fail(
        CHAT.service().error(503, "busy", code=None, retry_after=None)
    )
    assert stream.headers["content-type"].startswith("text/event-stream")
    decoder = CHAT.caller().stream(ResponseHead(200, stream.headers), AnswerContext("m", "r"))
    assert decoder.feed(data) == [Started("m", stream._base["id"])]
    with pytest.raises(Overloaded):
        decoder.eof()
