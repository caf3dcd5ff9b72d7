"""The service's side of an answer: its exact shape, whole and streamed."""

import json

import pytest
from msgspec.structs import replace
from tests.dialects.gemini.making import (
    NEW,
    OK,
    OLD,
    accepted,
    assembled,
    parts_of,
    seal,
    signed,
)

from pondero.canon import (
    Finished,
    Image,
    Message,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    UnknownPart,
    Usage,
    UsageUpdate,
)
from pondero.dialects import AnswerContext
from pondero.dialects.gemini.caller import CALLER
from pondero.dialects.gemini.service import SERVICE
from pondero.dialects.gemini.service.signatures import verify_signature
from pondero.errors import QuotaSpent, RateLimited

USER = {"role": "user", "parts": [{"text": "hi"}]}
SHOWN = {"contents": [USER], "generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
USED = Usage(34, 0, None, 469, 787, 1290)


def asking(*, model=NEW, body=SHOWN, alt="sse"):
    method = "streamGenerateContent" + (f"?alt={alt}" if alt else "")
    return accepted(body, model=model, method=method)


def said(*parts, finish="stop", model=NEW, body=SHOWN, usage=USED, **beside):
    answer = Reply(Message("assistant", parts), finish, usage, **beside)
    response = SERVICE.reply(accepted(body, model=model), answer)
    assert response.headers["content-type"] == "application/json; charset=UTF-8"
    return json.loads(response.body)


def streamed(*events, **how):
    stream = SERVICE.stream(asking(**how))
    return b"".join(stream.feed(event) for event in events) + stream.eof()


def told(*parts, pieces=1, late=False):
    """Return parts as events, each text in so many deltas; ``late``: seals come at the end."""
    events = [Started()]
    for index, part in enumerate(parts):
        kind = {Text: "text", Thinking: "thinking", ToolCall: "tool_call"}.get(type(part), "other")
        events.append(PartStart(index, kind, signature=None if late else part.signature))
        if isinstance(part, Text | Thinking) and part.text:
            delta = TextDelta if kind == "text" else ThinkingDelta
            size = -(-len(part.text) // pieces)
            events += [
                delta(index, part.text[at : at + size]) for at in range(0, len(part.text), size)
            ]
        events.append(PartEnd(index, part))
    finish = "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"
    return [*events, Finished(finish, USED)]


def decoded(data, *, model=NEW):
    stream = CALLER.stream(OK, AnswerContext(model, "google"))
    return stream.feed(data) + stream.eof()


def test_a_whole_answer_in_the_services_shape():
    body = said(
        Thinking("hm"),
        Text("42"),
        ToolCall("g98os1Jf", "load", {"id": "x"}),
        finish="tool_calls",
        request_id="r-1",
    )
    signature = body["candidates"][0]["content"]["parts"][2].pop("thoughtSignature")
    assert verify_signature(signature, "google")
    assert body == {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "42"},
                        {"functionCall": {"id": "g98os1Jf", "name": "load", "args": {"id": "x"}}},
                    ],
                    "role": "model",
                },
                "index": 0,
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 34,
            "candidatesTokenCount": 469,
            "thoughtsTokenCount": 787,
            "totalTokenCount": 1290,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 34}],
        },
        "modelVersion": NEW,
        "responseId": "r-1",
    }


def test_thinking_is_shown_only_to_who_asked():
    parts = said(Thinking("hm"), Text("42"), body={"contents": [USER]})["candidates"][0]["content"][
        "parts"
    ]
    assert [part["text"] for part in parts] == ["42"]
    assert b"hm" not in streamed(*told(Thinking("hm"), Text("42")), body={"contents": [USER]})


def test_only_the_first_call_is_signed_and_only_from_gemini_3_on():
    calls = (ToolCall("a", "f", {}), ToolCall("b", "f", {}))
    for model, signs in ((NEW, [True, False]), (OLD, [False, False])):
        parts = said(*calls, finish="tool_calls", model=model)["candidates"][0]["content"]["parts"]
        assert ["thoughtSignature" in part for part in parts] == signs


