"""The limits of a hosted search hold on every service, or the tool is not offered there."""

import pytest

from .test_portability import MESSAGES, RESPONSES, ask

BERN = {"type": "approximate", "city": "Bern", "country": "CH"}


def search(**settings: object) -> dict:
    tool = {"type": "web_search_20250305", "name": "web_search", **settings}
    return {**MESSAGES, "tools": [tool]}


def test_domains_and_place_of_a_search_go_from_claude_to_openai():
    body = search(allowed_domains=["example.com"], user_location=BERN, max_uses=3)
    _, _, sent, notes = ask("messages", "gpt", body)
    filters = {"allowed_domains": ["example.com"]}
    assert sent["tools"] == [{"type": "web_search", "filters": filters, "user_location": BERN}]
    assert "tool_replaced:tools" in notes
    assert "dropped_parameter:tools.max_uses" in notes


def test_domains_and_place_of_a_search_go_from_openai_to_claude():
    tool = {"type": "web_search", "filters": {"allowed_domains": ["example.com"]},
            "user_location": BERN, "search_context_size": "low"}  # fmt: skip
    _, _, sent, notes = ask("responses", "claude", {**RESPONSES, "tools": [tool]})
    (made,) = sent["tools"]
    assert (made["allowed_domains"], made["user_location"]) == (["example.com"], BERN)
    assert "dropped_parameter:tools.search_context_size" in notes


@pytest.mark.parametrize(
    ("back", "settings"),
    [
        ("gemini", {"allowed_domains": ["example.com"]}),
        ("gemini", {"blocked_domains": ["example.com"]}),
        ("gpt", {"blocked_domains": ["example.com"]}),
        ("gpt", {"allowed_domains": ["example.com/blog"]}),
    ],
)
def test_a_search_whose_domains_cannot_be_kept_to_is_not_offered(back, settings):
    status, answer, sent, notes = ask("messages", back, search(**settings))
    assert status == 200, answer
    assert not sent.get("tools")
    assert "tool_left_out:tools" in notes


def test_a_search_without_the_live_web_is_not_offered_where_there_is_only_that():
    tool = {"type": "web_search", "external_web_access": False}
    _, _, sent, notes = ask("responses", "claude", {**RESPONSES, "tools": [tool]})
    assert not sent.get("tools")
    assert "tool_left_out:tools" in notes
    free = {"type": "web_search", "external_web_access": True}
    assert ask("responses", "claude", {**RESPONSES, "tools": [free]})[2]["tools"]


def test_a_tool_without_settings_is_replaced_without_further_notes():
    tool = {"type": "code_interpreter", "container": {"type": "auto"}}
    notes = ask("responses", "claude", {**RESPONSES, "tools": [tool]})[3]
    assert "dropped_parameter:tools" not in notes
