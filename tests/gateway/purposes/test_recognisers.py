"""What clients' requests are for: every capture has its purpose, and none another one."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.recordings.agents import load_agent_requests

from pondero.canon import HttpRequest, Message, Request, Text, ToolCall, ToolResult
from pondero.dialects import NAMES, get_dialect
from pondero.gateway.config.model import MAIN, PURPOSES
from pondero.gateway.purposes.recognisers import (
    find_client,
    find_purpose,
    list_known_clients,
    load_recognisers,
)
from pondero.gateway.purposes.rules import recognise_purpose

OWN: list[dict[str, Any]] = json.loads((Path(__file__).parent / "captures.json").read_text("utf-8"))
"""Taken from runs of the real programs on the emulator, with prose, ids and schemas taken out."""
AGENTS = load_agent_requests()
KNOWN = {"aider": None, "llm": None}
"""Clients of the collection whose User-Agent is that of a library."""
NOT_MAIN = {
    **dict.fromkeys(("claude-code-14", "claude-code-18"), "tool_result"),
    "codex-12": "compact",
    "gemini-cli-10": "classify",
    **dict.fromkeys(("opencode-1", "opencode-3", "opencode-6", "opencode-14"), "title"),
}
"""What the requests of the collection are for, read by a person; the rest are conversations."""


def parse(sent: dict[str, Any]) -> tuple[HttpRequest, Request] | None:
    """Return a capture as the gateway reads it; None for lists, counts, greetings and upgrades."""
    path = sent["path"].partition("?")[0]
    name = next((each for each in NAMES if get_dialect(each).service().matches_path(path)), None)
    if name is None or sent.get("method", "POST") != "POST":
        return None
    headers = {name.lower(): value for name, value in sent["headers"].items()}
    body = json.dumps(sent["body"]).encode()
    http = HttpRequest("POST", f"http://here{sent['path']}", headers, body)
    return http, get_dialect(name).service().parse(http).request


@pytest.mark.parametrize("sent", OWN, ids=[sent["id"] for sent in OWN])
def test_a_request_of_our_own_runs_has_its_purpose(sent):
    found = recognise_purpose(*parse(sent))
    assert (found.client, found.purpose) == (sent["client"], sent["purpose"])


@pytest.mark.recordings
@pytest.mark.parametrize("sent", AGENTS, ids=[sent["id"] for sent in AGENTS])
def test_a_request_of_the_collection_has_its_purpose_or_is_no_conversation(sent):
    read = parse(sent)
    if read is None:
        path = sent["path"].partition("?")[0]
        counts = path.endswith((":countTokens", "/count_tokens"))
        assert sent["method"] in ("GET", "HEAD") or counts
        assert sent["id"] not in NOT_MAIN
        return
    found = recognise_purpose(*read)
    assert found.client == KNOWN.get(sent["client"], sent["client"])
    assert found.purpose == NOT_MAIN.get(sent["id"], MAIN)


@pytest.mark.recordings
@pytest.mark.skipif(not AGENTS, reason="no requests of agents in PONDERO_AGENTS")
def test_the_collection_is_whole():
    assert len(AGENTS) == 97
    assert {sent["id"] for sent in AGENTS} >= set(NOT_MAIN)


def test_every_recogniser_names_captures_that_it_recognises():
    own = {sent["id"]: sent for sent in OWN}
    collection = {sent["id"]: sent for sent in AGENTS}
    for recogniser in load_recognisers():
        assert recogniser.captures
        assert recogniser.purpose in PURPOSES
        assert recogniser.client in list_known_clients()
        for id in recogniser.captures:
            if id in NOT_MAIN and not collection:
                continue  # the collection is not here
            http, request = parse(own.get(id) or collection[id])
            assert recogniser.matches(http.headers, request), (recogniser, id)


def test_every_capture_of_our_own_that_is_not_main_has_a_recogniser():
    named = {id for recogniser in load_recognisers() for id in recogniser.captures}
    assert {sent["id"] for sent in OWN if sent["purpose"] != MAIN} <= named
    assert Counter(sent["purpose"] for sent in OWN)[MAIN] > 3  # their neighbours are captured too


def test_the_requests_of_an_unknown_client_are_main():
    sent = next(sent for sent in OWN if sent["purpose"] == "title")
    http, request = parse(sent)
    assert recognise_purpose(replace(http, headers={}), request).purpose == MAIN
    assert find_client("OpenAI/Python 2.20.0") is None


# -- in a tool loop --------------------------------------------------------------------------------

words = st.text("abc .", min_size=1, max_size=12)
steps = st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=4)
"""What the results of a loop say, and whether the client adds a remark of its own."""


def grow(request: Request, said: list[tuple[str, bool]]) -> list[Request]:
    """Return the requests that follow in the same turn, one for each answer with a call."""
    found, messages = [], list(request.messages)
    for number, (text, remarks) in enumerate(said):
        id = f"call-{number}"
        messages.append(Message("assistant", (ToolCall(id, "look", "{}"),)))
        parts = (ToolResult(id, (Text(text),)),)
        messages.append(Message("user", parts))
        if remarks:
            messages.append(Message("system", (Text(text),)))
        found.append(replace(request, messages=tuple(messages)))
    return found


@given(st.sampled_from(OWN), steps)
def test_a_purpose_does_not_change_in_an_open_tool_loop(sent, said):
    http, request = parse(sent)
    if not any(tool.kind in ("function", "text") for tool in request.tools):
        return  # the client runs no tool, so no loop can begin
    before = recognise_purpose(http, request).purpose
    for later in grow(request, said):
        assert recognise_purpose(http, later).purpose == before


@given(st.sampled_from([sent for sent in OWN if sent["purpose"] == MAIN]), steps)
def test_a_client_that_drops_its_tools_in_a_loop_is_still_in_its_conversation(sent, said):
    """A client without tools and with an answer looks like a compaction of Codex."""
    http, request = parse(sent)
    for later in grow(request, said):
        assert recognise_purpose(http, replace(later, tools=())).purpose == MAIN


@given(st.sampled_from(OWN), st.sampled_from(list_known_clients()))
def test_only_the_recognisers_of_a_client_are_asked(sent, client):
    http, request = parse(sent)
    purposes = {each.purpose for each in load_recognisers() if each.client == client}
    assert find_purpose(client, http.headers, request) in {*purposes, MAIN}
