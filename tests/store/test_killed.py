"""Programs that are killed while they write, and programs that write at the same time."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pondero.store import Threads

WRITER = """
import sys
from pondero.canon import Message, Text
from pondero.store import StoredMessage, Threads

path, id, name, turns = sys.argv[1:]
with Threads.open(path) as threads:
    for turn in range(int(turns)):
        words = f"{name} {turn} " + "x" * (turn * 7919 % 50_000)
        threads.add(id, [StoredMessage(Message(role, (Text(words),))) for role in ("user", "assistant")])
        print(turn, flush=True)
"""


def writer(path, id, name, turns):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), id, name, str(turns)],
        stdout=subprocess.PIPE,
        text=True,
    )


def written_by(threads, id):
    """The turns of a thread as (writer, number), each of them two messages that belong together."""
    words = [message.text.split()[:2] for message in threads.messages(id)]
    assert words[::2] == words[1::2]
    return [(name, int(turn)) for name, turn in words[::2]]


@pytest.mark.parametrize("turns", [1, 2, 5, 13, 29, 60])
def test_a_killed_program_loses_at_most_the_turn_it_was_writing(tmp_path, turns):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        id = threads.start(model="m").id
    with writer(path, id, "killed", 1_000_000) as process:
        said = [int(process.stdout.readline()) for _ in range(turns)]
        process.kill()
        said += [int(line) for line in process.stdout if line.endswith("\n")]
    with Threads.open(path) as threads:
        found = written_by(threads, id)
        assert threads.check() == "ok"
        assert threads.notice is None
    assert [turn for _, turn in found] == list(range(len(found)))
    assert len(said) <= len(found) <= len(said) + 1


def test_programs_that_write_at_once_lose_nothing(tmp_path):
    path, names, turns = tmp_path / "threads.db", ("one", "two", "three"), 40
    with Threads.open(path) as threads:
        id = threads.start(model="m").id
    processes = [writer(path, id, name, turns) for name in names]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    with Threads.open(path) as threads:
        found = written_by(threads, id)
        assert threads.get(id).turns == len(found) == len(names) * turns
        assert threads.check() == "ok"
    for name in names:
        assert [turn for who, turn in found if who == name] == list(range(turns))


def test_programs_that_make_the_file_at_once_all_may(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: Threads.open(tmp_path / "threads.db"), range(8)))
    for threads in opened:
        threads.start(model="m")
    assert len(opened[0].list()) == 8
    for threads in opened:
        threads.close()


def test_one_object_may_be_shared_between_threads_of_a_program(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads, ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: threads.start(model="m").id, range(64)))
        assert len(set(ids)) == len(threads.list(limit=None)) == 64
