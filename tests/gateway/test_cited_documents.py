"""A document's settings reach the services that have them; others' clients are told."""

import json
from base64 import b64encode

import pytest

from .requests.test_portability import ask

PDF = b64encode(b"%PDF-1.7 x").decode()
ON = {"enabled": True}
QUESTION = "What is in it?"


def converse(**block: object) -> dict:
    return {"messages": [{"role": "user", "content": [block, {"text": QUESTION}]}]}


def messages(block: dict) -> dict:
    content = [block, {"type": "text", "text": QUESTION}]
    return {"messages": [{"role": "user", "content": content}], "max_tokens": 4_000}


DOCUMENT = {"name": "Report", "context": "of 2026", "citations": ON}
CLAUDES = {
    "type": "document",
    "title": "Report",
    "context": "of 2026",
    "citations": ON,
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
}


@pytest.mark.parametrize(
    ("source", "format_"), [({"bytes": PDF}, "pdf"), ({"text": "words"}, "txt")], ids=["pdf", "txt"]
)
def test_claude_gets_what_a_client_of_bedrock_says_of_a_document(source, format_):
    body = converse(document={**DOCUMENT, "format": format_, "source": source})
    status, answer, sent, notes = ask("converse", "claude", body)
    assert status == 200, answer
    document = sent["messages"][0]["content"][0]
    assert document["type"] == "document"
    assert (document["title"], document["context"]) == ("Report", "of 2026")
    assert document["citations"] == ON
    assert "dropped_parameter" not in notes


def test_claude_on_bedrock_gets_what_a_client_of_messages_says_of_a_document():
    status, answer, sent, notes = ask("messages", "converse", messages(CLAUDES))
    assert status == 200, answer
    document = sent["messages"][0]["content"][0]["document"]
    assert (document["name"], document["context"]) == ("Report", "of 2026")
    assert document["citations"] == ON
    assert "dropped_parameter" not in notes


@pytest.mark.parametrize("back", ["gpt", "gemini", "deepseek", "ollama"])
def test_a_client_is_told_that_a_model_does_not_cite(back):
    notes = ask("messages", back, messages(CLAUDES))[3]
    assert "dropped_parameter:citations" in notes
    quiet = messages({**CLAUDES, "citations": {"enabled": False}, "context": None})
    assert "dropped_parameter:citations" not in ask("messages", back, quiet)[3]


@pytest.mark.parametrize("back", ["deepseek", "cohere"])
def test_the_words_of_a_document_are_told_with_its_context(back):
    source = {"type": "text", "media_type": "text/plain", "data": "the words"}
    sent = ask("messages", back, messages({**CLAUDES, "source": source}))[2]
    assert "[Report]\\n[of 2026]\\nthe words" in json.dumps(sent)


@pytest.mark.parametrize("back", ["claude", "gpt"])
def test_a_client_is_told_that_a_search_result_is_not_cited(back):
    found = {"title": "T", "source": "https://example.com", "content": [{"text": "words"}]}
    body = converse(searchResult={**found, "citations": ON})
    assert "searchResult.citations" in ask("converse", back, body)[3]
    block = {**found, "type": "search_result", "content": [{"type": "text", "text": "words"}]}
    if back != "claude":
        notes = ask("messages", back, messages({**block, "citations": ON}))[3]
        assert "dropped_parameter:messages.0.content.0.citations" in notes


def test_documents_are_cited_all_together_and_not_in_an_answer_with_a_format():
    cited = {**DOCUMENT, "format": "pdf", "source": {"bytes": PDF}}
    other = {"document": {"name": "Other", "format": "pdf", "source": {"bytes": PDF}}}
    body = converse(document=cited)
    body["messages"][0]["content"].append(other)
    status, answer, sent, notes = ask("converse", "claude", body)
    assert status == 200, answer
    blocks = [each for each in sent["messages"][0]["content"] if each["type"] == "document"]
    assert [each["citations"] for each in blocks] == [ON, ON]
    assert "parameter_clamped:citations" in notes
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "string"}}})
    shape = {"textFormat": {"type": "json_schema", "structure": {
        "jsonSchema": {"schema": schema, "name": "a"}}}}  # fmt: skip
    status, answer, sent, notes = ask("converse", "claude", {**body, "outputConfig": shape})
    assert status == 200, answer
    assert '"citations"' not in json.dumps(sent)
    assert "dropped_parameter:citations" in notes
