"""A cassette between us and a service: what is written, when, and what never is."""

import json
from base64 import b64encode

import pytest
from tests.transport.scripted import TIMEOUTS, Scripted, ask, ok

from pondero.canon import HttpRequest, ResponseHead
from pondero.cassettes.file_format import load_cassette
from pondero.errors import BadParameter, CassetteError, Timeout
from pondero.vcr import AsyncCassette, Cassette, find_leaks

KEY = "k3y-of-the-house-and-garden"
PLANTED = "sk-" + "ant-api03-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cassettes" / "case.jsonl"


def record(path, request, answer, **options):
    with Cassette(path, Scripted(answer), record=True, **options) as cassette:
        try:
            list(cassette.send(request, TIMEOUTS))
        except Timeout:
            return


@pytest.mark.parametrize(
    ("value", "recording"),
    [("1", True), ("true", True), ("0", False), ("", False), ("no", False), (None, False)],
)
def test_a_variable_says_whether_to_record(path, monkeypatch, value, recording):
    if value is None:
        monkeypatch.delenv("VCR_RECORD", raising=False)
    else:
        monkeypatch.setenv("VCR_RECORD", value)
    assert Cassette(path).recording == recording
    assert AsyncCassette(path).recording == recording
    assert not Cassette(path, record=False).recording
    assert Cassette(path, record=True).recording


def test_a_recording_goes_through_the_transport_and_its_answer_is_passed_on(path):
    service = Scripted(ok(b"one", b"", b"two", x_request_id="req_1"))
    with Cassette(path, service, record=True) as cassette:
        answer = cassette.send(ask(b'{"q":1}'), TIMEOUTS)
        assert answer.head == ResponseHead(200, {"x-request-id": "req_1"})
        assert list(answer) == [b"one", b"", b"two"]
    assert service.sent == [ask(b'{"q":1}')]
    assert service.closed
    [recorded] = load_cassette(path)
    assert recorded.pieces == (b"one", b"two")


def test_the_file_appears_when_it_is_whole_and_takes_the_place_of_the_old(path):
    record(path, ask(), ok(b"old"))
    with Cassette(path, Scripted(ok(b"new"), ok(b"er")), record=True) as cassette:
        list(cassette.send(ask(), TIMEOUTS))
        list(cassette.send(ask(), TIMEOUTS))
        assert [each.body for each in load_cassette(path)] == [b"old"]
    assert [each.body for each in load_cassette(path)] == [b"new", b"er"]
    assert [each.name for each in path.parent.iterdir()] == ["case.jsonl"]


def test_a_recording_of_nothing_leaves_what_was_there(path):
    record(path, ask(), ok(b"old"))
    with Cassette(path, Scripted(), record=True):
        pass
    assert [each.body for each in load_cassette(path)] == [b"old"]


def test_closing_twice_writes_the_same_file(path):
    cassette = Cassette(path, Scripted(ok(b"one")), record=True)
    list(cassette.send(ask(), TIMEOUTS))
    cassette.close()
    first = path.read_bytes()
    cassette.close()
    assert path.read_bytes() == first


def test_what_was_recorded_can_be_played_at_once(path):
    cassette = Cassette(path, Scripted(ok(b"one")), record=True)
    list(cassette.send(ask(), TIMEOUTS))
    cassette.rewind()
    assert not cassette.recording
    assert list(cassette.send(ask(), TIMEOUTS)) == [b"one"]


def test_exchanges_are_written_in_the_order_of_their_requests(path):
    with Cassette(path, Scripted(ok(b"a", b"A"), ok(b"b", b"B")), record=True) as cassette:
        first = iter(cassette.send(ask(b"1"), TIMEOUTS))
        second = iter(cassette.send(ask(b"2"), TIMEOUTS))
        assert [next(second), next(first), next(first), next(second)] == [b"b", b"a", b"A", b"B"]
        assert [*first, *second] == []
    assert [(each.request.body, each.pieces, each.end) for each in load_cassette(path)] == [
        (b"1", (b"a", b"A"), None),
        (b"2", (b"b", b"B"), None),
    ]


def test_keys_in_headers_query_body_and_error_text_are_not_in_the_file(path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "value-of-the-variable")
    request = HttpRequest(
        "POST",
        f"https://api.test/v1?key={KEY}-query&apikey={KEY}-plain-query",
        {
            "x-api-key": f"{KEY}-header",
            "apikey": f"{KEY}-plain-header",
            "authorization": f"Bearer {KEY}-bearer",
        },
        json.dumps(
            {
                "note": "named-secret",
                "b64": b64encode(b"named-secret").decode(),
                "apikey": f"{KEY}-plain-field",
            }
        ).encode(),
    )
    said = f"bad keys: {KEY}-query {KEY}-header {KEY}-bearer value-of-the-variable named-secret"
    pieces = [said[at : at + 7].encode() for at in range(0, len(said), 7)]
    answer = (
        ResponseHead(401, {"set-cookie": f"s={KEY}-cookie; path=/"}),
        (*pieces, Timeout(f"{KEY}-query")),
    )
    record(path, request, answer, secrets=["named-secret"])
    text = path.read_text()
    for value in (
        KEY,
        "value-of-the-variable",
        "named-secret",
        b64encode(b"named-secret").decode(),
    ):
        assert value not in text
    [recorded] = load_cassette(path)
    assert recorded.body == b"bad keys: REDACTED REDACTED REDACTED REDACTED REDACTED"
    assert recorded.request.url == "https://api.test/v1?key=REDACTED&apikey=REDACTED"
    assert recorded.request.headers == {
        "x-api-key": "REDACTED",
        "apikey": "REDACTED",
        "authorization": "Bearer REDACTED",
    }
    assert recorded.end.message == "REDACTED"
    assert find_leaks(path) == ()