def test_an_answer_in_text_ends_on_a_signature_from_gemini_3_on():
    """Recorded: on the last text of a whole answer, in an empty text of its own in a stream."""
    for model, signs in ((NEW, True), (OLD, False)):
        parts = said(Thinking("hm"), Text("42"), model=model)["candidates"][0]["content"]["parts"]
        assert ("thoughtSignature" in parts[-1]) is signs
        message, _ = assembled(decoded(streamed(*told(Thinking("hm"), Text("42")), model=model)))
        ends = [
            part for part in message.parts if isinstance(part, Text) and part.signature is not None
        ]
        assert bool(ends) is signs
        assert [part.text for part in ends] == [""] * signs
        assert [part.signature.value for part in ends] == [
            parts[-1].get("thoughtSignature")
        ] * signs


def test_text_beside_a_signed_call_is_not_signed():
    parts = said(Text("look"), ToolCall("a", "f", {}), finish="tool_calls")
    parts = parts["candidates"][0]["content"]["parts"]
    assert ["thoughtSignature" in part for part in parts] == [False, True]


def test_an_empty_text_is_the_part_that_carries_a_signature_alone():
    parts = said(Text("a"), Text(""))["candidates"][0]["content"]["parts"]
    assert parts[0] == {"text": "a"}
    assert verify_signature(parts[1]["thoughtSignature"], "google")
    message, _ = assembled(decoded(streamed(*told(Text("a"), Text("")))))
    assert message.parts[1].signature.value == parts[1]["thoughtSignature"]


def test_a_minted_id_is_not_told():
    call = ToolCall("m" * 22, "f", {}, minted=True)
    part = said(call, finish="tool_calls")["candidates"][0]["content"]["parts"][0]
    assert "id" not in part["functionCall"]


@pytest.mark.parametrize(
    ("finish", "raw", "word"),
    [
        ("stop", None, "STOP"),
        ("tool_calls", None, "STOP"),
        ("length", None, "MAX_TOKENS"),
        ("exhausted", None, "MAX_TOKENS"),
        ("content_filter", None, "SAFETY"),
        ("content_filter", "SPII", "SPII"),
        ("error", "MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"),
        ("other", None, "OTHER"),
    ],
)
def test_every_ending_has_its_word(finish, raw, word):
    assert said(Text("a"), finish=finish, raw_finish=raw)["candidates"][0]["finishReason"] == word


HATE = {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "HIGH", "blocked": True}
FOUND = {"webSearchQueries": ["rain"], "groundingChunks": []}


def test_an_answer_stopped_for_safety_has_empty_content():
    candidate = said(finish="content_filter", safety=[HATE])["candidates"][0]
    assert candidate["content"] == {}
    assert candidate["safetyRatings"] == [HATE]


def test_a_refused_question_has_no_candidates():
    feedback = {"blockReason": "JAILBREAK", "blockReasonMessage": "no"}
    body = said(
        finish="content_filter", raw_finish="JAILBREAK", extras={"promptFeedback": feedback}
    )
    assert body["promptFeedback"] == feedback
    assert "candidates" not in body


def test_grounding_and_extras_stand_in_the_candidate():
    candidate = said(Text("a"), grounding=FOUND, extras={"citationMetadata": {"y": 2}})[
        "candidates"
    ][0]
    assert (candidate["groundingMetadata"], candidate["citationMetadata"]) == (FOUND, {"y": 2})


