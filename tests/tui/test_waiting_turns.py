"""Turns that could not be written are written later, once, wherever the chat has gone since."""

from time import monotonic

import pytest

from pondero.canon import Message, Text
from pondero.errors import StoreError
from pondero.store import Drafts, StoredMessage, Threads, from_jsonl
from pondero.tui import ThreadWriter
from pondero.tui.thread_writer import SavedTurn

OPTIONS = {"model": "anthropic:claude-opus-5", "level_text": "low", "system": "Be brief."}


class FullThreads(Threads):
    """Threads whose turns cannot be saved while ``full``."""

    full = False

    def save_turn(self, turn, **options):
        """Save a turn, or say that there is no room."""
        if self.full:
            raise StoreError("the disk is full")
        return super().save_turn(turn, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "threads.db"


@pytest.fixture
def threads(path):
    with FullThreads.open(path) as opened:
        yield opened


def turn(number):
    words = (("user", f"question {number}"), ("assistant", f"answer {number}"))
    return tuple(StoredMessage(Message(role, (Text(text),)), finish="stop") for role, text in words)


def say(writer, number):
    stored = turn(number)
    journal = writer.begin_turn([stored[0].message], **OPTIONS)
    journal.close()
    return writer.add(stored, **OPTIONS, journal=journal)


def kept(path):
    with Threads.open(path) as threads:
        assert threads.recover_turns() == ()
        return sorted(
            [message.text for message in threads.messages(thread.id)] for thread in threads.list()
        )


def texts(*numbers):
    return [message.message.text for number in numbers for message in turn(number)]


def test_a_turn_that_is_written_late_is_written_once(threads, path):
    writer = ThreadWriter(threads)
    threads.full = True
    assert say(writer, 1).unsaved
    threads.full = False
    assert say(writer, 2).thread is not None
    assert writer.close() == ()
    assert kept(path) == [texts(1, 2)]


def test_two_that_wait_are_one_unfinished_turn_for_the_next_program(threads, path):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    journal = writer.begin_turn([turn(2)[0].message], **OPTIONS)
    journal._update(lambda: turn(2))
    threads.full = False
    assert len(threads.recover_turns(own=True)) == 1
    threads.close()
    assert kept(path) == [texts(1, 2)]


def test_what_waits_at_the_end_is_written(threads, path):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    threads.full = False
    assert writer.close() == ()
    assert kept(path) == [texts(1)]


@pytest.mark.parametrize("leave", [lambda w: w.begin(), lambda w: w.rewind(0)])
def test_what_waits_is_written_after_the_conversation_was_left(threads, path, leave):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    leave(writer)
    threads.full = False
    say(writer, 2)
    writer.close()
    assert kept(path) == [texts(1), texts(2)]


def test_an_answer_that_was_not_chosen_waits_too(threads, path):
    writer = ThreadWriter(threads)
    say(writer, 1)
    threads.full = True
    copy = dict(OPTIONS, name="high")
    assert not writer.branch(turn(2), 2, **copy)
    say(writer, 3)
    assert not writer.branch(turn(4), 4, **copy)
    threads.full = False
    assert writer.branch(turn(5), 4, **copy)
    writer.close()
    assert kept(path) == [texts(1, 2), texts(1, 3), texts(1, 3, 4), texts(1, 3, 5)]
    with Threads.open(path) as again:
        assert {each.system for each in again.list()} == {"Be brief."}


def test_what_can_never_be_saved_is_in_a_file_that_can_be_imported(threads, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    say(writer, 2)
    (line,) = writer.close()
    assert line.startswith("the last 2 turns were not saved: the disk is full. For later: ")
    (file,) = tmp_path.glob("pondero-*.jsonl")
    assert line.endswith(f"pondero threads import {file}")
    _, lines = from_jsonl(file.read_text("utf-8"))
    assert [each.kept for each in lines] == [*turn(1), *turn(2)]


def test_a_chat_that_saves_nothing_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    writer = ThreadWriter()
    say(writer, 1)
    assert writer.close() == ()
    assert not [*tmp_path.iterdir()]


def test_the_drafts_of_two_conversations_that_have_not_begun_are_apart(threads, path):
    first = ThreadWriter(threads)
    second = first.sibling()
    first.begin_turn([turn(1)[0].message], **OPTIONS)
    first.save_drafts(Drafts(typed="in the first"))
    second.save_drafts(Drafts(typed="in the second"))
    threads.close()
    with Threads.open(path) as again:
        (thread,) = again.recover_turns()
        assert again.take_drafts(thread.id).typed == "in the first"
        assert again.take_drafts(None).typed == "in the second"


# -- tried again while nothing else happens -----------------------------------------------------


def test_what_waits_is_written_as_soon_as_there_is_room(threads, path):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    say(writer, 2)
    again = writer.try_again()
    assert (again.thread, again.unsaved) == (None, "the disk is full")
    threads.full = False
    again = writer.try_again()
    assert again.thread is not None
    assert (again.unsaved, writer.why_unsaved) == (None, None)
    assert writer.try_again() == SavedTurn()
    threads.close()  # no end, and no further turn
    assert kept(path) == [texts(1, 2)]


@pytest.mark.parametrize("leave", [lambda w: w.begin(), lambda w: w.rewind(0)])
def test_what_waits_of_a_conversation_that_was_left_is_tried_again(threads, path, leave):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    leave(writer)
    assert writer.try_again().unsaved == "the disk is full"
    threads.full = False
    assert writer.try_again() == SavedTurn()
    threads.close()
    assert kept(path) == [texts(1)]


def test_answers_that_were_not_chosen_are_tried_again(threads, path):
    writer = ThreadWriter(threads)
    say(writer, 1)
    threads.full = True
    assert not writer.branch(turn(2), 2, **OPTIONS, name="high")
    threads.full = False
    writer.try_again()
    threads.close()
    assert kept(path) == [texts(1), texts(1, 2)]


def test_a_conversation_leaves_those_of_other_tabs_alone_and_says_that_they_wait(threads, path):
    first = ThreadWriter(threads)
    second = first.sibling()
    threads.full = True
    say(first, 1)
    threads.full = False
    assert second.try_again() == SavedTurn(unsaved="the disk is full")
    assert first.try_again().thread is not None
    assert second.try_again() == SavedTurn()
    threads.close()
    assert kept(path) == [texts(1)]


def test_a_store_that_another_program_writes_to_is_not_waited_for(threads, path):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    threads.full = False
    began = monotonic()
    with Threads.open(path) as other, other._database.transaction():
        assert writer.try_again().unsaved == "the disk is full"  # as the user was told
        writer.save_drafts(Drafts(typed="words"), patient=False)
    assert monotonic() - began < 5
    assert writer.try_again().thread is not None


def test_a_chat_that_saves_nothing_tries_nothing():
    writer = ThreadWriter()
    say(writer, 1)
    assert writer.try_again() == SavedTurn()
    assert ThreadWriter(unsaved="no folder").try_again() == SavedTurn(unsaved="no folder")


def test_what_waits_stays_on_disk_when_the_next_turn_has_no_answer(threads, path):
    writer = ThreadWriter(threads)
    threads.full = True
    say(writer, 1)
    journal = writer.begin_turn([turn(2)[0].message], **OPTIONS)
    assert writer.add((), **OPTIONS, journal=journal).unsaved == "the disk is full"
    threads.close()  # killed
    with Threads.open(path) as again:
        (thread,) = again.recover_turns()
        assert [each.text for each in again.messages(thread.id)][:2] == texts(1)


def test_a_file_that_could_not_be_opened_is_opened_later(path):
    def find(patience):
        assert patience < 1
        if not path.parent.exists():
            raise StoreError("no folder yet")
        return Threads.open(path)

    path = path.parent / "data" / path.name
    writer = ThreadWriter(unsaved="no folder", find=find)
    other = writer.sibling()
    say(writer, 1)
    assert writer.try_again() == SavedTurn(unsaved="no folder")
    path.parent.mkdir()
    assert writer.try_again().thread is not None
    assert other.try_again() == SavedTurn()
    assert say(other, 2).thread is not None
    assert writer.close() == ()
    assert kept(path) == [texts(1), texts(2)]


def test_words_that_were_not_written_and_are_gone_are_in_no_file(threads, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    writer = ThreadWriter(threads)
    threads._database._connection.execute("PRAGMA query_only = ON")
    writer.save_drafts(Drafts(typed="half a sent"))
    writer.save_set_aside(("words",))
    assert writer.try_again().unsaved
    writer.save_drafts(Drafts())
    writer.save_set_aside(())
    assert writer.try_again() == SavedTurn()
    assert writer.close() == ()
