"""Files, addresses and bytes as parts of a question, and models that cannot read them."""

import asyncio
import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shells import each_shell

import pondero
from pondero.canon import Blob, Image, Message, Text
from pondero.client.prompts.attachments import LARGEST, attachment, fence_text
from pondero.emulator import Emulator
from pondero.errors import BadParameter, Unsupported

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"
SEEING = (
    "claude-opus-5/low",
    "gpt-5.1/low",
    "gemini-3-flash-preview/low",
    "bedrock:anthropic.claude-opus-4-5-20251101-v1:0",
    "openrouter:openai/gpt-5.1",
    "ollama:gemma3",
    "cohere:command-a-vision-07-2025",
    "google-interactions:gemini-3-flash-preview/low",
)


def sent(emulator):
    return emulator.log.entries[-1].body


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (PDF, "application/pdf"),
    ],
)
def test_the_first_bytes_say_what_it_is_whatever_its_name_is(data, kind):
    part = attachment(data, name="notes.txt")
    assert (type(part), part.media_type, part.data) == (
        Image if kind.startswith("image/") else Blob,
        kind,
        data,
    )


def test_the_name_says_it_where_the_bytes_do_not(tmp_path):
    file = tmp_path / "report.docx"
    file.write_bytes(b"PK\x03\x04\xff\xfe\xfd")
    part = attachment(file)
    assert part.media_type.endswith("wordprocessingml.document")
    assert part.name == "report.docx"


def test_text_has_its_name_and_a_fence_that_is_not_in_it(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("Look:\n```\ncode\n```\n", "utf-8")
    assert attachment(str(file)) == Text("notes.md:\n\n````\nLook:\n```\ncode\n```\n````")


@given(st.text(alphabet="`\nab"))
def test_a_text_ends_where_its_fence_ends(text):
    lines = fence_text(text, "a").text.split("\n")
    fence = lines[2]
    assert lines.count(fence) == 2
    assert lines[-1] == fence


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_in_the_encoding_that_it_names(encoding):
    assert "Grüße" in attachment("Grüße".encode(encoding), name="a.txt").text


def test_a_picture_in_words_is_text():
    assert isinstance(attachment(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), Text)


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("https://x.test/a.png?size=1", Image("image/png", url="https://x.test/a.png?size=1")),
        ("https://x.test/show?id=4", Image(None, url="https://x.test/show?id=4")),
        (
            "https://x.test/a%20b.pdf",
            Blob("application/pdf", url="https://x.test/a%20b.pdf", name="a b.pdf"),
        ),
        (f"data:image/png;base64,{base64.b64encode(PNG).decode()}", Image("image/png", PNG)),
    ],
)
def test_an_address_goes_along_unfetched(url, part):
    assert attachment(url) == part


def test_a_part_is_an_attachment_already():
    part = Image(url="https://x.test/a")
    assert attachment(part) is part


def test_a_files_address_is_its_path(tmp_path):
    file = tmp_path / "a b.png"
    file.write_bytes(PNG)
    assert attachment(file.as_uri()) == Image("image/png", PNG)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02", "type of the attachment is unknown"),
        ("https://x.test/notes.txt", "download"),
        ("https://me:secret@x.test/a.png", "^(?!.*secret).*would see"),
        ("https://me:secret@x.test/notes.txt", "^(?!.*secret).*would see"),
        ("ftp://x.test/a.png", "no service reads"),
        ("file://elsewhere/a.png", "another machine"),
        ("data:image/png;base64,%%", "invalid base64"),
        ("data:image/png", "comma"),
        ("http://[", None),
        ("/nowhere/a.png", "No such file"),
        ("a\0b", "cannot read"),
        (os.sep, "is a folder"),
        (17, "not int"),
    ],
)
def test_what_cannot_be_attached_is_said_before_anything_is_sent(source, said):
    if said is None:
        assert attachment(source).url == source
        return
    with pytest.raises(BadParameter, match=said):
        attachment(source)


def test_a_large_file_is_refused_by_its_size_and_not_by_reading_all_of_it(tmp_path):
    file = tmp_path / "film.mp4"
    with file.open("wb") as large:
        large.truncate(LARGEST + 1)
    with pytest.raises(BadParameter, match=r"film\.mp4 has 33,554,433 bytes.*32 MiB"):
        attachment(file)
    with pytest.raises(BadParameter, match="32 MiB"):
        attachment(bytes(LARGEST + 1))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a file without an end")
def test_a_file_without_an_end_is_refused():
    with pytest.raises(BadParameter, match="32 MiB"):
        attachment("/dev/zero")


