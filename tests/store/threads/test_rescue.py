"""Rescue files: in the first folder with room, read once, and only by those they are for."""

import stat

import pytest

from pondero.canon import Message, Text
from pondero.store import (
    Drafts,
    RescuedTurn,
    RescuedWork,
    RescueFile,
    StoredMessage,
    Threads,
    UnfinishedTurn,
)
from pondero.store.threads import rescue

QUESTION = StoredMessage(Message("user", (Text("a question"),)))
ANSWER = StoredMessage(Message("assistant", (Text("an answer"),)), finish="stop")
TURN = UnfinishedTurn("anthropic:claude-opus-5", (QUESTION, ANSWER))
WORK = RescuedWork((RescuedTurn(TURN),), {"": Drafts(typed="half a sent")})


@pytest.fixture
def database(tmp_path, monkeypatch):
    for name in ("data", "runtime", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(rescue, "_SHARED", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "data" / "threads.db"


def is_read(database) -> bool:
    """Return whether the next program has the turn and the words."""
    with Threads.open(database) as threads:
        found = threads.recover_turns()
        texts = [each.text for thread in found for each in threads.messages(thread.id)]
        typed = [threads.take_drafts(each.id).typed for each in threads.list_drafts()]
        typed.append(threads.take_drafts(None).typed)
        return texts == ["a question", "an answer"] and "half a sent" in typed


def test_the_next_program_reads_it_once_and_removes_it(database):
    path = RescueFile(database).write(WORK, has_ended=True)
    assert path.parent == database.parent
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert is_read(database)
    assert not path.exists()
    assert not is_read(database)


@pytest.mark.parametrize("full", [("data",), ("data", "runtime"), ("data", "runtime", "tmp")])
def test_it_is_in_the_first_folder_that_has_room(database, tmp_path, monkeypatch, full):
    write = rescue._write_private

    def write_if_room(path, data):
        if path.parent.name in full:
            raise OSError(28, "No space left on device")
        write(path, data)

    monkeypatch.setattr(rescue, "_write_private", write_if_room)
    path = RescueFile(database).write(WORK, has_ended=True)
    assert path.parent == [tmp_path / "runtime", tmp_path / "tmp", tmp_path][len(full) - 1]
    assert is_read(database)


def test_it_is_never_in_the_working_folder_where_the_next_program_does_not_look(
    database, tmp_path, monkeypatch
):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "project"))  # all others are full
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    folders = rescue.list_folders(database)
    names = ("data", "runtime", "tmp")
    assert folders == [*(tmp_path / each for each in names), tmp_path]


def test_an_older_one_stays_if_no_folder_takes_the_newer(database, monkeypatch):
    file = RescueFile(database)
    path = file.write(WORK)
    monkeypatch.setattr(rescue, "list_folders", lambda _: [database.parent / "gone"])
    with pytest.raises(OSError, match="gone"):
        file.write(RescuedWork(drafts={"": Drafts(typed="more")}))
    assert path.exists()


def test_one_of_a_program_that_lives_is_not_read(database):
    path = RescueFile(database).write(WORK)
    assert not is_read(database)
    assert path.exists()


def test_one_of_another_database_is_not_read(database, tmp_path):
    path = RescueFile(tmp_path / "other" / "threads.db").write(WORK, has_ended=True)
    assert path.parent == tmp_path / "runtime"
    assert not is_read(database)
    assert path.exists()


def test_one_that_others_could_have_written_is_not_read(database):
    path = RescueFile(database).write(WORK, has_ended=True)
    path.chmod(0o644)
    assert not is_read(database)
    path.chmod(0o600)
    link = path.with_name("pondero-link.rescue")
    link.symlink_to(path.rename(path.with_name("elsewhere")))
    assert not is_read(database)


def test_it_takes_the_place_of_what_was_written_before(database):
    with Threads.open(database) as threads:
        number = threads.begin_turn(UnfinishedTurn("anthropic:claude-opus-5", (QUESTION,)))
        threads.save_drafts(None, Drafts(typed="half"))
        threads.save_drafts("+1", Drafts(typed="gone since"))
        drafts = {"": Drafts(typed="half a sent"), "+1": Drafts()}
        work = RescuedWork((RescuedTurn(TURN, (number,)),), drafts, threads.owner)
        RescueFile(database).write(work, has_ended=True)
    assert is_read(database)
    with Threads.open(database) as threads:
        assert len(threads.list()) == 1
        assert "gone since" not in str(threads._database.rows("SELECT body FROM drafts"))


def test_a_file_that_is_no_rescue_file_is_left_alone(database):
    file = database.parent / "pondero-0123.rescue"
    file.write_text("{")
    file.chmod(0o600)
    assert not is_read(database)
    assert file.exists()