def test_a_redacted_cassette_answers_whoever_asks_with_another_key_or_none(path):
    def asking(key):
        return HttpRequest(
            "POST",
            f"https://api.test/v1?key={key}",
            {"x-api-key": key},
            b'{"k":"%s"}' % key.encode(),
        )

    record(path, asking(KEY), ok(b"one"))
    for key in (KEY, "another-key-altogether", ""):
        cassette = Cassette(path, record=False, match=("method", "host", "path", "query", "body"))
        assert list(cassette.send(asking(key), TIMEOUTS)) == [b"one"]


@pytest.mark.parametrize(
    ("request_", "answer", "where"),
    [
        (ask(json.dumps({"text": PLANTED}).encode()), ok(b"{}"), "the request's body"),
        (ask(), ok(b"use ", PLANTED[:12].encode(), PLANTED[12:].encode()), "the answer"),
        (ask(x_note=PLANTED), ok(b"{}"), "the header x-note"),
        (ask(), ok(b"{}", x_echo=PLANTED), "the header x-echo"),
        (HttpRequest("GET", f"https://a.test/{PLANTED}", {}), ok(b"{}"), "the address"),
    ],
)
def test_a_planted_key_makes_the_recording_fail_and_leaves_nothing(path, request_, answer, where):
    with pytest.raises(CassetteError) as caught:
        record(path, request_, answer)
    assert str(caught.value) == (
        f"{path} was not written: something in it looks like a key\n"
        f"  exchange 1, {where}: an sk- key 'sk-ant-a'...\n"
        "Name it in secrets=(...) to redact it."
    )
    assert not path.parent.exists() or list(path.parent.iterdir()) == []


def test_a_planted_key_that_is_named_is_redacted(path):
    record(path, ask(PLANTED.encode()), ok(PLANTED.encode()), secrets=[PLANTED])
    assert load_cassette(path)[0].body == b"REDACTED"


def test_a_refused_recording_keeps_the_old_file_and_closes_the_transport(path):
    record(path, ask(), ok(b"old"))
    service = Scripted(ok(PLANTED.encode()))
    cassette = Cassette(path, service, record=True)
    list(cassette.send(ask(), TIMEOUTS))
    with pytest.raises(CassetteError):
        cassette.close()
    assert service.closed
    assert [each.body for each in load_cassette(path)] == [b"old"]


def test_a_secret_a_model_says_in_several_events_is_refused(path):
    events = [
        b'data: {"text":"%s"}\n\n' % part for part in (b"k3y-of-", b"the-house", b"-and-garden")
    ]
    with pytest.raises(
        CassetteError, match=r"the answer across its events: a secret 'k3y-of'"
    ) as caught:
        record(path, ask(x_api_key=KEY), ok(*events))
    assert "cannot be redacted" in str(caught.value)
    assert not path.exists()


def test_many_leaks_are_counted_after_a_few(path):
    several = " ".join(f"sk-{letter * 20}" for letter in "abcdefghij")
    with pytest.raises(CassetteError, match="and 2 more"):
        record(path, ask(), ok(several.encode()))


def test_yaml_is_not_recorded(path):
    with pytest.raises(CassetteError, match=r"can be played, not recorded; .* ends in \.jsonl"):
        Cassette(path.with_suffix(".yaml"), record=True)


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CassetteError, match="cannot be written: "):
        record(tmp_path / "file" / "case.jsonl", ask(), ok(b"one"))


def test_a_key_is_needed_only_to_record_from_a_service(path):
    class Service(Scripted):
        needs_key = True

    assert not Cassette(path, record=False).needs_key
    assert not Cassette(path, Service(), record=False).needs_key
    assert not Cassette(path, Scripted(), record=True).needs_key
    assert Cassette(path, Service(), record=True).needs_key
    assert Cassette(path, record=True).needs_key


def test_a_request_that_was_never_sent_is_not_recorded(path):
    service = Scripted(BadParameter("the address is none"), ok(b"one"))
    with Cassette(path, service, record=True) as cassette:
        with pytest.raises(BadParameter):
            cassette.send(HttpRequest("GET", "https://[", {}), TIMEOUTS)
        list(cassette.send(ask(), TIMEOUTS))
    assert [each.body for each in load_cassette(path)] == [b"one"]


@pytest.mark.parametrize(
    "failure",
    [Timeout("no answer"), (ResponseHead(401, {}), (b"no",)), (ResponseHead(403, {}), (b"no",))],
)
def test_a_recording_without_an_answer_leaves_the_old_file(path, failure):
    record(path, ask(), ok(b"old"))
    before = path.read_bytes()
    with pytest.warns(UserWarning, match="stays as it was: no request of this recording"):
        record(path, ask(), failure)
    assert path.read_bytes() == before
    path.unlink()
    record(path, ask(), failure)
    assert len(load_cassette(path)) == 1
