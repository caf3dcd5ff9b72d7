"""Whatever is in a file, it is told by its content, and what is broken is one clear error."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.contract.guards.tapes import in_loop
from tests.contract.guards.test_clean import HERE, MODELS
from tests.laws.mutate import wrong_body, wrong_bytes, wrong_stream

from pondero.cassettes.file_format import dump
from pondero.contract import GuardReport, check_file
from pondero.errors import CassetteError, PonderoError

TAPE = in_loop("claude-opus-5/high")


def _plain(each, **beside):
    asked, answered = each.request, each.head
    request = {"method": "POST", "url": asked.url, "headers": dict(asked.headers)}
    return {
        "request": {**request, "body": json.loads(asked.body)},
        "response": {"status": answered.status, "chunks": [p.decode() for p in each.pieces]},
        **beside,
    }


def _lines(values):
    return b"\n".join(json.dumps(value).encode() for value in values)


def _yaml(exchanges):
    import yaml

    return yaml.safe_dump(
        {
            "interactions": [
                {
                    "request": {
                        "method": "POST",
                        "uri": each.request.url,
                        "headers": {},
                        "body": each.request.body.decode(),
                    },
                    "response": {
                        "status": {"code": 200, "message": "OK"},
                        "headers": {},
                        "body": {"string": each.body.decode()},
                    },
                }
                for each in exchanges
            ],
            "version": 1,
        }
    ).encode()


FORMS = {
    "cassette": dump(TAPE),
    "vcrpy": _yaml(TAPE),
    "exchanges": _lines(map(_plain, TAPE)),
}


@pytest.mark.parametrize("kind", FORMS)
def test_the_same_exchanges_are_the_same_in_every_form(kind):
    report = check_file(FORMS[kind], "file")
    assert report.kind == kind
    assert (report.exchanges, report.with_past, report.seals) == (3, 2, 3)
    assert report.findings == ()


def test_a_list_of_exchanges_is_taken_as_lines_are():
    report = check_file(json.dumps([_plain(each) for each in TAPE]).encode())
    assert (report.kind, report.exchanges) == ("exchanges", 3)


def test_one_exchange_alone_is_taken():
    assert check_file(_lines([_plain(TAPE[0])])).exchanges == 1


def test_a_path_and_a_provider_do_for_an_address():
    value = _plain(TAPE[0], provider="vertex")
    value["request"]["path"] = value["request"].pop("url").partition(".com")[2]
    report = check_file(_lines([value]))
    assert report.dialects == ("anthropic",)


def test_an_answer_may_be_a_body_or_a_stream_or_missing():
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5"}
    forms = [{"status": 200, "body": body}, {"stream": "event: ping\n\n"}, {"status": 200}, None]
    values = [{**_plain(TAPE[0]), "response": form} for form in forms]
    assert check_file(_lines(values)).exchanges == len(forms)


def test_an_answer_whose_request_was_not_recorded_is_passed_over():
    report = check_file(_lines([{"request": None, "response": {"status": 200}}, _plain(TAPE[0])]))
    assert (report.lines, report.exchanges) == (2, 1)


def test_what_is_no_talk_with_a_model_is_passed_over():
    other = {"request": {"url": "https://example.com/search", "body": {"q": "x"}}}
    report = check_file(_lines([other, _plain(TAPE[0])]))
    assert (report.lines, report.exchanges) == (2, 1)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "this is empty"),
        (b"  \n ", "this is empty"),
        (b"hello", "unknown kind of file"),
        (b"{}", "unknown kind of file"),
        (b"[]", "unknown kind of file"),
        (b'{"request": 1}', "file:1: invalid exchange"),
        (b'{"request": {"body": {}}}', "file:1: invalid exchange"),
        (b'{"request": {"url": "x"}}\n{', "file:2: this is not JSON"),
        (b'{"request": {"url": "x"}}\n3', "file:2: an exchange is an object"),
        (b'{"_request": {}}', "_request is invalid"),
        (b"interactions: [1]", "it is not an interaction"),
        (b"interactions: [", "this is not YAML"),
        (b"\xff\xfe\x00", "unknown kind of file"),
    ],
)
def test_a_broken_file_is_one_clear_error(data, words):
    with pytest.raises(CassetteError, match=words) as caught:
        check_file(data, "file")
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_our_errors(data):
    assert _survives(data)


@pytest.mark.parametrize("model", [models[0] for models in MODELS.values() if models[0] in HERE])
@settings(max_examples=40)
@given(data=st.data())
def test_no_wrong_body_raises_anything_but_our_errors(model, data):
    tape = in_loop(f"{model}/high")
    body = data.draw(wrong_body(tape[-1].request.body))
    request = replace(tape[-1].request, body=body)
    assert _survives(dump([*tape[:-1], replace(tape[-1], request=request)]))


@settings(max_examples=40)
@given(data=st.data())
def test_no_wrong_answer_raises_anything_but_our_errors(data):
    first, *rest = TAPE
    stream = data.draw(wrong_stream(first.body))
    assert _survives(dump([replace(first, pieces=(stream,)), *rest]))


@settings(max_examples=60)
@given(data=st.data(), kind=st.sampled_from(sorted(FORMS)))
def test_no_wrong_file_raises_anything_but_our_errors(data, kind):
    assert _survives(data.draw(wrong_bytes(FORMS[kind])))


def _survives(data):
    try:
        return isinstance(check_file(data, "file"), GuardReport)
    except PonderoError:
        return True
