"""``pondero threads``: what was said before."""

import json
import time
from datetime import UTC, datetime

import pytest

from pondero.canon import Message, Text, Thinking, ToolCall
from pondero.store import StoredMessage, Threads, format_time

SUM = "What is 17 * 23?"


@pytest.fixture
def threads(call, data_dir):
    """The command, with two threads: a sum, and a word that is not ASCII."""
    call("ask", "--offline", "claude-opus-5/high", SUM)
    call("ask", "--offline", "gpt-5.1/low", "What is 5 * 5 in Zürich?")
    return lambda *arguments, **how: call("threads", *arguments, **how)


@pytest.fixture
def ids(threads):
    with Threads.open() as opened:
        return [thread.id for thread in opened.list()]


def test_the_list_has_the_last_used_first(threads, ids):
    code, out, err = threads("list")
    assert (code, err) == (0, "")
    assert out.index(ids[0]) < out.index(ids[1])
    assert SUM in out
    listed = json.loads(threads("list", "--json")[1])
    assert [thread["id"] for thread in listed["threads"]] == ids
    assert set(listed["threads"][0]) == {
        *("id", "title", "model", "thinking", "system", "created", "updated", "parent"),
        *("turns", "messages", "usage", "cost"),
    }
    assert len(json.loads(threads("list", "--limit", "1", "--json")[1])["threads"]) == 1


def test_an_empty_list_says_how_to_fill_it(call, data_dir):
    code, out, err = call("threads", "list")
    assert (code, out) == (0, "")
    assert "pondero ask" in err
    assert json.loads(call("threads", "list", "--json")[1]) == {"threads": []}


def test_a_thread_is_shown_with_its_thinking_folded_or_open(threads, ids):
    code, out, _ = threads("show", ids[1])
    assert code == 0
    assert "anthropic:claude-opus-5 · high" in out
    assert "▸ Thinking · " in out
    assert "The question is" not in out
    assert "The question is" in threads("show", ids[1], "--thinking")[1]
    assert "Zürich" in threads("show")[1]
    assert "You" not in threads("show", "last", "--last", "1")[1]


def test_a_thread_as_json_has_no_seals(threads, ids):
    shown = json.loads(threads("show", ids[1], "--json")[1])
    assert shown["thread"]["id"] == ids[1]
    assert [each["message"]["role"] for each in shown["messages"]] == ["user", "assistant"]
    assert "seal" not in json.dumps(shown)
    with Threads.open() as opened:
        assert opened.messages(ids[1])[1].parts[0].signature is not None


def test_words_are_found(threads, ids):
    code, out, _ = threads("search", "zürich")
    assert code == 0
    assert ids[0] in out
    assert ids[1] not in out
    hits = json.loads(threads("search", "zürich", "--json")[1])["found"]
    assert {each["thread"] for each in hits} == {ids[0]}
    assert [(each["number"], each["role"]) for each in hits] == [
        (None, None),  # the title
        (1, "assistant"),  # its thinking has the word
        (0, "user"),
    ]
    code, out, err = threads("search", "nowhere at all")
    assert (code, out) == (0, "")
    assert "no thread contains" in err


@pytest.mark.parametrize(
    ("ending", "begins"),
    [
        ("md", "# What is 17"),
        ("html", "<!doctype html>"),
        ("jsonl", '{"pondero_thread":1'),
        ("txt", "# What is 17"),
    ],
)
def test_the_ending_says_the_form(threads, ids, tmp_path, ending, begins):
    file = tmp_path / f"talk.{ending}"
    code, out, err = threads("export", ids[1], "--to", str(file))
    assert (code, out) == (0, "")
    assert str(file) in err
    assert file.read_text().startswith(begins)


def test_an_export_overwrites_a_file_only_when_told_to(threads, ids, tmp_path):
    file = tmp_path / "talk.md"
    file.write_text("mine")
    code, out, err = threads("export", ids[1], "--to", str(file))
    assert (code, out, file.read_text()) == (2, "", "mine")
    assert f"{file} exists; add --force to overwrite it" in err
    assert threads("export", ids[1], "--to", str(file), "--force")[0] == 0
    assert file.read_text() != "mine"


@pytest.mark.parametrize(
    ("place", "said"),
    [("talk.pdf", "unknown extension .pdf; use .md .html .jsonl"), ("none/talk.md", "no folder")],
)
def test_an_export_to_a_file_that_is_none_of_ours_is_an_error(threads, ids, tmp_path, place, said):
    code, out, err = threads("export", ids[1], "--to", str(tmp_path / place))
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / place).exists()
    assert not (tmp_path / "none").exists()


def test_the_list_always_names_the_provider(threads, ids, call):
    call("ask", "--offline", "claude-opus-5", "hi")
    call("ask", "--offline", "anthropic:claude-opus-5", "hi")
    rows = threads("list", "--limit", "2")[1].splitlines()
    assert [row.split()[4] for row in rows] == ["anthropic:claude-opus-5"] * 2


def test_an_empty_title_is_an_error(threads, ids):
    code, _, err = threads("rename", ids[0], " ")
    assert (code, "the title is empty" in err) == (2, True)