@pytest.mark.parametrize("model", SEEING)
@each_shell
def test_every_wire_shows_a_picture_and_a_text(shell, model):
    emulator = Emulator(any_model=True)
    client = shell.client(emulator)
    reply = shell.ask(client, model, "What is 17 * 23?", attachments=[PNG, b"a,b\n"])
    said = json.dumps(sent(emulator))
    assert "391" in reply.text
    assert base64.b64encode(PNG).decode()[:16] in said
    assert "attachment:" in said
    assert not [note for note in reply.adjustments if note.what == "media"]


@pytest.mark.parametrize("model", SEEING[:5])
def test_a_pdf_is_shown_where_the_wire_takes_documents(model):
    emulator = Emulator(any_model=True)
    client = pondero.Client(transport=emulator)
    reply = client.ask(model, "What is 17 * 23?", attachments=[attachment(PDF, name="a.pdf")])
    assert "391" in reply.text
    assert base64.b64encode(PDF).decode() in json.dumps(sent(emulator))


def test_attachments_stand_before_the_words(tmp_path):
    emulator = Emulator()
    with pondero.Client(transport=emulator) as client:
        client.ask("claude-opus-5", "What is this?", attachments=[PNG])
        content = sent(emulator)["messages"][0]["content"]
        assert [block["type"] for block in content] == ["image", "text"]
        client.ask("claude-opus-5", "", attachments=[PNG])
        assert [block["type"] for block in sent(emulator)["messages"][0]["content"]] == ["image"]


def test_a_model_that_cannot_read_it_is_not_asked():
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    for model, source, said in (
        ("deepseek:deepseek-v4-flash", PNG, "text only"),
        ("ollama:gemma3", PDF, "image/png image/jpeg image/webp"),
        ("ollama:gemma3", "https://x.test/a.png", "download"),
    ):
        with pytest.raises(Unsupported, match=rf"cannot read .*{said}"):
            client.ask(model, "What is this?", attachments=[source])
        with pytest.raises(Unsupported, match=said):
            asyncio.run(
                pondero.AsyncClient(transport=emulator).ask(model, "x", attachments=[source])
            )
        with pytest.raises(Unsupported, match=said):
            pondero.Chat(model, client=client).send("x", attachments=[source])
    assert emulator.log.entries == ()


@each_shell
def test_a_chat_keeps_them_in_its_history_and_another_model_is_told_of_them(shell):
    emulator = Emulator()
    chat = shell.chat("claude-opus-5/low", shell.client(emulator))
    shell.send(chat, "What is 17 * 23?", attachments=[PNG])
    assert chat.messages[0] == Message("user", (Image("image/png", PNG), Text("What is 17 * 23?")))
    chat.model = "deepseek:deepseek-v4-flash"
    reply = shell.send(chat, "And 5 * 5?")
    assert "medium_unseen" in [note.code for note in reply.adjustments]


def test_they_go_with_a_question_in_a_list():
    with pytest.raises(BadParameter, match="a chat has no attachments"):
        pondero.Chat("claude-opus-5", attachments=[PNG])
    client = pondero.Client(transport=Emulator())
    with pytest.raises(BadParameter, match="is a list"):
        client.ask("claude-opus-5", "x", attachments="a.png")
    said = [Message("user", (Text("x"),)), Message("assistant", (Text("The answer"),))]
    with pytest.raises(BadParameter, match="role 'assistant'"):
        client.ask("claude-opus-5", said, attachments=[PNG])


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5.1", "gemini-3-flash-preview"])
def test_half_a_character_in_an_address_or_a_name_is_sent_as_a_whole_one(model):
    emulator = Emulator()
    file = pondero.attachment(PDF, name="a\ud800.pdf")
    prepared = pondero.Client(transport=emulator).prepare(
        model, "What is it?", attachments=["https://example.com/a\ud800.png", file]
    )
    assert b"ud800" not in prepared.request.body
    assert all(
        change.why == "half a character cannot be sent" for change in prepared.manifest.changes
    )
    assert len(prepared.manifest.changes) == 2


@pytest.mark.parametrize("model", ["claude-opus-5/low", "openai:gpt-5.5/low"])
def test_a_jpeg_by_another_name_is_sent_and_a_type_that_is_rejected_is_not(model):
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    picture = Image("image/jpg", b"\xff\xd8\xff\xe0")
    client.ask(model, "What is it?", attachments=[picture])
    body = json.dumps(sent(emulator))
    assert "image/jpeg" in body
    assert "image/jpg" not in body
    with pytest.raises(Unsupported, match="image/heic"):
        client.ask(model, "What is it?", attachments=[Image("image/heic", b"heic")])
