"""The file itself: its form, its rights, and what happens when it cannot be used."""

import shutil
import sqlite3
import stat
import subprocess
import sys

import pytest
from msgspec.structs import replace

from pondero.canon import Message, Origin, Text, ToolCall
from pondero.errors import StoreError
from pondero.store import StoredMessage, Threads, UnfinishedTurn
from pondero.store.threads.database import _MIGRATIONS, VERSION

HELLO = [StoredMessage(Message("user", (Text("hello"),)))]


def opened(path):
    return Threads.open(path / "threads.db")


def test_the_file_is_in_the_data_folder_and_its_owners_only(data_dir):
    with Threads.open() as threads:
        threads.add(threads.start(model="m").id, HELLO)
        files = sorted(data_dir.iterdir())
        assert [file.name for file in files] == ["threads.db", "threads.db-shm", "threads.db-wal"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert threads.path == data_dir / "threads.db"


@pytest.mark.parametrize("version", range(1, VERSION))
def test_a_file_of_an_older_form_is_brought_up_to_date_with_its_threads(tmp_path, version):
    with opened(tmp_path) as threads:
        id = threads.start(model="m").id
        threads.add(id, HELLO)
        rows = {
            name: threads._database.rows(f"SELECT * FROM {name}") for name in ("threads", "kept")
        }
    old = sqlite3.connect(tmp_path / "old.db")
    for steps in _MIGRATIONS[:version]:
        for step in steps:
            old.execute(step)
    for name, values in rows.items():
        width = len(old.execute(f"SELECT * FROM {name}").description)
        old.executemany(
            f"INSERT INTO {name} VALUES ({','.join('?' * width)})", [row[:width] for row in values]
        )
    old.execute(f"PRAGMA user_version = {version}")
    old.commit()
    old.close()
    with Threads.open(tmp_path / "old.db") as threads:
        assert threads.notice is None
        assert threads.load_messages(id) == tuple(HELLO)
        threads.add(id, HELLO)
        assert threads.get(id).messages == 2
        assert threads.fork(id).messages == 2
        assert threads._database._version() == VERSION
        assert threads.check() == "ok"


@pytest.mark.parametrize(("offline", "emulator"), [(True, "offline"), (False, None)])
def test_answers_that_were_kept_offline_before_origins_said_so_are_the_emulators(
    tmp_path, offline, emulator
):
    answer = Message("assistant", (Text("four"),), Origin("anthropic", "claude-opus-5", at=1e9))
    strange = ToolCall("c1", "odd", {"n": 10**30, "half": "\ud800", "origin": {"a": 1}})
    tricky = Message("assistant", (strange,), answer.origin)
    turn = [*HELLO, *(StoredMessage(each, offline=offline) for each in (answer, tricky))]
    with opened(tmp_path) as threads:
        id = threads.start(model="m").id
        threads.add(id, turn)
        threads._database._connection.execute("PRAGMA user_version = 4")
    with opened(tmp_path) as threads:
        assert threads.messages(id) == (
            HELLO[0].message,
            *(
                replace(each, origin=replace(each.origin, emulator=emulator))
                for each in (answer, tricky)
            ),
        )


def test_a_file_of_a_newer_form_is_left_alone(tmp_path):
    with opened(tmp_path) as threads:
        threads._database._connection.execute("PRAGMA user_version = 99")
    before = (tmp_path / "threads.db").read_bytes()
    with pytest.raises(StoreError, match="newer pondero"):
        opened(tmp_path)
    assert (tmp_path / "threads.db").read_bytes() == before


@pytest.mark.parametrize(
    "garbage",
    [b"this is no database at all, not in the least" * 99, b"SQLite format 3\0" + b"\xff" * 4096],
)
def test_a_broken_file_is_moved_aside_and_nothing_deleted(tmp_path, garbage):
    for name in ("threads.db", "threads.db-wal"):
        (tmp_path / name).write_bytes(garbage)
    with opened(tmp_path) as threads:
        (moved,) = tmp_path.glob("threads.db.broken-*[0-9]")
        assert moved.read_bytes() == garbage
        assert str(moved) in threads.notice
        threads.add(threads.start(model="m").id, HELLO)
    with opened(tmp_path) as threads:
        assert threads.notice is None
        assert len(threads.list()) == 1


def test_two_broken_files_of_one_second_are_both_kept(tmp_path):
    for _ in range(3):
        for file in (tmp_path / "threads.db", tmp_path / "threads.db-wal"):
            file.write_bytes(b"no database" * 999)
        opened(tmp_path).close()
    assert len(list(tmp_path.glob("threads.db.broken-*"))) >= 3


def test_damage_found_later_is_a_sentence(tmp_path):
    with opened(tmp_path) as threads:
        id = threads.start(model="m").id
        for _ in range(200):
            threads.add(id, [StoredMessage(Message("user", (Text("x" * 3000),)))])
    file = tmp_path / "threads.db"
    data = bytearray(file.read_bytes())
    data[5 * 4096 :] = b"\xff" * (len(data) - 5 * 4096)
    file.write_bytes(data)
    with opened(tmp_path) as threads:
        assert threads.check() != "ok"
        with pytest.raises(StoreError, match="is damaged; 'pondero doctor'"):
            threads.load_messages(id)


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written.*PONDERO_DATA_DIR"):
        opened(tmp_path / "file")


def test_a_file_that_may_only_be_read_is_a_sentence(tmp_path):
    with opened(tmp_path) as threads:
        id = threads.start(model="m").id
        threads._database._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="cannot be written"):
            threads.add(id, HELLO)


