"""A conversation is known by what its client sends for it, else by its beginning."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pondero.canon import HttpRequest
from pondero.dialects import get_dialect
from pondero.gateway.deployments.conversation import Conversation, find_conversation
from pondero.store import load_catalog

ENTRY = load_catalog().entry("anthropic:claude-opus-5")
POOL = (replace(ENTRY, deployment="north"), replace(ENTRY, deployment="south"))
PATHS = {
    "anthropic": "/v1/messages",
    "openai_responses": "/v1/responses",
    "openai_chat": "/v1/chat/completions",
}


def find_key(dialect: str, body, headers=(), client: str = "key-1") -> str:
    service = get_dialect(dialect).service()
    http = HttpRequest(
        "POST", f"http://x{PATHS[dialect]}", dict(headers), json.dumps(body).encode()
    )
    request = service.parse(http).request
    found = find_conversation(http, request, service, client=client, entries=POOL)
    assert found is not None
    return found.keys["anthropic"]


def messages(*texts: str, **more):
    roles = ("user", "assistant")
    turns = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "m", "max_tokens": 10, "messages": turns, **more}


def claude(session: str):
    said = {"device_id": "d", "account_uuid": "", "session_id": session}
    return {"user_id": json.dumps(said)}


def test_one_model_at_one_place_has_no_conversation_to_keep():
    service = get_dialect("anthropic").service()
    http = HttpRequest("POST", "http://x/v1/messages", {}, json.dumps(messages("Hi")).encode())
    request = service.parse(http).request
    for entries in ((ENTRY,), (POOL[0],), (POOL[0], load_catalog().entry("openai:gpt-5.5"))):
        assert find_conversation(http, request, service, client="k", entries=entries) is None


@pytest.mark.parametrize(
    ("dialect", "one", "other", "headers"),
    [
        ("anthropic", {"metadata": claude("one")}, {"metadata": claude("two")}, False),
        (
            "anthropic",
            {"metadata": {"user_id": "user_a_account_b_session_0123456789"}},
            {"metadata": {"user_id": "user_a_account_b_session_9876543210"}},
            False,
        ),
        ("openai_chat", {"prompt_cache_key": "one"}, {"prompt_cache_key": "two"}, False),
        ("anthropic", {"x-session-id": "one"}, {"x-session-id": "two"}, True),
        ("anthropic", {"x-claude-code-session-id": "1"}, {"x-claude-code-session-id": "2"}, True),
        ("openai_responses", {"session-id": "one"}, {"session-id": "two"}, True),
        ("openai_responses", {"session_id": "one"}, {"session_id": "two"}, True),
    ],
)
def test_what_a_client_sends_for_a_conversation_tells_it_from_others(dialect, one, other, headers):
    def key(said, *texts):
        if dialect == "openai_responses":
            body = {"model": "m", "input": texts[0], **({} if headers else said)}
        else:
            body = messages(*texts, **({} if headers else said))
        return find_key(dialect, body, said if headers else ())

    assert key(one, "Hi") == key(one, "something else after a compaction")
    assert key(one, "Hi") != key(other, "Hi")


def test_an_id_of_a_user_is_no_conversation():
    same = {"metadata": {"user_id": "user-42"}}
    assert find_key("anthropic", messages("A", **same)) != find_key(
        "anthropic", messages("B", **same)
    )


@given(
    texts=st.lists(st.text(max_size=20), min_size=1, max_size=7),
    systems=st.lists(st.text(max_size=20), min_size=7, max_size=7),
)
def test_the_beginning_is_the_same_in_every_turn(texts, systems):
    keys = {
        find_key("anthropic", messages(*texts[:end], system=systems[end - 1]))
        for end in range(1, len(texts) + 1, 2)
    }
    assert len(keys) == 1


def test_a_cache_mark_that_moves_does_not_change_the_beginning():
    plain = messages("x")
    marked = messages("x")
    mark = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    marked["messages"][0]["content"] = [mark]
    assert find_key("anthropic", plain) == find_key("anthropic", marked)


def test_a_conversation_is_bound_to_the_key_of_its_client():
    body = messages("Hi", metadata=claude("one"))
    assert find_key("anthropic", body) != find_key("anthropic", body, client="key-2")


def test_only_a_new_home_is_written():
    talk = Conversation({"anthropic": "home:1"})
    assert talk.list_changes(POOL[0]) == {"home:1": b"north"}
    known = talk.with_found({"home:1": b"north"})
    assert known.list_changes(POOL[0]) == {}
    assert known.list_changes(POOL[1]) == {"home:1": b"south"}


def test_requests_of_real_clients_keep_their_session_together():
    folder = os.environ.get("PONDERO_AGENTS")
    if not folder:
        pytest.skip("PONDERO_AGENTS names no folder of requests")
    dialects = {path: name for name, path in PATHS.items()}
    seen: dict[str, set[str]] = {}
    for line in (Path(folder) / "requests.jsonl").read_text().splitlines():
        row = json.loads(line)
        headers = {name.lower(): value for name, value in row["headers"].items()}
        session = headers.get("x-claude-code-session-id") or headers.get("session-id")
        dialect = dialects.get(row["path"].partition("?")[0])
        if session and dialect and isinstance(row["body"], dict):
            bare = {n: v for n, v in headers.items() if "session" not in n and "thread" not in n}
            seen.setdefault(session, set()).add(find_key(dialect, row["body"], headers))
            if "opencode" not in row["client"]:  # the body tells the same conversations apart
                seen.setdefault(f"body {session}", set()).add(find_key(dialect, row["body"], bare))
    assert len(seen) > 4
    assert {len(keys) for keys in seen.values()} == {1}
