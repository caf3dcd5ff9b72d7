"""What hosted tools of one service did reaches the models of others, in words, and is reported."""

import json
from base64 import b64encode

import pytest

from .test_portability import ask, rejection

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(32)
PDF = b64encode(b"%PDF-1.7 the report").decode()
ASKED = {"role": "user", "content": "Go."}


def of_claude(*blocks: dict) -> dict:
    """Return a Messages request whose history has an answer with these blocks, and more."""
    turns = [ASKED, {"role": "assistant", "content": [*blocks]}, ASKED]
    return {"messages": turns, "max_tokens": 4_000}


def of_openai(*items: dict) -> dict:
    return {"input": [ASKED, *items, ASKED]}


def of_google(*parts: dict) -> dict:
    said = {"role": "user", "parts": [{"text": "Go."}]}
    return {"contents": [said, {"role": "model", "parts": [*parts]}, said]}


def of_steps(*steps: dict) -> dict:
    said = {"type": "user_input", "content": [{"type": "text", "text": "Go."}]}
    answer = {"type": "model_output", "content": [{"type": "text", "text": "Done."}]}
    return {"input": [said, *steps, answer, said], "store": False}


def used(name: str, id: str = "srvtoolu_1", **asked: str) -> dict:
    return {"type": "server_tool_use", "id": id, "name": name, "input": asked}


def result(kind: str, content: object) -> dict:
    return {"type": kind, "tool_use_id": "srvtoolu_1", "content": content}


FETCHED = {
    "type": "web_fetch_result",
    "url": "https://example.com/page",
    "content": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "the page says KIWI"},
        "title": "A page",
    },
}
HISTORIES = {
    "bash": (
        "messages",
        of_claude(
            used("bash_code_execution", command="echo PLUM"),
            result(
                "bash_code_execution_tool_result",
                {"type": "bash_code_execution_result", "stdout": "out KIWI", "return_code": 0},
            ),
        ),
        ("PLUM", "KIWI"),
    ),
    "fetch": (
        "messages",
        of_claude(
            used("web_fetch", url="https://example.com/PLUM"),
            result("web_fetch_tool_result", FETCHED),
        ),
        ("PLUM", "KIWI"),
    ),
    "search": (
        "messages",
        of_claude(
            used("web_search", query="PLUM"),
            result(
                "web_search_tool_result",
                [
                    {
                        "type": "web_search_result",
                        "title": "KIWI",
                        "url": "https://example.com/kiwi",
                        "encrypted_content": "SECRET",
                    }
                ],
            ),
            {"type": "text", "text": "Found."},
        ),
        ("PLUM", "KIWI", "https://example.com/kiwi"),
    ),
    "mcp": (
        "messages",
        of_claude(
            {
                "type": "mcp_tool_use",
                "id": "mcptoolu_1",
                "name": "PLUM",
                "server_name": "s",
                "input": {},
            },
            {
                "type": "mcp_tool_result",
                "tool_use_id": "mcptoolu_1",
                "is_error": False,
                "content": [{"type": "text", "text": "KIWI"}],
            },
        ),
        ("KIWI",),
    ),
    "file_search": (
        "responses",
        of_openai(
            {
                "type": "file_search_call",
                "id": "fs_1",
                "status": "completed",
                "queries": ["PLUM"],
                "results": [{"file_id": "file-1", "filename": "a.md", "text": "KIWI", "score": 1}],
            }
        ),
        ("PLUM", "KIWI", "a.md"),
    ),
    "code_interpreter": (
        "responses",
        of_openai(
            {
                "type": "code_interpreter_call",
                "id": "ci_1",
                "status": "completed",
                "container_id": "c",
                "code": "print('PLUM')",
                "outputs": [{"type": "logs", "logs": "KIWI"}],
            }
        ),
        ("PLUM", "KIWI"),
    ),
    "mcp_call": (
        "responses",
        of_openai(
            {
                "type": "mcp_call",
                "id": "mcp_1",
                "name": "look",
                "server_label": "s",
                "arguments": '{"at":"PLUM"}',
                "output": "KIWI",
            }
        ),
        ("PLUM", "KIWI"),
    ),
    "mcp_approval": (
        "responses",
        of_openai(
            {
                "type": "mcp_approval_request",
                "id": "mcpr_1",
                "name": "PLUM",
                "server_label": "s",
                "arguments": "{}",
            },
            {
                "type": "mcp_approval_response",
                "approval_request_id": "mcpr_1",
                "approve": False,
                "reason": "KIWI",
            },
        ),
        ("PLUM", "KIWI"),
    ),
    "code": (
        "gemini",
        of_google(
            {"executableCode": {"language": "PYTHON", "code": "print('PLUM')"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "KIWI"}},
        ),
        ("PLUM", "KIWI"),
    ),
    "steps of code": (
        "interactions",
        of_steps(
            {"type": "code_execution_call", "id": "c1",
             "arguments": {"language": "python", "code": "print('PLUM')"}},
            {"type": "code_execution_result", "call_id": "c1", "result": "KIWI"},
        ),
        ("PLUM", "KIWI"),
    ),
    "steps of search": (
        "interactions",
        of_steps(
            {"type": "google_search_call", "id": "c1", "arguments": {"queries": ["PLUM"]}},
            {"type": "google_search_result", "call_id": "c1",
             "result": [{"title": "KIWI", "url": "https://example.com"}]},
        ),
        ("PLUM", "KIWI"),
    ),
}  # fmt: skip
HOMES = {
    "messages": {"claude"},
    "responses": {"gpt"},
    "gemini": {"gemini"},
    "interactions": {"interactions"},
}
BACKS = ("claude", "gpt", "gemini", "mistral", "converse", "cohere", "ollama", "interactions")


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("history", HISTORIES)
def test_what_hosted_tools_did_is_told_to_models_of_other_services(history, back):
    api, body, words = HISTORIES[history]
    status, answer, sent, notes = ask(api, back, body)
    assert status == 200, answer
    written = json.dumps(sent)
    assert [word for word in words if word not in written] == []
    assert "SECRET" not in written or back in HOMES[api]
    assert ("calls_retold:messages" in notes) is (back not in HOMES[api])


@pytest.mark.parametrize("back", ["claude", "gemini", "converse"])
def test_a_generated_picture_is_shown(back):
    data = b64encode(PICTURE).decode()
    item = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": data}
    status, answer, sent, notes = ask("responses", back, of_openai(item))
    assert status == 200, answer
    assert data in json.dumps(sent)
    assert "calls_retold:messages" in notes


@pytest.mark.parametrize("back", ["claude", "gemini", "mistral"])
def test_a_compacted_conversation_is_not_answered_by_a_model_that_cannot_read_it(back):
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    assert "compacted" in rejection("responses", back, {"input": [item, ASKED]})


def test_a_fetched_file_is_shown_where_the_model_reads_files():
    page = {**FETCHED, "content": {"type": "document", "source": {
        "type": "base64", "media_type": "application/pdf", "data": PDF}}}  # fmt: skip
    body = of_claude(used("web_fetch"), result("web_fetch_tool_result", page))
    assert PDF in json.dumps(ask("messages", "gpt", body)[2])
    told = ask("messages", "deepseek", body)
    assert PDF not in json.dumps(told[2])
    assert "medium_unseen" in told[3]


def test_the_outcome_of_a_call_that_nobody_made_is_reported():
    orphan = {"type": "function_call_output", "call_id": "call_1", "output": "KIWI"}
    notes = ask("responses", "claude", {"input": [ASKED, orphan, ASKED]})[3]
    assert "dropped_parameter:messages" in notes
