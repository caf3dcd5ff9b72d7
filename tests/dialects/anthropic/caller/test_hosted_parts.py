"""What of Claude's own tools goes back to Claude, and what other models are told."""

import pytest

import pondero
from pondero.canon import Message, Origin, Text, UnknownPart
from pondero.dialects.anthropic.caller.hosted_parts import retell
from pondero.emulator import Emulator

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
BY_CLAUDE = Origin("anthropic", "claude-opus-5")


@pytest.mark.parametrize(
    ("blocks", "sent"),
    [((SEARCH,), []), ((SEARCH, FOUND), ["server_tool_use", "web_search_tool_result"])],
)
def test_a_search_without_its_result_is_not_sent_back(blocks, sent):
    parts = (*(UnknownPart("anthropic", each) for each in blocks), Text("Found."))
    thread = [
        Message("user", (Text("Look."),)),
        Message("assistant", parts, BY_CLAUDE),
        Message("user", (Text("And now?"),)),
    ]
    client = pondero.Client(transport=Emulator())
    answer = client.ask("claude-opus-5", thread)
    assert answer.finish == "stop"
    ready = client.prepare("claude-opus-5", thread)
    body = ready.request.body.decode()
    assert [kind for kind in ("server_tool_use", "web_search_tool_result") if kind in body] == sent


def test_a_block_of_an_unknown_kind_cannot_be_told():
    assert retell({"type": "a_block_of_tomorrow"}) is None
    assert retell({"type": "compaction", "content": None}) == ()
