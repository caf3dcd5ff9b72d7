"""A turn is on disk before it is sent, and a killed process leaves it to the next one."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

from pondero.canon import Message, Text, Thinking, ToolCall
from pondero.errors import StoreError
from pondero.store import Drafts, StoredMessage, Threads, TurnJournal, UnfinishedTurn

QUESTION = StoredMessage(Message("user", (Text("What is 17 * 23?"),)))
HALF = StoredMessage(Message("assistant", (Thinking("hmm"), Text("17 * 23 ="))), partial=True)
WHOLE = StoredMessage(Message("assistant", (Text("391"),)), finish="stop")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


def make_turn(*messages: StoredMessage, **changes: object) -> UnfinishedTurn:
    return UnfinishedTurn("anthropic:claude-opus-5", messages or (QUESTION,), **changes)  # type: ignore[arg-type]


def _killed(path: Path, *lines: str) -> None:
    """Run these lines in a program that is killed after them."""
    head = (
        "import os, sys",
        "from tests.store.threads.test_turn_log import *",
        "threads = Threads.open(sys.argv[1])",
    )
    code = "\n".join((*head, *lines, f"os.kill(os.getpid(), {int(signal.SIGKILL)})"))
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert run.returncode == -signal.SIGKILL


def test_a_killed_program_leaves_its_question_to_the_next_one(path):
    _killed(path, "threads.begin_turn(make_turn())")
    with Threads.open(path) as threads:
        (thread,) = threads.recover_turns()
        question, answer = threads.load_messages(thread.id)
        assert question == QUESTION
        assert answer.partial
        assert not answer.message.parts
        assert thread.title == "What is 17 * 23?"
        assert threads.recover_turns() == ()


def test_a_killed_program_leaves_what_had_arrived(path):
    _killed(
        path,
        "number = threads.begin_turn(make_turn())",
        "threads.update_turn(number, make_turn(QUESTION, HALF))",
    )
    with Threads.open(path) as threads:
        (thread,) = threads.recover_turns()
        assert threads.load_messages(thread.id) == (QUESTION, HALF)


def test_the_turn_of_a_program_that_lives_is_left_alone(path):
    with Threads.open(path) as one, Threads.open(path) as other:
        number = one.begin_turn(make_turn())
        assert other.recover_turns() == ()
        one.save_turn(make_turn(QUESTION, WHOLE), number=number)
        assert len(other.list()) == 1
        assert other.recover_turns() == ()


def test_nobody_waits_for_programs_that_live(path):
    """Every ``pondero ask`` looks at the end of its turn, while it has a lock of its own."""
    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(Threads.open(path)).begin_turn(make_turn())
        threads = stack.enter_context(Threads.open(path))
        before = monotonic()
        assert threads.recover_turns() == ()
        assert monotonic() - before < 6  # half a second each, on a machine that is busy


def test_a_program_that_leaves_saves_its_own_unfinished_turns(path):
    with Threads.open(path) as threads:
        threads.begin_turn(make_turn(QUESTION, HALF))
        (thread,) = threads.recover_turns(own=True)
        assert threads.messages(thread.id) == (QUESTION.message, HALF.message)


def test_no_lock_stays_behind(path):
    with Threads.open(path) as threads:
        threads.begin_turn(make_turn())
    with Threads.open(path) as threads:
        threads.recover_turns()
    assert [each.name for each in path.parent.iterdir() if "turn-" in each.name] == []


def test_a_turn_that_follows_an_older_state_of_the_thread_goes_into_a_copy(path):
    with Threads.open(path) as threads:
        first = threads.save_turn(make_turn(QUESTION, WHOLE))
        follow = make_turn(QUESTION, WHOLE, thread=first.thread.id, after=2)
        one, other = threads.save_turn(follow), threads.save_turn(follow)
        assert (one.thread.id, one.grown) == (first.thread.id, False)
        assert other.grown
        assert other.thread.parent == first.thread.id
        assert other.thread.title == first.thread.title
        assert [len(threads.messages(each.thread.id)) for each in (one, other)] == [4, 4]


def test_the_turn_of_a_deleted_thread_begins_a_new_one(path):
    with Threads.open(path) as threads:
        first = threads.save_turn(make_turn(QUESTION, WHOLE))
        threads.delete(first.thread.id)
        again = threads.save_turn(make_turn(QUESTION, WHOLE, thread=first.thread.id, after=2))
        assert threads.messages(again.thread.id) == (QUESTION.message, WHOLE.message)


def test_a_turn_is_saved_whole_or_not_at_all(path):
    with Threads.open(path) as threads:
        bad = StoredMessage(Message("assistant", (Text("x"),)), plan={"x": object()})
        with pytest.raises(Exception, match="cannot be saved"):
            threads.save_turn(make_turn(QUESTION, bad))
        assert threads.list() == ()


def test_calls_of_a_cut_turn_get_a_result(path):
    called = StoredMessage(
        Message("assistant", (ToolCall("c1", "get_weather", {"city": "Bern"}),)),
        finish="tool_calls",
    )
    with Threads.open(path) as threads:
        threads.begin_turn(make_turn(QUESTION, called))
        (thread,) = threads.recover_turns(own=True)
        *_, last = threads.messages(thread.id)
        assert last.parts[0].error


def test_a_journal_on_a_closed_file_never_stops_the_turn(path):
    threads = Threads.open(path)
    threads.close()
    journal = TurnJournal(threads, make_turn())
    journal.note(lambda: (QUESTION, HALF))
    journal.discard()
    journal.close()


def test_a_journal_writes_what_arrives(path, monkeypatch):
    monkeypatch.setattr("pondero.store.threads.turn_log._EVERY", 0.001)
    read = Event()

    def messages():
        read.set()
        return (QUESTION, HALF)

    with Threads.open(path) as threads:
        journal = TurnJournal(threads, make_turn())
        journal.note(messages)
        assert read.wait(60)
        journal.close()
        (thread,) = threads.recover_turns(own=True)
        assert threads.load_messages(thread.id) == (QUESTION, HALF)


def test_secrets_are_redacted_in_unfinished_turns_and_drafts(path, monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "planted-key-1234567890")
    words = Message("user", (Text("my key is planted-key-1234567890"),))
    with Threads.open(path) as threads:
        threads.begin_turn(make_turn(StoredMessage(words)))
        threads.save_drafts(None, Drafts((words,), words.text))
        threads.close()
    assert b"planted-key" not in b"".join(
        each.read_bytes() for each in path.parent.glob("threads*")
    )


def test_drafts_belong_to_a_thread_and_wait_until_their_program_has_ended(path):
    drafts = Drafts((Message("user", (Text("And at dusk?"),)),), "half a sent")
    with Threads.open(path) as other:
        with Threads.open(path) as threads:
            thread = threads.save_turn(make_turn(QUESTION, WHOLE)).thread.id
            threads.save_drafts(thread, drafts)
            assert other.take_drafts(thread) == Drafts()
        assert other.take_drafts(None) == Drafts()
        assert other.take_drafts(thread) == drafts
        assert other.take_drafts(thread) == Drafts()


def test_a_killed_program_leaves_its_drafts(path):
    _killed(path, "threads.save_drafts(None, Drafts(typed='half a sent'))")
    with Threads.open(path) as threads:
        assert threads.take_drafts(None) == Drafts(typed="half a sent")


def test_drafts_go_with_their_thread(path):
    with Threads.open(path) as threads:
        thread = threads.save_turn(make_turn(QUESTION, WHOLE)).thread.id
        threads.save_drafts(thread, Drafts(typed="half a sent"))
        threads.delete(thread)
    with Threads.open(path) as threads:
        assert threads.take_drafts(thread) == Drafts()


def test_drafts_of_a_thread_that_had_not_begun_go_to_the_thread_that_is_recovered(path):
    _killed(
        path,
        "threads.begin_turn(make_turn())",
        "threads.save_drafts(None, Drafts(typed='half a sent'))",
    )
    with Threads.open(path) as threads:
        (thread,) = threads.recover_turns()
        assert [each.id for each in threads.list_drafts()] == [thread.id]
        assert threads.take_drafts(None) == Drafts()
        assert threads.take_drafts(thread.id) == Drafts(typed="half a sent")
        assert threads.list_drafts() == ()


def test_drafts_of_two_threads_that_had_not_begun_are_apart(path):
    _killed(
        path,
        "threads.begin_turn(make_turn(draft='+2'))",
        "threads.save_drafts('+2', Drafts(typed='of the turn'))",
        "threads.save_drafts(None, Drafts(typed='of another'))",
    )
    with Threads.open(path) as threads:
        (thread,) = threads.recover_turns()
        assert threads.take_drafts(thread.id) == Drafts(typed="of the turn")
        assert threads.take_drafts(None) == Drafts(typed="of another")


def test_drafts_of_further_threads_that_had_not_begun_are_a_new_threads(path):
    _killed(path, "threads.save_drafts('+2', Drafts(typed='half a sent'))")
    with Threads.open(path) as threads:
        assert threads.list_drafts() == ()
        assert threads.take_drafts(None) == Drafts(typed="half a sent")


def test_drafts_that_two_programs_take_at_once_are_taken_once(path, monkeypatch):
    _killed(path, "threads.save_drafts(None, Drafts(typed='half a sent'))")
    with Threads.open(path) as one, Threads.open(path) as other:
        gone, taken = one._turns._is_gone, []
        monkeypatch.setattr(
            one._turns,
            "_is_gone",
            lambda owner: (taken.append(other.take_drafts(None)), gone(owner))[1],
        )
        assert one.take_drafts(None) == Drafts()
        assert taken == [Drafts(typed="half a sent")]


def test_a_turn_that_its_program_saves_meanwhile_is_not_saved_twice(path, monkeypatch):
    with Threads.open(path) as other:
        one = Threads.open(path)
        number = one.begin_turn(make_turn())
        listed = other._turns._database.rows

        def rows(sql, values=()):
            found = listed(sql, values)
            if "FROM unfinished" in sql:  # it ends between the look and the recovery
                one.save_turn(make_turn(QUESTION, WHOLE), number=number)
                one.close()
            return found

        monkeypatch.setattr(other._turns._database, "rows", rows)
        assert other.recover_turns() == ()
        monkeypatch.undo()
        assert len(other.list()) == 1


class FullThreads(Threads):
    """Threads that no turn can begin in while ``full``."""

    full = True

    def begin_turn(self, turn, **options):
        """Begin a turn, or say that there is no room."""
        if self.full:
            raise StoreError("the disk is full")
        return super().begin_turn(turn, **options)


def wait_for_row(threads: Threads) -> str:
    end = monotonic() + 10
    while monotonic() < end:
        for (body,) in threads._database.rows("SELECT body FROM unfinished"):
            return str(body)
        sleep(0.05)
    raise AssertionError("no row came")


@pytest.mark.parametrize("came", [(), (HALF,)])
def test_a_turn_that_could_not_begin_is_written_while_it_runs(path, came):
    """Also one of which nothing has come yet."""
    with FullThreads.open(path) as threads:
        journal = TurnJournal(threads, make_turn())
        if came:
            journal.note(lambda: (QUESTION, *came))
        sleep(1.2)  # so that one more try fails
        threads.full = False
        assert ("17 * 23 =" in wait_for_row(threads)) == bool(came)
        journal.close()
        assert journal.number is not None
        threads.save_turn(make_turn(QUESTION, WHOLE), number=journal.number)
        assert threads.recover_turns(own=True) == ()


def test_a_turn_that_begins_late_is_there_in_place_of_those_that_waited(path):
    with FullThreads.open(path) as threads:
        row = Threads.begin_turn(threads, make_turn(QUESTION, WHOLE))
        journal = TurnJournal(threads, make_turn(), (QUESTION, WHOLE), (row,))
        threads.full = False
        journal.finish((QUESTION, HALF))
        (thread,) = threads.recover_turns(own=True)
        assert threads.load_messages(thread.id) == (QUESTION, WHOLE, QUESTION, HALF)


def test_a_turn_that_waits_for_a_decision_is_whole_on_disk(path):
    _killed(
        path,
        "journal = TurnJournal(threads, make_turn())",
        "journal.note(lambda: (QUESTION, HALF))",
        "journal.finish((QUESTION, WHOLE))",
    )
    with Threads.open(path) as threads:
        (thread,) = threads.recover_turns()
        assert threads.load_messages(thread.id) == (QUESTION, WHOLE)


def test_a_lock_that_a_killed_program_left_alone_is_removed_later(path):
    _killed(
        path,
        "threads.save_turn(make_turn(QUESTION, WHOLE), number=threads.begin_turn(make_turn()))",
    )
    locks = [*path.parent.glob("turn-*")]
    assert locks
    with Threads.open(path) as living, Threads.open(path) as threads:
        living.begin_turn(make_turn())
        threads.recover_turns()
        assert {*locks} <= {*path.parent.glob("turn-*")}  # they are young
        (own,) = {*path.parent.glob("turn-*.lock")} - {*locks}
        for each in (*locks, own):
            os.utime(each, (0, 0))
        threads.recover_turns()
        assert [*path.parent.glob("turn-*.lock")] == [own]
        assert not {*locks} & {*path.parent.glob("turn-*")}


def test_a_turn_that_a_full_disk_did_not_let_go_is_removed_later(path):
    with Threads.open(path) as threads:
        journal = TurnJournal(threads, make_turn())
        threads._database._connection.execute("PRAGMA query_only = ON")
        journal.discard()
        threads._database._connection.execute("PRAGMA query_only = OFF")
        threads.save_drafts(None, Drafts(typed="the words are back"))
        assert threads._database.rows("SELECT 1 FROM unfinished") == []
        journal = TurnJournal(threads, make_turn())
        threads._database._connection.execute("PRAGMA query_only = ON")
        journal.discard()
        threads._database._connection.execute("PRAGMA query_only = OFF")
        assert threads.recover_turns(own=True) == ()
        assert threads.list() == ()
        assert threads._database.rows("SELECT 1 FROM unfinished") == []


def test_who_has_no_patience_does_not_wait_for_another_program(path):
    with Threads.open(path) as other, Threads.open(path) as threads:
        threads.start(model="m")
        before = monotonic()
        with other._database.transaction():
            with pytest.raises(StoreError), threads.patience(0.02):
                threads.start(model="m")
            journal = TurnJournal(None, make_turn())
            journal._threads = threads
            journal.finish((QUESTION, WHOLE))
        assert monotonic() - before < 5
        assert journal.number is None
        journal.try_again()
        assert journal.number is not None
        assert threads._database.rows("PRAGMA busy_timeout") == [(10_000,)]


def test_drafts_that_were_taken_outlive_a_kill_right_after(path):
    _killed(path, "threads.save_drafts(None, Drafts(typed='half a sent'))")
    _killed(path, "threads.take_drafts(None)")
    with Threads.open(path) as threads:
        assert threads.take_drafts(None) == Drafts(typed="half a sent")


def test_drafts_that_are_taken_join_those_of_their_place(path):
    _killed(path, "threads.save_drafts(None, Drafts(typed='half a sent'))")
    _killed(
        path, "threads.save_drafts('+2', Drafts(typed='mine'))", "threads.take_drafts('', '+2')"
    )
    with Threads.open(path) as threads:
        queue = (Message("user", (Text("mine"),)),)
        assert threads.take_drafts(None) == Drafts(queue, "half a sent")
