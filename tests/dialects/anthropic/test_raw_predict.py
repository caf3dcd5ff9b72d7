"""Where the model stands in the address and the version in the body."""

import json

import pytest
from tests.plans import plan

from pondero.canon import HttpRequest, Message, Request, Target, Text
from pondero.dialects import Rejected
from pondero.errors import BadCatalog

from .wiring import WIRE

BASE = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic"
TARGET = Target("there", BASE, {"authorization": "Bearer t"}, quirks={"raw_predict": True})
ASKED = Request("claude-opus-4-5@20251101", (Message("user", (Text("hi"),)),), max_tokens=9)


def encoded(request=ASKED, target=TARGET, headers=None):
    return WIRE.caller().encode(request, plan("anthropic", headers=headers), target)


@pytest.mark.parametrize(("stream", "verb"), [(True, "streamRawPredict"), (False, "rawPredict")])
def test_the_address_names_the_model_and_whether_it_streams(stream, verb):
    http = encoded(Request(ASKED.model, ASKED.messages, max_tokens=9, stream=stream))
    assert http.url == f"{BASE}/models/claude-opus-4-5@20251101:{verb}"
    body = json.loads(http.body)
    assert body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in body
    assert body.get("stream", False) is stream


def test_betas_stay_in_their_header_and_the_version_does_not():
    http = encoded(headers={"anthropic-beta": "interleaved-thinking-2025-05-14"})
    assert http.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert "anthropic-version" not in http.headers


def test_the_service_understands_it_as_it_was_meant():
    accepted = WIRE.service().accept(encoded(), "vertex-anthropic")
    assert (accepted.request.model, accepted.request.messages) == (ASKED.model, ASKED.messages)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"anthropic_version": None}, "anthropic_version: Field required"),
        ({"anthropic_version": "2020"}, '"2020" is not a valid version'),
        ({"model": "claude-opus-4-5"}, "model: Extra inputs are not permitted"),
        ({"stream": False}, "stream: must be true with streamRawPredict"),
        ({"nonsense": 1}, "nonsense: Extra inputs are not permitted"),
    ],
)
def test_what_does_not_fit_the_address_is_refused(change, words):
    http = encoded()
    body = {**json.loads(http.body), **change}
    body = {key: value for key, value in body.items() if value is not None}
    changed = HttpRequest("POST", http.url, http.headers, json.dumps(body).encode())
    with pytest.raises(Rejected) as raised:
        WIRE.service().accept(changed, "vertex-anthropic")
    assert words in json.loads(raised.value.response.body)["error"]["message"]


def test_a_quirk_nobody_knows_the_value_of_is_one_error():
    with pytest.raises(BadCatalog, match="a quirk of this deployment is wrong"):
        encoded(target=Target("there", BASE, quirks={"raw_predict": "yes"}))