PARTS = (
    Thinking("thinking of it"),
    Text("one two"),
    UnknownPart("gemini", {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
    Text("signed", seal(signed())),
    ToolCall("a", "f", {"q": "Grüße 🙂"}, seal(signed())),
    ToolCall("b", "g", {}),
)


@pytest.mark.parametrize("alt", ["sse", "", "ndjson"])
def test_what_is_streamed_is_decoded_as_it_was_said_in_every_framing(alt):
    assert parts_of(decoded(streamed(*told(*PARTS), alt=alt))) == PARTS


def test_whole_and_streamed_are_one():
    body = SERVICE.reply(asking(), Reply(Message("assistant", PARTS), "tool_calls", USED)).body
    whole = CALLER.decode(OK, body, AnswerContext(NEW, "google"))
    assert assembled(whole) == assembled(decoded(streamed(*told(*PARTS))))
    assert assembled(whole)[0].parts == PARTS


def test_every_piece_of_a_text_is_sent_when_it_comes():
    stream = SERVICE.stream(asking())
    sent = [stream.feed(event) for event in told(Text("ab"), Thinking("cd"), pieces=2)]
    said = ["a", "b", "c", "d"]
    assert [
        word
        for word, frame in zip(said, [each for each in sent if each], strict=False)
        if f'"text":"{word}"'.encode() in frame
    ] == said


def test_a_late_seal_on_words_follows_in_an_empty_part():
    events = told(Text("abc", seal(signed())), pieces=3, late=True)
    assert parts_of(decoded(streamed(*events))) == (Text("abc"), Text("", seal(signed())))


def test_a_seal_known_at_the_start_stands_on_the_first_piece():
    parts = parts_of(decoded(streamed(*told(Text("abc", seal(signed())), pieces=3))))
    assert parts == (Text("a", seal(signed())), Text("bc"))


@pytest.mark.parametrize(
    "parts", [(), (Text("a"),), (ToolCall("c", "f", {}),), (Thinking("a"),), (Image(),)]
)
def test_the_last_piece_always_has_parts(parts):
    """google-genai's chat drops a turn whose last piece has none."""
    last = streamed(*told(*parts)).split(b"\r\n\r\n")[-2]
    candidate = json.loads(last.removeprefix(b"data: "))["candidates"][0]
    assert candidate["finishReason"] == "STOP"
    assert candidate["content"]["parts"]


def test_server_sent_pieces_have_the_services_line_ends_and_counts_on_each():
    events = [Started("gemini-y", "r-9"), UsageUpdate(USED), *told(Text("ab"), pieces=2)[1:]]
    frames = streamed(*events).split(b"\r\n\r\n")
    assert frames.pop() == b""
    chunks = [json.loads(frame.removeprefix(b"data: ")) for frame in frames]
    assert all(each["usageMetadata"]["totalTokenCount"] == 1290 for each in chunks)
    assert {(each["modelVersion"], each["responseId"]) for each in chunks} == {("gemini-y", "r-9")}
    assert ["finishReason" in each["candidates"][0] for each in chunks] == [False, False, True]


def test_without_alt_the_stream_is_one_pretty_array():
    data = streamed(*told(Text("ab"), pieces=2), alt="")
    assert data.startswith(b"[{\n  ")
    assert b"\n,\r\n{" in data
    assert data.endswith(b"\n]")
    assert len(json.loads(data)) == 3


def test_a_stream_of_nothing_is_an_empty_array():
    assert SERVICE.stream(asking(alt="")).eof() == b"[]"


def test_a_request_that_came_wrapped_is_answered_wrapped():
    found = asking()
    found = replace(found, context=replace(found.context, wrapped=True))
    body = json.loads(
        SERVICE.reply(found, Reply(Message("assistant", (Text("a"),)), "stop", USED)).body
    )
    assert body["response"]["candidates"][0]["content"]["parts"][0]["text"] == "a"
    assert body["traceId"]


def test_a_picture_goes_inline():
    part = said(Image("image/png", b"hi"))["candidates"][0]["content"]["parts"][0]
    assert part == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


def test_an_error_has_the_services_shape_and_its_hint_in_the_body():
    sent = SERVICE.error(429, "slow", code=None, retry_after=2.5)
    assert json.loads(sent.body) == {
        "error": {
            "code": 429,
            "message": "slow",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}
            ],
        }
    }
    error = CALLER.error(OK.__class__(429, sent.headers), sent.body)
    assert (type(error), error.retry_after) == (RateLimited, 2.5)


def test_a_code_is_the_status_word_or_else_the_reason():
    word = json.loads(SERVICE.error(400, "m", code="FAILED_PRECONDITION", retry_after=None).body)[
        "error"
    ]
    assert (word["status"], word.get("details")) == ("FAILED_PRECONDITION", None)
    sent = SERVICE.error(429, "m", code="QUOTA_EXHAUSTED", retry_after=None)
    assert type(CALLER.error(OK.__class__(429), sent.body)) is QuotaSpent


def test_the_same_answer_is_the_same_bytes():
    events = told(Text("a"), ToolCall("c", "f", {}))
    assert streamed(*events) == streamed(*events)
