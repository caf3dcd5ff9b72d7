"""The flow, driven by lists: no socket, no clock."""

import msgspec
import pytest
from tests.exchange.driving import OK, ORIGIN, Drive, answer, exchange, frames

from pondero.canon import (
    AdjustmentNote,
    Finished,
    PartEnd,
    ResponseHead,
    SavedRepair,
    Started,
    TextDelta,
    ToolDelta,
)
from pondero.emulator import Emulator
from pondero.errors import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    CassetteError,
    Malformed,
    Overloaded,
    QuotaSpent,
    RateLimited,
    ServerFailed,
    ServiceError,
    Timeout,
    Truncated,
    Unreachable,
)
from pondero.exchange import Retry, read_reply
from pondero.framing import MAX_FRAME
from pondero.thinking import Adjustment


def refusal(status: int, kind: str, message: str = "no", **headers: str):
    body = msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
    return ResponseHead(status, {name.replace("_", "-"): text for name, text in headers.items()}), [
        body
    ]


OVERLOADED = refusal(529, "overloaded_error")
ERROR_EVENT = frames(
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
)


def test_an_answer_becomes_a_reply_with_its_plan_verdict_and_origin():
    drive = Drive((OK, answer("391")))
    reply = drive.run(exchange())
    assert reply.text == "391"
    assert reply.message.origin == ORIGIN
    assert reply.plan.level == "low"
    assert (reply.finish, reply.request_id, reply.model) == ("stop", "req_1", "claude-opus-5")
    assert drive.slept == []


def test_the_last_event_says_the_same_verdict_as_the_reply():
    drive = Drive((OK, answer()))
    reply = drive.run(exchange())
    assert isinstance(drive.shown[-1], Finished)
    assert drive.shown[-1].verdict == reply.verdict


def test_an_answer_in_one_piece_gives_the_same_reply_as_a_stream():
    whole = msgspec.json.encode(
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5", "content": [{"type": "text", "text": "391"}], "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}}
    )  # fmt: skip
    one = Drive((OK, [whole[:9], whole[9:]])).run(exchange(stream=False))
    many = Drive((OK, answer())).run(exchange())
    assert one.message == many.message
    assert (one.finish, one.usage) == (many.finish, many.usage)


@pytest.mark.parametrize(
    "failed",
    [
        OVERLOADED,
        refusal(500, "api_error"),
        refusal(429, "rate_limit_error"),
        (ResponseHead(502, {}), [b"<html>bad gateway</html>"]),
        Timeout("nothing came"),
        Unreachable("connection refused"),
        (OK, []),
        (OK, answer()[:2]),
        (OK, [*answer()[:2], Unreachable("reset")]),
        (OK, [*answer()[:1], *ERROR_EVENT]),
    ],
)
def test_what_passes_by_itself_is_tried_again_and_nobody_sees_the_first_try(failed):
    drive = Drive(failed, (OK, answer()))
    assert drive.run(exchange()).text == "391"
    assert len(drive.sent) == 2
    assert sum(isinstance(event, Started) for event in drive.shown) == 1


@pytest.mark.parametrize(
    ("failed", "kind"),
    [
        (refusal(400, "invalid_request_error"), BadRequest),
        (refusal(401, "authentication_error"), AuthFailed),
        (refusal(402, "billing_error"), BillingFailed),
        (refusal(400, "invalid_request_error", "Your credit balance is too low"), BillingFailed),
        ((OK, [b"data: {nonsense\n\n"]), Malformed),
    ],
)
def test_what_does_not_pass_is_raised_at_once(failed, kind):
    drive = Drive(failed)
    with pytest.raises(kind):
        drive.run(exchange())
    assert len(drive.sent) == 1


def test_a_server_of_ones_own_that_is_not_there_says_where_and_how_it_is_started():
    drive = Drive(*[Unreachable("connection refused")] * 4)
    with pytest.raises(Unreachable) as absent:
        drive.run(exchange("ollama:qwen3:8b/low"))
    assert str(absent.value) == (
        "Ollama does not answer at http://localhost:11434: start it with 'ollama serve', or say "
        "where it runs in OLLAMA_HOST (connection refused)"
    )


def test_others_that_are_not_there_say_what_the_transport_said():
    drive = Drive(*[Unreachable("connection refused")] * 4)
    with pytest.raises(Unreachable, match=r"^connection refused$"):
        drive.run(exchange())


def test_a_spent_quota_is_not_tried_again():
    body = msgspec.json.encode({"error": {"code": "insufficient_quota", "message": "no"}})
    with pytest.raises(QuotaSpent):
        Drive((ResponseHead(429), [body])).run(exchange("gpt-5.1/low"))


@pytest.mark.parametrize("end", [Unreachable("reset"), Timeout("nothing came"), None])
@pytest.mark.parametrize("after", [3, 4, 5])
def test_nothing_is_tried_again_once_something_was_shown(after, end):
    pieces = [*answer()[:after], *([end] if end else [])]
    drive = Drive((OK, pieces))
    with pytest.raises((Truncated, Timeout)):
        drive.run(exchange())
    assert len(drive.sent) == 1
    assert any(isinstance(event, TextDelta) for event in drive.shown)