def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path):
    with opened(tmp_path) as threads:
        id = threads.start(model="m").id
        threads.add(id, HELLO)
        threads._database._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreError, match="the disk is full"):
            threads.add(id, [StoredMessage(Message("user", (Text("x" * 100_000),)))])
        assert threads.load_messages(id) == tuple(HELLO)
        threads._database._connection.execute("PRAGMA max_page_count = 100000")
        threads.add(id, HELLO)
        assert threads.get(id).messages == 2


def test_a_second_opening_does_not_end_the_locks_of_the_first(tmp_path):
    """Else the program that closes the file last deletes the log that this one still writes to."""
    script = "import sys; from pondero.store import Threads; Threads.open(sys.argv[1]).close()"
    with opened(tmp_path) as threads:
        with opened(tmp_path):
            pass
        command = [sys.executable, "-c", script, str(tmp_path / "threads.db")]
        subprocess.run(command, check=True)
        id = threads.start(model="m").id
        threads.add(id, HELLO)
        with opened(tmp_path) as fresh:
            assert [each.id for each in fresh.list()] == [id]
    with opened(tmp_path) as later:
        assert [each.id for each in later.list()] == [id]


def test_a_write_of_another_program_that_does_not_end_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("pondero.store.threads.database.BUSY", 0)
    with opened(tmp_path) as threads:
        id = threads.start(model="m").id
        other = sqlite3.connect(tmp_path / "threads.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program"):
            threads.add(id, HELLO)
        other.execute("ROLLBACK")
        other.close()
        threads.add(id, HELLO)


def _turn(words):
    return UnfinishedTurn("openai:gpt-5", (StoredMessage(Message("user", (Text(words),))),))


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_deleted_while_it_is_open_begins_again(tmp_path, replaced):
    folder = tmp_path / "data"
    path = folder / "threads.db"
    with Threads.open(path) as threads:
        threads.save_turn(_turn("before"))
        shutil.rmtree(folder)
        if replaced:
            with Threads.open(path) as other:
                other.save_turn(_turn("another's"))
        threads.begin_turn(_turn("later"))
        with Threads.open(path) as other:
            assert other.recover_turns() == ()  # its process lives
        threads.recover_turns(own=True)
    with Threads.open(path) as threads:
        assert {each.title for each in threads.list()} == {"later"} | (
            {"another's"} if replaced else set()
        )
