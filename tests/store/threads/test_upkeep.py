"""A file of threads over the years: full disks, damage, read-only media, and room given back."""

import os
import sqlite3
from contextlib import closing
from time import time

import pytest

from pondero.canon import Image, Message, Origin, Text, Thinking, ToolCall, ToolResult
from pondero.errors import StoreError
from pondero.store import Drafts, StoredMessage, Threads, salvage
from pondero.store.threads import turn_log
from pondero.store.threads.database import _MIGRATIONS, Database
from pondero.store.threads.rows import encode_text
from pondero.store.threads.search import _BATCH


def asked(text, *before):
    return StoredMessage(Message("user", (*before, Text(text))))


def answered(*parts, **more):
    origin = Origin("anthropic", "claude-opus-5", "high", 1e9)
    return StoredMessage(Message("assistant", parts, origin), **more)


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as made:
        yield made


def begin(threads, *kept):
    id = threads.start(model="claude-opus-5").id
    threads.add(id, list(kept))
    return id


# -- a full disk ------------------------------------------------------------------------------


class FullDisk(sqlite3.Connection):
    """A disk with no room: what is written to the log fails, a change in place does not."""

    is_full = False

    def execute(self, sql, *values):
        if self.is_full and sql == "COMMIT":
            [[mode]] = super().execute("PRAGMA journal_mode").fetchall()
            if mode == "wal":
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise error
        return super().execute(sql, *values)


@pytest.fixture
def full_disk(monkeypatch):
    connect = sqlite3.connect

    def made(*given, **more):
        return connect(*given, factory=FullDisk, **more)

    monkeypatch.setattr("pondero.store.threads.database.sqlite3.connect", made)


