"""Threads as files: Markdown and HTML for people, JSON Lines to come back from."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.values import refused, texts, turns, values

from pondero.canon import (
    Blob,
    Image,
    LevelUpdate,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from pondero.errors import BadParameter
from pondero.store import StoredMessage, Thread, Threads, from_jsonl, to_html, to_jsonl, to_markdown

ODD = "<script>alert(1)</script> & \"'\ud800"
ORIGIN = Origin("somewhere", "some-model", "high", 1.0)
KEPT = (
    StoredMessage(Message("user", (Text(f"Where? {ODD}"), Image("image/png", b"\x89PNG"), Blob("application/pdf", url="http://x/y.pdf")))),
    StoredMessage(
        Message(
            "assistant",
            (Thinking(f"Hm, {ODD}"), Thinking("", redacted=True), Text("Let me see."), ToolCall("1", "look", {"at": "````"})),
            ORIGIN,
        ),
        usage=Usage(10, None, None, 20, 1240, 1270),
        seconds=6.04,
        cost="0.0125",
        finish="tool_calls",
    ),
    StoredMessage(Message("user", (ToolResult("1", (Text("```\nfound"), Image("image/svg+xml", b"<svg/>")), error=True),))),
    StoredMessage(Message("assistant", (Thinking(""), Text("Here."), UnknownPart("some_wire", {"x": 1})), ORIGIN), usage=Usage(thinking=3), partial=True),
)  # fmt: skip
THREAD = Thread(
    "abcdef",
    f"Where? {ODD}",
    "somewhere:some-model/high",
    system=f"Be kind. {ODD}",
    updated=1.7e9,
    messages=4,
    cost="0.0125",
)


@given(system=texts, title=texts, thinking=values, refused=refused, first=turns, second=turns)
def test_json_lines_bring_back_an_equal_thread(
    tmp_path_factory, system, title, thinking, refused, first, second
):
    folder = tmp_path_factory.mktemp("law")
    with Threads.open(folder / "one.db") as one, Threads.open(folder / "two.db") as two:
        said = {"system": system, "title": title, "thinking": thinking, "refusals": refused}
        id = one.start(model="m", **said).id
        one.add(id, first)
        fork = one.fork(id).id
        one.add(fork, second)
        for each in (id, fork):
            text = to_jsonl(one.get(each), one.lines(each))
            made = two.restore(*from_jsonl(text.encode()))
            assert made == one.get(each)
            assert two.lines(each) == one.lines(each)
        assert two.stats() == one.stats()


def test_a_thread_that_is_here_already_comes_as_a_copy_that_costs_nothing(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        id = threads.start(model="m").id
        threads.add(id, KEPT)
        before = threads.stats()
        made = threads.restore(*from_jsonl(to_jsonl(threads.get(id), threads.lines(id))))
        assert made.id != id
        assert threads.load_messages(made.id) == threads.load_messages(id)
        assert (made.cost, threads.stats()) == (None, before)


def test_an_odd_id_is_not_taken_over(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        for id in ("last", "../../x", ""):
            made = threads.restore(*from_jsonl(to_jsonl(Thread(id, "t", "m"), ())))
            assert re.fullmatch("[0-9a-z]{6}", made.id)


HEAD = '{"pondero_thread":1,"thread":{"id":"abcdef","title":"","model":"m"}}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1 is not"),
        ("hello", "line 1 is not"),
        (HEAD.replace(":1,", ":2,", 1), "form 2"),
        (HEAD + '{"turn":0}', "line 2 is not"),
        (HEAD + '{"turn":1,"kept":{"message":{"role":"user","parts":[]}}}\n{"turn":0,"kept":{"message":{"role":"user","parts":[]}}}', "not in order"),
        (HEAD.replace('"m"', '"m","updated":1e300'), "times"),
        ("[" * 100_000, "line 1 is not"),
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused_with_its_line(text, said):
    with pytest.raises(BadParameter, match=said):
        from_jsonl(text)


class Page(HTMLParser):
    """Collects tags, and the text outside of styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def test_html_is_escaped_fetches_nothing_and_folds_the_thinking():
    page = Page(to_html(THREAD, KEPT))
    assert "script" not in page.tags
    assert (
        page.text.count("<script>alert(1)</script> & \"'?") == 5
    )  # title twice, system, question, thinking
    assert page.tags.count("details") == 3
    assert "Thinking, withheld by the service" in page.text
    assert "Thinking, not shown" in page.text
    assert [value for name, value in page.attributes if name in ("src", "href")] == [
        "data:image/png;base64,iVBORw=="
    ]
    assert "10 in · 1,240 thinking · 20 answer · 6.0 s · $0.013" in page.text
    assert "cut off" in page.text


@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
def test_whatever_is_said_comes_out_of_a_page_as_words(text):
    kept = StoredMessage(Message("user", (Text(text), ToolCall("1", text, {text: text}))))
    page = Page(to_html(Thread("a", text, text), [kept]))
    bare = Page(
        to_html(
            Thread("a", "", ""),
            [StoredMessage(Message("user", (Text(""), ToolCall("1", "", {"": ""}))))],
        )
    )
    assert page.tags == bare.tags


def test_markdown_folds_thinking_and_fences_what_came_from_tools():
    text = to_markdown(THREAD, KEPT)
    assert text.startswith("# Where? <script>")
    assert "## somewhere:some-model · high" in text
    assert "<details><summary>Thinking</summary>\n\nHm, " in text
    assert '`````json\n{"at":"````"}\n`````' in text
    assert "````\n```\nfound\n````" in text
    assert "`1` failed" in text
    assert "[image/png, 4 bytes]" in text
    assert "[application/pdf: http://x/y.pdf]" in text
    assert "*10 in · 1,240 thinking · 20 answer · 6.0 s · $0.013*" in text


def test_no_export_holds_a_secret(monkeypatch):
    secret = "planted-key-0123456789"
    monkeypatch.setenv("SOME_API_KEY", secret)
    kept = [
        StoredMessage(
            Message("assistant", (Text(f"it is {secret}"), ToolCall("1", "f", {"k": secret})))
        )
    ]
    thread = Thread("abcdef", secret, "m", system=secret)
    from pondero.store import ExportLine

    for text in (
        to_html(thread, kept),
        to_markdown(thread, kept),
        to_jsonl(thread, [ExportLine(0, kept[0])]),
    ):
        assert secret not in text
        assert "REDACTED" in text


@pytest.mark.parametrize("export", [to_markdown, to_html])
def test_a_change_of_the_level_is_no_message_of_the_system(export):
    level = StoredMessage(Message("system", (LevelUpdate("high"),)))
    answer = StoredMessage(Message("assistant", (Text("Yes."), Text("")), ORIGIN), seconds=1.0)
    kept = (StoredMessage(Message("user", (Text("Is it?"),))), level, answer)
    page = export(Thread("abcdef", "Is it?", "somewhere:some-model", messages=3), kept)
    assert "System" not in page
    assert "[level high]" in page
    assert "2 messages" in page


def test_an_empty_part_leaves_no_blank_lines():
    answer = StoredMessage(Message("assistant", (Text("Yes."), Text("")), ORIGIN), seconds=1.0)
    page = to_markdown(Thread("abcdef", "Is it?", "somewhere:some-model", messages=1), (answer,))
    assert "Yes.\n\n*1.0 s*\n" in page
