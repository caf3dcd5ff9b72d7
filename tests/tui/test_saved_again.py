"""What could not be saved is saved as soon as it can be, whatever the chat shows meanwhile."""

import signal
import sys

import pytest
from tests.tui.stage import stage
from tests.tui.terminal import running

from pondero.errors import StoreError
from pondero.store import Threads, from_jsonl
from pondero.tui import ThreadWriter
from pondero.tui.state import NoticeCell

QUESTION = "What is 17 * 23?"


class FullThreads(Threads):
    """Threads that write nothing while ``full``."""

    full = True

    def save_turn(self, *given, **options):
        """Save a turn, or say that there is no room."""
        self._need_room()
        return super().save_turn(*given, **options)

    def begin_turn(self, *given, **options):
        """Begin a turn, or say that there is no room."""
        self._need_room()
        return super().begin_turn(*given, **options)

    def save_drafts(self, *given):
        """Write drafts, or say that there is no room."""
        self._need_room()
        return super().save_drafts(*given)

    def _need_room(self):
        if self.full:
            raise StoreError("the disk is full")


@pytest.fixture
def threads(tmp_path):
    with FullThreads.open(tmp_path / "threads.db") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr("pondero.tui._screen.app._TYPED_EVERY", 0.05)


def kept(threads):
    return sorted([m.text for m in threads.messages(each.id)] for each in threads.list())


def unfinished(threads):
    return str(threads._database.rows("SELECT body FROM unfinished"))


def told(chat):
    return [line for c in chat.app.state.page if isinstance(c, NoticeCell) for line in c.lines]


async def ticks(chat):
    """Let the timer have its turn some times."""
    await chat.pilot.pause(0.4)