CALL = [
    answer()[0],
    *frames(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"city"'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ': "Paris"}'}},
        {"type": "content_block_stop", "index": 0},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [(CALL[:3], ToolDelta), ([*CALL[:2], CALL[4]], PartEnd)],
    ids=["in its arguments", "whole, without arguments"],
)
@pytest.mark.parametrize("end", [Unreachable("reset"), Timeout("nothing came"), None])
def test_nothing_is_tried_again_once_a_tool_call_was_shown(pieces, kind, end):
    drive = Drive((OK, [*pieces, *([end] if end else [])]))
    with pytest.raises((Truncated, Timeout)):
        drive.run(exchange())
    assert len(drive.sent) == 1
    assert any(isinstance(event, kind) for event in drive.shown)


def test_an_error_inside_the_stream_after_words_is_raised_and_the_words_stay_shown():
    drive = Drive((OK, [*answer("half")[:3], *ERROR_EVENT]))
    with pytest.raises(Overloaded):
        drive.run(exchange())
    assert [event.text for event in drive.shown if isinstance(event, TextDelta)] == ["half"]


def test_what_breaks_after_the_end_breaks_nothing():
    drive = Drive((OK, [*answer(), Unreachable("reset")]))
    assert drive.run(exchange()).text == "391"


def test_it_gives_up_after_as_many_tries_as_it_may():
    drive = Drive(*[OVERLOADED] * 4)
    with pytest.raises(Overloaded):
        drive.run(exchange())
    assert len(drive.sent) == 4
    assert drive.slept == [0.5, 1.0, 2.0]


def test_the_services_own_delay_comes_first():
    drive = Drive(refusal(429, "rate_limit_error", retry_after="7"), (OK, answer()))
    drive.run(exchange())
    assert drive.slept == [7.0]


def test_a_delay_longer_than_patience_is_an_error_that_says_how_long():
    drive = Drive(refusal(429, "rate_limit_error", retry_after="3600"))
    with pytest.raises(RateLimited) as raised:
        drive.run(exchange())
    assert raised.value.retry_after == 3600
    assert drive.slept == []


def test_nobody_sleeps_where_waiting_is_switched_off():
    drive = Drive(refusal(429, "rate_limit_error", retry_after="7"), OVERLOADED, (OK, answer()))
    drive.run(exchange(), Retry(waits=False))
    assert drive.slept == []


def test_empty_pieces_are_no_end():
    first, *rest = answer()
    assert Drive((OK, [first, b"", *rest])).run(exchange()).text == "391"


def test_an_error_page_is_survived():
    with pytest.raises(ServerFailed, match="bad gateway"):
        Drive((ResponseHead(502, {}), [b"<html>bad gateway</html>"])).run(
            exchange(), Retry(attempts=1)
        )


def test_a_refusal_that_lists_the_levels_is_cured_once_and_the_cure_is_recorded():
    no = refusal(
        400,
        "invalid_request_error",
        "This model does not support effort level 'low'. Supported levels: high, max, medium.",
    )
    drive = Drive(no, (OK, answer()))
    reply = drive.run(exchange())
    assert msgspec.json.decode(drive.sent[1].body)["output_config"]["effort"] == "medium"
    assert [note.code for note in reply.plan.adjustments] == ["unsupported_level"]
    assert isinstance(drive.shown[0], AdjustmentNote)


def test_a_second_refusal_is_not_cured():
    no = refusal(
        400,
        "invalid_request_error",
        "This model does not support effort level 'low'. Supported levels: high, max, medium.",
    )
    with pytest.raises(BadRequest):
        Drive(no, no).run(exchange())


def test_nothing_is_cured_under_a_strict_policy():
    no = refusal(
        400,
        "invalid_request_error",
        "This model does not support effort level 'low'. Supported levels: high, max, medium.",
    )
    with pytest.raises(BadRequest):
        Drive(no).run(msgspec.structs.replace(exchange(), repairs=False))


@pytest.mark.parametrize(
    "model", ["claude-opus-5/low", "gpt-5.1/low", "openai-chat:gpt-5/low", "gemini-3-flash-preview"]
)
def test_an_answer_at_once_though_a_stream_was_asked_for_is_read(model):
    """As proxies answer, and as recordings of another client do."""
    answered = Emulator().send(exchange(model, stream=False).http)
    drive = Drive((answered.head, list(answered)))
    reply = drive.run(exchange(model), Retry(attempts=1))
    assert "391" in reply.message.text
    assert isinstance(drive.shown[-1], Finished)