def test_a_thread_is_deleted_on_a_disk_that_is_full(full_disk, tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        gone, stays = begin(threads, asked("one")), begin(threads, asked("two"))
        threads._database._connection.is_full = True
        with pytest.raises(StoreError, match="the disk is full"):
            threads.add(stays, [asked("more")])
        threads.delete(gone)
        threads._database._connection.is_full = False
        assert [each.id for each in threads.list()] == [stays]
        assert threads.check() == "ok"
        assert threads._database.rows("PRAGMA journal_mode") == [("wal",)]
        threads.add(stays, [asked("more")])


class NoRoomAtAll(sqlite3.Connection):
    """A disk without a byte of room: not even the index of the log can be made next to the file."""

    def execute(self, sql, *values):
        [[locking]] = super().execute("PRAGMA locking_mode").fetchall()
        if locking != "exclusive" and not sql.startswith("PRAGMA locking_mode"):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
            raise error
        return super().execute(sql, *values)


def test_threads_are_read_and_deleted_on_a_disk_without_any_room(monkeypatch, tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        gone, stays = begin(threads, asked("one")), begin(threads, asked("two"))
    connect = sqlite3.connect
    monkeypatch.setattr(
        "pondero.store.threads.database.sqlite3.connect",
        lambda *given, **more: connect(*given, factory=NoRoomAtAll, **more),
    )
    with Threads.open(tmp_path / "threads.db") as threads:
        assert threads.notice is not None
        assert threads.notice.startswith("the disk is full")
        assert [message.text for message in threads.messages(stays)] == ["two"]
        threads.delete(gone)
        assert [each.id for each in threads.list()] == [stays]
    monkeypatch.undo()
    with Threads.open(tmp_path / "threads.db") as threads:
        assert (threads.check(), threads.notice) == ("ok", None)


def test_the_last_thread_is_one_that_has_messages(threads):
    talked = begin(threads, asked("one"))
    threads.start(model="m")  # a full disk kept its turn away
    assert threads.get("last").id == talked


# -- room -------------------------------------------------------------------------------------


def test_what_is_deleted_gives_its_room_back_when_it_is_compacted(threads):
    big = begin(threads, asked("x" * 3_000_000))
    small = begin(threads, asked("small"))
    threads.delete(big)
    before, after = threads.compact()
    assert before > 3_000_000
    assert after < 200_000
    assert threads.size == after
    assert threads.messages(small)[0].text == "small"


def test_pruning_deletes_what_was_not_used_since(threads):
    old, new = begin(threads, asked("old")), begin(threads, asked("new"))
    now = time()
    threads._database.rows("UPDATE threads SET updated = ? WHERE id = ?", (now - 100, old))
    assert [each.id for each in threads.prune(before=now - 50)] == [old]
    assert [each.id for each in threads.list()] == [new]
    assert threads.prune(before=now - 50) == ()


# -- titles -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "title"),
    [
        ((Text("notes.txt:\n\n```\nlong ago\n```"), Text("What is in it?")), "What is in it?"),
        ((Text("diff --git a b"), Text("Review this.")), "Review this."),
        ((Image("image/png", b"x"), Text("Who is it?")), "Who is it?"),
        ((Text("notes.txt:\n\n```\nlong ago\n```"),), "notes.txt"),
        ((Text("Is it prime?"),), "Is it prime?"),
    ],
)
def test_a_title_is_of_the_typed_words(threads, parts, title):
    assert threads.get(begin(threads, StoredMessage(Message("user", parts)))).title == title


# -- search -----------------------------------------------------------------------------------


def test_thinking_tools_their_arguments_and_results_are_found(threads):
    call = ToolCall("c1", "forecast", {"town": "Winterthur"})
    result = ToolResult("c1", (Text("drizzle and sleet"),), name="forecast")
    id = begin(
        threads,
        asked("Rain?"),
        answered(Thinking("perhaps an umbrella"), call),
        StoredMessage(Message("user", (result,))),
    )
    for words, number in (
        ("umbrella", 1),
        ("Winterthur", 1),
        ("sleet", 2),
        ("drizzle forecast", 2),
    ):
        assert [(hit.thread.id, hit.number) for hit in threads.find(words)] == [(id, number)]
        assert words.split()[0] in threads.find(words)[0].snippet


def test_an_index_is_made_in_short_transactions_and_tells_how_far_it_is(threads, monkeypatch):
    monkeypatch.setattr("pondero.store.threads.search._BATCH", 4)
    begin(threads, *(asked(f"word{number}") for number in range(10)))
    told = []
    assert len(threads.find("word7", progress=lambda *far: told.append(far))) == 1
    assert told == [(4, 10), (8, 10), (10, 10)]
    told.clear()
    threads.find("word7", progress=lambda *far: told.append(far))
    assert told == []
    assert _BATCH > 4


def test_another_program_writes_between_the_transactions_of_an_index(threads, monkeypatch):
    monkeypatch.setattr("pondero.store.threads.search._BATCH", 4)
    begin(threads, *(asked(f"word{number}") for number in range(10)))
    paused = []

    def write_elsewhere(seconds):
        with closing(sqlite3.connect(threads.path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
        paused.append(seconds)

    monkeypatch.setattr("pondero.store.threads.search.sleep", write_elsewhere)
    assert len(threads.find("word7")) == 1
    assert len(paused) == 2
    assert min(paused) > 0.1  # how long SQLite may wait before it looks for the lock again
    threads.find("word7")
    assert len(paused) == 2


def test_messages_of_an_older_version_are_found_by_all_their_words(tmp_path):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        id = begin(threads, asked("Rain?"), answered(Thinking("an umbrella"), Text("Yes.")))
        threads._database.rows("UPDATE kept SET words = 'Yes.' WHERE role = 'assistant'")
        threads._database.rows("PRAGMA user_version = 6")
    with Threads.open(path) as threads:
        assert [hit.thread.id for hit in threads.find("umbrella")] == [id]
        threads.delete(id)
        assert threads.find("umbrella") == ()
        assert threads.check() == "ok"


# -- media that can only be read --------------------------------------------------------------


@pytest.fixture
def read_only(monkeypatch):
    def refuse(path, flags, mode=0o777):
        raise PermissionError(13, "Read-only file system", str(path))

    def now():
        monkeypatch.setattr("pondero.store.threads.database.os.open", refuse)

    return now


def test_threads_on_read_only_media_can_be_read(tmp_path, read_only):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        id = begin(threads, asked("hello"), answered(Text("hi there")))
    read_only()
    before = path.read_bytes()
    with Threads.open(path) as threads:
        assert "can only be read" in threads.notice
        assert [each.id for each in threads.list()] == [id]
        assert threads.messages(id)[1].text == "hi there"
        assert [hit.number for hit in threads.find("there")] == [1]
        with pytest.raises(StoreError, match="cannot be written"):
            threads.add(id, [asked("more")])
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["threads.db"]


def test_a_read_only_folder_without_threads_has_none(tmp_path, read_only):
    read_only()
    with Threads.open(tmp_path / "threads.db") as threads:
        assert "nothing is saved" in threads.notice
        assert threads.list() == ()
        assert threads.stats() == ()
        with pytest.raises(StoreError, match="cannot be written"):
            begin(threads, asked("hello"))
    assert list(tmp_path.iterdir()) == []


def test_threads_that_could_only_be_read_are_written_as_soon_as_they_can_be(
    tmp_path, read_only, monkeypatch
):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        id = begin(threads, asked("hello"))
    read_only()
    with Threads.open(path) as threads:
        with pytest.raises(StoreError, match="cannot be written"):
            threads.add(id, [asked("more")])
        monkeypatch.undo()
        threads.add(id, [asked("more")])
    with Threads.open(path) as threads:
        assert [message.text for message in threads.messages(id)] == ["hello", "more"]


@pytest.mark.parametrize("version", range(1, len(_MIGRATIONS)))
def test_a_read_only_file_of_an_older_form_can_be_read(tmp_path, read_only, version):
    path = tmp_path / "threads.db"
    old = sqlite3.connect(path)
    for steps in _MIGRATIONS[:version]:
        for step in steps:
            old.execute(step)
    old.execute(f"PRAGMA user_version = {version}")
    old.execute(
        "INSERT INTO threads (id, title, model, thinking, system, created, updated, messages) "
        "VALUES ('abc123', 'hello', 'm', 'null', '\"\"', 1, 1, 1)"
    )
    body = encode_text(asked("hello"))
    old.execute(
        "INSERT INTO kept (thread, number, turn, at, role, words, body) "
        "VALUES ('abc123', 0, 0, 1, 'user', 'hello', ?)",
        (body,),
    )
    old.commit()
    old.close()
    read_only()
    with Threads.open(path) as threads:
        assert threads.messages("abc123")[0].text == "hello"


# -- damage -----------------------------------------------------------------------------------


def test_the_readable_rows_of_a_damaged_file_are_read_back(tmp_path):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        ids = [begin(threads, asked(f"question {n} {'x' * 3000}")) for n in range(60)]
    whole = bytearray(path.read_bytes())
    page = 4096
    for number in (20, 21, 40):  # three pages are lost
        whole[number * page : (number + 1) * page] = os.urandom(page)
    path.write_bytes(whole)
    with Threads.open(tmp_path / "new.db") as threads:
        found = salvage(path, threads)
        assert 40 < len(found.threads) < 60
        assert found.messages + found.lost >= 60
        assert {each.id for each in threads.list(limit=None)} <= set(ids)
        kept = threads.messages(found.threads[0].id)
        assert kept[0].text.startswith("question ")


def _lose_header(whole):
    whole[:100] = bytes(100)


def _lose_second_half(whole):
    del whole[len(whole) // 2 :]


def _lose_inner_pages(whole):
    for at in range(0, len(whole), 4096):
        if whole[at] == 0x05:  # the page that leads to the rows of a table
            whole[at : at + 4096] = bytes(4096)


@pytest.mark.parametrize(
    ("lose", "least"), [(_lose_header, 60), (_lose_second_half, 20), (_lose_inner_pages, 60)]
)
def test_rows_are_found_though_the_way_to_them_is_lost(tmp_path, lose, least):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        for n in range(60):
            begin(threads, asked(f"question {n}"), answered(Text("x" * (n * 300))))
        gone = begin(threads, asked("a secret that was deleted"))
        threads.delete(gone)
    whole = bytearray(path.read_bytes())
    lose(whole)
    path.write_bytes(whole)
    with Threads.open(tmp_path / "new.db") as threads:
        found = salvage(path, threads)
        assert least <= len(found.threads) <= 60
        titles = {each.title for each in found.threads}
        assert "question 7" in titles
        texts = [m.text for each in found.threads for m in threads.messages(each.id)]
        assert "x" * 59 * 300 in texts or least < 60
        assert not any("secret" in text for text in texts)


def test_the_notice_of_a_damaged_file_has_the_command_that_reads_it_back(tmp_path):
    (tmp_path / "threads.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    with Threads.open(tmp_path / "threads.db") as threads:
        (moved,) = tmp_path.glob("threads.db.broken-*[0-9]")
        assert f"pondero threads salvage {moved}" in threads.notice
        with pytest.raises(StoreError, match=r"nothing of .* can be read"):
            salvage(moved, threads)


def test_a_thread_whose_head_is_lost_keeps_its_messages(tmp_path):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        begin(threads, asked("hello"), answered(Text("hi")))
        threads._database.rows("PRAGMA foreign_keys = OFF")
        threads._database.rows("DELETE FROM threads")
    with Threads.open(tmp_path / "new.db") as threads:
        (thread,) = salvage(path, threads).threads
        assert (thread.model, thread.messages) == ("anthropic:claude-opus-5", 2)


# -- the emulator's answers of 0.1.0 ----------------------------------------------------------


def test_offline_answers_of_the_first_version_are_not_counted_as_use(tmp_path):
    said = 'You asked: "Hm?". I am an emulator; this is all I can say to it.'
    kept = [
        asked("Hm?"),
        answered(Text(said), seconds=0.01),
        asked("17 * 23?"),
        answered(Thinking('The question is "17 * 23?".'), Text("391"), seconds=0.02),
        asked("And really?"),
        answered(Thinking("Let me see."), Text("391"), seconds=2.5),
    ]
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        id = begin(threads, *kept)
        threads._database.rows("PRAGMA user_version = 6")
    with Threads.open(path) as threads:
        assert [each.offline for each in threads.load_messages(id)[1::2]] == [True, True, False]
        assert [each.message.origin.emulator for each in threads.load_messages(id)[1::2]] == [
            "offline",
            "offline",
            None,
        ]
        assert {(row.offline, row.replies) for row in threads.stats()} == {(True, 2), (False, 1)}


def test_a_sum_of_the_first_versions_emulator_without_thinking_is_marked_too(tmp_path):
    kept = [
        answered(Text("17 * 23 = 391"), seconds=0.1),
        answered(Text("17 * 23 = 391"), seconds=2.5),
        answered(Text("17 * 23 = 391 eggs"), seconds=0.1),
        answered(Text("391"), seconds=0.1),
    ]
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        id = begin(threads, *kept)
        threads._database.rows("PRAGMA user_version = 6")
    with Threads.open(path) as threads:
        marks = [each.offline for each in threads.load_messages(id)]
    assert marks == [True, False, False, False]


def test_a_database_that_cannot_be_reached_at_all_is_an_error(tmp_path, read_only):
    read_only()
    with pytest.raises(StoreError, match="cannot be written"):
        Database(tmp_path / "none" / "threads.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        Threads.open(tmp_path / "file" / "none.db")


def test_an_error_names_the_file_of_threads_and_not_a_lock_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(turn_log, "token_hex", lambda _size: "0123")
    (tmp_path / "turn-0123.lock").mkdir()  # as if nothing could be written here
    with (
        Threads.open(tmp_path / "threads.db") as threads,
        pytest.raises(StoreError, match=r"threads\.db cannot be") as raised,
    ):
        threads.save_drafts(None, Drafts(typed="words"))
    assert "turn-" not in str(raised.value)
