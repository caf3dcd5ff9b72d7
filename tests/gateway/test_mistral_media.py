"""Files, sounds and videos for Mistral, which has shapes of its own; judged by the bytes sent."""

import json
from base64 import b64encode
from typing import Any

import pytest
from tests.gateway.test_model_limits import ask

import pondero
from pondero.canon import Blob, Message, Text
from pondero.emulator import Emulator

SMALL, VOXTRAL = "mistral:mistral-small-latest", "mistral:voxtral-small-latest"
PDF = b64encode(b"%PDF-1.4").decode()
WAV = b64encode(b"RIFF").decode()
AT_DATA = {
    "type": "document_url",
    "document_url": f"data:application/pdf;base64,{PDF}",
    "document_name": "a.pdf",
}
WHAT = {"type": "text", "text": "What is it?"}
DOCUMENT = {
    "type": "document",
    "title": "a.pdf",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
}
FILE = {
    "type": "file",
    "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"},
}
INPUT_FILE = {
    "type": "input_file",
    "file_data": f"data:application/pdf;base64,{PDF}",
    "filename": "a.pdf",
}
SOUND = {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}


def say(part: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part, WHAT]}], **fields}


BODIES = {
    "/v1/messages": say(DOCUMENT, max_tokens=100),
    "/v1/chat/completions": say(FILE),
    "/v1/responses": {"input": [{"role": "user", "content": [INPUT_FILE]}]},
}


@pytest.mark.parametrize("path", BODIES)
def test_a_pdf_is_a_document_url(path):
    status, answer, sent, told = ask(SMALL, path, BODIES[path])
    assert status == 200, answer
    [part, *_] = sent["messages"][-1]["content"]
    assert {**AT_DATA, **part} == AT_DATA
    assert "media" not in told


def test_a_pdf_elsewhere_keeps_its_address():
    source = {"type": "url", "url": "https://example.com/a.pdf"}
    document = {"type": "document", "source": source}
    status, answer, sent, _ = ask(SMALL, "/v1/messages", say(document, max_tokens=100))
    assert status == 200, answer
    assert sent["messages"][-1]["content"][0]["document_url"] == "https://example.com/a.pdf"


def test_a_text_is_written_out():
    source = {"type": "text", "media_type": "text/plain", "data": "Some words."}
    document = {"type": "document", "source": source}
    status, answer, sent, _ = ask(SMALL, "/v1/messages", say(document, max_tokens=100))
    assert status == 200, answer
    assert "Some words." in json.dumps(sent)
    assert '"file"' not in json.dumps(sent)


def test_a_sound_is_heard_by_voxtral_and_described_to_others():
    status, answer, sent, told = ask(VOXTRAL, "/v1/chat/completions", say(SOUND))
    assert status == 200, answer
    assert sent["messages"][-1]["content"][0] == {"type": "input_audio", "input_audio": WAV}
    assert "medium_unseen" not in told
    status, answer, sent, told = ask(SMALL, "/v1/chat/completions", say(SOUND))
    assert status == 200, answer
    assert "audio/wav, 4 bytes, which this model cannot be shown" in json.dumps(sent)
    assert "medium_unseen" in told


@pytest.mark.parametrize(
    "blob",
    [
        Blob("video/mp4", b"0000"),
        Blob("application/zip", b"PK"),
        Blob("video/mp4", url="https://example.com/a.mp4"),
    ],
)
def test_what_mistral_has_no_chunk_for_is_described_and_reported(blob):
    client = pondero.Client(transport=Emulator())
    reply = client.ask(SMALL, [Message("user", (blob, Text("What is it?")))])
    assert "medium_unseen" in [each.code for each in reply.plan.adjustments]