def test_a_recording_without_a_second_try_shows_why_there_was_one():
    cut = (OK, frames({"type": "message_start", "message": {"id": "msg_1", "usage": {}}}))
    drive = Drive(cut, CassetteError("there is no more in it"))
    with pytest.raises(Truncated) as caught:
        drive.run(exchange())
    assert isinstance(caught.value.__cause__, CassetteError)


def test_who_learns_is_told_of_a_refusal_only_once_its_cure_was_taken():
    words = "effort: This model does not support effort level 'low'. Supported levels: high, max."
    told = []
    refused = (ResponseHead(400), [msgspec.json.encode({"error": {"message": words}})])
    drive = Drive(refused, (ResponseHead(401), [b"{}"]))
    with pytest.raises(AuthFailed):
        drive.run(exchange(), learn=told.append)
    assert told == []
    Drive(refused, (OK, answer())).run(
        exchange(), learn=lambda repair: told.append((repair.cure, repair.adjustment.got))
    )
    assert told == [(SavedRepair("lower", ("high", "max")), "high")]


@pytest.mark.parametrize(
    ("failed", "notes"),
    [
        (refusal(401, "authentication_error"), ["look there"]),
        (refusal(403, "permission_error"), []),
        (refusal(400, "invalid_request_error"), []),
    ],
)
def test_a_key_that_is_not_taken_says_where_it_came_from(failed, notes):
    with pytest.raises(ServiceError) as caught:
        Drive(failed).run(msgspec.structs.replace(exchange(), bad_key_hint="look there"))
    assert getattr(caught.value, "__notes__", []) == notes


def test_a_model_that_is_not_found_gets_what_the_plan_knew_of_its_name():
    note = Adjustment("unknown_model", "model", "gpt5", "gpt-5", "unknown; did you mean 'gpt-5'?")
    asked = exchange()
    plan = msgspec.structs.replace(asked.plan, model="openai:gpt5", adjustments=(note,))
    for status, kind, notes in [
        (404, "not_found_error", ["'gpt5' is unknown; did you mean 'gpt-5'?"]),
        (400, "invalid_request_error", []),
    ]:
        with pytest.raises(ServiceError) as caught:
            Drive(refusal(status, kind)).run(msgspec.structs.replace(asked, plan=plan))
        assert getattr(caught.value, "__notes__", []) == notes


# -- answers that came whole, and are none ---------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "kind", "words"),
    [
        ([b'{"id": "msg_1", '], Truncated, "its end is missing"),
        ([b"", Unreachable("reset")], Truncated, "reset"),
        ([b"<html>"], Malformed, "a web page"),
        ([b'{"a": ' * 5000], Malformed, "check the base URL"),
        ([b" " * MAX_FRAME, b" ", b" "], Malformed, f"more than {MAX_FRAME:,} bytes"),
    ],
    ids=["cut", "lost", "page", "deep", "large"],
)
def test_an_answer_in_one_piece_that_is_none_says_why(pieces, kind, words):
    with pytest.raises(kind, match=words):
        Drive((OK, pieces)).run(exchange(stream=False), Retry(attempts=1))


def test_of_a_refusal_no_more_is_read_than_it_takes_to_understand_it():
    piece = b"no " * 100_000
    drive = Drive((ResponseHead(400, {}), [piece] * 50))
    with pytest.raises(BadRequest) as refused:
        drive.run(exchange(), Retry(attempts=1))
    assert len(refused.value.body or b"") < 5 * len(piece)


PAGE = b"<!DOCTYPE html><html><title>Sign in</title><body>Please sign in.</body></html>"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("headers", [{"content-type": "text/html; charset=utf-8"}, {}])
def test_a_web_page_with_status_200_says_that_it_is_one(stream, headers):
    with pytest.raises(Malformed, match=r"a web page: .*Please sign in.*check the base URL"):
        Drive((ResponseHead(200, headers), [PAGE])).run(exchange(stream=stream))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("packing", "body"), [("zstd", b"(\xb5/\xfd\x04X"), ("br", b"\x8b\x05\x80")]
)
def test_an_answer_that_is_packed_as_nobody_asked_says_so(stream, packing, body):
    head = ResponseHead(200, {"content-type": "text/event-stream", "content-encoding": packing})
    with pytest.raises(Malformed, match=f"packed as '{packing}'"):
        Drive((head, [body])).run(exchange(stream=stream))


def test_a_packing_that_the_transport_has_undone_is_none():
    head = ResponseHead(200, {"content-encoding": "br"})
    assert Drive((head, answer("391"))).run(exchange()).text == "391"


def test_an_answer_that_came_another_way_gives_the_same_reply_and_the_same_error():
    whole = msgspec.json.encode(
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5", "content": [{"type": "text", "text": "391"}], "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}}
    )  # fmt: skip
    asked = exchange(stream=False)
    assert read_reply(asked, OK, whole) == Drive((OK, [whole])).run(asked)
    with pytest.raises(Overloaded):
        read_reply(asked, OVERLOADED[0], OVERLOADED[1][0])
    with pytest.raises(Truncated):
        read_reply(asked, OK, whole[:40])
