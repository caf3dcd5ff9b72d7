"""Requests of real agent programs are read on the lenient road, whatever is new in them."""

import json
import os
from pathlib import Path

import pytest

from pondero.canon import HttpRequest
from pondero.dialects import NAMES, dialect

pytestmark = pytest.mark.recordings


def _sent() -> list[dict]:
    folder = os.environ.get("PONDERO_RECORDINGS")
    file = Path(folder).parent / "agents" / "requests.jsonl" if folder else None
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


SENT = _sent()


def _request(sent: dict) -> HttpRequest:
    headers = {name.lower(): value for name, value in sent["headers"].items()}
    body = json.dumps(sent["body"]).encode()
    return HttpRequest(sent["method"], f"http://here{sent['path']}", headers, body)


def _talk(sent: dict) -> str | None:
    """Return the dialect a request speaks; None for lists, counts, greetings and upgrades."""
    if sent["method"] != "POST":
        return None
    path = sent["path"].partition("?")[0]
    return next((name for name in NAMES if dialect(name).service().serves(path)), None)


TALKS = [sent for sent in SENT if _talk(sent)]


@pytest.mark.skipif(not SENT, reason="no requests of agents beside PONDERO_RECORDINGS")
def test_most_of_what_agents_send_is_talk():
    assert len(TALKS) > len(SENT) * 0.8


@pytest.mark.parametrize("sent", TALKS, ids=[sent["id"] for sent in TALKS])
def test_a_request_is_read_with_its_messages_and_tools(sent):
    name = _talk(sent)
    assert name is not None
    parsed = dialect(name).service().parse(_request(sent))
    assert parsed.request.messages
    assert parsed.request.model
    offered = sent["body"].get("tools")
    if offered and not all(tool.get("googleSearch") == {} for tool in offered):
        assert parsed.request.tools
