"""Requests of real agent programs: read on the lenient road, and taken by the emulator."""

import json

import pytest
from tests.recordings.agents import load_agent_requests

from pondero.canon import HttpRequest
from pondero.dialects import NAMES, get_dialect
from pondero.emulator import Emulator

pytestmark = pytest.mark.recordings


SENT = load_agent_requests()


def _request(sent: dict) -> HttpRequest:
    headers = {name.lower(): value for name, value in sent["headers"].items()}
    body = json.dumps(sent["body"]).encode()
    return HttpRequest(sent["method"], f"http://here{sent['path']}", headers, body)


def _talk(sent: dict) -> str | None:
    """Return the dialect a request speaks; None for lists, counts, greetings and upgrades."""
    if sent["method"] != "POST":
        return None
    path = sent["path"].partition("?")[0]
    return next((name for name in NAMES if get_dialect(name).service().matches_path(path)), None)


TALKS = [sent for sent in SENT if _talk(sent)]


@pytest.mark.skipif(not SENT, reason="no requests of agents in PONDERO_AGENTS")
def test_most_of_what_agents_send_is_talk():
    assert len(TALKS) > len(SENT) * 0.8


@pytest.mark.parametrize("sent", TALKS, ids=[sent["id"] for sent in TALKS])
def test_a_request_is_read_with_its_messages_and_tools(sent):
    name = _talk(sent)
    assert name is not None
    parsed = get_dialect(name).service().parse(_request(sent))
    assert parsed.request.messages
    assert parsed.request.model
    offered = sent["body"].get("tools")
    if offered and not all(tool.get("googleSearch") == {} for tool in offered):
        assert parsed.request.tools


FILLER = "filler words stand where"
PICTURE = "data:image/png;base64,iVBORw0KGgo="
ANSWERS = {"codex-14": 426}
"""Requests that get another answer than 200: an upgrade to a WebSocket."""
REFUSED = {
    "aider-2": "`temperature` is deprecated",
    "gemini-cli-3": "number of function response parts",  # --resume doubles a functionResponse
    "opencode-1": "'max_tokens' is not supported",
    "opencode-2": "'max_tokens' is not supported",
    "pi-1": '"thinking.type.enabled" is not supported',
    "pi-8": "Function tools with reasoning_effort are not supported",
}
"""What clients get wrong, and the service says so."""
FILLED = {
    # The prompt they are bound to is filler now.
    "claude-code-9": "bound to a different conversation",
    "claude-code-16": "bound to a different conversation",
    # The thinking that was signed is filler now.
    "llm-6": "Invalid `signature`",
    "llm-7": "Invalid `signature`",
    "llm-8": "Invalid `signature`",
}
"""Seals that fit no more, because the texts of the collection are filler."""


def _keyed(sent: dict) -> HttpRequest:
    """Return the request as it was sent: with a key, and pictures that are some."""
    http = _request(sent)
    path = sent["path"]
    name = _talk(sent)
    if "/messages" in path or sent["client"] == "claude-code":
        key = {"x-api-key": "sk-any"}
    elif name == "gemini" or "/models/gemini" in path:
        key = {"x-goog-api-key": "any"}
    else:
        key = {"authorization": "Bearer sk-any"}
    text = json.dumps(_with_pictures(sent["body"]))
    body = b"" if sent["body"] is None else text.encode()
    return HttpRequest(http.method, http.url, {**http.headers, **key}, body)


def _with_pictures(value):
    if isinstance(value, list):
        return [_with_pictures(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: _with_pictures(each) for key, each in value.items()}
    if str(made.get("image_url", "")).startswith(FILLER):
        made["image_url"] = PICTURE
    return made


@pytest.mark.parametrize("sent", SENT, ids=[sent["id"] for sent in SENT])
def test_the_emulator_takes_what_the_service_takes(sent):
    answer = Emulator().send(_keyed(sent))
    said = b"".join(answer).decode()
    wrong = REFUSED.get(sent["id"]) or FILLED.get(sent["id"])
    if wrong is not None:
        assert answer.head.status == 400
        assert wrong in json.loads(said)["error"]["message"]
    else:
        assert answer.head.status == ANSWERS.get(sent["id"], 200), said