def test_an_export_goes_to_stdout_and_comes_back_equal(threads, ids, tmp_path, monkeypatch):
    code, text, err = threads("export", ids[1], "--format", "jsonl")
    assert (code, err) == (0, "")
    with Threads.open() as opened:
        before = opened.get(ids[1]), opened.lines(ids[1])
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "another"))
    assert threads("import", "-", stdin=text)[:2] == (0, f"{ids[1]}  {SUM}\n")
    with Threads.open() as opened:
        assert (opened.get(ids[1]), opened.lines(ids[1])) == before
    assert json.loads(threads("import", "-", "--json", stdin=text)[1])["thread"]["title"] == SUM


def test_what_is_no_export_is_one_sentence(threads, tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_text("hello")
    code, out, err = threads("import", str(file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "line 1 is not of an exported thread" in err


def test_a_file_that_cannot_be_written_is_one_sentence(threads, tmp_path):
    (tmp_path / "file").write_text("")
    code, out, err = threads("export", "last", "--to", str(tmp_path / "file" / "talk.md"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there is no folder" in err


def test_a_thread_is_renamed(threads, ids):
    assert threads("rename", ids[0], "About", "Zürich")[0] == 0
    assert "About Zürich" in threads("list")[1]


def test_a_thread_is_deleted_only_with_a_yes(threads, ids):
    code, _, err = threads("delete", ids[0])
    assert (code, "--yes" in err) == (2, True)
    assert threads("delete", ids[0], stdin="n\n", tty=True)[0] == 1
    assert ids[0] in threads("list")[1]
    assert threads("delete", ids[0], stdin="y\n", tty=True)[0] == 0
    assert ids[0] not in threads("list")[1]
    code, _, err = threads("delete", ids[1], ids[1][:5], "--yes")
    assert (code, err) == (0, f"deleted {ids[1]}\n")
    assert threads("list")[1] == ""


@pytest.mark.parametrize("verb", ["show", "export", "delete", "rename"])
def test_an_unknown_thread_is_one_sentence_with_a_guess(threads, ids, verb):
    wrong = ids[0][:-1] + "u"
    more = ["a title"] if verb == "rename" else []
    code, out, err = threads(verb, wrong, *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"did you mean {ids[0]}?" in err


@pytest.mark.parametrize("verb", ["list", "show", "search", "export", "import", "rename", "delete"])
def test_every_verb_has_examples(call, verb):
    code, out, _ = call("threads", verb, "--help")
    assert (code, f"pondero threads {verb}" in out.partition("Examples:")[2]) == (0, True)


def test_nothing_that_was_said_steers_the_terminal(call, data_dir):
    odd = "\x1b[2Jred\x9b31m\x07\rgone"
    with Threads.open() as opened:
        id = opened.start(model=odd, title=f"{odd}\n2").id
        opened.add(
            id,
            [
                StoredMessage(
                    Message("assistant", (Text(odd), Thinking(odd), ToolCall("1", odd, odd)))
                )
            ],
        )
    for arguments in (("list",), ("show", "--thinking"), ("search", "gone")):
        _, out, _ = call("threads", *arguments)
        assert "gone" in out
        assert not set("\x1b\x9b\x07\r") & set(out)


def test_a_key_in_the_name_of_an_export_is_not_printed(threads, ids, tmp_path):
    key = "sk-" + "proj-SHAPESEC0123456789abcdefghij"
    code, out, err = threads("export", ids[1], "--to", str(tmp_path / f"{key}.md"))
    assert code == 0
    assert key not in out + err


def test_old_threads_are_pruned_and_the_file_is_compacted(threads, ids):
    code, out, err = threads("prune", "--older", "1d", "--yes")
    assert (code, out) == (0, "")
    assert "no thread was last used more than 1d ago" in err
    with Threads.open() as shelf:
        shelf._database.rows("UPDATE threads SET updated = 1000 WHERE id = ?", (ids[0],))
    code, out, _ = threads("prune", "--older", "12w", "--dry-run")
    assert code == 0
    assert ids[0] in out
    assert ids[1] not in out
    code, _, err = threads("prune", "--older", "12w")
    assert code == 2
    assert "no terminal to ask on" in err
    code, _, err = threads("prune", "--older", "12w", "--yes")
    assert code == 0
    assert "deleted 1 threads" in err
    assert "MB" in err
    assert ids[0] not in threads("list")[1]
    assert ids[1] in threads("list")[1]
    assert threads("compact")[0] == 0


@pytest.mark.parametrize("age", ["90", "d", "-3d", "90x", "", "٣d"])
def test_an_age_that_is_none_is_an_error(threads, age):
    code, _, err = threads("prune", "--older", age, "--yes")
    assert code == 2
    assert "as 90d" in err


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be set")
def test_times_are_those_of_the_place_where_the_user_is(threads, ids, monkeypatch):
    at = datetime(2026, 1, 2, 20, 30, tzinfo=UTC).timestamp()
    with Threads.open() as shelf:
        shelf._database.rows("UPDATE threads SET updated = ? WHERE id = ?", (at, ids[0]))
    monkeypatch.setenv("TZ", "XST-5:45")  # so far east of Greenwich
    time.tzset()
    try:
        assert f"{ids[0]}  2026-01-03 02:15" in threads("list")[1]
        assert format_time(at, zone=True) == "2026-01-03 02:15 XST"
    finally:
        monkeypatch.undo()
        time.tzset()
