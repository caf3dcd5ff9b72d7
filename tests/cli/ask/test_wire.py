"""``ask --wire`` prints no key, also none that a model spread over its deltas."""

import json

import pytest

from pondero.canon import HttpRequest, ResponseHead
from pondero.cassettes import RecordedExchange
from pondero.cli.ask.wire import WirePrinter

KEY = "sk-" + "proj-SHAPESEC0123456789abcdefghij"


@pytest.mark.parametrize("size", [1, 3, 8, 30])
@pytest.mark.parametrize("form", ["data: {}\n\n", "{}\n"], ids=["events", "lines"])
def test_a_key_over_several_deltas_is_redacted(capsys, form, size):
    text = f"It is {KEY}, I think."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [{"index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in pieces]
    body = "".join(form.format(json.dumps(event)) for event in events)
    request = HttpRequest("POST", "https://api.test/v1", {}, b"{}")
    WirePrinter(plain=True).print(
        RecordedExchange(request, ResponseHead(200, {}), (body.encode(),))
    )
    lines = [line.removeprefix("data:") for line in capsys.readouterr().err.split("\n")]
    shown = [json.loads(line) for line in lines if '"delta"' in line]
    assert "".join(each["delta"]["text"] for each in shown) == "It is REDACTED, I think."
    assert len(shown) == len(pieces)


def test_a_stream_without_a_key_is_printed_as_it_is(capsys):
    body = b'data:  {"a": "b",  "c":1}\r\n\r\ndata: {"a":"sk-"}\n\n: hi\n'
    request = HttpRequest("POST", "https://api.test/v1", {}, b"{}")
    WirePrinter(plain=True).print(RecordedExchange(request, ResponseHead(200, {}), (body,)))
    assert body.decode().rstrip("\n") in capsys.readouterr().err