@pytest.mark.anyio
async def test_an_answer_is_saved_when_there_is_room_again(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await ticks(chat)
        assert "· unsaved" in chat.text
        threads.full = False
        await ticks(chat)
        assert kept(threads) == [["say hi", "hi"]]
        assert "unsaved" not in chat.text.splitlines()[-1]
        assert told(chat)[-1] == "✓ The chat is saved again"
        assert told(chat).count("✓ The chat is saved again") == 1
        assert chat.app.state.thread.title == "say hi"
        await chat.say("say more")
        assert kept(threads) == [["say hi", "hi", "say more", "more"]]


@pytest.mark.anyio
async def test_an_answer_is_saved_when_another_thread_was_begun(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say("/new")
        await ticks(chat)
        assert chat.app.state.unsaved
        threads.full = False
        await ticks(chat)
        assert kept(threads) == [["say hi", "hi"]]
        assert chat.app.state.unsaved is None
        assert chat.app.state.thread is None  # it is that of the other


@pytest.mark.anyio
async def test_an_answer_of_a_hidden_tab_is_saved_and_its_tab_is_closed(threads):
    async with stage(threads=threads) as chat:
        await chat.say_until_held("say hi", pieces=2)
        await chat.paste("/new")
        await chat.press_without_waiting("enter")
        hidden, shown = chat.app._tabs
        assert shown is chat.app.tab
        chat.gate.open()
        await chat.quiet()
        await ticks(chat)
        assert hidden.state.unsaved
        await chat.say("say two")
        assert shown.state.unsaved
        threads.full = False
        await ticks(chat)
        assert kept(threads) == [["say hi", "hi"], ["say two", "two"]]
        assert (hidden.state.unsaved, shown.state.unsaved) == (None, None)
        assert [*chat.app._tabs] == [shown]


@pytest.mark.anyio
async def test_a_turn_under_way_has_what_waits_on_disk(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say hi")
        await chat.say_until_held("say two", pieces=2)
        threads.full = False
        for _ in range(60):
            await chat.pilot.pause(0.1)
            if "say two" in unfinished(threads):
                break
        assert "say hi" in unfinished(threads)
        assert kept(threads) == []
        chat.gate.open()
        await chat.quiet()
        assert kept(threads) == [["say hi", "hi", "say two", "two"]]
        assert unfinished(threads) == "[]"


@pytest.mark.anyio
async def test_the_answers_of_a_comparison_are_on_disk_before_one_is_chosen(threads):
    async with stage(threads=threads, size=(100, 24)) as chat:
        await chat.say("say hi")
        await chat.say(f"/compare low high {QUESTION}")
        await ticks(chat)
        assert (kept(threads), unfinished(threads)) == ([], "[]")
        threads.full = False
        await ticks(chat)
        assert kept(threads) == [["say hi", "hi"]]
        assert unfinished(threads).count("17 * 23 = 391") >= 2
        assert chat.app.state.comparing is not None
        await chat.press("enter")
        await ticks(chat)
        assert unfinished(threads) == "[]"
        assert len(kept(threads)) == 2
        for each in kept(threads):  # one of them has a word about its level in between
            assert (each[:2], each[-2:]) == (["say hi", "hi"], [QUESTION, "17 * 23 = 391"])


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process")
@pytest.mark.parametrize("plain", [False, True])
def test_a_killed_chat_whose_disk_had_room_again_has_lost_nothing(environment, tmp_path, plain):
    import resource

    first, enter = (">", "\n") if plain else ("/help", "\r")
    way = ("--plain",) if plain else ()
    with running("chat", "--offline", "claude-opus-5/low", *way, environment=environment) as chat:
        chat.until(first)
        none = (0, resource.RLIM_INFINITY)
        resource.prlimit(chat.pid, resource.RLIMIT_FSIZE, none)
        chat.press(f"{QUESTION}{enter}")
        chat.until("17 * 23 = 391", "the chat continues, unsaved")
        no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(chat.pid, resource.RLIMIT_FSIZE, no_limit)
        chat.until("The chat is saved again")
        chat.signal(signal.SIGKILL)
        chat.ended()
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        assert kept(threads) == [[QUESTION, "17 * 23 = 391"]]
        assert threads.recover_turns() == ()


def test_a_folder_that_is_there_only_later_gets_the_chat(environment, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    with running("chat", "--offline", "claude-opus-5/low", environment=environment) as chat:
        chat.until("the chat continues, unsaved", "· unsaved")
        chat.press(f"{QUESTION}\r")
        chat.until("17 * 23 = 391")
        (tmp_path / "data").unlink()
        chat.until("The chat is saved again")
        chat.signal(signal.SIGKILL)
        chat.ended()
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        assert kept(threads) == [[QUESTION, "17 * 23 = 391"]]


@pytest.mark.anyio
@pytest.mark.parametrize("full", [True, False])
async def test_a_comparison_that_a_signal_ends_loses_no_answer(
    threads, tmp_path, monkeypatch, full
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads.full = full
    writer = ThreadWriter(threads)
    async with stage(writer=writer, size=(100, 24)) as chat:
        await chat.say(f"/compare low high {QUESTION}")
        assert chat.app.state.comparing is not None
        chat.app.leave(128 + signal.SIGTERM)
        await chat.quiet()
    lines = writer.close()
    files = [from_jsonl(each.read_text())[1] for each in tmp_path.glob("pondero-*.jsonl")]
    rescued = [lines[-1].kept.message.text for lines in files]
    with Threads.open(tmp_path / "threads.db") as again:
        saved = [texts[-1] for texts in kept(again)]
        assert len(ThreadWriter(again).recover()) == 2  # the next chat names them
        assert [texts[-1] for texts in kept(again)] == ["17 * 23 = 391"] * 2
    assert (rescued, saved)[not full] == ["17 * 23 = 391"] * 2
    assert (len(lines), len(rescued), len(saved)) == ((2, 2, 0) if full else (0, 0, 2))
    assert not [*tmp_path.glob("pondero-*")]  # the next chat has read them


@pytest.mark.anyio
async def test_words_that_cannot_be_written_are_said_to_be_unsaved_until_they_are(threads):
    async with stage(threads=threads) as chat:
        await chat.type("half a sent")
        await ticks(chat)
        assert "· unsaved" in chat.text
        assert told(chat)[-2:] == ["⚠ the disk is full", "  → the chat continues, unsaved"]
        threads.full = False
        await ticks(chat)
        assert "unsaved" not in chat.text.splitlines()[-1]
        assert told(chat)[-1] == "✓ The chat is saved again"


@pytest.mark.anyio
async def test_words_that_can_never_be_written_are_in_a_file_that_is_named(
    threads, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    writer = ThreadWriter(threads)
    async with stage(writer=writer) as chat:
        await chat.say_until_held("say hi", pieces=1)
        await chat.type("queued words")
        await chat.press_without_waiting("enter")
        await chat.type("half a sent")
        chat.app.leave(128 + signal.SIGTERM)
        await chat.quiet()
    *_, line = writer.close()
    (file,) = tmp_path.glob("pondero-*.txt")
    said = "what you typed and did not send was not saved: the disk is full. It is in"
    assert line == f"{said} {file}, and the next chat has it again"
    words = ["half a sent", "queued words", "say hi"]  # nothing came of the question
    assert sorted(file.read_text("utf-8").strip().split("\n\n")) == words
    assert file.stat().st_mode & 0o77 == 0


@pytest.mark.anyio
async def test_the_next_chat_has_the_words_that_could_not_be_written(threads, tmp_path):
    writer = ThreadWriter(threads)
    async with stage(writer=writer) as chat:
        await chat.say("say hi")
        await chat.type("set aside")
        await chat.press("ctrl+c")
        await chat.type("half a sent\n\nence")
        chat.app.leave(128 + signal.SIGTERM)
        await chat.quiet()
    assert len(writer.close()) == 2
    with Threads.open(tmp_path / "threads.db") as again:
        writer = ThreadWriter(again)
        (thread,) = writer.recover()
        assert kept(again) == [["say hi", "hi"]]
        async with stage(writer=writer, first=(writer.open(thread.id),)) as chat:
            assert chat.app.prompt.text == "half a sent\n\nence"
            await chat.press("up", "up", "up")
            assert chat.app.prompt.text == "set aside"
    assert not [*tmp_path.glob("pondero-*")]


@pytest.mark.anyio
async def test_a_rescued_turn_that_was_imported_by_hand_is_not_saved_twice(
    threads, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    writer = ThreadWriter(threads)
    async with stage(writer=writer) as chat:
        await chat.say("say hi")
    (line,) = writer.close()
    (file,) = tmp_path.glob("pondero-*.jsonl")
    assert line.endswith(f"the next chat does it, or pondero threads import {file}")
    with Threads.open(tmp_path / "threads.db") as again:
        again.restore(*from_jsonl(file.read_text()))
        assert ThreadWriter(again).recover() == ()
        assert kept(again) == [["say hi", "hi"]]
    assert not [*tmp_path.glob("pondero-*")]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process")
@pytest.mark.parametrize("plain", [False, True])
def test_what_no_disk_takes_is_printed_at_the_end(environment, plain):
    import resource

    first, enter = (">", "\n") if plain else ("/help", "\r")
    way = ("--plain",) if plain else ()
    with running("chat", "--offline", "claude-opus-5/low", *way, environment=environment) as chat:
        chat.until(first)
        resource.prlimit(chat.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        chat.press(f"{QUESTION}{enter}")
        chat.until("17 * 23 = 391", "the chat continues, unsaved")
        chat.press("half a sent")
        chat.until("half a sent")
        before = len(chat.seen)
        chat.signal(signal.SIGTERM)
        assert chat.ended() == 128 + signal.SIGTERM
        printed = chat.seen[before:].rpartition(b"\x1b[?1049l")[2].decode()
    assert f"You: {QUESTION}" in printed
    assert "Answer: 17 * 23 = 391" in printed
    assert "half a sent" in printed
    assert "printed here" in printed
